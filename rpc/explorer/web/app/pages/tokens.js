// The chain's own tokens: supplies, inflation, debt, rates and prices, now and over time; the tokens that users have made, and one of these.
import { callPlain, constant, loadConstants, usePlain } from "../brand.js";
import { milliseconds, now, useChain } from "../chain.js";
import { amount, amountText, approximate, decimalText, durationText, isNever, numberText, percentText, timeText } from "../format.js";
import { html } from "../html.js";
import { Chart, roughText } from "../parts/chart.js";
import { Answer, Card, Facts, Page, Table, Tabs } from "../parts/layout.js";
import { Account } from "../parts/names.js";
import { feedWords, nextMedianWords } from "../parts/price.js";
import { Bar, BlockLink, Money, Time } from "../parts/values.js";
import { Link, path } from "../router.js";
import { useAnswer } from "../rpc.js";

const TOKENS_MAX = 200;
const CONTRIBUTIONS_MAX = 100;
const MILLION = 1000000n;
const HUNDRED_PERCENT = 10000n;
const TABS = [
  ["", "Now", "/tokens"],
  ["time", "Over time", "/tokens?show=time"],
  ["users", "Tokens of users", "/tokens?show=users"],
];

export default function Tokens({ nai, query }) {
  const { overview } = useChain();
  const own = nai && overview.tokens.find((token) => token.nai === nai || token.symbol === nai.toUpperCase());
  if (nai && !own) return html`<${Token} nai=${nai} />`;
  const show = query.get("show") ?? "";
  const View = { time: OverTime, users: OfUsers }[show] ?? Now;
  return html`
    <${Page} title=${own ? own.symbol : "Tokens"}>
      ${!own && html`<${Tabs} tabs=${TABS} chosen=${View === Now ? "" : show} label="Tokens" />`}
      <${View} only=${own?.symbol} />
    </${Page}>
  `;
}

// ------------------------------------------------------------------ now

function Now({ only }) {
  const { head, overview } = useChain();
  const answer = useAnswer(load, String(head), "tokens");
  const cards = [[overview.tokens[0], Coin], [overview.tokens[1], Debt], [overview.tokens[2], Vests]].filter(([token]) => !only || token.symbol === only);
  return html`
    <${Answer} of=${answer}>${(found) => html`
      <div class="grid flow">${cards.map(([token, View]) => html`<${View} ...${found} token=${token} tokens=${overview.tokens} />`)}</div>
      ${!only && html`<${Prices} ...${found} tokens=${overview.tokens} />`}
      ${only && html`<p><${Link} to="/tokens">All tokens</${Link}> · <${Link} to="/tokens?show=time">Over time</${Link}></p>`}`}</${Answer}>
  `;
}

async function load() {
  const [props, feed, config, { funds }] = await Promise.all([
    callPlain("database_api.get_dynamic_global_properties"),
    callPlain("database_api.get_feed_history"),
    loadConstants(),
    callPlain("database_api.get_reward_funds"),
  ]);
  const { base, quote } = feed.current_median_history;
  return { props, feed, config, funds, price: amount(quote).units ? { base: amount(base).units, quote: amount(quote).units } : null };
}

function Coin({ props, config, funds, token, price, tokens }) {
  const virtual = amount(props.virtual_supply).units;
  const rate = inflation(config, props.head_block_number);
  const yearly = (virtual * BigInt(rate)) / HUNDRED_PERCENT;
  const money = (units) => `${decimalText(units, token.precision)} ${token.symbol}`;
  // The funds replaced the one of the global properties with hardfork 17.
  const waiting = [props.total_reward_fund_coin, ...funds.map(({ reward_balance: balance }) => balance)].reduce((sum, of) => sum + amount(of).units, 0n);
  const shares = [
    ["posts and votes", props.content_reward_percent],
    ["vesting fund", props.vesting_reward_percent],
    ["treasury", props.sps_fund_percent],
  ].filter(([, percent]) => percent);
  const rest = Number(HUNDRED_PERCENT) - shares.reduce((total, [, percent]) => total + percent, 0);
  const start = Number(constant(config, "_INFLATION_RATE_START_PERCENT"));
  const stop = Number(constant(config, "_INFLATION_RATE_STOP_PERCENT"));
  const period = Number(constant(config, "_INFLATION_NARROWING_PERIOD"));
  return html`
    <${Card} title=${token.symbol} aside=${token.nai}>
      <${Facts} of=${[
        ["Supply", html`<b><${Money} of=${props.current_supply} /></b>`],
        ["Virtual supply", html`<${Money} of=${props.virtual_supply} /> <span class="muted">with all ${tokens[1].symbol} converted</span>`],
        ["Vesting fund", html`<${Money} of=${props.total_vesting_fund_coin} />`],
        ["Waits for posts", money(waiting)],
        ["One is worth", price ? `${decimalText((price.base * 1000000n) / price.quote, 6)} ${tokens[1].symbol}` : "no price yet"],
        ["Inflation now", html`<b>${percentText(rate)}</b> a year, ${money(yearly)}`],
        ["A new block", `makes about ${money(yearly / BigInt(Number(constant(config, "_BLOCKS_PER_YEAR")) || 10512000))}`],
        ["It goes to", [...shares, ["witnesses", rest]].map(([name, percent], i) => `${i ? ", " : ""}${name} ${percentText(percent)}`)],
      ]} />
      <p class="muted small">
        The inflation begins at ${percentText(start)} and falls by 0.01 % every ${numberText(period)} blocks, down to ${percentText(stop)}.
      </p>
    </${Card}>
  `;
}

function inflation(config, head) {
  const start = Number(constant(config, "_INFLATION_RATE_START_PERCENT"));
  const narrowed = start - Math.floor(head / Number(constant(config, "_INFLATION_NARROWING_PERIOD")));
  return Math.max(narrowed, Number(constant(config, "_INFLATION_RATE_STOP_PERCENT")));
}

function Debt({ props, config, token, price, tokens }) {
  const supply = amount(props.current_sbd_supply).units;
  const virtual = amount(props.virtual_supply).units;
  // What all of it would be converted to, as a share of the virtual supply.
  const worth = price && price.base ? (supply * price.quote) / price.base : 0n;
  const ratio = virtual ? Number((worth * HUNDRED_PERCENT) / virtual) : 0;
  const { sbd_start_percent: start, sbd_stop_percent: stop, sbd_print_rate: print } = props;
  const words = `${percentText(ratio)} of the virtual supply`;
  return html`
    <${Card} title=${token.symbol} aside=${token.nai}>
      <${Facts} of=${[
        ["Supply", html`<b><${Money} of=${props.current_sbd_supply} /></b>`],
        ["Debt ratio", html`<b>${percentText(ratio)}</b> <span class="muted">of the virtual supply is owed for it</span><${Bar}
          share=${stop ? ratio / stop : ratio / 10000} label=${words} />`],
        ["Print rate", html`${percentText(print)} <span
          class="muted">of what authors get as ${token.symbol} is printed, the rest is paid in ${tokens[0].symbol}</span>`],
        ["Bounds", start ? `printed less from ${percentText(start)} on, and no more from ${percentText(stop)} on, where the bar ends` : null],
        ["Interest", `${percentText(props.sbd_interest_rate)} a year`],
        ["A conversion", price ? `of 1.000 ${token.symbol} gives ${decimalText((1000n * price.quote) / price.base,
          tokens[0].precision)} ${tokens[0].symbol} at the price of now` : "is not possible: there is no price"],
        ["It takes", durationText(Number(constant(config, "_CONVERSION_DELAY")) / 1e6)],
      ]} />
    </${Card}>
  `;
}

function Vests({ props, token, tokens }) {
  const shares = amount(props.total_vesting_shares).units;
  const fund = amount(props.total_vesting_fund_coin).units;
  const supply = amount(props.current_supply).units;
  const perMillion = shares ? (fund * MILLION * 1000000n) / shares : 0n;
  const share = supply ? Number((fund * HUNDRED_PERCENT) / supply) : 0;
  return html`
    <${Card} title=${token.symbol} aside=${token.nai}>
      <${Facts} of=${[
        ["Supply", html`<b><${Money} of=${props.total_vesting_shares} /></b>`],
        ["Vesting fund", html`<${Money} of=${props.total_vesting_fund_coin} />`],
        ["1,000,000 are worth", `${decimalText(perMillion, tokens[0].precision)} ${tokens[0].symbol}`],
        [`1.000 ${tokens[0].symbol} buys`, fund ? `${decimalText((shares * 1000n) / fund, token.precision)} ${token.symbol}` : null],
        ["Powered up", html`${percentText(share)} <span class="muted">of all ${tokens[0].symbol}</span><${Bar} share=${share / 10000}
          label=${`${percentText(share)} of all ${tokens[0].symbol}`} />`],
        ["Rewards to claim", html`<${Money} of=${props.pending_rewarded_vesting_shares} /> <span class="muted">for <${Money}
          of=${props.pending_rewarded_vesting_coin} /></span>`],
      ]} />
    </${Card}>
  `;
}

function Prices({ feed, config, price, props, tokens }) {
  const history = feed.price_history.map(({ base, quote }) => (approximate(quote) ? approximate(base) / approximate(quote) : null));
  const blocks = Number(constant(config, "_FEED_INTERVAL_BLOCKS"));
  const unit = `${tokens[1].symbol} per ${tokens[0].symbol}`;
  const current = price ? Number(price.base) / Number(price.quote) : null;
  const x = history.map((_, i) => i - history.length + 1);
  const columns = [
    { title: "Back", isNumber: true, cell: ({ back }) => numberText(back) },
    { title: unit, isNumber: true, cell: ({ value }) => value?.toFixed(6) },
    { title: "As published", cell: ({ rate }) => `${amountText(rate.base)} for ${amountText(rate.quote)}` },
  ];
  return html`
    <${Card} title="Price feed" aside=${`the median of the witnesses, once in ${numberText(blocks)} blocks`}>
      <p>${current ? html`In force: <b>${current.toFixed(6)}</b> ${unit}, ${feedWords(history.length)}.` : "No price is in force."}</p>
      ${history.length ? html`<${Chart} x=${x} isTime=${false} xLabel="Median number" unit=${`${unit}; 0 is the last median, −1 the one before`}
        label=${`The last ${history.length} medians of the price feed in ${unit}`}
        series=${[
          { label: "Median of the feeds", kind: "steps-line", values: history },
          { label: "In force", kind: "line", values: history.map(() => current), colour: "series-2" },
        ]}
        rows=${history.map((value, i) => ({ value, rate: feed.price_history[i], back: -x[i] })).reverse()} columns=${columns} />` : ""}
      <p class="muted">${history.length ? "" : "No median has been taken yet. "}${nextMedianWords(props.head_block_number, config)}</p>
    </${Card}>
  `;
}

// ------------------------------------------------------------------ over time

function OverTime() {
  const { head, overview } = useChain();
  const answer = usePlain("explorer_api.get_series", {}, head);
  return html`<${Answer} of=${answer}>${(series) => html`<${Series} series=${series} tokens=${overview.tokens} />`}</${Answer}>`;
}

function Series({ series, tokens }) {
  const [coin, debt, vests] = tokens;
  const last = series.block_num.length - 1;
  if (last < 0) return html`<p class="muted">There are no blocks yet.</p>`;
  const x = series.time.map((time) => milliseconds(time) / 1000);
  const values = (name, token) => series[name].map((units) => Number(units) / 10 ** token.precision);
  const exact = (name, token) => (i) => decimalText(BigInt(series[name][i]), token.precision);
  const perMillion = (i) => (BigInt(series.total_vesting_shares[i])
    ? (BigInt(series.total_vesting_fund_coin[i]) * MILLION * 1000000n) / BigInt(series.total_vesting_shares[i]) : 0n);
  const places = x.map((_, i) => i);
  const where = [{ title: "Time (UTC)", cell: (i) => html`<span class="nowrap">${timeText(series.time[i])}</span>` },
    { title: "Block", isNumber: true, cell: (i) => html`<${BlockLink} number=${series.block_num[i]} />` }];
  const column = (title, cell) => ({ title, isNumber: true, cell });
  const picture = (title, unit, lines, columns, rest = {}) => html`
    <${Card} title=${title}>
      <${Chart} x=${x} sync="supply" unit=${unit} label=${`${title} from ${timeText(series.time[0])} to ${timeText(series.time[last])}`} series=${lines} height=${200}
        rows=${places} columns=${[...where, ...columns]} ...${rest} />
    </${Card}>`;
  return html`
    <p class="muted">From block ${numberText(series.block_num[0])} to ${numberText(series.block_num[last])}, ${series.stride === 1 ? "each of them"
      : `one in ${numberText(series.stride)} of them`}.
      The chain keeps no history of these numbers: this node records them from its start on, and a snapshot
      doesn't contain them.</p>
    <div class="grid">
      ${picture(`${coin.symbol}: supply`, coin.symbol, [
        { label: "Virtual supply", kind: "steps-line", values: values("virtual_supply", coin), colour: "series-2" },
        { label: "Supply", kind: "steps-line", values: values("current_supply", coin), colour: "series-1" },
      ], [column("Supply", exact("current_supply", coin)), column("Virtual supply", exact("virtual_supply", coin))])}
      ${picture(`${debt.symbol}: supply`, debt.symbol,
        [{ label: "Supply", kind: "steps-line", values: values("current_sbd_supply", debt), colour: "series-3" }],
        [column("Supply", exact("current_sbd_supply", debt))])}
      ${picture("Vesting fund", coin.symbol,
        [{ label: "Fund", kind: "steps-line", values: values("total_vesting_fund_coin", coin), colour: "series-1" }],
        [column("Fund", exact("total_vesting_fund_coin", coin))])}
      ${picture(`${vests.symbol}: supply`, vests.symbol,
        [{ label: "Supply", kind: "steps-line", values: values("total_vesting_shares", vests), colour: "series-4" }],
        [column("Supply", exact("total_vesting_shares", vests))])}
      ${picture(`1,000,000 ${vests.symbol}`, coin.symbol,
        [{ label: "Worth", kind: "steps-line", values: places.map((i) => Number(perMillion(i)) / 10 ** coin.precision), colour: "series-2" }],
        [column(`Worth, ${coin.symbol}`, (i) => decimalText(perMillion(i), coin.precision))])}
      ${picture("Accounts", "", [{ label: "Accounts", kind: "steps", values: series.accounts, colour: "series-1" }],
        [column("Accounts", (i) => numberText(series.accounts[i]))], { isWhole: true })}
    </div>
  `;
}

// ------------------------------------------------------------------ tokens of users

const PHASES = [
  ["account_elevated", "made", "Its parameters can be set."],
  ["setup_completed", "set up", "How it is launched is fixed."],
  ["contribution_begin_time_completed", "takes contributions", "Everybody may contribute."],
  ["contribution_end_time_completed", "contributions are over", "The launch comes next."],
  ["launch_success", "launched", "It is there."],
  ["launch_failed", "failed", "It did not reach its soft cap."],
];

function phaseBadge(phase) {
  const [, words] = PHASES.find(([name]) => name === phase) ?? [phase, phase];
  return html`<span class=${`badge ${phase === "launch_success" ? "good" : phase === "launch_failed" ? "bad" : "accent"}`}>${words}</span>`;
}

function OfUsers() {
  const { head } = useChain();
  const tokens = usePlain("database_api.list_smt_tokens", { start: {}, limit: TOKENS_MAX, order: "by_symbol" }, head);
  const pool = usePlain("database_api.get_nai_pool", {}, head);
  const columns = [
    { title: "Token",
      cell: ({ token }) => html`<${Link} class="mono" to=${path.token(token.liquid_symbol.nai)}>${token.liquid_symbol.nai}</${Link}>` },
    { title: "Phase", cell: ({ token }) => phaseBadge(token.phase) },
    { title: "Controlled by", cell: ({ token }) => html`<${Account} name=${token.control_account} />` },
    { title: "Decimals", isNumber: true, cell: ({ token }) => token.liquid_symbol.decimals },
    { title: "Supply", isNumber: true, cell: ({ token }) => unitsText(token.current_supply, token) },
    { title: "At most", isNumber: true,
      cell: ({ token }) => (BigInt(token.max_supply) ? unitsText(token.max_supply, token) : html`<span class="muted">not set</span>`) },
    { title: "Contributed", isNumber: true,
      cell: ({ ico }) => (ico ? html`<${Money} of=${ico.contributed} />` : html`<span class="muted">–</span>`) },
  ];
  return html`
    <${Card} title="Tokens of users" aside="smart media tokens">
      <${Answer} of=${tokens}>${({ tokens: rows }) => html`
        <${Table} caption="Tokens of users" columns=${columns} rows=${rows} nothing="Nobody has made a token." />
        ${rows.length === TOKENS_MAX && html`<p class="muted">These are the first ${TOKENS_MAX}.</p>`}`}</${Answer}>
    </${Card}>
    <${Card} title="Free names" aside="which new tokens may take">
      <${Answer} of=${pool}>${({ nai_pool: free }) => (free.length ? html`<p class="mono">${free.map(({ nai }, i) => `${i ? ", " : ""}${nai}`)}</p>`
        : html`<p class="muted">There are none.</p>`)}</${Answer}>
    </${Card}>
  `;
}

function unitsText(units, token) {
  return decimalText(BigInt(units), token.liquid_symbol.decimals);
}

function Token({ nai }) {
  const { head } = useChain();
  const answer = useAnswer(() => loadToken(nai), `${nai} ${head}`, nai);
  return html`
    <${Page} title=${`Token ${nai}`} aside=${html`<${Link} class="button" to="/tokens?show=users">All tokens</${Link}>`}>
      <${Answer} of=${answer}>${(found) => (found ? html`<${About} ...${found} />` : html`<p>There is no such token.</p>`)}</${Answer}>
    </${Page}>
  `;
}

async function loadToken(nai) {
  if (!/^@@\d{9}$/.test(nai)) return null;
  const { tokens } = await callPlain("database_api.find_smt_tokens", { symbols: [{ nai, decimals: 0 }], ignore_precision: true });
  if (!tokens.length) return null;
  const symbol = tokens[0].token.liquid_symbol;
  const [emissions, contributions] = await Promise.all([
    callPlain("database_api.find_smt_token_emissions", { asset_symbol: symbol }),
    callPlain("database_api.list_smt_contributions", { start: [symbol, 0], limit: CONTRIBUTIONS_MAX + 1, order: "by_symbol_id" }),
  ]);
  const own = contributions.contributions.filter((row) => row.symbol.nai === symbol.nai);
  return { ...tokens[0], emissions: emissions.token_emissions, contributions: own };
}

function About({ token, ico, emissions, contributions }) {
  const units = (number) => `${unitsText(number, token)} ${token.liquid_symbol.nai}`;
  const maker = token.market_maker;
  return html`
    <div class="grid">
      <${Card} title="The token" aside=${phaseBadge(token.phase)}>
        <${Facts} of=${[
          ["Controlled by", html`<${Account} name=${token.control_account} />`],
          ["Decimals", numberText(token.liquid_symbol.decimals)],
          ["Supply", html`<b>${units(token.current_supply)}</b>`],
          ["At most", BigInt(token.max_supply) ? units(token.max_supply) : "not set"],
          ["Vesting fund", units(token.total_vesting_fund_smt)],
          ["Vesting shares", numberText(token.total_vesting_shares)],
          ["Market maker", html`<${Money}
            of=${maker.coin_balance} /> and ${unitsText(maker.token_balance.amount, token)}, reserve ${percentText(maker.reserve_ratio)}`],
        ]} />
      </${Card}>
      <${Phases} token=${token} ico=${ico} />
      ${ico && html`<${Offering} token=${token} ico=${ico} />`}
      <${Card} title="Posts that earn it">
        <${Facts} of=${[
          ["Votes", token.allow_voting ? "on" : "off"],
          ["Downvotes", token.allow_downvotes ? "on" : "off"],
          ["Paid after", durationText(token.cashout_window_seconds)],
          ["Reverse auction", durationText(token.reverse_auction_window_seconds)],
          ["Mana regenerates in", durationText(token.vote_regeneration_period_seconds)],
          ["Votes in that time", numberText(token.votes_per_regeneration_period)],
          ["To curators", percentText(token.percent_curation_rewards)],
          ["Curves", `${words(token.author_reward_curve)} for authors, ${words(token.curation_reward_curve)} for curators`],
        ]} />
      </${Card}>
    </div>
    <${Contributions} rows=${contributions} />
    <${Emissions} rows=${emissions} token=${token} />
  `;
}

function words(name) {
  return String(name).replaceAll("_", " ");
}

function Phases({ token, ico }) {
  const isFailed = token.phase === "launch_failed";
  const steps = PHASES.filter(([name]) => name !== (isFailed ? "launch_success" : "launch_failed"));
  const at = steps.findIndex(([name]) => name === token.phase);
  const times = [null, null, ico?.contribution_begin_time, ico?.contribution_end_time, ico?.launch_time];
  const isLate = ico && at === 1 && milliseconds(ico.contribution_begin_time) < now();
  return html`
    <${Card} title="Phases">
      <ol class="steps">
        ${steps.map(([, name, about], i) => html`
          <li class=${i === at ? "now" : i < at ? "past" : ""} aria-current=${i === at ? "step" : null}>
            <b>${name}</b> ${i === at && html`<span class="badge accent">now</span>`}
            <div class="small muted">${about} ${times[i] && !isNever(times[i]) && html`<${Time} at=${times[i]} />`}</div>
          </li>`)}
      </ol>
      ${isLate && html`<p class="note">Its time for contributions has come. In this release of the rules no block moves a token on
        from here: no contribution is taken, and nothing is launched.</p>`}
    </${Card}>
  `;
}

function Offering({ token, ico }) {
  const { overview } = useChain();
  const coin = overview.tokens[0];
  const contributed = amount(ico.contributed).units;
  const hard = BigInt(ico.coin_units_hard_cap);
  const caps = (number) => (BigInt(number) < 0n ? "not set" : `${decimalText(BigInt(number), coin.precision)} ${coin.symbol}`);
  const share = hard > 0n ? Number((contributed * 10000n) / hard) / 10000 : 0;
  const policy = ico.capped_generation_policy?.value ?? ico.capped_generation_policy;
  const part = (title, of) => [
    [`${title}: ${coin.symbol} to`, of?.coin_unit.length ? weights(of.coin_unit) : null],
    [`${title}: tokens to`, of?.token_unit.length ? weights(of.token_unit) : null],
  ];
  return html`
    <${Card} title="The offering" aside=${`of ${token.liquid_symbol.nai}`}>
      <${Facts} of=${[
        ["Contributed", html`<b><${Money} of=${ico.contributed} /></b><${Bar} share=${share} label=${`${Math.round(share * 100)} % of the hard cap`} />`],
        ["Soft cap", caps(ico.coin_units_soft_cap)],
        ["Hard cap", caps(ico.coin_units_hard_cap)],
        ["Contributions", html`${timeText(ico.contribution_begin_time)} to ${timeText(ico.contribution_end_time)} UTC`],
        ["Launch", html`<${Time} at=${ico.launch_time} />`],
        ...(policy
          ? [
              ...part(policy.soft_cap_percent < 10000 ? "Below the soft cap" : "A unit", policy.pre_soft_cap_unit),
              ...part("Above it", policy.post_soft_cap_unit),
              ["Tokens for a unit", `${numberText(policy.min_unit_ratio)} to ${numberText(policy.max_unit_ratio)}`],
            ]
          : []),
      ]} />
    </${Card}>
  `;
}

const TARGETS = {
  $from: "the contributor",
  "$from.vesting": "the contributor's vesting",
  $rewards: "the rewards",
  $vesting: "the vesting fund",
  $market_maker: "the market maker",
};

// Receivers with their weights.
function weights(map) {
  const target = (name) => (name.startsWith("$") ? (TARGETS[name] ?? name) : html`<${Account} name=${name} />`);
  return map.map(([name, weight], i) => html`${i ? ", " : ""}${target(name)} ${numberText(weight)}`);
}

function Contributions({ rows }) {
  const columns = [
    { title: "Account", cell: ({ contributor }) => html`<${Account} name=${contributor} />` },
    { title: "Contribution id", isNumber: true, cell: ({ contribution_id: id }) => numberText(id) },
    { title: "Contribution", isNumber: true, cell: ({ contribution }) => html`<${Money} of=${contribution} />` },
  ];
  return html`
    <${Card} title="Contributions" aside=${rows.length > CONTRIBUTIONS_MAX ? `the first ${CONTRIBUTIONS_MAX}` : "oldest first"}>
      <${Table} caption="Contributions" columns=${columns} rows=${rows.slice(0, CONTRIBUTIONS_MAX)} nothing="Nobody has contributed." />
    </${Card}>
  `;
}

function Emissions({ rows, token }) {
  const endless = 4294967295;
  const columns = [
    { title: "From", cell: ({ schedule_time: time }) => html`<${Time} at=${time} />` },
    { title: "Every", cell: (row) => durationText(row.interval_seconds) },
    { title: "Times", isNumber: true, cell: ({ interval_count: count }) => (count === endless ? "without end" : numberText(count)) },
    { title: "Goes to", cell: (row) => html`<div class="wide">${weights(row.emissions_unit?.token_unit ?? row.token_unit ?? [])}</div>` },
    { title: "Amount", isNumber: true, cell: (row) => span(row.lep_abs_amount, row.rep_abs_amount, (value) => unitsText(value?.amount ?? value, token)) },
    { title: "Or of the supply", isNumber: true,
      cell: (row) => span(row.lep_rel_amount_numerator, row.rep_rel_amount_numerator,
        (value) => (value ? `${roughText((100 * value) / 2 ** row.rel_amount_denom_bits)} %` : "–")) },
  ];
  return html`
    <${Card} title="Emissions" aside="what is to be made after the launch">
      <${Table} caption="Emissions" columns=${columns} rows=${rows} nothing="None are planned." />
      ${rows.length > 0 && html`<p class="muted small">Where two values stand, it goes from the first to the second in the course of time.
        In this release of the rules nothing is paid from it yet.</p>`}
    </${Card}>
  `;
}

function span(first, last, text) {
  return text(first) === text(last) ? text(first) : `${text(first)} → ${text(last)}`;
}
