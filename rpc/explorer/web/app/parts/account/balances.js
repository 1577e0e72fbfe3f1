// What an account owns and what it is worth; its VESTS with what is delegated; and its power-down.
import { amountText, branded, decimalText, isNever, percentText, timeText, units } from "../../format.js";
import { html } from "../../html.js";
import { Card, Facts, Table } from "../layout.js";
import { Account } from "../names.js";
import { Bar, Money, Time } from "../values.js";
import { COIN, SBD, VESTS, asset, kindOf, nextPayment, points, priceOf, secondsOf } from "./values.js";
import { symbolText, timeOf, vestsOf, vestsToCoin, worth } from "./values.js";

const WEEK_SECONDS = 604_800;

// The parts of an account's wealth: [words, units, symbol, worth in COIN where it isn't that of the units].
function partsOf(account, waiting) {
  const parts = [
    ["Liquid", units(account.balance), COIN],
    ["Liquid", units(account.sbd_balance), SBD],
    ["Vesting", units(account.vesting_shares), VESTS],
    ["Savings", units(account.savings_balance), COIN],
    ["Savings", units(account.savings_sbd_balance), SBD],
    ["Rewards to claim", units(branded(account, "reward_coin_balance")), COIN],
    ["Rewards to claim", units(account.reward_sbd_balance), SBD],
    ["Rewards to claim", units(account.reward_vesting_balance), VESTS, units(branded(account, "reward_vesting_coin"))],
  ];
  if (!waiting) return parts;
  const sold = waiting.orders.map((order) => [BigInt(order.for_sale), kindOf(order.sell_price.base)]);
  const back = waiting.leaving.filter(({ to }) => to === account.name).map(({ amount }) => [units(amount), kindOf(amount)]);
  const converted = waiting.conversions.map(({ amount }) => [units(amount), kindOf(amount)]);
  const bound = [["In open orders", sold], ["In escrows", waiting.escrows.flatMap(heldBy)], ["On the way from savings", back], ["In conversion", converted]];
  const sums = bound.flatMap(([words, found]) => [COIN, SBD].map((symbol) => [words, total(found, symbol), symbol]));
  return [...parts, ...sums.filter(([, sum]) => sum)];
}

// The amounts that an escrow holds, with the fee until it is paid to the agent.
function heldBy(escrow) {
  const amounts = [branded(escrow, "coin_balance"), escrow.sbd_balance, escrow.pending_fee];
  return amounts.map((amount) => [units(amount), kindOf(amount)]);
}

function total(found, symbol) {
  return found.filter(([, kind]) => kind === symbol).reduce((sum, [count]) => sum + count, 0n);
}

export function Balances({ account, globals, price: median, waiting }) {
  const price = priceOf(median);
  const rows = partsOf(account, waiting).map(([words, count, symbol, coin]) => {
    const values = coin === undefined ? worth(count, symbol, globals, price) : worth(coin, COIN, globals, price);
    return { words, count, symbol, values };
  });
  const sums = [COIN, SBD].map((i) => (rows.every(({ values }) => values[i] !== null) ? rows.reduce((sum, { values }) => sum + values[i], 0n) : null));
  const shown = (units, symbol) => (units === null ? html`<span class="muted">no price</span>` : decimalText(units, decimals(symbol)));
  const columns = [
    { title: "What", cell: ({ words }) => words },
    { title: "Amount", isNumber: true, cell: ({ count, symbol }) => (symbol === null ? "" : html`<${Money} of=${asset(count, symbol)} />`) },
    { title: `in ${symbolText(COIN)}`, isNumber: true, cell: ({ values }) => shown(values[0], COIN) },
    { title: `in ${symbolText(SBD)}`, isNumber: true, cell: ({ values }) => shown(values[1], SBD) },
  ];
  const all = { words: html`<b>Together</b>`, symbol: null, values: sums };
  const known = [COIN, SBD].filter((i) => sums[i] !== null).map((i) => amountText(asset(sums[i], i)));
  const listed = rows.filter(({ words, count }) => count || words === "Liquid" || words === "Vesting");
  const priced = price ? `1 ${symbolText(COIN)} = ${priceText(price)} ${symbolText(SBD)} at the chain's price` : "the chain has no price yet";
  return html`
    <${Card} title="Balances" aside=${priced}>
      ${known.length > 0 && html`<p>Worth <b>${known[0]}</b>${known[1] && html` or <b>${known[1]}</b>`} together.</p>`}
      <${Table} caption="What the account owns and what it is worth" columns=${columns} rows=${[...listed, all]} />
      <p class="muted small">
        ${symbolText(VESTS)} count as the ${symbolText(COIN)} of the vesting fund, rewards in them as what was set aside for them.
        Each line is rounded down, as the chain does.
        ${waiting?.escrows.length ? " Escrows count for the account that opened them." : ""}
      </p>
    </${Card}>
  `;
}

function decimals(symbol) {
  return asset(0n, symbol).precision;
}

// A quotient with six decimals, for reading.
function priceText({ sbd, coin }) {
  return decimalText((sbd * 1_000_000n) / coin, 6).replace(/0{1,3}$/, "");
}

export function Vests({ account, globals }) {
  const { own, delegated, received, effective, bar } = vestsOf(account);
  // What is given away is rounded as what is owned.
  const inCoin = (count) => (count < 0n ? -vestsToCoin(-count, globals) : vestsToCoin(count, globals));
  const rows = [
    ["Own", own],
    ["Delegated to others, with what is coming back", -delegated],
    ["Received from others", received],
    [html`<b>Effective in votes</b>`, effective],
    ...(bar === effective ? [] : [["Less the next power-down payment: the size of the voting mana", bar]]),
  ];
  return html`
    <${Card} title=${symbolText(VESTS)}>
      <${Table} caption=${`${symbolText(VESTS)} of the account, with delegations`} rows=${rows} columns=${[
        { title: "What", cell: ([words]) => words },
        { title: symbolText(VESTS), isNumber: true, cell: ([, count]) => decimalText(count, decimals(VESTS)) },
        { title: `in ${symbolText(COIN)}`, isNumber: true, cell: ([, count]) => decimalText(inCoin(count), decimals(COIN)) },
      ]} />
    </${Card}>
  `;
}

// A power-down that is under way, with its routes; nothing when there is neither.
export function PowerDown({ account, globals, routes = [] }) {
  const isOn = !isNever(account.next_vesting_withdrawal);
  if (!isOn && !routes.length) return null;
  const whole = BigInt(account.to_withdraw);
  const done = BigInt(account.withdrawn);
  const next = nextPayment(account);
  const rate = units(account.vesting_withdraw_rate);
  const weeks = rate > 0n ? Number((whole - done + rate - 1n) / rate) : 0;
  const last = timeText(timeOf(secondsOf(account.next_vesting_withdrawal) + WEEK_SECONDS * (weeks - 1))).slice(0, 10);
  const left = weeks === 1 ? "one payment is left" : `${weeks} payments are left, the last one about ${last}`;
  const inCoin = (count) => html`<span class="muted">= <${Money} of=${asset(vestsToCoin(count, globals), COIN)} /></span>`;
  const both = (count) => html`<${Money} of=${asset(count, VESTS)} /> ${inCoin(count)}`;
  return html`
    <${Card} title="Power-down" aside=${isOn ? left : "none is under way"}>
      ${isOn && html`
        <${Bar} share=${points(done, whole) / 10000} label=${`${percentText(points(done, whole))} of the power-down is paid`} />
        <${Facts} of=${[
          ["Next payment", html`<${Time} at=${account.next_vesting_withdrawal} />`],
          ["It takes", both(next)],
          ["Paid so far", both(done)],
          ["In all", both(whole)],
        ]} />`}
      <h3>Routes</h3>
      <${Table} caption="Where the payments go" rows=${routes} nothing="All goes to the account itself." columns=${[
        { title: "To", cell: ({ to_account }) => html`<${Account} name=${to_account} />` },
        { title: "Share", isNumber: true, cell: ({ percent }) => percentText(percent) },
        { title: "As", cell: ({ auto_vest }) => (auto_vest ? symbolText(VESTS) : symbolText(COIN)) },
      ]} />
    </${Card}>
  `;
}
