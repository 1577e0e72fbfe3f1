// The arithmetic of accounts, as the chain does it: in whole units, rounded down. What VESTS and SBD are worth, manabars, reputation.
import { chain, milliseconds, now } from "../../chain.js";
import { amount, branded, isNever, units } from "../../format.js";

const REGENERATION_SECONDS = 5n * 86_400n;
const INT64_MAX = 2n ** 63n - 1n;
const STALL_BLOCK = 35_922_615;
const PERCENT_100 = 10_000n;
const EMPTY_FUND = [1000n, 1_000_000n];
const LEADING_DIGITS = 4;
const REPUTATION_DIGITS = 9;

// The three fixed symbols, in the order in which the node lists them.
export const [COIN, SBD, VESTS] = [0, 1, 2];

// An amount of a fixed symbol, in the form that `Money` shows.
export function asset(units, symbol) {
  const { nai, precision } = chain.overview.tokens[symbol];
  return { amount: String(units), precision, nai };
}

export function symbolText(symbol) {
  return chain.overview.tokens[symbol].symbol;
}

// Which of the fixed symbols an amount has, -1 for a token.
export function kindOf(value) {
  const { symbol } = amount(value);
  return chain.overview.tokens.findIndex((token) => token.symbol === symbol);
}

// What VESTS are worth in COIN, at the price of the vesting fund.
export function vestsToCoin(vests, globals) {
  const fund = units(branded(globals, "total_vesting_fund_coin"));
  const shares = units(globals.total_vesting_shares);
  return fund && shares ? (vests * fund) / shares : (vests * EMPTY_FUND[0]) / EMPTY_FUND[1];
}

// The median price as whole units, {sbd, coin}; null before there is one.
export function priceOf(median) {
  const sides = [median.base, median.quote];
  const sbd = sides.find((side) => kindOf(side) === SBD);
  const coin = sides.find((side) => kindOf(side) === COIN);
  return sbd && coin && units(sbd) > 0n && units(coin) > 0n ? { sbd: units(sbd), coin: units(coin) } : null;
}

// The worth of units of a symbol as [COIN, SBD], each rounded down by itself; null where a price is missing.
export function worth(count, symbol, globals, price) {
  if (symbol === SBD) return [price && (count * price.coin) / price.sbd, count];
  const coin = symbol === VESTS ? vestsToCoin(count, globals) : count;
  return [coin, price && (coin * price.sbd) / price.coin];
}

// The VESTS of an account: its own, delegated, received, those that its votes count with, and those that its mana is a share of.
export function vestsOf(account) {
  const own = units(account.vesting_shares);
  const delegated = units(account.delegated_vesting_shares);
  const received = units(account.received_vesting_shares);
  const effective = own + received - delegated;
  return { own, delegated, received, effective, bar: effective - nextPayment(account) };
}

// What the next payment of a power-down takes, in VESTS; 0 without one.
export function nextPayment(account) {
  if (isNever(account.next_vesting_withdrawal)) return 0n;
  const rest = BigInt(account.to_withdraw) - BigInt(account.withdrawn);
  const rate = units(account.vesting_withdraw_rate);
  return rate < rest ? rate : rest;
}

// The largest downvote mana. The reference multiplies in 64 bits up to a block of its public chain.
export function downvoteMaximum(effective, globals) {
  const product = effective * BigInt(globals.downvote_pool_percent);
  const isExact = (product >= 0n && product <= INT64_MAX) || globals.head_block_number > STALL_BLOCK;
  return (isExact ? product : BigInt.asIntN(64, product)) / PERCENT_100;
}

// The mana of a bar at a time in seconds since 1970. Resource credits regenerate without the limit of five days, which counts below zero.
export function manaAt(bar, maximum, seconds, isLimited = true) {
  const current = BigInt(bar.current_mana);
  if (current >= maximum) return maximum;
  let elapsed = BigInt(seconds) - BigInt(bar.last_update_time);
  if (elapsed < 0n) elapsed = 0n;
  if (isLimited && elapsed > REGENERATION_SECONDS) elapsed = REGENERATION_SECONDS;
  const reached = current + (maximum * elapsed) / REGENERATION_SECONDS;
  return reached < maximum ? reached : maximum;
}

// The time in seconds since 1970 at which a bar is full.
export function fullAt(bar, maximum) {
  const missing = maximum - BigInt(bar.current_mana);
  if (missing <= 0n || maximum <= 0n) return Number(bar.last_update_time);
  return Number(bar.last_update_time) + Number((missing * REGENERATION_SECONDS + maximum - 1n) / maximum);
}

// A share as basis points, rounded down.
export function points(part, whole) {
  return whole > 0n ? Number((part * PERCENT_100) / whole) : 0;
}

// The time of the chain in whole seconds.
export function nowSeconds() {
  return Math.floor(now() / 1000);
}

export function secondsOf(time) {
  return milliseconds(time) / 1000;
}

// "2026-11-22T18:00:00" of seconds since 1970.
export function timeOf(seconds) {
  return new Date(1000 * seconds).toISOString().slice(0, 19);
}

// A reputation on the scale that people know: 25 for a new account, 9 more for ten times the raw value.
export function shownReputation(raw) {
  const value = BigInt(raw);
  if (value === 0n) return "25.00";
  const digits = String(value < 0n ? -value : value);
  const fraction = (Math.log10(Number(digits.slice(0, LEADING_DIGITS))) + 1e-8) % 1;
  const size = Math.max(digits.length - 1 + fraction - REPUTATION_DIGITS, 0);
  return ((value > 0n ? size : -size) * 9 + 25).toFixed(2);
}
