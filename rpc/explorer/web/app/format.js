// How numbers, money and times are written. Amounts come in two forms, `{amount, precision, nai}` and "1.000 COIN"; both are read.
import { chain, milliseconds, now } from "./chain.js";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

// Returns {units, precision, symbol}: units is a BigInt, so that nothing is rounded.
export function amount(value) {
  if (typeof value === "string") {
    const [number, symbol = ""] = value.split(" ");
    const [, fraction = ""] = number.split(".");
    return { units: BigInt(number.replace(".", "") || 0), precision: fraction.length, symbol };
  }
  return { units: BigInt(value.amount), precision: value.precision, symbol: symbolOf(value.nai) };
}

// An amount in the smallest unit.
export function units(value) {
  return amount(value).units;
}

// A member whose name bears the chain's brand word, by its name on chains whose word is "coin".
export function branded(row, name) {
  return row[name] ?? row[name.replace("coin", chain.overview?.brand ?? "coin")];
}

export function isAmount(value) {
  return typeof value === "string"
    ? /^-?\d+(\.\d+)? [A-Z]{3,8}$/.test(value)
    : value !== null && typeof value === "object" && "nai" in value && "precision" in value;
}

function symbolOf(nai) {
  return chain.overview?.tokens.find((token) => token.nai === nai)?.symbol ?? nai;
}

export function amountText(value) {
  const { units, precision, symbol } = amount(value);
  return `${decimalText(units, precision)} ${symbol}`;
}

// Sums of amounts by token: "12.000 COIN and 2.500 SBD", or "nothing".
export function sumsText(values) {
  const sums = new Map();
  for (const value of values) {
    const { units, precision, symbol } = amount(value);
    sums.set(symbol, { precision, units: units + (sums.get(symbol)?.units ?? 0n) });
  }
  return [...sums].map(([symbol, { units, precision }]) => `${decimalText(units, precision)} ${symbol}`).join(" and ") || "nothing";
}

// "1,234.567" of 1234567 units of three places.
export function decimalText(units, precision) {
  const sign = units < 0n ? "−" : "";
  const digits = (units < 0n ? -units : units).toString().padStart(precision + 1, "0");
  const whole = precision ? digits.slice(0, -precision) : digits;
  return sign + grouped(whole) + (precision ? `.${digits.slice(-precision)}` : "");
}

// A number for a picture or a bar; not for what has to be right to the last digit.
export function approximate(value) {
  const { units, precision } = amount(value);
  return Number(units) / 10 ** precision;
}

export function numberText(value) {
  const [whole, fraction] = String(value).split(".");
  return grouped(whole) + (fraction ? `.${fraction}` : "");
}

function grouped(digits) {
  return digits.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

// "12.5 %" of 1250 basis points.
export function percentText(points) {
  return `${Number(points) / 100} %`;
}

export function bytesText(size) {
  if (size < 1000) return `${size} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let value = size / 1000;
  let i = 0;
  for (; value >= 1000 && i < units.length - 1; i++) value /= 1000;
  return `${value.toPrecision(3)} ${units[i]}`;
}

// "2026-11-22 18:00:00", as the chain writes it, in UTC.
export function timeText(time) {
  return String(time).replace("T", " ");
}

export function isNever(time) {
  return milliseconds(time) <= 0 || String(time) >= "2106" || String(time).startsWith("1969");
}

// How far a time is from the chain's: "in 3 h 5 min", "12 s ago".
export function agoText(time) {
  const seconds = Math.round((milliseconds(time) - now()) / 1000);
  return seconds > 0 ? `in ${durationText(seconds)}` : `${durationText(-seconds)} ago`;
}

// The two largest units of a duration in seconds: "3 d 4 h".
export function durationText(seconds) {
  const rest = Math.max(0, Math.round(seconds));
  if (rest < MINUTE) return `${rest} s`;
  const parts = [
    [Math.floor(rest / DAY), "d"],
    [Math.floor((rest % DAY) / HOUR), "h"],
    [Math.floor((rest % HOUR) / MINUTE), "min"],
    [rest % MINUTE, "s"],
  ];
  const first = parts.findIndex(([count]) => count);
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count)
    .map(([count, unit]) => `${numberText(count)} ${unit}`)
    .join(" ");
}

export function shortId(id, size = 8) {
  return id.length > 2 * size ? `${id.slice(0, size)}…` : id;
}

// The operation of either form, ["vote", {...}] or {type: "vote_operation", value: {...}}, as {name, value}.
export function operationOf(operation) {
  const [name, value] = Array.isArray(operation) ? operation : [operation.type, operation.value];
  return { name: name.replace(/_operation$/, ""), value };
}

// Whether a field of an operation is an account, or a list that holds it.
export function names(operation, account) {
  const { value } = operationOf(operation);
  return Object.values(value).some((member) => member === account || (Array.isArray(member) && member.includes(account)));
}
