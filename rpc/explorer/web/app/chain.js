// The chain as it is now, for all pages: its names and symbols, the head, the time, who may drive it, and what happens.
import * as first from "./calls.js";
import { useEffect, useState } from "./html.js";
import { call, followBlocks, subscribe } from "./rpc.js";

const REFUSALS_KEPT = 50;
const PENDING_KEPT = 200;

// `isLocal`: whether this page may do what programs on the node's machine may. `blocks` are the last ones, newest first, as the stream
// has them; `refusals` the last refused transactions, newest first; `pending` what was accepted since the head block.
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
  follow();
}

async function follow() {
  if (chain.overview?.is_test) followRefusals();
  if (chain.head) await loadLast(first.blocks);
  // What came between that and the first line of the stream is loaded once the stream has begun.
  followBlocks(onLine, async (isHeard) => {
    chain.isHeard = isHeard;
    announce();
    if (!isHeard) return;
    await refresh();
    if (chain.blocks[0]?.block_id !== chain.overview?.head_block_id) await loadLast();
  });
}

// Follows what only programs on the node's machine get to know, and the node's own pages there.
async function followRefusals() {
  chain.info = await call("dev_api.get_info").catch(() => null);
  chain.isLocal = chain.info !== null;
  announce();
  if (!chain.isLocal) return;
  call("dev_api.list_refused", { limit: REFUSALS_KEPT }).then((refusals) => {
    chain.refusals = refusals;
    announce();
  });
  subscribe("refusals", ({ refusal }) => {
    chain.refusals = [refusal, ...chain.refusals].slice(0, REFUSALS_KEPT);
    announce();
  });
  subscribe("transactions", ({ transaction }) => {
    chain.pending = [transaction, ...chain.pending].slice(0, PENDING_KEPT);
    announce();
  });
}

async function loadLast(asked = first.lastBlocks(chain.head)) {
  const { head } = chain;
  const blocks = await asked;
  chain.blocks = [...chain.blocks.filter((block) => block.block_num > head), ...blocks];
  announce();
}

function onLine(line) {
  if (line.undone) {
    chain.blocks = chain.blocks.filter((block) => block.block_num < line.undone.first);
    chain.undone = line.undone;
    refresh();
  } else if (line.block_num) {
    const before = chain.blocks.filter((block) => block.block_num < line.block_num);
    chain.blocks = [line, ...before].slice(0, first.BLOCKS_KEPT);
    // The stream tells of undone blocks only whom it has sent them to: what was loaded before may be of another branch.
    if (before.length && before[0].block_id !== line.previous) refresh().then(loadLast);
    const included = new Set(line.transaction_ids);
    chain.pending = chain.pending.filter((transaction) => !included.has(transaction.transaction_id));
    chain.head = line.block_num;
    chain.headTime = line.timestamp;
    if (milliseconds(line.timestamp) > Date.now() + chain.clockAhead) chain.clockAhead = milliseconds(line.timestamp) - Date.now();
    refreshSoon();
  }
  announce();
}

let isRefreshDue = false;

function refreshSoon() {
  if (isRefreshDue) return;
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

export function blockNumber(id) {
  return parseInt(id.slice(0, 8), 16);
}
