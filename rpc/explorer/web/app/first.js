// What every page shows first, asked for while the other modules are still on their way.
import { call } from "./calls.js";

export const BLOCKS_KEPT = 40;

export const overview = call("explorer_api.get_overview");
export const blocks = overview.then(({ head_block_number }) => lastBlocks(head_block_number));
// Who waits for them hears of it when they fail.
blocks.catch(() => {});

// Returns the last blocks up to one, newest first.
export async function lastBlocks(head, most = BLOCKS_KEPT) {
  const numbers = Array.from({ length: Math.min(head, most) }, (_, i) => head - i);
  const found = await Promise.all(numbers.map((block_num) => call("block_api.get_block", { block_num })));
  return found.flatMap(({ block }) => (block ? [{ ...block, block_num: parseInt(block.block_id.slice(0, 8), 16) }] : []));
}
