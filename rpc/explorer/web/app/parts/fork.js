// Notes on the pages of a fork: one account stands for everybody who isn't on the chain, and lists are incomplete.
import { chain } from "../chain.js";
import { html } from "../html.js";
import { Link } from "../router.js";
import { useCall } from "../rpc.js";

// The account that stands for everybody who isn't on the chain. Nobody can register a name with a space.
export const ALL_OTHERS = "all others";

// The host of a URL, or the whole text if it isn't a URL.
export function hostOf(source) {
  try {
    return new URL(source).host || source;
  } catch {
    return source;
  }
}

export function AllOthers() {
  const { fork } = chain.overview;
  const title = `Everybody at ${fork ? hostOf(fork.source) : "the source"} who isn't on this chain, as one account`;
  return html`<span class="others" title=${title}>${ALL_OTHERS}</span>`;
}

// The note on the page of an account of which a fork has only a part.
export function OnlyPart({ name }) {
  const { fork } = chain.overview;
  const { result } = useCall(fork && !fork.is_complete ? "explorer_api.list_partial_accounts" : "", { accounts: [name] }, chain.head);
  if (!result?.length) return null;
  const what = result[0].is_light
    ? "Balances, keys and votes of this account are here, without its orders, delegations and other rows."
    : "Only the name of this account is here, because something refers to it. It wasn't fetched, and has nothing.";
  return html`<p class="note">${what}</p>`;
}

// The note on pages with lists over everybody.
export function OnlyHere() {
  const { fork } = chain.overview;
  if (!fork || fork.is_complete) return null;
  return html`
    <p class="note">
      This page shows only what is on this chain: a part of what <${Link} to="/fork">${hostOf(fork.source)}</${Link}> has.
    </p>`;
}
