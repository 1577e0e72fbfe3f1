// Members of replies bear the brand word of the chain: `total_vesting_fund_steem`, `coin_volume`. Here they are read by one name everywhere.
import { chain } from "./chain.js";
import { call, useAnswer } from "./rpc.js";

// Returns the result of a method with "coin" in the names of members where the chain's brand word stands.
export async function callPlain(method, params) {
  return plain(await call(method, params));
}

// The same as a component uses it: made anew with another `key`, for instance the number of the head block.
export function usePlain(method, params = {}, key = "") {
  const subject = `${method} ${JSON.stringify(params)}`;
  return useAnswer(() => callPlain(method, params), `${subject} ${key}`, subject);
}

let constants = null;

// The constants of the chain, asked for once; `constant` finds one by the end of its name, which begins with the brand word too.
export function loadConstants() {
  constants ??= call("database_api.get_config").catch((error) => {
    constants = null;
    throw error;
  });
  return constants;
}

export function constant(config, ending) {
  return config[Object.keys(config).find((name) => name.endsWith(ending) && !name.startsWith("HIVE"))];
}

// The value itself on chains whose brand word is "coin".
export function plain(value) {
  const brand = chain.overview?.brand ?? "coin";
  return brand === "coin" ? value : renamed(value, new RegExp(`(^|_)${brand}(_|$)`));
}

function renamed(value, brand) {
  if (Array.isArray(value)) return value.map((member) => renamed(member, brand));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name.replace(brand, "$1coin$2"), renamed(member, brand)]));
}
