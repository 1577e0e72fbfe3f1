// What a post would be paid, in whole units as the chain counts: the curves, the conversions, and how a payout is divided.
import { chain } from "../chain.js";
import { branded, units } from "../format.js";

const WHOLE = 10_000n;
const WORD128 = 1n << 128n;
const SMALLEST_PAYOUT = 20n; // in thousandths of SBD; less is not paid

// What each curve makes of rshares r, with the fund's content constant s.
export const FORMULAS = {
  convergent_linear: "((r + s)² − s²) ÷ (r + 4 s)",
  convergent_square_root: "r ÷ √(r + 2 s)",
  linear: "r",
  square_root: "√r",
  quadratic: "(r + s)² − s²",
  bounded_curation: "r × 2⁶⁴ ÷ (r + 2 s)",
};

export function curveValue(curve, r, s) {
  if (curve === "convergent_linear") return (((r + s) ** 2n - s ** 2n) % WORD128) / (r + 4n * s);
  if (curve === "convergent_square_root") return r / approximateRoot(r + 2n * s);
  if (curve === "linear") return r;
  if (curve === "square_root") return approximateRoot(r);
  if (curve === "bounded_curation") return ((r % (1n << 64n)) << 64n) / (2n * s + r);
  return ((r + s) ** 2n - s ** 2n) % WORD128;
}

// The chain's own square root, which is not exact.
function approximateRoot(x) {
  if (x === 0n) return 0n;
  const top = BigInt(x.toString(2).length - 1);
  const half = top >> 1n;
  const low = ((x ^ (1n << top)) >> (top - half)) % (1n << 64n);
  const high = top & 1n ? 1n << half : 0n;
  return (1n << half) | ((high | low) >> 1n);
}

export function symbols() {
  const [coin, sbd, vests] = chain.overview.tokens.map(({ symbol }) => symbol);
  return { coin, sbd, vests };
}

// `price` is the median: {base: SBD, quote: COIN}. Without one nothing has a worth in SBD.
function toSbd(price, coin) {
  const quote = units(price.quote);
  return quote ? (coin * units(price.base)) / quote : 0n;
}

function toCoin(price, sbd) {
  const base = units(price.base);
  return base ? (sbd * units(price.quote)) / base : 0n;
}

// What nodes show as the pending payout: the post's claim on the fund's worth in SBD, by the claims of all posts that were paid.
export function shownPending({ post, fund, price }) {
  const rshares = BigInt(post.net_rshares);
  const claims = BigInt(fund.recent_claims);
  const balance = units(fund.reward_balance);
  const hasPrice = units(price.quote) > 0n;
  const worth = hasPrice ? toSbd(price, balance) : balance;
  const claim = rshares > 0n ? curveValue(fund.author_reward_curve, rshares, BigInt(fund.content_constant)) : 0n;
  return { rshares, claims, balance, worth, hasPrice, claim, pending: claims ? (claim * worth) / claims : 0n };
}

// What the chain would pay if the payout was now, and to whom: a list of {account, as, coin, sbd, liquid, vests}, where `coin` is the share
// of the payout before it is converted.
export function payoutNow({ post, fund, price, props }) {
  const { rshares, claims: before, balance, claim: whole } = shownPending({ post, fund, price });
  const claims = before + whole;
  const claim = (whole * BigInt(post.reward_weight)) / WHOLE;
  const share = rshares > 0n && claims > 0n ? (balance * claim) / claims : 0n;
  const isDust = toSbd(price, share) < SMALLEST_PAYOUT;
  const most = toCoin(price, units(post.max_accepted_payout));
  const payout = isDust ? 0n : share < most ? share : most;
  const curation = (payout * BigInt(fund.percent_curation_rewards)) / WHOLE;
  const total = BigInt(post.total_vote_weight);
  const curators = !post.allow_curation_rewards || !total ? [] : post.active_votes
    .map((vote) => ({ account: vote.voter, as: "curator", coin: (curation * BigInt(vote.weight)) / total }))
    .filter(({ coin }) => coin > 0n)
    .map((one) => ({ ...one, sbd: 0n, liquid: 0n, vests: toVests(props, one.coin) }));
  const tokens = payout - curation;
  const sbdShare = BigInt(branded(post, "percent_coin_dollars"));
  const divided = (coin) => {
    const half = (coin * sbdShare) / 20_000n;
    const printed = units(price.quote) ? (half * BigInt(props.sbd_print_rate)) / WHOLE : 0n;
    return { sbd: toSbd(price, printed), liquid: half - printed, vests: toVests(props, coin - half) };
  };
  const beneficiaries = post.beneficiaries.map(({ account, weight }) => {
    const coin = (tokens * BigInt(weight)) / WHOLE;
    return { account, as: `beneficiary, ${weight / 100} %`, coin, ...divided(coin) };
  });
  const author = tokens - beneficiaries.reduce((sum, { coin }) => sum + coin, 0n);
  const paid = curators.reduce((sum, { coin }) => sum + coin, 0n);
  return {
    claims,
    share,
    isDust,
    most,
    payout,
    curation,
    tokens,
    author,
    kept: curation - paid,
    rows: [{ account: post.author, as: "author", coin: author, ...divided(author) }, ...beneficiaries, ...curators],
  };
}

function toVests(props, coin) {
  const shares = units(props.total_vesting_shares) + units(props.pending_rewarded_vesting_shares);
  const fund = units(branded(props, "total_vesting_fund_coin")) + units(branded(props, "pending_rewarded_vesting_coin"));
  return fund ? (coin * shares) / fund : 0n;
}
