// Manabars: what an account can still spend on votes and transactions, as bars that fill while one looks.
import { useChain } from "../../chain.js";
import { decimalText, durationText, percentText } from "../../format.js";
import { html } from "../../html.js";
import { useCall } from "../../rpc.js";
import { Card, Problem } from "../layout.js";
import { Bar, Ticking } from "../values.js";
import { downvoteMaximum, fullAt, manaAt, nowSeconds, points, vestsOf } from "./values.js";

const VESTS_PLACES = 6;

export function Mana({ account, globals }) {
  const { head } = useChain();
  const credits = useCall("rc_api.find_rc_accounts", { accounts: [account.name] }, head);
  const { bar } = vestsOf(account);
  const rc = credits.result?.rc_accounts[0];
  return html`
    <${Card} title="Mana" aside="an empty bar fills in 5 days">
      <${Bars} name="Voting" bar=${account.voting_manabar} maximum=${bar} />
      <${Bars} name="Downvotes" bar=${account.downvote_manabar} maximum=${downvoteMaximum(bar, globals)} />
      ${credits.error && html`<h3>Resource credits</h3><${Problem} error=${credits.error} />`}
      ${rc && html`<${Bars} name="Resource credits" bar=${rc.rc_manabar} maximum=${BigInt(rc.max_rc)} isLimited=${false} places=${0} />`}
      ${credits.result && !rc && html`<p class="muted">Resource credits have not begun on this chain.</p>`}
    </${Card}>
  `;
}

// One bar: its share, how much that is, and when it is full.
function Bars({ name, bar, maximum, isLimited = true, places = VESTS_PLACES }) {
  return html`
    <${Ticking}>${() => {
      const seconds = nowSeconds();
      const mana = manaAt(bar, maximum, seconds, isLimited);
      const percent = percentText(points(mana, maximum));
      const left = fullAt(bar, maximum) - seconds;
      const until = maximum <= 0n ? "has none" : mana >= maximum ? "full" : `full in ${durationText(left)}`;
      return html`
        <div class="mana">
          <div class="row"><b>${name}</b><span>${percent} <span class="muted">· ${until}</span></span></div>
          <${Bar} share=${points(mana, maximum) / 10000} label=${`${name}: ${percent}, ${until}`} />
          <div class="muted small">${decimalText(mana, places)} of ${decimalText(maximum, places)}</div>
        </div>
      `;
    }}</${Ticking}>
  `;
}
