// The price of the chain in words.
import { numberText } from "../format.js";

// Where the price in force comes from, given how many medians of the witnesses' feeds the chain has.
export function feedWords(count) {
  return count ? `the median of the last ${numberText(count)} medians` : "which the chain began with";
}
