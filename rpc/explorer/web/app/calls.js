// Calls of the node's methods, and the first ones, which every page needs. It imports nothing, and runs while
// other modules are on their way.
export const BLOCKS_KEPT = 40;
const BATCH_MAX = 50;

export class RpcError extends Error {
  // What the node answered instead of a result: `code`, `message`, and `data`, in which `explain` says why and what to do.
  constructor({ code, message, data }) {
    super(message);
    this.code = code;
    this.data = data;
  }

  get explain() {
    return this.data?.explain ?? null;
  }
}

let waiting = [];

// Returns the result of a method. Calls of the same turn go out as one request.
export function call(method, params = {}) {
  return new Promise((resolve, reject) => {
    if (!waiting.length) queueMicrotask(sendAll);
    waiting.push({ method, params, resolve, reject });
  });
}

function sendAll() {
  const calls = waiting;
  waiting = [];
  for (let i = 0; i < calls.length; i += BATCH_MAX) send(calls.slice(i, i + BATCH_MAX));
}

async function send(calls) {
  const requests = calls.map(({ method, params }, id) => ({ jsonrpc: "2.0", id, method, params }));
  try {
    const reply = await fetch("/", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(requests.length === 1 ? requests[0] : requests),
    });
    if (!reply.ok) throw new Error(`The node answered ${reply.status}: ${(await reply.text()).trim()}`);
    const answers = [await reply.json()].flat();
    for (const { id, result, error } of answers) {
      if (error) calls[id].reject(new RpcError(error));
      else calls[id].resolve(result);
    }
    for (const { reject } of calls) reject(new Error("The node left this call unanswered"));
  } catch (error) {
    for (const { reject } of calls) reject(error);
  }
}

// Returns the last blocks up to one, newest first. A forked chain begins after its fork block.
export async function lastBlocks(head, most = BLOCKS_KEPT) {
  const { fork } = await overview;
  const numbers = Array.from({ length: Math.min(head - (fork ? fork.block_num : 0), most) }, (_, i) => head - i);
  const found = await Promise.all(numbers.map((block_num) => call("block_api.get_block", { block_num })));
  return found.flatMap(({ block }, i) => (block ? [{ ...block, block_num: numbers[i] }] : []));
}

// Returns the overview and when it came, by which the chain's clock is compared with this machine's.
export async function askOverview() {
  const overview = await call("explorer_api.get_overview");
  return { ...overview, heardAt: Date.now() };
}

// What every page begins with.
export const overview = askOverview();
export const blocks = overview.then(({ head_block_number }) => lastBlocks(head_block_number));
// Whoever waits for them hears of it when they fail; nobody may.
blocks.catch(() => {});
