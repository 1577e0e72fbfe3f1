// The person or thing behind an account: dates, reputation, counts, and what it says of itself.
import { useChain } from "../../chain.js";
import { isNever, numberText } from "../../format.js";
import { html } from "../../html.js";
import { Link, path } from "../../router.js";
import { call, useAnswer, useCall } from "../../rpc.js";
import { Card, Facts } from "../layout.js";
import { Account } from "../names.js";
import { Json, Time } from "../values.js";
import { shownReputation } from "./values.js";

const PROFILE = ["name", "about", "location", "website", "profile_image", "cover_image"];

export function About({ account, witness }) {
  const { head } = useChain();
  const reputation = useAnswer(() => loadReputation(account.name), `${account.name} ${head}`, account.name);
  const follows = useCall("follow_api.get_follow_count", { account: account.name }, head);
  const raw = reputation.result;
  const votes = account.witnesses_voted_for;
  const counted = votes === 1 ? "one witness" : `${numberText(votes)} witnesses`;
  const since = (time) => (isNever(time) ? null : html`<${Time} at=${time} />`);
  return html`
    <${Card} title="Account">
      <${Facts} of=${[
        ["Reputation", raw === undefined ? "…" : html`<${Reputation} raw=${raw} />`],
        ["Created", since(account.created) ?? (account.mined ? "with the chain, or mined" : "with the chain")],
        ["Recovery account", account.recovery_account && html`<${Account} name=${account.recovery_account} />`],
        ["Votes through", account.proxy && html`<${Account} name=${account.proxy} />`],
        ["Votes for", account.proxy ? null : html`<${Link} to=${path.account(account.name, "votes")}>${counted}</${Link}>`],
        ["Witness", witness && html`<${Link} to=${path.account(account.name, "votes")}>${numberText(witness.total_missed)} missed block${witness.total_missed === 1 ? "" : "s"}</${Link}>`],
        ...followsOf(follows.result, account.name),
        ["Posts and replies", numberText(account.post_count)],
        ["Last post", since(account.last_post)],
        ["Last vote", since(account.last_vote_time)],
        ["Claimed accounts", numberText(account.pending_claimed_accounts)],
        ["Record id", numberText(account.id)],
      ]} />
    </${Card}>
  `;
}

// The two counts; there are none without the plugin.
function followsOf(found, name) {
  const counted = (count) => html`<${Link} to=${path.account(name, "followers")}>${numberText(count)}</${Link}>`;
  return found ? [["Followers", counted(found.follower_count)], ["Follows", counted(found.following_count)]] : [];
}

function Reputation({ raw }) {
  if (raw === null) return html`<span class="muted">this node runs without <code>--enable reputation</code></span>`;
  return html`<b>${shownReputation(raw)}</b> <span class="muted small">raw ${numberText(raw)}</span>`;
}

// The raw reputation, from whichever plugin the node has; null without one.
async function loadReputation(account_lower_bound) {
  const params = { account_lower_bound, limit: 1 };
  const { reputations } = await call("reputation_api.get_account_reputations", params)
    .catch(() => call("follow_api.get_account_reputations", params))
    .catch(() => ({ reputations: null }));
  return reputations && (reputations[0]?.account === account_lower_bound ? reputations[0].reputation : 0);
}

// The two texts of metadata: the usual members of a profile as words, all of it as JSON.
export function Metadata({ account }) {
  const texts = ["posting_json_metadata", "json_metadata"].map((name) => [name, account[name]]).filter(([, text]) => text);
  const profile = texts.map(([, text]) => parsed(text)?.profile).find((one) => one && typeof one === "object");
  if (!texts.length) return null;
  return html`
    <${Card} title="What it says of itself">
      ${profile && html`<${Facts} of=${factsOf(profile)} />`}
      ${texts.map(([name, text]) => html`
        <details><summary><code>${name}</code></summary>
          ${parsed(text) === undefined
            ? html`<pre tabindex="0" role="region" aria-label=${name}>${text}</pre>`
            : html`<${Json} of=${parsed(text)} label=${name} />`}
        </details>`)}
    </${Card}>
  `;
}

// Links and pictures of strangers are shown as the texts that they are.
function factsOf(profile) {
  return PROFILE.filter((name) => typeof profile[name] === "string").map((name) => [name.replace("_", " "), profile[name]]);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
