// What a post earns: the pending payout with the arithmetic behind it, or what was paid to whom.
import { chain, findBlock } from "../chain.js";
import { amountText, branded, decimalText, numberText, percentText, units } from "../format.js";
import { html, useState } from "../html.js";
import { call, useAnswer } from "../rpc.js";
import { Answer, Card, Facts, Table } from "./layout.js";
import { Account } from "./names.js";
import { FORMULAS, payoutNow, shownPending, symbols } from "./payout.js";
import { BlockLink, Money } from "./values.js";

const ROWS_SHOWN = 100;

// The pending payout: what nodes show, and what the chain would pay if it did so now.
export function Pending({ post, fund, price, props }) {
  const title = "Pending payout";
  const aside = html`<b>${amountText(post.pending_payout_value)}</b>`;
  if (!fund) {
    return html`<${Card} title=${title} aside=${aside}><p class="muted">Before hardfork 17 there is no fund of posts to explain it by.</p></${Card}>`;
  }
  const shown = shownPending({ post, fund, price });
  const paid = payoutNow({ post, fund, price, props });
  return html`
    <${Card} title=${title} aside=${aside}>
      <${Steps} caption="What nodes show as the pending payout" rows=${stepsOfPending(shown, fund, price)} />
      <${Compared} post=${post} shown=${shown} />
      <h3>If it was paid now</h3>
      <p class="muted small">
        The chain counts the claim itself among the claims, and divides as below. The fund grows, claims fade, and votes come until the payout.
      </p>
      <${Steps} caption="What the chain would pay now" rows=${stepsOfPayout(shown, paid, post, fund, props)} />
      <${Receivers} rows=${paid.rows.filter((row) => row.coin > 0n)} title="Who would get what" hasShares />
    </${Card}>
  `;
}

function Compared({ post, shown }) {
  if (!shown.claims) {
    return html`
      <p class="note">No post has been paid yet, so there are no claims to divide by: nodes show nothing. The first payouts share what is in the fund.</p>
    `;
  }
  const isSame = units(post.pending_payout_value) === shown.pending;
  const told = html`<code>pending_payout_value</code> of <code>condenser_api.get_content</code>: ${amountText(post.pending_payout_value)}.`;
  return isSame
    ? html`<p><span class="badge good">agrees</span> with ${told}</p>`
    : html`<p><span class="badge warn">differs</span> from ${told} A block may have come between the calls.</p>`;
}

function whole(value) {
  return decimalText(value, 0);
}

function money(value, symbol) {
  return `${decimalText(value, 3)} ${symbol}`;
}

// Rows of [step, how, result].
function stepsOfPending(shown, fund, price) {
  const { coin, sbd } = symbols();
  const worthSymbol = shown.hasPrice ? sbd : coin;
  const curve = html`<code>${fund.author_reward_curve}</code>: ${FORMULAS[fund.author_reward_curve]}`;
  const worth = shown.hasPrice
    ? `${money(shown.balance, coin)}, at the median price of ${amountText(price.base)} for ${amountText(price.quote)}`
    : "there is no median price, so it stays as it is";
  return [
    ["Net rshares", "the sum of all votes, those against it too", whole(shown.rshares)],
    ["Claim", html`${curve}, r = net rshares, s = ${whole(BigInt(fund.content_constant))}`, whole(shown.claim)],
    ["Reward fund", worth, money(shown.worth, worthSymbol)],
    ["Recent claims", "of all posts that were paid; they fade over 15 days", whole(shown.claims)],
    ["Pending payout", "claim × reward fund ÷ recent claims", html`<b>${money(shown.pending, worthSymbol)}</b>`],
  ];
}

function stepsOfPayout(shown, paid, post, fund, props) {
  const { coin, sbd } = symbols();
  const factor = post.reward_weight === 10_000 ? "" : ` × ${percentText(post.reward_weight)}`;
  const curators = post.allow_curation_rewards
    ? `${percentText(fund.percent_curation_rewards)}, by the weights of their votes`
    : "nobody gets it: rewards for curators are off";
  const given = post.beneficiaries.reduce((sum, { weight }) => sum + weight, 0);
  const printed = props.sbd_print_rate === 10_000 ? "" : ` (${percentText(props.sbd_print_rate)} of that is printed, the others are ${coin})`;
  const half = percentText(branded(post, "percent_coin_dollars") / 2);
  return [
    ["Claims then", "recent claims + claim", whole(paid.claims)],
    ["Payout", `${money(shown.balance, coin)} × claim${factor} ÷ claims then`, money(paid.share, coin)],
    paid.isDust && ["Too little", `payouts below 0.020 ${sbd} are not made`, money(0n, coin)],
    !paid.isDust && paid.share > paid.most && ["Limit", `at most ${amountText(post.max_accepted_payout)}`, money(paid.payout, coin)],
    ["Curators' part", curators, money(paid.curation, coin)],
    paid.kept > 0n && ["Stays in the fund", "of the curators' part, what early votes and rounding leave", money(paid.kept, coin)],
    ["Beneficiaries", given ? `${percentText(given)} of the rest` : "there are none", money(paid.tokens - paid.author, coin)],
    ["Author", `the rest; ${half} of it in ${sbd}${printed}, all else in VESTS`, html`<b>${money(paid.author, coin)}</b>`],
  ].filter(Boolean);
}

function Steps({ caption, rows }) {
  return html`<${Table} caption=${caption} rows=${rows} columns=${[
    { title: "Step", cell: ([name]) => name },
    { title: "How", cell: ([, how]) => html`<span class="break">${how}</span>` },
    { title: "Result", isNumber: true, cell: ([, , value]) => value },
  ]} />`;
}

function Receivers({ rows, title, hasShares = false }) {
  const [isWhole, setWhole] = useState(false);
  const { coin, sbd, vests } = symbols();
  if (!rows.length) return null;
  const places = chain.overview.tokens[2].precision;
  return html`
    <h3>${title}</h3>
    <${Table} caption=${title} rows=${isWhole ? rows : rows.slice(0, ROWS_SHOWN)} columns=${[
      { title: "Account", cell: ({ account }) => html`<${Account} name=${account} />` },
      { title: "As", cell: (row) => row.as },
      ...(hasShares ? [{ title: `Share, in ${coin}`, isNumber: true, cell: (row) => decimalText(row.coin, 3) }] : []),
      { title: sbd, isNumber: true, cell: (row) => decimalText(row.sbd, 3) },
      { title: coin, isNumber: true, cell: (row) => decimalText(row.liquid, 3) },
      { title: vests, isNumber: true, cell: (row) => decimalText(row.vests, places) },
    ]} />
    ${rows.length > ROWS_SHOWN && !isWhole && html`<p><button type="button" onClick=${() => setWhole(true)}>Show all ${numberText(rows.length)}</button></p>`}
  `;
}

// What was paid: the sums that the chain keeps, and the operations of the block that paid.
export function Paid({ post }) {
  const found = useAnswer(() => paymentsOf(post), `${post.author}/${post.permlink} ${post.last_payout}`);
  return html`
    <${Card} title="Paid">
      <${Facts} of=${[
        ["To the author", html`<${Money} of=${post.total_payout_value} />`],
        ["To curators", html`<${Money} of=${post.curator_payout_value} />`],
        ["Beneficiaries", post.beneficiaries.length ? "had their part beside these" : null],
      ]} />
      <${Answer} of=${found}>${(paid) => html`<${Payments} ...${paid} />`}</${Answer}>
    </${Card}>
  `;
}

function Payments({ block, rows, total }) {
  if (!block) return html`<p class="muted">This node doesn't have the block that paid it.</p>`;
  const link = html`<${BlockLink} number=${block} />`;
  if (rows === null) {
    return html`<p class="muted">Paid in block ${link}. To whom is not known here; start the node with <code>--enable account_history</code>.</p>`;
  }
  return html`
    <p>Paid in block ${link}${total ? html`: <${Money} of=${total} /> in all` : rows.length ? "" : ": it earned nothing"}.</p>
    <${Receivers} rows=${rows} title="Who got what" />
  `;
}

async function paymentsOf(post) {
  const { number, isExact } = await findBlock(post.last_payout);
  const block = isExact ? number : 0;
  if (!block) return { block };
  const answer = await call("account_history_api.get_ops_in_block", { block_num: block, only_virtual: true }).catch(() => null);
  if (!answer) return { block, rows: null };
  const rows = [];
  let total = null;
  for (const { op } of answer.ops) {
    const { value } = op;
    const paid = () => ({ sbd: units(value.sbd_payout), liquid: units(branded(value, "coin_payout")), vests: units(value.vesting_payout) });
    if (op.type === "curation_reward_operation" && value.comment_author === post.author && value.comment_permlink === post.permlink) {
      rows.push({ account: value.curator, as: "curator", sbd: 0n, liquid: 0n, vests: units(value.reward) });
    } else if (value.author !== post.author || value.permlink !== post.permlink) continue;
    else if (op.type === "author_reward_operation") rows.unshift({ account: value.author, as: "author", ...paid() });
    else if (op.type === "comment_benefactor_reward_operation") rows.push({ account: value.benefactor, as: "beneficiary", ...paid() });
    else if (op.type === "comment_reward_operation") total = value.payout;
  }
  return { block, rows, total };
}
