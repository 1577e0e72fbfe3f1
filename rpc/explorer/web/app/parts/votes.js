// The votes on a post: who gave how much, in three orders, a hundred at a time.
import { decimalText, numberText, percentText, units } from "../format.js";
import { html, useMemo, useState } from "../html.js";
import { Card, Chips, Table } from "./layout.js";
import { Account } from "./names.js";
import { symbols } from "./payout.js";
import { Time } from "./values.js";

const PART = 100;
const ORDERS = [["rshares", "by rshares"], ["time", "by time"], ["voter", "by name"]];

export function Votes({ post, isPaid }) {
  const [order, setOrder] = useState("rshares");
  const [page, setPage] = useState(0);
  const votes = post.active_votes;
  const choose = (value) => {
    setOrder(value);
    setPage(0);
  };
  const sorted = useMemo(() => inOrder(votes, order), [votes, order]);
  const sum = votes.reduce((total, { rshares }) => total + BigInt(rshares), 0n);
  const weights = votes.reduce((total, { weight }) => total + BigInt(weight), 0n);
  const isCurated = weights > 0n && post.allow_curation_rewards;
  const worth = isPaid ? units(post.total_payout_value) + units(post.curator_payout_value) : units(post.pending_payout_value);
  const last = Math.max(0, Math.ceil(votes.length / PART) - 1);
  const shown = Math.min(page, last);
  return html`
    <${Card} title="Votes" aside=${`${countText(votes, post.net_votes)}, ${decimalText(sum, 0)} rshares in all`}>
      ${votes.length > 1 && html`<div class="filters"><${Chips} label="Order" options=${ORDERS} chosen=${order} onChoose=${choose} /></div>`}
      <${Table} caption="Votes" rows=${sorted.slice(shown * PART, (shown + 1) * PART)} nothing="Nobody has voted yet." isStacked columns=${[
        { title: "Voter", cell: ({ voter }) => html`<${Account} name=${voter} />` },
        { title: "Weight", isNumber: true, cell: ({ percent }) => percentText(percent).replace("-", "−") },
        { title: "Rshares", isNumber: true, cell: ({ rshares }) => decimalText(BigInt(rshares), 0) },
        { title: "Share of the payout", isNumber: true, cell: ({ rshares }) => (sum > 0n ? shareText(BigInt(rshares), sum) : "") },
        { title: `Worth, in ${symbols().sbd}`, isNumber: true, cell: ({ rshares }) => (sum > 0n ? decimalText((worth * BigInt(rshares)) / sum, 3) : "") },
        { title: "Of what curators get", isNumber: true, cell: ({ weight }) => (isCurated ? shareText(BigInt(weight), weights) : "") },
        { title: "Time", cell: ({ time }) => html`<${Time} at=${time} isShort />` },
      ]} />
      ${last > 0 && html`
        <div class="filters">
          <button type="button" disabled=${shown === 0} onClick=${() => setPage(shown - 1)}>← before</button>
          <span>${numberText(shown * PART + 1)} to ${numberText(Math.min(votes.length, (shown + 1) * PART))} of ${numberText(votes.length)}</span>
          <button type="button" disabled=${shown === last} onClick=${() => setPage(shown + 1)}>after →</button>
        </div>`}
    </${Card}>
  `;
}

// "9 votes: 6 for, 2 against, 1 withdrawn (net 4)".
function countText(votes, net) {
  const [for_, against] = [votes.filter(({ percent }) => percent > 0).length, votes.filter(({ percent }) => percent < 0).length];
  const kinds = [[for_, "for"], [against, "against"], [votes.length - for_ - against, "withdrawn"]].filter(([count]) => count);
  const all = `${numberText(votes.length)} vote${votes.length === 1 ? "" : "s"}`;
  if (net === votes.length) return all;
  return `${all}: ${kinds.map(([count, words]) => `${numberText(count)} ${words}`).join(", ")} (net ${numberText(net).replace("-", "−")})`;
}

// "12.34 %" of a share of whole numbers.
function shareText(value, whole) {
  return `${decimalText((value * 10_000n) / whole, 2)} %`;
}

function inOrder(votes, order) {
  const size = ({ rshares }) => (rshares < 0 ? -BigInt(rshares) : BigInt(rshares));
  const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  const byName = (a, b) => compare(a.voter, b.voter);
  if (order === "voter") return [...votes].sort(byName);
  if (order === "time") return [...votes].sort((a, b) => compare(a.time, b.time) || byName(a, b));
  return votes
    .map((vote) => [size(vote), vote])
    .sort(([a, one], [b, other]) => compare(b, a) || byName(one, other))
    .map(([, vote]) => vote);
}
