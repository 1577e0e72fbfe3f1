// What a post earns: the pending payout with the arithmetic behind it, or what was paid to whom.
import { chain, milliseconds } from "../chain.js";
import { amountText, decimalText, numberText, percentText } from "../format.js";
import { html, useState } from "../html.js";
import { Account } from "../sentences.js";
import { call, useAnswer } from "../rpc.js";
import { Answer, Card, Facts, Table } from "./layout.js";
import { FORMULAS, member, payoutNow, shownPending, symbols, units } from "./payout.js";
import { BlockLink, Money } from "./values.js";

const ROWS_SHOWN = 100;
const STEPS_MAX = 60;

// The pending payout: what nodes show, and what the chain would pay if it did so now.
export function Pending({ post, fund, price, props }) {
  if (!fund) {
    return html`<${Card} title="Pending payout" aside=${amountText(post.pending_payout_value)}><p class="muted">Before hardfork 17 there is no fund of posts, by which this page could explain it.</p></${Card}>`;
  }
  const shown = shownPending({ post, fund, price });
  const paid = payoutNow({ post, fund, price, props });
  const { coin, sbd } = symbols();
  const worthSymbol = shown.hasPrice ? sbd : coin;
  const told = units(post.pending_payout_value);
  const whole = (value) => decimalText(value, 0);
  const money = (value, symbol) => `${decimalText(value, 3)} ${symbol}`;
  const steps = [
    ["Net rshares", "the sum of all votes, those against it too", whole(shown.rshares)],
    ["Claim", html`<code>${fund.author_reward_curve}</code>: ${FORMULAS[fund.author_reward_curve]}, r = net rshares, s = ${whole(BigInt(fund.content_constant))}`, whole(shown.claim)],
    ["Reward fund", shown.hasPrice ? `${money(shown.balance, coin)}, at the median price of ${amountText(price.base)} for ${amountText(price.quote)}` : "there is no median price, so it stays as it is", money(shown.worth, worthSymbol)],
    ["Recent claims", "of all posts that were paid; they fade over 15 days", whole(shown.claims)],
    ["Pending payout", "claim × reward fund ÷ recent claims", html`<b>${money(shown.pending, worthSymbol)}</b>`],
  ];
  const now = [
    ["Claims then", "recent claims + claim", whole(paid.claims)],
    ["Payout", `${money(shown.balance, coin)} × claim${post.reward_weight === 10_000 ? "" : ` × ${percentText(post.reward_weight)}`} ÷ claims then`, money(paid.share, coin)],
    paid.isDust && ["Too little", `payouts below 0.020 ${sbd} are not made`, money(0n, coin)],
    !paid.isDust && paid.share > paid.most && ["Limit", `at most ${amountText(post.max_accepted_payout)}`, money(paid.payout, coin)],
    ["Curators' part", post.allow_curation_rewards ? `${percentText(fund.percent_curation_rewards)}, by the weights of their votes` : "nobody gets it: rewards for curators are off", money(paid.curation, coin)],
    paid.kept > 0n && ["Stays in the fund", "of the curators' part, what early votes and rounding leave", money(paid.kept, coin)],
    ["Beneficiaries", post.beneficiaries.length ? `${percentText(post.beneficiaries.reduce((sum, { weight }) => sum + weight, 0))} of the rest` : "there are none", money(paid.tokens - paid.author, coin)],
    ["Author", `the rest; ${percentText(member(post, "percent_coin_dollars") / 2)} of it in ${sbd}${props.sbd_print_rate === 10_000 ? "" : ` (of which ${percentText(props.sbd_print_rate)} are printed, the others are ${coin})`}, all else in VESTS`, html`<b>${money(paid.author, coin)}</b>`],
  ].filter(Boolean);
  return html`
    <${Card} title="Pending payout" aside=${html`<b>${amountText(post.pending_payout_value)}</b>`}>
      <${Steps} caption="What nodes show as the pending payout" rows=${steps} />
      ${shown.claims === 0n
        ? html`<p class="note">No post has been paid yet, so there are no claims to divide by: nodes show nothing. The first payouts share what is in the fund.</p>`
        : html`<p>${told === shown.pending
            ? html`<span class="badge good">agrees</span> with <code>pending_payout_value</code> of <code>condenser_api.get_content</code>: ${amountText(post.pending_payout_value)}.`
            : html`<span class="badge warn">differs</span> from <code>pending_payout_value</code> of <code>condenser_api.get_content</code>: ${amountText(post.pending_payout_value)}. A block may have come between the calls.`}</p>`}
      <h3>If it was paid now</h3>
      <p class="muted small">The chain counts the claim itself among the claims, and divides as below. The fund grows, claims fade, and votes come until the payout.</p>
      <${Steps} caption="What the chain would pay now" rows=${now} />
      <${Receivers} rows=${paid.rows.filter((row) => row.coin > 0n)} title="Who would get what" worth=${true} />
    </${Card}>
  `;
}

function Steps({ caption, rows }) {
  return html`<${Table} caption=${caption} rows=${rows} columns=${[
    { title: "Step", cell: ([name]) => name },
    { title: "How", cell: ([, how]) => html`<span class="break">${how}</span>` },
    { title: "Result", isNumber: true, cell: ([, , value]) => value },
  ]} />`;
}

function Receivers({ rows, title, worth }) {
  const [isWhole, setWhole] = useState(false);
  const { coin, sbd, vests } = symbols();
  if (!rows.length) return null;
  const places = chain.overview.tokens[2].precision;
  return html`
    <h3>${title}</h3>
    <${Table} caption=${title} rows=${isWhole ? rows : rows.slice(0, ROWS_SHOWN)} columns=${[
      { title: "Account", cell: ({ account }) => html`<${Account} name=${account} />` },
      { title: "As", cell: (row) => row.as },
      ...(worth ? [{ title: `Share, in ${coin}`, isNumber: true, cell: (row) => decimalText(row.coin, 3) }] : []),
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
      <${Answer} of=${found}>
        ${({ block, rows, total }) => !block
          ? html`<p class="muted">This node doesn't have the block that paid it.</p>`
          : rows === null
            ? html`<p class="muted">Paid in block <${BlockLink} number=${block} />. To whom is not known here; start the node with <code>--enable account_history</code>.</p>`
            : html`
                <p>Paid in block <${BlockLink} number=${block} />${total ? html`: <${Money} of=${total} /> in all` : rows.length ? "" : ": it earned nothing"}.</p>
                <${Receivers} rows=${rows} title="Who got what" />
              `}
      </${Answer}>
    </${Card}>
  `;
}

async function paymentsOf(post) {
  const block = await blockAt(post.last_payout);
  if (!block) return { block };
  const answer = await call("account_history_api.get_ops_in_block", { block_num: block, only_virtual: true }).catch(() => null);
  if (!answer) return { block, rows: null };
  const rows = [];
  let total = null;
  for (const { op } of answer.ops) {
    const { value } = op;
    const paid = () => ({ sbd: units(value.sbd_payout), liquid: units(member(value, "coin_payout")), vests: units(value.vesting_payout) });
    if (op.type === "curation_reward_operation" && value.comment_author === post.author && value.comment_permlink === post.permlink) {
      rows.push({ account: value.curator, as: "curator", sbd: 0n, liquid: 0n, vests: units(value.reward) });
    } else if (value.author !== post.author || value.permlink !== post.permlink) continue;
    else if (op.type === "author_reward_operation") rows.unshift({ account: value.author, as: "author", ...paid() });
    else if (op.type === "comment_benefactor_reward_operation") rows.push({ account: value.benefactor, as: "beneficiary", ...paid() });
    else if (op.type === "comment_reward_operation") total = value.payout;
  }
  return { block, rows, total };
}

// The number of the block of a time. Blocks come at even times but for missed slots, so a guess between two known ones is soon right.
async function blockAt(time) {
  const wanted = milliseconds(time);
  const step = 1000 * chain.overview.block_interval;
  let [low, high] = [1, chain.head];
  let highTime = milliseconds(chain.headTime);
  for (let i = 0; i < STEPS_MAX && low <= high; i++) {
    // Every other guess halves what is left, for chains whose time has leapt.
    const guess = i % 2 ? Math.floor((low + high) / 2) : Math.min(high, Math.max(low, high - Math.floor((highTime - wanted) / step)));
    const header = await call("block_api.get_block_header", { block_num: guess });
    if (!header) return 0;
    const found = milliseconds(header.timestamp);
    if (found === wanted) return guess;
    if (found < wanted) low = guess + 1;
    else [high, highTime] = [guess - 1, found - step];
  }
  return 0;
}
