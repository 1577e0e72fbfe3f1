// The arithmetic of payouts: the curves give what the chain's own give, and a payout is divided as a chain has divided one.
// Run by `node --test tests/explorer`.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const source = readFileSync(new URL("../../rpc/explorer/web/app/parts/payout.js", import.meta.url), "utf8").replace(/^import .*$/gm, "");
// As in format.js, of which only amounts in words are needed here.
const stubs = `const chain = { overview: { brand: "coin", tokens: ["COIN", "SBD", "VESTS"].map((symbol) => ({ symbol })) } };
const amount = (value) => ({ units: BigInt(value.split(" ")[0].replace(".", "")) });`;
const { FORMULAS, curveValue, payoutNow, shownPending } = await import(`data:text/javascript;base64,${Buffer.from(stubs + source).toString("base64")}`);

// Of state/effects/curves.py, with the content constant 2,000,000,000,000.
const VALUES = {
  quadratic: [[0n, 0n], [4855n, 19420000023571025n], [4125047093813669n, 17032513714555851211890491241561n], [2186186077639442685n, 4779418310808841877152620437400009225n]],
  bounded_curation: [[0n, 0n], [4759n, 21947013735n], [4576411609n, 21080854764675909n], [2163952231247011753n, 18446709975526219914n]],
  linear: [[0n, 0n], [1006443827n, 1006443827n]],
  square_root: [[0n, 0n], [1n, 1n], [4503n, 67n], [3877701083068459n, 62445556n], [1069551452689452101n, 1034919618n]],
  convergent_linear: [[0n, 0n], [1n, 0n], [1243n, 621n], [8023193477n, 4015615934n], [1756119885100081n, 1752138024456861n], [69851994076130969n, 69847994534189982n]],
  convergent_square_root: [[0n, 0n], [6367n, 0n], [275012945n, 137n], [4312184781496467n, 65621972n], [197329577714011499n, 436360688n]],
};

test("the curves give what the chain's give", () => {
  assert.deepEqual(Object.keys(VALUES).sort(), Object.keys(FORMULAS).sort());
  for (const [curve, values] of Object.entries(VALUES)) for (const [rshares, expected] of values) assert.equal(curveValue(curve, rshares, 2_000_000_000_000n), expected, curve);
});
