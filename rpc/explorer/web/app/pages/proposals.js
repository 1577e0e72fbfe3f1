// What the treasury pays for: its balance and its budget, the proposals in the order in which they are paid, and one proposal with its voters.
import { callPlain, constant, loadConstants } from "../brand.js";
import { chain, milliseconds, now, useChain } from "../chain.js";
import { amount, amountText, approximate, decimalText, durationText, numberText, timeText } from "../format.js";
import { html } from "../html.js";
import { roughText } from "../parts/chart.js";
import { OnlyHere } from "../parts/fork.js";
import { Answer, Card, Chips, Facts, Page, Table } from "../parts/layout.js";
import { Account, PostName } from "../parts/names.js";
import { Bar, Money, Time } from "../parts/values.js";
import { Link, path, setQuery } from "../router.js";
import { useAnswer } from "../rpc.js";

const PROPOSALS_MAX = 500;
const VOTERS_ONCE = 100;
// The treasury spends one part in so many a day.
const DAILY_PART = 100n;
const STATUSES = [["", "all"], ["active", "active"], ["inactive", "not begun"], ["expired", "ended"]];
const STATUS_WORDS = {
  active: html`<span class="badge good">active</span>`,
  inactive: html`<span class="badge">not begun</span>`,
  expired: html`<span class="badge warn">ended</span>`,
};

export default function Proposals({ id, query }) {
  const { head } = useChain();
  const answer = useAnswer(load, String(head), "proposals");
  if (id) return html`<${One} id=${id} answer=${answer} after=${query.get("after") ?? ""} />`;
  return html`
    <${Page} title="Proposals">
      <${OnlyHere} />
      <${Answer} of=${answer}>${(found) => html`
        <${Treasury} ...${found} />
        <${Listed} ...${found} status=${query.get("status") ?? ""} />`}</${Answer}>
    </${Page}>
  `;
}

async function load() {
  const [{ proposals }, props, config] = await Promise.all([
    callPlain("database_api.list_proposals", { start: [], limit: PROPOSALS_MAX, order: "by_total_votes", order_direction: "descending", status: "all" }),
    callPlain("database_api.get_dynamic_global_properties"),
    loadConstants(),
  ]);
  const name = constant(config, "_TREASURY_ACCOUNT");
  const [treasury] = name ? (await callPlain("database_api.find_accounts", { accounts: [name] })).accounts : [];
  const balance = amount(treasury?.sbd_balance ?? { amount: "0", precision: 3, nai: chain.overview.tokens[1].nai });
  return { proposals: withPay(proposals, name, balance.units / DAILY_PART), props, treasury, name, balance };
}

// Works out what each proposal gets in a day, as the chain pays them: those with the most votes first, until the budget is used up; the last
// one gets the rest. A return proposal is one that pays to the treasury itself, so that those below it get nothing, or less.
function withPay(proposals, treasury, budget) {
  const order = [...proposals].sort((a, b) => Number(BigInt(b.total_votes) - BigInt(a.total_votes) || BigInt(a.proposal_id) - BigInt(b.proposal_id)));
  let left = budget;
  let isBelow = false;
  return order.map((proposal) => {
    const isPaid = proposal.status === "active" && BigInt(proposal.total_votes) > 0n;
    const daily = amount(proposal.daily_pay).units;
    const pay = isPaid ? (daily < left ? daily : left) : 0n;
    left -= pay;
    const isReturn = proposal.receiver === treasury;
    const found = { ...proposal, pay, isReturn, isBelow };
    isBelow ||= isReturn && proposal.status === "active";
    return found;
  });
}

// ------------------------------------------------------------------ the treasury

function Treasury({ proposals, props, treasury, name, balance }) {
  const { overview } = useChain();
  const debt = overview.tokens[1];
  const money = (units) => `${decimalText(units, balance.precision)} ${debt.symbol}`;
  const others = proposals.filter(({ isReturn }) => !isReturn);
  const paid = sum(others.map(({ pay }) => pay));
  const returned = sum(proposals.filter(({ isReturn }) => isReturn).map(({ pay }) => pay));
  const asked = sum(others.filter(({ status }) => status === "active").map(({ daily_pay }) => amount(daily_pay).units));
  const budget = balance.units / DAILY_PART;
  const share = budget ? Number((paid * 10000n) / budget) / 10000 : 0;
  if (!treasury) return html`<${Card} title="Treasury"><p class="muted">This chain has no treasury yet.</p></${Card}>`;
  return html`
    <${Card} title="Treasury">
      <${Facts} of=${[
        ["Account", html`<${Account} name=${name} />`],
        ["Balance", html`<b>${money(balance.units)}</b>${amount(treasury.balance).units ? html` and <${Money} of=${treasury.balance} />` : ""}`],
        ["Budget of a day", `${money(budget)}, a hundredth of the balance`],
        ["Asked for a day", `${money(asked)} by active proposals${returned ? ", without those that pay back" : ""}`],
        ["Paid in a day", html`${money(paid)}${returned ? html`, and ${money(returned)} go back to the treasury`
          : ""}<${Bar} share=${share} label=${`${Math.round(share * 100)} % of the budget`} />`],
        ["Next payment", html`<${Time} at=${props.next_maintenance_time} />`],
        ["Income since the last", html`<${Money} of=${props.sps_interval_ledger} />`],
      ]} />
    </${Card}>
  `;
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0n);
}

// ------------------------------------------------------------------ the list

function Listed({ proposals, props, balance, status }) {
  const rows = proposals.filter((proposal) => !status || proposal.status === status);
  const goal = returnOf(proposals);
  const most = proposals.length ? BigInt(proposals[0].total_votes) : 0n;
  const columns = [
    { title: "Proposal", cell: (row) => html`
      <div class="wide"><${Link} to=${path.proposal(row.proposal_id)}>${row.subject || "(no subject)"}</${Link}> ${row.isReturn
        && html`<span class="badge accent">pays back</span>`}</div>
      <div class="small muted">number ${row.proposal_id}, by <${Account} name=${row.creator} />${row.receiver !== row.creator
        ? html` for <${Account} name=${row.receiver} />` : ""}</div>` },
    { title: "Votes", cell: (row) => html`<${Votes} row=${row} most=${most} goal=${goal} props=${props} />` },
    { title: "Asks a day", isNumber: true, cell: ({ daily_pay }) => amountText(daily_pay) },
    { title: "Gets a day", isNumber: true, cell: (row) => html`<${Pay} row=${row} balance=${balance} />` },
    { title: "Status", cell: (row) => html`${STATUS_WORDS[row.status]}<div class="small muted nowrap">${spanText(row)}</div>` },
  ];
  return html`
    <${Card} title="All proposals" aside="most votes first, which is the order of payment">
      <div class="filters"><${Chips} label="Status" chosen=${status} options=${STATUSES} onChoose=${(value) => setQuery({ status: value })} /></div>
      ${goal && html`<p class="muted small">The line in the bars is proposal ${goal.proposal_id}, which pays back to the treasury:
        those with fewer votes get what it leaves of the budget.</p>`}
      <${Table} caption="Proposals, most votes first" columns=${columns} rows=${rows} nothing="There is no such proposal." />
      ${proposals.length === PROPOSALS_MAX && html`<p class="muted">These are the first ${PROPOSALS_MAX}.</p>`}
      <p class="muted small">Votes are counted when proposals are paid, once an hour.</p>
    </${Card}>
  `;
}

// The active proposal with the most votes that pays back, or undefined.
function returnOf(proposals) {
  return proposals.find(({ isReturn, status }) => isReturn && status === "active");
}

function Votes({ row, most, goal, props }) {
  const units = BigInt(row.total_votes);
  const part = (votes) => (most > 0n ? Number((BigInt(votes) * 10000n) / most) / 10000 : 0);
  const words = `${vestsText(units, props)}, worth ${coinText(units, props)}`;
  const rest = goal && goal !== row && row.status === "active" ? units - BigInt(goal.total_votes) : null;
  return html`
    <div class="nowrap" title=${decimalText(units, amount(props.total_vesting_shares).precision)}>${vestsText(units, props)}</div>
    <div class="goal">
      <${Bar} share=${part(units)} label=${words} />
      ${goal && html`<span class="goal-line" style=${{ left: `${100 * part(goal.total_votes)}%` }}></span>`}
    </div>
    <div class="small muted nowrap">${coinText(units, props)}</div>
    ${rest !== null && html`<div class="small muted">${vestsText(rest < 0n ? -rest : rest, props)} ${rest < 0n ? "below" : "above"} the return</div>`}
  `;
}

function vestsText(units, props) {
  const { precision, symbol } = amount(props.total_vesting_shares);
  return `${roughText(approximate({ amount: units, precision, nai: "" }))} ${symbol}`;
}

function coinText(units, props) {
  const shares = amount(props.total_vesting_shares);
  const fund = amount(props.total_vesting_fund_coin);
  return `${decimalText(shares.units ? (units * fund.units) / shares.units : 0n, fund.precision)} ${fund.symbol}`;
}

function Pay({ row, balance }) {
  const text = `${decimalText(row.pay, balance.precision)} ${balance.symbol}`;
  const asked = amount(row.daily_pay).units;
  if (row.status !== "active") return html`<span class="muted">–</span>`;
  if (!row.pay) return html`<span class="badge bad">${row.isBelow ? "nothing: below the return" : BigInt(row.total_votes) ? "nothing is left"
    : "no votes"}</span>`;
  return html`${text}${row.pay < asked && html` <div><span class="badge warn">${row.isReturn ? "all the rest" : "a part"}</span></div>`}`;
}

function spanText({ start_date: start, end_date: end, status }) {
  const left = (time) => durationText(Math.abs(milliseconds(time) - now()) / 1000);
  if (status === "inactive") return `begins in ${left(start)}`;
  return status === "expired" ? `ended ${left(end)} ago` : `${left(end)} left`;
}

// ------------------------------------------------------------------ one proposal

function One({ id, answer, after }) {
  const { head } = useChain();
  const number = /^\d{1,19}$/.test(id) ? id : null;
  const voters = useAnswer(() => (number === null ? null : loadVoters(number, after)), `${head} ${after}`, after);
  const found = answer.result?.proposals.find(({ proposal_id }) => String(proposal_id) === number);
  return html`
    <${Page} title=${`Proposal ${id}`} heading=${found ? found.subject || `Proposal ${id}` : `Proposal ${id}`}
      aside=${html`<${Link} class="button" to="/proposals">All proposals</${Link}>`}>
      <${Answer} of=${answer}>${(all) => (found ? html`<${About} row=${found} ...${all} />`
        : html`<p>There is no such proposal. One that has ended is removed after a day.</p>`)}</${Answer}>
      ${found && html`
        <${Card} title="Voters" aside="by name">
          ${BigInt(found.total_votes) ? ""
            : html`<p class="muted small">Votes are counted when proposals are paid, once an hour: none was counted yet.
              Shares are of the weights that these voters have now.</p>`}
          <${Answer} of=${voters}>${(rows) => html`<${Voters} rows=${rows} id=${id} after=${after} props=${answer.result.props}
            total=${found.total_votes} />`}</${Answer}>
        </${Card}>`}
    </${Page}>
  `;
}

function About({ row, proposals, props, balance }) {
  const goal = returnOf(proposals);
  const most = proposals.length ? BigInt(proposals[0].total_votes) : 0n;
  const place = proposals.filter(({ status }) => status === "active").indexOf(row) + 1;
  const days = (milliseconds(row.end_date) - milliseconds(row.start_date)) / 86400000;
  const { units, precision, symbol } = amount(row.daily_pay);
  return html`
    <${Card} title="The proposal" aside=${STATUS_WORDS[row.status]}>
      <${Facts} of=${[
        ["By", html`<${Account} name=${row.creator} />`],
        ["Paid to", html`<${Account} name=${row.receiver} /> ${row.isReturn && html`<span class="badge accent">the treasury itself: pays back</span>`}`],
        ["Explained in", html`<${PostName} author=${row.creator} permlink=${row.permlink} />`],
        ["From", html`<${Time} at=${row.start_date} />`],
        ["To", html`<${Time} at=${row.end_date} />`],
        ["Asks for", html`<b>${amountText(row.daily_pay)}</b> a day, ${decimalText((units * BigInt(Math.round(days * 10000))) / 10000n,
          precision)} ${symbol} in ${numberText(Math.round(days * 10) / 10)} days`],
        ["Gets a day", html`<${Pay} row=${row} balance=${balance} />`],
        ["Place", place ? `${numberText(place)} of the active ones` : null],
        ["Votes", html`<${Votes} row=${row} most=${most} goal=${goal} props=${props} />`],
        ["Counted", `${timeText(props.last_budget_time)} UTC, when proposals were paid`],
      ]} />
    </${Card}>
  `;
}

// The voters of a proposal with the weight that each has now.
async function loadVoters(id, after) {
  const { proposal_votes: votes } = await callPlain("database_api.list_proposal_votes", {
    start: [id, after], limit: VOTERS_ONCE + 1, order: "by_proposal_voter", order_direction: "ascending", status: "all",
  });
  const names = votes.filter(({ proposal }) => String(proposal.proposal_id) === id).map(({ voter }) => voter);
  const { accounts } = names.length ? await callPlain("database_api.find_accounts", { accounts: names }) : { accounts: [] };
  return accounts.map((account) => ({
    name: account.name,
    proxy: account.proxy,
    weight: account.proxy ? 0n : amount(account.vesting_shares).units + sum(account.proxied_vsf_votes.map(BigInt)),
  }));
}

function Voters({ rows, id, after, props, total }) {
  const shown = rows.slice(0, VOTERS_ONCE);
  const next = rows[VOTERS_ONCE]?.name;
  const all = BigInt(total) || sum(shown.map(({ weight }) => weight));
  const share = (weight) => (all ? Number((weight * 10000n) / all) / 10000 : 0);
  const columns = [
    { title: "Voter", cell: ({ name }) => html`<${Account} name=${name} />` },
    { title: "Weight now", isNumber: true,
      cell: ({ weight, proxy }) => (proxy ? html`<span class="muted">votes through <${Account} name=${proxy} /></span>` : vestsText(weight, props)) },
    { title: "Worth", isNumber: true, cell: ({ weight }) => coinText(weight, props) },
    { title: "Share of the votes", cell: ({ weight }) => {
      const words = `${Math.round(share(weight) * 1000) / 10} %`;
      return html`<div class="goal">${words}<${Bar} share=${share(weight)} label=${words} /></div>`;
    } },
  ];
  return html`
    <${Table} caption="Voters of the proposal" columns=${columns} rows=${shown} nothing="Nobody has voted for it." />
    <p>${after && html`<${Link} class="button" to=${path.proposal(id)}>The first ones</${Link}>`} ${next
      && html`<${Link} class="button" to=${`${path.proposal(id)}?after=${encodeURIComponent(next)}`}>More</${Link}>`}</p>
  `;
}
