// What is due for an account and when, as one list of times.
import { amountText, isNever } from "../../format.js";
import { html } from "../../html.js";
import { Link, path } from "../../router.js";
import { Card, Table } from "../layout.js";
import { Account } from "../names.js";
import { Time } from "../values.js";
import { VESTS, asset, nextPayment, nowSeconds, secondsOf } from "./values.js";

// The list, soonest first, as {at, kind, what}. All of it comes from the account and from what waits.
export function dueOf(account, waiting) {
  const name = account.name;
  const { orders, escrows, leaving, arriving, conversions, returning, recoveries, changes, declines, proposals, payouts } = waiting;
  const found = [
    !isNever(account.next_vesting_withdrawal) &&
      due(account.next_vesting_withdrawal, "power-down", `${amountText(asset(nextPayment(account), VESTS))} are paid out`),
    ...leaving.map(({ complete, amount, to, request_id }) =>
      due(complete, "savings", html`${amountText(amount)} arrive at <${Account} name=${to} /> (request ${request_id})`)),
    ...arriving
      .filter(({ from }) => from !== name)
      .map(({ complete, amount, from }) => due(complete, "savings", html`${amountText(amount)} arrive from <${Account} name=${from} />`)),
    ...conversions.map(({ conversion_date, amount, requestid }) =>
      due(conversion_date, "conversion", `${amountText(amount)} are converted (request ${requestid})`)),
    ...orders.map(({ expiration, orderid, for_sale, sell_price }) =>
      due(expiration, "order", `Order ${orderid} for ${amountText({ ...sell_price.base, amount: String(for_sale) })} ends`)),
    ...escrows.flatMap(escrowDue),
    ...returning.map(({ expiration, vesting_shares }) => due(expiration, "delegation", `${amountText(vesting_shares)} come back`)),
    ...recoveries.map(({ expires }) => due(expires, "recovery", "The request to recover the account ends")),
    ...changes.map(({ effective_on, recovery_account }) =>
      due(effective_on, "recovery", html`<${Account} name=${recovery_account} /> becomes the recovery account`)),
    ...declines.map(({ effective_date }) => due(effective_date, "votes", "The right to vote is given up for good")),
    ...proposals.flatMap(({ start_date, end_date, subject, proposal_id }) => [
      due(start_date, "proposal", html`<${Link} to=${path.proposal(proposal_id)}>${subject}</${Link}> begins`),
      due(end_date, "proposal", html`<${Link} to=${path.proposal(proposal_id)}>${subject}</${Link}> ends`),
    ]),
    ...(payouts ?? []).map(({ payout_at, author, permlink, title, pending_payout_value: payout }) =>
      due(payout_at, "payout", html`<${Link} to=${path.post(author, permlink)}>${title || `${author}/${permlink}`}</${Link}>: ${amountText(payout)} so far`)),
  ];
  return found.filter((one) => one && secondsOf(one.at) >= nowSeconds() - 60).sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
}

function due(at, kind, what) {
  return { at, kind, what };
}

function escrowDue({ escrow_id, to, agent, ratification_deadline, escrow_expiration, to_approved, agent_approved, disputed }) {
  const parties = html`escrow ${escrow_id} for <${Account} name=${to} />, with <${Account} name=${agent} />`;
  if (!to_approved || !agent_approved) return [due(ratification_deadline, "escrow", html`Last moment to agree to ${parties}`)];
  return disputed ? [] : [due(escrow_expiration, "escrow", html`After this each side can release ${parties}`)];
}

export function Due({ rows, isPartial }) {
  return html`
    <${Card} title="What is due when">
      <${Table} caption="What is due for this account, soonest first" rows=${rows} nothing="Nothing is." columns=${[
        { title: "When", cell: ({ at }) => html`<${Time} at=${at} />` },
        { title: "What", cell: ({ kind, what }) => html`<span class="badge">${kind}</span> <span class="break">${what}</span>` },
      ]} />
      ${isPartial && html`<p class="muted small">Payouts of posts are not in it: this node runs without <code>--enable communities</code>.</p>`}
    </${Card}>
  `;
}
