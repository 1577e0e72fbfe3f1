// The price of the chain in words.
import { constant } from "../brand.js";
import { numberText } from "../format.js";

// Where the price in force comes from, given how many medians of the witnesses' feeds the chain has.
export function feedWords(count) {
  return count ? `the median of the last ${numberText(count)} medians` : "which the chain began with";
}

// When the next median is taken, given the number of the head block and the chain's constants.
export function nextMedianWords(head, config) {
  const blocks = Number(constant(config, "_FEED_INTERVAL_BLOCKS"));
  const next = (Math.floor(head / blocks) + 1) * blocks;
  const least = constant(config, "_MIN_FEEDS");
  return `The next median is taken with block ${numberText(next)}, if at least ${least} witnesses of the round have published a price by then.`;
}
