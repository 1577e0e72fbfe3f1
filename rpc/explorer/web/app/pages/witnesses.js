// Who makes the blocks: this round and whose slot it is, the last slots, all witnesses by votes, their prices and what they ask for.
import { callPlain, constant, loadConstants } from "../brand.js";
import { milliseconds, now, useChain } from "../chain.js";
import { amount, amountText, approximate, decimalText, durationText, isNever, numberText, percentText, shortId, timeText } from "../format.js";
import { html } from "../html.js";
import { roughText } from "../parts/chart.js";
import { Answer, Card, Facts, Page, Table } from "../parts/layout.js";
import { Account } from "../parts/names.js";
import { feedWords, nextMedianWords } from "../parts/price.js";
import { Bar, BlockLink, Copyable, Ticking, Time } from "../parts/values.js";
import { Link } from "../router.js";
import { useAnswer } from "../rpc.js";

const WITNESSES_ONCE = 100;
const MOST_VOTES = "9223372036854775807";
const SLOTS_SHOWN = 128;
const HUNDRED_PERCENT = 10000n;

export default function Witnesses({ query }) {
  const { head } = useChain();
  const after = query.get("after") ?? "";
  const answer = useAnswer(() => load(after), `${head} ${after}`, after);
  return html`
    <${Page} title="Witnesses">
      <${Answer} of=${answer}>${(found) => html`<${Shown} ...${found} after=${after} />`}</${Answer}>
    </${Page}>
  `;
}

async function load(after) {
  const votes = after ? (await callPlain("database_api.find_witnesses", { owners: [after] })).witnesses[0]?.votes : MOST_VOTES;
  const [schedule, props, hardforks, feed, config, { witnesses }] = await Promise.all([
    callPlain("database_api.get_witness_schedule"),
    callPlain("database_api.get_dynamic_global_properties"),
    callPlain("database_api.get_hardfork_properties"),
    callPlain("database_api.get_feed_history"),
    loadConstants(),
    callPlain("database_api.list_witnesses", { start: [votes ?? MOST_VOTES, after], limit: WITNESSES_ONCE + 1, order: "by_vote_name" }),
  ]);
  const round = schedule.current_shuffled_witnesses.slice(0, schedule.num_scheduled_witnesses);
  const active = (await callPlain("database_api.find_witnesses", { owners: [...new Set(round)] })).witnesses;
  return { schedule, props, hardforks, feed, config, witnesses, round, active };
}

function Shown({ schedule, props, hardforks, feed, config, witnesses, round, active, after }) {
  const rows = witnesses.slice(0, WITNESSES_ONCE);
  return html`
    <div class="grid flow">
      <${Round} schedule=${schedule} props=${props} round=${round} />
      <${Slots} props=${props} />
      <${Hardforks} hardforks=${hardforks} active=${active} schedule=${schedule} />
    </div>
    <${Listed} rows=${rows} props=${props} round=${round} after=${after} next=${witnesses[WITNESSES_ONCE]?.owner} />
    <${Feeds} active=${active} rows=${rows} feed=${feed} props=${props} config=${config} />
    <${Properties} active=${active} rows=${rows} medians=${schedule.median_props} />
  `;
}

// ------------------------------------------------------------------ the round

function Round({ schedule, props, round }) {
  const { head, info, overview } = useChain();
  const interval = overview.block_interval;
  const isAsked = info?.block_mode === "manual";
  // A slot's place in the round goes by absolute slots, missed ones included.
  const slot = () => Math.max(0, Math.floor((now() - milliseconds(props.time)) / 1000 / interval));
  const at = (number) => (Number(props.current_aslot) + number) % round.length;
  const left = schedule.next_shuffle_block_num - head;
  return html`
    <${Card} title="This round" aside=${left > 0 ? `a new order after ${numberText(left)} more block${left === 1 ? "" : "s"}`
      : "a new order with the next block"}>
      <${Ticking}>${() => {
        const passed = slot();
        const wait = interval - (((now() - milliseconds(props.time)) / 1000) % interval);
        return html`
          <${Facts} of=${[
            ["Now", html`<${Account} name=${round[at(passed)]} />${" "}${passed
              ? html`<span class="badge warn">${passed === 1 ? "no block yet" : `no block in ${numberText(passed)} slots`}</span>`
                : html`<span class="badge good">made block ${numberText(head)}</span>`}`],
            ["Next", html`<${Account} name=${round[at(passed + 1)]} /> <span class="muted">${isAsked
              ? "when asked" : `in ${durationText(Math.ceil(wait))}`}</span>`],
          ]} />
          <ol class="slots">
            ${round.map((name, place) => html`
              <li class=${place === at(passed) ? "now" : place === at(passed + 1) ? "next" : ""}
                aria-current=${place === at(passed) ? "true" : null}>
                <${Account} name=${name} />${place === at(passed) ? html` <span class="badge accent">now</span>` : place === at(passed + 1)
                  ? html` <span class="badge">next</span>` : ""}
              </li>`)}
          </ol>`;
      }}</${Ticking}>
      <p class="muted small">
        ${numberText(round.length)} in the round: at most ${numberText(schedule.max_voted_witnesses)} by votes
        and ${numberText(schedule.max_runner_witnesses)} of the others in turn.
      </p>
    </${Card}>
  `;
}

function Slots({ props }) {
  const { overview } = useChain();
  const bits = BigInt(props.recent_slots_filled);
  const filled = Array.from({ length: SLOTS_SHOWN }, (_, i) => Boolean((bits >> BigInt(SLOTS_SHOWN - 1 - i)) & 1n));
  const count = filled.filter(Boolean).length;
  const head = milliseconds(props.time);
  const missed = filled.flatMap((is, i) => (is ? [] : [SLOTS_SHOWN - 1 - i])).reverse();
  const time = (ago) => new Date(head - 1000 * overview.block_interval * ago).toISOString().slice(0, 19);
  const words = `${count} of the last ${SLOTS_SHOWN} slots have a block: ${percentText(Math.round((count * 10000) / SLOTS_SHOWN))}`;
  return html`
    <${Card} title="Participation" aside="the last slot on the right">
      <p>${words}</p>
      <div class="marks" role="img" aria-label=${words}>${filled.map((is) => html`<span class=${is ? "mark" : "mark missed"}></span>`)}</div>
      <details class="small">
        <summary class="muted">Slots without a block</summary>
        <${Table} caption="Slots without a block" rows=${missed} nothing="There is none."
          columns=${[{ title: "Time (UTC)", cell: (ago) => timeText(time(ago)) },
            { title: "Slots before the head block", isNumber: true, cell: numberText }]} />
      </details>
    </${Card}>
  `;
}

// ------------------------------------------------------------------ hardforks

function Hardforks({ hardforks, active, schedule }) {
  const tally = (witnesses, of) => {
    const counts = new Map();
    for (const witness of witnesses) counts.set(of(witness), (counts.get(of(witness)) ?? 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1]);
  };
  // A witness says what it runs and votes for with its first block.
  const heard = active.filter(({ last_confirmed_block_num: block }) => block);
  const votes = tally(heard, (witness) => `${witness.hardfork_version_vote} ${witness.hardfork_time_vote}`);
  const versions = tally(heard, (witness) => witness.running_version);
  const silent = active.length - heard.length;
  const isPlanned = hardforks.next_hardfork !== hardforks.current_hardfork_version;
  return html`
    <${Card} title="Hardforks" aside=${`${numberText(schedule.hardfork_required_witnesses)} of the round must agree`}>
      <${Facts} of=${[
        ["In force", `${hardforks.current_hardfork_version} (hardfork ${hardforks.last_hardfork})`],
        ["Next", isPlanned ? html`${hardforks.next_hardfork} at <${Time} at=${hardforks.next_hardfork_time} />` : "none is planned"],
        ["They run", versions.length ? versions.map(([version, count], i) => html`${i ? ", " : ""}${version} (${numberText(count)})`) : "not known yet"],
      ]} />
      <h3>Votes of this round</h3>
      <ul class="list">
        ${votes.map(([vote, count]) => {
          const [version, time] = vote.split(" ");
          const words = `${numberText(count)} of ${numberText(active.length)}`;
          return html`<li><div class="row"><span>${version} at ${timeText(time)} UTC</span><span class="end">${words}</span></div><${Bar}
            share=${count / active.length} label=${words} /></li>`;
        })}
      </ul>
      ${silent > 0 && html`<p class="muted small">${numberText(silent)} of them made no block yet: what they run and vote for isn't known.</p>`}
    </${Card}>
  `;
}

// ------------------------------------------------------------------ all witnesses

function Listed({ rows, props, round, after, next }) {
  const most = rows.length ? BigInt(rows[0].votes) : 0n;
  const columns = [
    { title: "Witness", cell: (row) => html`<${Account} name=${row.owner} /> ${round.includes(row.owner)
      && html`<span class="badge accent">in the round</span>`}<${Site} url=${row.url} />` },
    { title: "Votes", isNumber: true, cell: (row) => html`<${Votes} votes=${row.votes} props=${props} most=${most} />` },
    { title: "Signs with", cell: ({ signing_key: key }) => (/1{20}/.test(key) ? html`<span class="badge bad">disabled</span>`
      : html`<${Copyable} text=${key} what="key"><span title=${key}>${shortId(key)}</span></${Copyable}>`) },
    { title: "Missed", isNumber: true, cell: (row) => numberText(row.total_missed) },
    { title: "Last block", isNumber: true,
      cell: ({ last_confirmed_block_num: block }) => (block ? html`<${BlockLink} number=${block} />` : html`<span class="muted">none</span>`) },
    { title: "Version", cell: (row) => (row.last_confirmed_block_num ? row.running_version : html`<span class="muted">–</span>`) },
  ];
  return html`
    <${Card} title="All witnesses" aside=${after ? "by votes, further down" : "by votes"}>
      <${Table} caption="Witnesses by votes" columns=${columns} rows=${rows} isStacked nothing="There is no witness." />
      <p>${after && html`<${Link} class="button" to="/witnesses">The first ones</${Link}>`} ${next
        && html`<${Link} class="button" to=${`/witnesses?after=${encodeURIComponent(next)}`}>More</${Link}>`}</p>
    </${Card}>
  `;
}

function Votes({ votes, props, most }) {
  const units = BigInt(votes);
  const fund = amount(props.total_vesting_fund_coin);
  const shares = amount(props.total_vesting_shares);
  const worth = shares.units ? (units * fund.units) / shares.units : 0n;
  const share = most > 0n ? Number((units * HUNDRED_PERCENT) / most) / Number(HUNDRED_PERCENT) : 0;
  const words = `${decimalText(units, shares.precision)} ${shares.symbol}`;
  if (!units) return html`<div class="number muted">none</div>`;
  return html`
    <div class="number" title=${words}>${roughText(approximate({ amount: units, precision: shares.precision, nai: "" }))} ${shares.symbol}</div>
    <div class="number muted small">${decimalText(worth, fund.precision)} ${fund.symbol}</div>
    <${Bar} share=${share} label=${words} />
  `;
}

// Where a witness describes itself. Anything may stand there: only addresses of the web become links.
function Site({ url }) {
  if (!url) return "";
  const isLink = /^https?:\/\//.test(url);
  return html`<div class="small clip">${isLink ? html`<a href=${url} rel="noopener noreferrer nofollow" target="_blank">${url}</a>`
    : html`<span class="muted">${url}</span>`}</div>`;
}

// ------------------------------------------------------------------ what they publish

// The witnesses of the round, and those of the list that have something to show.
function known(active, rows, has) {
  const names = new Set(active.map(({ owner }) => owner));
  return [...active, ...rows.filter((row) => !names.has(row.owner))].filter(has);
}

function Feeds({ active, rows, feed, props, config }) {
  const { overview } = useChain();
  const [coin, debt] = overview.tokens;
  const most = Number(constant(config, "_MAX_FEED_AGE_SECONDS") ?? Infinity);
  const names = new Set(active.map(({ owner }) => owner));
  const priced = known(active, rows, (row) => !isNever(row.last_sbd_exchange_update)).map((row) => {
    const { base, quote } = row.sbd_exchange_rate;
    const age = (now() - milliseconds(row.last_sbd_exchange_update)) / 1000;
    const isCounted = names.has(row.owner) && age < most && approximate(base) > 0;
    return { ...row, price: approximate(quote) ? approximate(base) / approximate(quote) : 0, isCounted };
  });
  const counted = priced.filter(({ isCounted }) => isCounted).sort((a, b) => a.price - b.price);
  const median = counted[Math.floor(counted.length / 2)];
  const isMedian = (row) => row.isCounted && row.price === median.price;
  const columns = [
    { title: "Witness", cell: ({ owner }) => html`<${Account} name=${owner} />` },
    { title: `${debt.symbol} per ${coin.symbol}`, isNumber: true,
      cell: (row) => html`${isMedian(row) && html`<span class="badge accent">median</span> `}${row.price.toFixed(6)}` },
    { title: "As published", isNumber: true, cell: ({ sbd_exchange_rate: rate }) => `${amountText(rate.base)} for ${amountText(rate.quote)}` },
    { title: "Age", cell: (row) => html`<${Time} at=${row.last_sbd_exchange_update} isShort /> ${!row.isCounted
      && html`<span class="badge warn">${names.has(row.owner) ? "too old" : "not in the round"}</span>`}` },
  ];
  const { base: given, quote: wanted } = feed.current_median_history;
  const inForce = approximate(wanted) ? approximate(given) / approximate(wanted) : 0;
  return html`
    <${Card} title="Price feeds" aside="lowest first">
      <p>${inForce ? html`In force is <b>${inForce.toFixed(6)}</b> ${debt.symbol} per ${coin.symbol}, ${feedWords(feed.price_history.length)}.`
        : "No price is in force."}
        ${median ? ` The median of the feeds that count now is ${median.price.toFixed(6)}.` : ""}
        ${" "}${nextMedianWords(props.head_block_number, config)}</p>
      <${Table} caption="Prices that witnesses publish" columns=${columns} rows=${priced.sort((a, b) => a.price - b.price)}
        nothing="No witness has published a price." />
    </${Card}>
  `;
}

function Properties({ active, rows, medians }) {
  const names = new Set(active.map(({ owner }) => owner));
  const kinds = [
    ["account_creation_fee", "Fee for an account", amountText],
    ["maximum_block_size", "Largest block, bytes", numberText],
    ["sbd_interest_rate", "Interest", percentText],
    ["account_subsidy_budget", "Free accounts, budget", numberText],
    ["account_subsidy_decay", "Free accounts, decay", numberText],
  ].filter(([name]) => medians[name] !== undefined);
  const shown = known(active, rows, () => true);
  const columns = [
    { title: "Witness", cell: (row) => (row.isMedian ? html`<b>Median in force</b>`
      : html`<${Account} name=${row.owner} /> ${!names.has(row.owner) && html`<span class="badge">not in the round</span>`}`) },
    ...kinds.map(([name, title, words]) => ({
      title,
      isNumber: true,
      cell: (row) => (row.isMedian ? html`<b>${words(row.props[name])}</b>`
        : html`<span class=${words(row.props[name]) === words(medians[name]) ? "" : "muted"}>${words(row.props[name])}</span>`),
    })),
  ];
  return html`
    <${Card} title="Properties" aside="the median of the round is in force">
      <${Table} caption="Properties that witnesses publish" columns=${columns} rows=${[{ isMedian: true, props: medians }, ...shown]} />
      <p class="muted small">Values that differ from the median are grey. Medians are taken with each new round.</p>
    </${Card}>
  `;
}
