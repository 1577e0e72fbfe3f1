// The scheduled events of the chain by time. On a chain made for tests, a click advances its time to just before one.
import { chain, milliseconds, now, refresh, useChain } from "../chain.js";
import { durationText, timeText } from "../format.js";
import { html, useState, useStyle } from "../html.js";
import { OnlyHere } from "../parts/fork.js";
import { Answer, Card, Chips, Page, Problem } from "../parts/layout.js";
import { Account, PostName } from "../parts/names.js";
import { Ticking, Time } from "../parts/values.js";
import { Link, path, setQuery } from "../router.js";
import { call, useCall } from "../rpc.js";

const SHOWN_MAX = 200;
const DAY_MILLISECONDS = 86_400_000;

const proposal = (of) => html`<${Link} to=${path.proposal(of.id)}>proposal ${of.id}</${Link}>`;

// What each kind of thing says, and the words of its filter.
export const KINDS = {
  payout: ["payouts", (of) => html`<${PostName} author=${of.account} permlink=${of.permlink} /> is paid out: <b>${of.amount}</b>`],
  conversion: ["conversions", (of) => html`<${Account} name=${of.account} /> gets ${chain.overview.tokens[0].symbol} for${" "}
    <b>${of.amount}</b> (request ${of.id})`],
  power_down: ["power-downs", (of) => html`<${Account} name=${of.account} /> powers down the next <b>${of.amount}</b>`],
  savings: ["savings", (of) => html`<b>${of.amount}</b> of the savings of <${Account} name=${of.account} /> arrive at${" "}
    <${Account} name=${of.other} /> (request ${of.id})`],
  escrow_ratification: ["escrows", (of) => html`Escrow ${of.id} of <${Account} name=${of.account} /> for${" "}
    <${Account} name=${of.other} /> goes back unless all approve it: <b>${of.amount}</b>`],
  order_expiration: ["orders", (of) => html`Order ${of.id} of <${Account} name=${of.account} /> expires, with <b>${of.amount}</b> left`],
  delegation_return: ["delegations", (of) => html`<b>${of.amount}</b> come back to <${Account} name=${of.account} /> from a delegation`],
  proposal_start: ["proposals", (of) => html`The ${proposal(of)} of <${Account} name=${of.account} /> begins:${" "}
    <b>${of.amount}</b> a day for <${Account} name=${of.other} />`],
  proposal_removal: ["ends of proposals", (of) => html`The ${proposal(of)} of${" "}
    <${Account} name=${of.account} /> is removed, a day after its end`],
  recovery_expiration: ["recoveries", (of) => html`The request to recover <${Account} name=${of.account} /> expires`],
  recovery_account_change: ["recovery accounts", (of) => html`<${Account} name=${of.other} /> becomes the recovery account of${" "}
    <${Account} name=${of.account} />`],
  voting_declined: ["declined votes", (of) => html`<${Account} name=${of.account} /> loses the right to vote`],
  maintenance: ["maintenance", () => "The treasury pays the proposals"],
  median_price: ["price", () => "The median price is taken, if no slot is missed until then and enough witnesses of the round have published a price"],
};

export default function Due({ query }) {
  const { head, isLocal } = useChain();
  const kind = query.get("kind") ?? "";
  const account = query.get("account") ?? "";
  const [outcome, setOutcome] = useState(null);
  const [error, setError] = useState(null);
  useStyle("due");
  const answer = useCall("explorer_api.list_due", { limit: SHOWN_MAX, account, ...(kind && { kinds: [kind] }) }, head);
  const advance = async (time) => {
    setError(null);
    setOutcome(null);
    try {
      const seconds = Math.floor((milliseconds(time) - now() - margin()) / 1000);
      const result = await call("dev_api.advance_time", { seconds });
      await refresh();
      setOutcome(`The chain's time is ${timeText(result.time)} now; the head is block ${result.head_block_number}.`);
    } catch (problem) {
      setError(problem);
    }
  };
  return html`
    <${Page} title="Due" heading="What is due">
      <${OnlyHere} />
      <div class="filters">
        <${Chips} label="Kind" chosen=${kind} onChoose=${(value) => setQuery({ kind: value })}
          options=${[["", "all"], ...Object.entries(KINDS).map(([name, [words]]) => [name, words])]} />
        <label>Account <input size="14" placeholder="any" value=${account}
          onChange=${(event) => setQuery({ account: event.target.value.trim().replace(/^@/, "") })} /></label>
      </div>
      ${account && html`<p class="muted small">Escrows are found for their sender only, not for the receiver and the agent.</p>`}
      <div role="status">${outcome && html`<p class="note good">${outcome}</p>`}${error && html`<${Problem} error=${error} />`}</div>
      <${Answer} of=${answer} nothing="Nothing of this kind is due.">
        ${(found) => html`
          ${days(found).map(([day, entries]) => html`
            <${Card} key=${day} title=${day} aside=${dayWords(day)}>
              <ol class="list timeline">
                ${entries.map((entry) => html`<${Entry} key=${JSON.stringify(entry)} of=${entry} onAdvance=${isLocal ? advance : null} />`)}
              </ol>
            </${Card}>`)}
          ${found.length === SHOWN_MAX && html`<p class="muted">These are the first ${SHOWN_MAX}.</p>`}
        `}
      </${Answer}>
    </${Page}>
  `;
}

function Entry({ of, onAdvance }) {
  const say = KINDS[of.kind]?.[1];
  return html`
    <li>
      <div class="row">
        <div><span class="mono">${timeText(of.time).slice(11)}</span> ${say ? say(of) : of.kind}</div>
        <div class="end">
          <${Time} at=${of.time} isShort />
          ${onAdvance && html` <${Ticking}>${() => milliseconds(of.time) - now() > margin() + 1000
            && html`<button type="button" onClick=${() => onAdvance(of.time)}>Advance to just before</button>`}</${Ticking}>`}
        </div>
      </div>
    </li>
  `;
}

// How long before an event the time is advanced to, in milliseconds. The block at the new time can be up to a round later, since it gets the
// next slot of a witness whose key the node has.
function margin() {
  return 1000 * chain.overview.block_interval * Math.max(1, chain.info?.witnesses ?? 1);
}

function days(entries) {
  const found = new Map();
  for (const entry of entries) {
    const day = entry.time.slice(0, 10);
    if (!found.has(day)) found.set(day, []);
    found.get(day).push(entry);
  }
  return [...found];
}

function dayWords(day) {
  const distance = milliseconds(`${day}T00:00:00`) - now();
  if (distance <= 0 && distance > -DAY_MILLISECONDS) return "today, by the chain's time";
  return distance > 0 ? `begins in ${durationText(distance / 1000)}` : "overdue";
}
