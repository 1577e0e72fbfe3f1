// An account: what it owns, what it can do, who signs for it, what it did, and what waits for it.
import { useChain } from "../chain.js";
import { html, useStyle } from "../html.js";
import { About, Metadata } from "../parts/account/about.js";
import { Authorities } from "../parts/account/authorities.js";
import { Balances, PowerDown, Vests } from "../parts/account/balances.js";
import { Delegations } from "../parts/account/delegations.js";
import { Due, dueOf } from "../parts/account/due.js";
import { Follows } from "../parts/account/follows.js";
import { History } from "../parts/account/history.js";
import { loadAccount, loadWaiting } from "../parts/account/load.js";
import { Mana } from "../parts/account/mana.js";
import { Posts } from "../parts/account/posts.js";
import { Votes } from "../parts/account/votes.js";
import { Waiting } from "../parts/account/waiting.js";
import { ALL_OTHERS, AllOthers, OnlyPart } from "../parts/fork.js";
import { Answer, Page, Problem, Tabs } from "../parts/layout.js";
import { Link, path } from "../router.js";
import { useAnswer } from "../rpc.js";

const TABS = [
  ["overview", "Overview"],
  ["history", "History"],
  ["authorities", "Authorities"],
  ["posts", "Posts"],
  ["followers", "Followers"],
  ["delegations", "Delegations"],
  ["votes", "Votes"],
  ["open", "Open and due"],
];

export default function AccountPage({ name, query }) {
  useStyle("account");
  const { head, undone } = useChain();
  const key = `${name} ${head} ${undone}`;
  const answer = useAnswer(() => loadAccount(name), key, name);
  const waiting = useAnswer(() => loadWaiting(name), key, name);
  const asked = query.get("tab");
  const tab = TABS.some(([one]) => one === asked) ? asked : "overview";
  return html`
    <${Page} title=${name === ALL_OTHERS ? name : `@${name}`} heading=${name === ALL_OTHERS ? html`<${AllOthers} />` : `@${name}`}>
      ${name === ALL_OTHERS && html`<p class="note">This account stands for everybody who isn't on this chain. It holds what they hold together. Nobody signs for it.</p>`}
      ${name !== ALL_OTHERS && html`<${OnlyPart} name=${name} />`}
      <${Answer} of=${answer}>${(found) =>
        found
          ? html`
              <${Tabs} label="About this account" chosen=${tab} tabs=${tabsOf(name)} />
              ${waiting.error && html`<${Problem} error=${waiting.error} again=${waiting.again} />`}
              <${Shown} tab=${tab} name=${name} query=${query} waiting=${waiting.result} ...${found} />
            `
          : html`<${Unknown} name=${name} />`}
      </${Answer}>
    </${Page}>
  `;
}

function tabsOf(name) {
  return TABS.map(([tab, words]) => [tab, words, path.account(name, tab === "overview" ? "" : tab)]);
}

function Shown({ tab, name, query, account, globals, price, witness, waiting }) {
  if (tab === "history") return html`<${History} name=${name} query=${query} />`;
  if (tab === "authorities") return html`<${Authorities} account=${account} waiting=${waiting} />`;
  if (tab === "posts") return html`<${Posts} name=${name} query=${query} />`;
  if (tab === "followers") return html`<${Follows} name=${name} />`;
  if (tab === "delegations") return html`<${Delegations} account=${account} globals=${globals} waiting=${waiting} />`;
  if (tab === "votes") return html`<${Votes} account=${account} witness=${witness} waiting=${waiting} />`;
  const due = waiting && dueOf(account, waiting);
  if (tab === "open") {
    if (!waiting) return html`<p class="muted" role="status">Loading…</p>`;
    return html`
      <${PowerDown} account=${account} globals=${globals} routes=${waiting.routes} />
      <${Waiting} name=${name} waiting=${waiting} due=${due} />
    `;
  }
  return html`
    <div class="grid wide-left">
      <div>
        <${Balances} account=${account} globals=${globals} price=${price} waiting=${waiting} />
        <${Vests} account=${account} globals=${globals} />
        ${due && html`<${Due} rows=${due} isPartial=${waiting.payouts === null} />`}
      </div>
      <div>
        <${About} account=${account} witness=${witness} />
        <${Mana} account=${account} globals=${globals} />
        <${PowerDown} account=${account} globals=${globals} routes=${waiting?.routes} />
        <${Metadata} account=${account} />
      </div>
    </div>
  `;
}

function Unknown({ name }) {
  return html`
    <p>There is no account named <b class="break">${name}</b> on this chain.</p>
    <p><${Link} class="button" to=${`/search?q=${encodeURIComponent(name)}`}>Search for this name</${Link}></p>
  `;
}
