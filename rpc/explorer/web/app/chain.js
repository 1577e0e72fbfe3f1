// The chain as it is now, for all pages: its names and symbols, the head, the time, who may drive it, and what happens.
import * as first from "./calls.js";
import { useEffect, useState } from "./html.js";
import { listen } from "./live.js";
import { call } from "./rpc.js";

const REFUSALS_KEPT = 50;
const PENDING_KEPT = 200;
const STEPS_MAX = 60;

// `isLocal`: whether this page may do what programs on the node's machine may. `blocks` are the last ones, newest first, as notices
// have them; `refusals` the last refused transactions, newest first; `pending` what was accepted since the head block; `undone` how
// many times blocks were undone.
export const chain = {
  overview: null,
  head: 0,
  irreversible: 0,
  headTime: "",
  clockAhead: 0,
  isHeard: false,
  isLocal: false,
  info: null,
  blocks: [],
  refusals: [],
  pending: [],
  problem: "",
  undone: 0,
};

const listeners = new Set();
let isAnnounced = false;

function announce() {
  if (isAnnounced) return;
  isAnnounced = true;
  requestAnimationFrame(() => {
    isAnnounced = false;
    for (const listener of listeners) listener();
  });
}

// The chain as it is now; a component that uses it is shown anew whenever it changes.
export function useChain() {
  const [, setRound] = useState(0);
  useEffect(() => {
    const listener = () => setRound((n) => n + 1);
    listeners.add(listener);
    listener();
    return () => listeners.delete(listener);
  }, []);
  return chain;
}

// Calls a function whenever the chain changes, before components are shown again.
export function onChange(listener) {
  listeners.add(listener);
}

// Asks for the head and the time anew; needed after what no block tells of, such as a return to an earlier moment.
export async function refresh(asked = first.askOverview()) {
  try {
    const overview = await asked;
    chain.overview = overview;
    chain.head = overview.head_block_number;
    chain.irreversible = overview.last_irreversible_block_num;
    chain.headTime = overview.head_block_time;
    chain.clockAhead = milliseconds(overview.time) - overview.heardAt;
    chain.problem = "";
  } catch (error) {
    chain.problem = error.message;
  }
  if (chain.isLocal) chain.info = await call("dev_api.get_info").catch(() => chain.info);
  announce();
}

// Begins to follow the chain. Resolves when the pages know what chain it is.
export async function start() {
  await refresh(first.overview);
  if (chain.head) loaded = loadLast(first.blocks).catch(() => {});
  const calls = [["explorer_api.subscribe_blocks", {}]];
  // Only programs on the node's machine get to know these, and the node's own pages there.
  if (chain.overview?.is_test) calls.push(...["refusals", "transactions"].map((kind) => ["dev_api.subscribe", { kind }]));
  listen(calls, {
    onNotice,
    onAnswers([, refusals]) {
      chain.isHeard = true;
      chain.isLocal = refusals !== undefined && !refusals.error;
      catchUp();
    },
    // Who gets no connection still sees now and then where the chain is.
    onLost() {
      chain.isHeard = false;
      catchUp();
    },
  });
  document.addEventListener("visibilitychange", catchUp);
}

let loaded = null; // when the first blocks are there

// Loads what has come while nothing was heard. A page in the background asks for nothing.
async function catchUp() {
  announce();
  await loaded;
  if (document.hidden) return;
  await refresh();
  try {
    if (chain.blocks[0]?.block_id !== chain.overview?.head_block_id) await loadLast();
    if (chain.isLocal) chain.refusals = await call("dev_api.list_refused", { limit: REFUSALS_KEPT });
  } catch {
    // It is lost again, and asked for again.
  }
  announce();
}

async function loadLast(asked = first.lastBlocks(chain.head)) {
  const { head } = chain;
  const blocks = await asked;
  chain.blocks = [...chain.blocks.filter((block) => block.block_num > head), ...blocks];
  leaveOut(blocks);
  announce();
}

// Nothing waits for a block any more that is in one of these, or has expired.
function leaveOut(blocks) {
  const included = new Set(blocks.flatMap((block) => block.transaction_ids));
  chain.pending = chain.pending.filter((one) => !included.has(one.transaction_id) && one.expiration > chain.headTime);
}

function onNotice({ block, undone, refusal, transaction }) {
  if (undone) {
    chain.undone += 1;
    chain.blocks = chain.blocks.filter((one) => one.block_num < undone.first);
    catchUp();
  } else if (block) {
    const before = chain.blocks.filter((one) => one.block_num < block.block_num);
    chain.blocks = [block, ...before].slice(0, first.BLOCKS_KEPT);
    chain.head = block.block_num;
    chain.headTime = block.timestamp;
    // What was loaded before the first notice may be of another branch.
    if (before.length && before[0].block_id !== block.previous) refresh().then(loadLast);
    leaveOut([block]);
    if (milliseconds(block.timestamp) > Date.now() + chain.clockAhead) chain.clockAhead = milliseconds(block.timestamp) - Date.now();
    refreshSoon();
  } else if (refusal) {
    chain.refusals = [refusal, ...chain.refusals].slice(0, REFUSALS_KEPT);
  } else if (transaction) {
    chain.pending = [transaction, ...chain.pending].slice(0, PENDING_KEPT);
  }
  announce();
}

let isRefreshDue = false;

function refreshSoon() {
  if (isRefreshDue || document.hidden) return;
  isRefreshDue = true;
  setTimeout(() => {
    isRefreshDue = false;
    refresh();
  }, 250);
}

// The time of the chain's clock, in milliseconds since 1970.
export function now() {
  return Date.now() + chain.clockAhead;
}

// The milliseconds of a time as the node writes it.
export function milliseconds(time) {
  return Date.parse(`${time}Z`);
}

// The first block at or after a time, {number, isExact}. Blocks come at even times but for missed slots, so a guess between two known ones is
// soon right.
export async function findBlock(time) {
  const wanted = milliseconds(time);
  const step = 1000 * chain.overview.block_interval;
  let [low, high] = [1 + (chain.overview.fork ? chain.overview.fork.block_num : 0), chain.head];
  let highTime = milliseconds(chain.headTime);
  for (let i = 0; i < STEPS_MAX && low <= high; i++) {
    // Every other guess halves what is left, for chains whose time has jumped.
    const guess = i % 2 ? Math.floor((low + high) / 2) : Math.min(high, Math.max(low, high - Math.floor((highTime - wanted) / step)));
    const header = await call("block_api.get_block_header", { block_num: guess });
    if (!header) break;
    const found = milliseconds(header.timestamp);
    if (found === wanted) return { number: guess, isExact: true };
    if (found < wanted) low = guess + 1;
    else [high, highTime] = [guess - 1, found - step];
  }
  return { number: low, isExact: false };
}

export function blockNumber(id) {
  return parseInt(id.slice(0, 8), 16);
}
