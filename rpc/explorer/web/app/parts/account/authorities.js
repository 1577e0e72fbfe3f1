// Who may sign for an account: its three authorities as a picture of boxes and lines, the same as a table, and what belongs to recovery.
import { chain } from "../../chain.js";
import { durationText, isNever, numberText, shortId } from "../../format.js";
import { html, useStyle } from "../../html.js";
import { Link } from "../../router.js";
import { call, useAnswer, useCall } from "../../rpc.js";
import { Answer, Card, Facts, Table } from "../layout.js";
import { Account } from "../names.js";
import { Copyable, Json, Time } from "../values.js";

const ROLES = ["owner", "active", "posting"];
const MAY = {
  owner: "changes all keys; also stands for active and posting",
  active: "moves money, trades, votes for witnesses; also stands for posting",
  posting: "publishes, votes for posts, follows",
};
const NESTED_MAX = 50;
const NESTED_SHOWN = 8;

export function Authorities({ account, waiting }) {
  useStyle("account");
  const names = [...new Set(ROLES.flatMap((role) => account[role].account_auths.map(([name]) => name)))].slice(0, NESTED_MAX);
  const others = useAnswer(() => (names.length ? call("database_api.find_accounts", { accounts: names }) : null), names.join(" "));
  const found = new Map((others.result?.accounts ?? []).map((one) => [one.name, one]));
  return html`
    <${Card} title="Who may sign" aside="lines are as thick as their part of the threshold">
      ${ROLES.map((role) => html`<${Picture} role=${role} authority=${account[role]} found=${found} />`)}
      <details><summary>As a table</summary><${Members} account=${account} /></details>
    </${Card}>
    <div class="grid">
      <${Card} title="Other keys and dates">
        <${Facts} of=${[
          ["Memo key", html`<${Key} of=${account.memo_key} isWhole />`],
          ["Last owner update", html`<${Time} at=${account.last_owner_update} />`],
          ["Last account update", html`<${Time} at=${account.last_account_update} />`],
          ["Last recovery", html`<${Time} at=${account.last_account_recovery} />`],
          ["Recovery account", account.recovery_account ? html`<${Account} name=${account.recovery_account} />` : "the witness with the most votes"],
          ["Reset account", account.reset_account && html`<${Account} name=${account.reset_account} />`],
        ]} />
      </${Card}>
      <${Recovery} account=${account} waiting=${waiting} />
    </div>
  `;
}

// One authority: its box, and lines to the boxes of keys and accounts.
function Picture({ role, authority, found }) {
  const { weight_threshold: threshold } = authority;
  return html`
    <div class="authority">
      <div class="node root">
        <b>${role}</b>
        <div class="small muted">${MAY[role]}</div>
        <div class="small">${needs(authority)}</div>
      </div>
      <ul class="branches" aria-label=${`Who may sign as ${role}`}>
        ${authority.account_auths.map(([name, weight]) => html`
          <${Branch} weight=${weight} threshold=${threshold}>
            <div>account <${Account} name=${name} /> <${Weight} of=${weight} /></div>
            <${Nested} role=${role === "posting" ? "posting" : "active"} account=${found.get(name)} />
          </${Branch}>`)}
        ${authority.key_auths.map(([key, weight]) => html`
          <${Branch} weight=${weight} threshold=${threshold}><${Key} of=${key} /> <${Weight} of=${weight} /></${Branch}>`)}
      </ul>
    </div>
  `;
}

function Branch({ weight, threshold, children }) {
  const thickness = 1 + Math.round(4 * Math.min(1, threshold ? weight / threshold : 1));
  return html`<li><span class="line" style=${{ height: `${thickness}px` }}></span><div class="node">${children}</div></li>`;
}

// What stands behind an account in an authority: its own authority of the same kind, one step deep.
function Nested({ role, account }) {
  if (!account) return null;
  const authority = account[role];
  const members = [
    ...authority.account_auths.map(([name, weight]) => [html`<${Account} name=${name} />`, weight]),
    ...authority.key_auths.map(([key, weight]) => [html`<${Key} of=${key} />`, weight]),
  ];
  return html`
    <div class="small muted">by its ${role} authority: ${needs(authority)}</div>
    <ul class="nested">
      ${members.slice(0, NESTED_SHOWN).map(([shown, weight]) => html`<li>${shown} <${Weight} of=${weight} /></li>`)}
      ${members.length > NESTED_SHOWN && html`<li class="muted">and ${numberText(members.length - NESTED_SHOWN)} more</li>`}
    </ul>
  `;
}

function Weight({ of }) {
  return html`<span class="badge">weight ${numberText(of)}</span>`;
}

// The address in the search is what shows who else has a key.
function Key({ of, isWhole = false }) {
  const to = `/search?q=${encodeURIComponent(of)}`;
  if (isWhole) return html`<${Copyable} text=${of} what="key"><${Link} to=${to}>${of}</${Link}></${Copyable}>`;
  return html`<${Link} class="mono" to=${to} title=${of}>${shortId(of, 14)}</${Link}>`;
}

function membersOf(authority) {
  return [...authority.account_auths, ...authority.key_auths];
}

// What it takes to sign, in words.
function needs(authority) {
  const members = membersOf(authority);
  const all = members.reduce((sum, [, weight]) => sum + weight, 0);
  const { weight_threshold: threshold } = authority;
  if (threshold === 0) return "threshold 0: nobody has to sign";
  if (!members.length) return `threshold ${numberText(threshold)}, nobody can sign`;
  if (all < threshold) return `threshold ${numberText(threshold)}, out of reach: all together weigh ${numberText(all)}`;
  if (members.every(([, weight]) => weight >= threshold)) return members.length === 1 ? "this one signs" : `any one of ${numberText(members.length)} signs`;
  return `threshold ${numberText(threshold)} of ${numberText(all)}`;
}

function Members({ account }) {
  const rows = ROLES.flatMap((role) => {
    const { account_auths, key_auths, weight_threshold } = account[role];
    return [
      ...account_auths.map(([name, weight]) => ({ role, weight_threshold, weight, name })),
      ...key_auths.map(([key, weight]) => ({ role, weight_threshold, weight, key })),
    ];
  });
  return html`
    <${Table} caption="Keys and accounts that may sign, with their weights" rows=${rows} nothing="Nobody may sign." columns=${[
      { title: "For", cell: ({ role }) => role },
      { title: "Key or account", cell: ({ name, key }) => (name ? html`<${Account} name=${name} />` : html`<${Key} of=${key} isWhole />`) },
      { title: "Weight", isNumber: true, cell: ({ weight }) => numberText(weight) },
      { title: "Threshold", isNumber: true, cell: ({ weight_threshold }) => numberText(weight_threshold) },
    ]} />
  `;
}

// Owner authorities of the last days, with which the account can still be recovered, and requests that wait.
function Recovery({ account, waiting }) {
  const former = useCall("database_api.find_owner_histories", { owner: account.name }, chain.head);
  const config = useCall("database_api.get_config");
  const { recoveries = [], changes = [] } = waiting ?? {};
  const period = recoveryPeriod(config.result);
  return html`
    <${Card} title="Recovery">
      ${recoveries.map((request) => html`
        <div class="note bad">
          <p>A new owner authority was asked for. The request ends <${Time} at=${request.expires} />.</p>
          <details class="small"><summary>The new owner authority</summary><${Json} of=${request.new_owner_authority} /></details>
        </div>`)}
      ${changes.map(({ effective_on, recovery_account }) => html`
        <p class="note">From <${Time} at=${effective_on} /> the recovery account is <${Account} name=${recovery_account} />.</p>`)}
      <p class="muted small">With a former owner authority of the last ${period} and its recovery account an account can be recovered.</p>
      <${Answer} of=${former}>${({ owner_auths }) => html`
        <${Table} caption="Former owner authorities" rows=${owner_auths} columns=${[
          { title: "Valid until", cell: ({ last_valid_time }) => (isNever(last_valid_time) ? "" : html`<${Time} at=${last_valid_time} />`) },
          { title: "Owner authority then", cell: ({ previous_owner_authority: then }) => html`<${Former} of=${then} />` },
        ]} nothing=${`The owner authority has not changed in the last ${period}.`} />`}
      </${Answer}>
    </${Card}>
  `;
}

function Former({ of }) {
  return html`
    <div class="small">${needs(of)}</div>
    ${of.account_auths.map(([name, weight]) => html`<div><${Account} name=${name} /> <${Weight} of=${weight} /></div>`)}
    ${of.key_auths.map(([key, weight]) => html`<div><${Key} of=${key} /> <${Weight} of=${weight} /></div>`)}
  `;
}

// How long a former owner authority is good for: microseconds in a constant whose name begins with the chain's brand word.
function recoveryPeriod(config = {}) {
  const [, microseconds] = Object.entries(config).find(([name]) => name.endsWith("_OWNER_AUTH_RECOVERY_PERIOD")) ?? [];
  return microseconds ? durationText(Number(microseconds) / 1_000_000) : "days";
}
