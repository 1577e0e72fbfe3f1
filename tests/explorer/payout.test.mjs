// The arithmetic of payouts: the curves have the same results as the chain's, and a payout is divided as on a chain.
// Run by `node --test tests/explorer`.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const source = readFileSync(new URL("../../rpc/explorer/web/app/parts/payout.js", import.meta.url), "utf8").replace(/^import .*$/gm, "");
// As in format.js, of which these tests need only the amounts.
const stubs = `const chain = { overview: { brand: "coin", tokens: ["COIN", "SBD", "VESTS"].map((symbol) => ({ symbol })) } };
const units = (value) => BigInt(value.split(" ")[0].replace(".", ""));
const branded = (row, name) => row[name];`;
const { FORMULAS, curveValue, payoutNow, shownPending } = await import(`data:text/javascript;base64,${Buffer.from(stubs + source).toString("base64")}`);

// Results of state/effects/curves.py with the content constant 2,000,000,000,000.
const VALUES = {
  quadratic: [
    [0n, 0n],
    [4855n, 19420000023571025n],
    [4125047093813669n, 17032513714555851211890491241561n],
    [2186186077639442685n, 4779418310808841877152620437400009225n],
  ],
  bounded_curation: [[0n, 0n], [4759n, 21947013735n], [4576411609n, 21080854764675909n], [2163952231247011753n, 18446709975526219914n]],
  linear: [[0n, 0n], [1006443827n, 1006443827n]],
  square_root: [[0n, 0n], [1n, 1n], [4503n, 67n], [3877701083068459n, 62445556n], [1069551452689452101n, 1034919618n]],
  convergent_linear: [
    [0n, 0n],
    [1n, 0n],
    [1243n, 621n],
    [8023193477n, 4015615934n],
    [1756119885100081n, 1752138024456861n],
    [69851994076130969n, 69847994534189982n],
  ],
  convergent_square_root: [[0n, 0n], [6367n, 0n], [275012945n, 137n], [4312184781496467n, 65621972n], [197329577714011499n, 436360688n]],
};

test("the curves give what the chain's give", () => {
  assert.deepEqual(Object.keys(VALUES).sort(), Object.keys(FORMULAS).sort());
  for (const [curve, values] of Object.entries(VALUES)) {
    for (const [rshares, expected] of values) assert.equal(curveValue(curve, rshares, 2_000_000_000_000n), expected, curve);
  }
});

// A payout of a test chain, with the fund before the block's payouts and the operations of that block.
const POST = {
  ...{
    "author": "alice",
    "net_rshares": "10499862831",
    "reward_weight": 10000,
    "max_accepted_payout": "500.000 SBD",
    "total_vote_weight": 5262,
    "allow_curation_rewards": true,
    "percent_coin_dollars": 5000,
    "beneficiaries": [{"account": "bob", "weight": 1000}],
  },
  active_votes: [
    {"voter": "bob", "weight": "955"},
    {"voter": "carol", "weight": "471"},
    {"voter": "dave", "weight": "722"},
    {"voter": "erin", "weight": "0"},
    {"voter": "frank", "weight": "964"},
    {"voter": "grace", "weight": "224"},
    {"voter": "heidi", "weight": "963"},
    {"voter": "ivan", "weight": "0"},
    {"voter": "judy", "weight": "963"},
  ],
};
const FUND = {
  "content_constant": "2000000000000",
  "percent_curation_rewards": 5000,
  "author_reward_curve": "convergent_linear",
  "reward_balance": "1337.102 COIN",
};
const CLAIMS = 19556098733n;
const PROPS = {
  "total_vesting_shares": "1005188.779306 VESTS",
  "total_vesting_fund_coin": "1005549.822 COIN",
  "pending_rewarded_vesting_shares": "181.963778 VESTS",
  "pending_rewarded_vesting_coin": "181.975 COIN",
  "sbd_print_rate": 10000,
};
const PRICE = {"base": "0.250 SBD", "quote": "1.000 COIN"};
const PAID = {
  "frank curator": [0n, 32911169n],
  "heidi curator": [0n, 32876181n],
  "judy curator": [0n, 32876181n],
  "bob curator": [0n, 32603279n],
  "dave curator": [0n, 24649139n],
  "carol curator": [0n, 16079219n],
  "grace curator": [0n, 7647251n],
  "bob beneficiary": [1123n, 13474156n],
  "alice author": [10108n, 121261409n],
};

test("a payout is divided as the chain has divided it", () => {
  const { claim } = shownPending({ post: POST, fund: { ...FUND, recent_claims: "1" }, price: PRICE });
  const { rows, claims } = payoutNow({ post: POST, fund: { ...FUND, recent_claims: String(CLAIMS - claim) }, price: PRICE, props: PROPS });
  assert.equal(claims, CLAIMS);
  assert.equal(rows.length, Object.keys(PAID).length);
  for (const { account, as, sbd, liquid, vests } of rows) {
    const [paidSbd, paidVests] = PAID[`${account} ${as.split(",")[0]}`];
    assert.deepEqual([sbd, liquid], [paidSbd, 0n]);
    // The price of VESTS changes slightly within the block.
    const difference = vests > paidVests ? vests - paidVests : paidVests - vests;
    assert.ok(difference * 1_000_000n <= paidVests, `${account}: ${vests} and ${paidVests}`);
  }
});
