// Numbers of the node over time.
import assert from "node:assert/strict";
import { test } from "node:test";

const { ratesOf } = await import(new URL("../../rpc/explorer/web/app/metrics.js", import.meta.url));

test("rates are increases per time", () => {
  assert.deepEqual(ratesOf([0, 5, 15, 15], [0, 10, 10, 12]), [2, 0, null]);
  assert.deepEqual(ratesOf([0, 6], [3, 5], 60), [20]);
  assert.deepEqual(ratesOf([0], [3]), []);
});
