// What an account has open: orders, escrows, withdrawals from savings, conversions, and requests about the account itself.
import { amount, amountText, branded, decimalText } from "../../format.js";
import { html } from "../../html.js";
import { Link, path } from "../../router.js";
import { Card, Table } from "../layout.js";
import { Account } from "../names.js";
import { Money, Time } from "../values.js";
import { Due } from "./due.js";

const PRICE_PLACES = 6;

export function Waiting({ name, waiting, due }) {
  return html`
    <${Due} rows=${due} isPartial=${waiting.payouts === null} />
    <${Orders} orders=${waiting.orders} />
    <${Escrows} name=${name} escrows=${waiting.escrows} />
    <div class="grid flow">
      <${Savings} name=${name} leaving=${waiting.leaving} arriving=${waiting.arriving} />
      <${Card} title="Conversions">
        <${Table} caption="Conversions that are under way" rows=${waiting.conversions} columns=${[
          { title: "Request", isNumber: true, cell: ({ requestid }) => requestid },
          { title: "Amount", isNumber: true, cell: (row) => html`<${Money} of=${row.amount} />` },
          { title: "Due", cell: ({ conversion_date }) => html`<${Time} at=${conversion_date} />` },
        ]} />
      </${Card}>
    </div>
  `;
}

function Orders({ orders }) {
  return html`
    <${Card} title="Open orders">
      <${Table} caption="Orders of this account that are open" rows=${orders} columns=${[
        { title: "Order", isNumber: true, cell: ({ orderid }) => orderid },
        { title: "For sale", isNumber: true, cell: (order) => forSale(order) },
        { title: "Wants", isNumber: true, cell: (order) => wanted(order) },
        { title: "Price", isNumber: true, cell: ({ sell_price }) => priceText(sell_price) },
        { title: "Created", cell: ({ created }) => html`<${Time} at=${created} isShort />` },
        { title: "Ends", cell: ({ expiration }) => html`<${Time} at=${expiration} />` },
      ]} />
    </${Card}>
  `;
}

function forSale({ for_sale, sell_price }) {
  const { precision, symbol } = amount(sell_price.base);
  return `${decimalText(BigInt(for_sale), precision)} ${symbol}`;
}

// What the rest of the order would bring at its price, rounded down.
function wanted({ for_sale, sell_price }) {
  const base = amount(sell_price.base);
  const quote = amount(sell_price.quote);
  return `${decimalText((BigInt(for_sale) * quote.units) / base.units, quote.precision)} ${quote.symbol}`;
}

function priceText({ base, quote }) {
  const [sold, got] = [amount(base), amount(quote)];
  const scaled = (got.units * 10n ** BigInt(PRICE_PLACES + sold.precision)) / (sold.units * 10n ** BigInt(got.precision));
  return `${decimalText(scaled, PRICE_PLACES)} ${got.symbol}/${sold.symbol}`;
}

function Escrows({ name, escrows }) {
  const has = (isThere, words) => html`<span class=${`badge ${isThere ? "good" : ""}`}>${words} ${isThere ? "agreed" : "has not agreed"}</span>`;
  return html`
    <${Card} title="Escrows" aside="those that this account opened">
      <${Table} caption="Escrows that this account opened" rows=${escrows} isStacked columns=${[
        { title: "No.", isNumber: true, cell: ({ escrow_id }) => escrow_id },
        { title: "To", cell: ({ to }) => html`<${Account} name=${to} />` },
        { title: "Agent", cell: ({ agent }) => html`<${Account} name=${agent} />` },
        { title: "Holds", cell: (row) => html`<${Money} of=${row.sbd_balance} />, <${Money} of=${branded(row, "coin_balance")} />` },
        { title: "Fee", isNumber: true, cell: ({ pending_fee }) => amountText(pending_fee) },
        { title: "State", cell: ({ to, agent, to_approved, agent_approved, disputed }) => html`
          ${has(to_approved, to)} ${has(agent_approved, agent)} ${disputed && html`<span class="badge bad">disputed</span>`}` },
        { title: "Agree by", cell: ({ ratification_deadline }) => html`<${Time} at=${ratification_deadline} isShort />` },
        { title: "Ends", cell: ({ escrow_expiration }) => html`<${Time} at=${escrow_expiration} />` },
      ]} />
      <p class="muted small">The chain finds escrows by who opened them. Those in which this account is the receiver or the agent are in
        <${Link} to=${`${path.account(name, "history")}&theme=money`}>its history</${Link}>.</p>
    </${Card}>
  `;
}

function Savings({ name, leaving, arriving }) {
  const rows = [...leaving, ...arriving.filter(({ from }) => from !== name)];
  return html`
    <${Card} title="Withdrawals from savings">
      <${Table} caption="Withdrawals from savings, of this account and to it" rows=${rows} columns=${[
        { title: "Request", isNumber: true, cell: ({ request_id }) => request_id },
        { title: "From", cell: ({ from }) => html`<${Account} name=${from} />` },
        { title: "To", cell: ({ to }) => html`<${Account} name=${to} />` },
        { title: "Amount", isNumber: true, cell: (row) => html`<${Money} of=${row.amount} />` },
        { title: "Arrives", cell: ({ complete }) => html`<${Time} at=${complete} />` },
        { title: "Memo", cell: ({ memo }) => memo && html`<q class="break">${memo}</q>` },
      ]} />
    </${Card}>
  `;
}
