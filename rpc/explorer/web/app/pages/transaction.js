// A transaction: where it stands, what it says, who signed it, its bytes field by field, and how to send the same again.
import { milliseconds, now, useChain } from "../chain.js";
import { programs } from "../clients.js";
import { numberText, operationOf, shortId } from "../format.js";
import { html, useRef, useState } from "../html.js";
import { Bytes } from "../parts/bytes.js";
import { Answer, Card, Chips, Facts, Page, Table } from "../parts/layout.js";
import { Account } from "../parts/names.js";
import { BlockLink, Copy, Copyable, Json, Ticking, Time } from "../parts/values.js";
import { Link, path } from "../router.js";
import { call, useAnswer } from "../rpc.js";
import { Sentence } from "../sentences.js";

const ID = /^[0-9a-f]{40}$/;
const REFUSALS_SEARCHED = 1000;
const NOTIFICATIONS_MAX = 100;
const RESOURCES = {
  resource_history_bytes: "bytes in the history",
  resource_new_accounts: "new accounts",
  resource_market_bytes: "bytes on the market",
  resource_state_bytes: "bytes of state × time",
  resource_execution_time: "time to execute",
};

export default function Transaction({ id }) {
  const { head, overview, undone, isLocal, pending } = useChain();
  const wanted = id.toLowerCase();
  const known = useRef(null);
  // One that is in a block stays there until blocks are undone; one that isn't may get there with every block.
  const place = known.current?.block_num ? `in ${known.current.block_num}` : `${head} ${overview.pending} ${pending.length}`;
  const answer = useAnswer(() => load(wanted, isLocal), `${wanted} ${place} ${undone} ${isLocal}`, wanted);
  if (answer.result) known.current = answer.result.found;
  return html`
    <${Page} title=${`Transaction ${shortId(wanted)}`} heading=${html`Transaction <span class="mono">${shortId(wanted, 10)}</span>`}>
      <${Answer} of=${answer}>${({ found, refused }) => (found ? html`<${Shown} of=${found} />` : html`<${Missing} id=${wanted} refused=${refused} />`)}
        </${Answer}>
    </${Page}>
  `;
}

async function load(id, isLocal) {
  if (!ID.test(id)) return { found: null, refused: null };
  const found = await call("explorer_api.get_transaction", { id });
  if (found || !isLocal) return { found, refused: null };
  const refusals = await call("dev_api.list_refused", { limit: REFUSALS_SEARCHED }).catch(() => []);
  return { found: null, refused: refusals.find((refusal) => refusal.id === id) ?? null };
}

function Missing({ id, refused }) {
  const { isLocal } = useChain();
  if (!ID.test(id)) return html`<p class="note bad">${id} is no id of a transaction: those have 40 hex digits.</p>`;
  if (refused)
    return html`
      <div class="note bad" role="status">
        <p><b>Refused.</b> ${refused.explain?.why ?? refused.message}</p>
        ${refused.explain?.what_to_do && html`<p>${refused.explain.what_to_do}</p>`}
        <p><${Link} to=${path.refusal(id)}>All about this refusal</${Link}></p>
      </div>
    `;
  return html`
    <div class="note" role="status">
      <p>This node knows no transaction <span class="mono break">${id}
        </span>: it is in no block that the node has${isLocal ? ", waits for none, and is none of those that were refused last" : ", and waits for none"}.</p>
      <p>This page looks again with every block, and shows it as soon as it is there.</p>
    </div>
  `;
}

function Shown({ of }) {
  const { operations } = of.transaction;
  return html`
    <${Card} aside=${html`<${Status} of=${of} />`}
      title=${operations.length === 1 ? "What it says" : `What it says, in ${numberText(operations.length)} operations`}>
      <ul class="list">${operations.map((operation, i) => html`<li key=${i}><${Sentence} operation=${operation} /></li>`)}</ul>
      <${Ignored} of=${of} />
    </${Card}>
    <div class="grid">
      <${About} of=${of} />
      <${Signed} of=${of} />
    </div>
    ${of.credits && html`<${Credits} of=${of.credits} />`}
    <${Card} title="Bytes" aside=${`${numberText(of.size)} bytes, by field`}>
      <${Bytes} hex=${of.hex} fields=${of.fields} leftOut=${of.fields_left_out} />
      <p><${Copy} text=${of.hex} words="Copy as hex" /></p>
    </${Card}>
    <${Again} of=${of} />
    <${Card} title="As JSON" aside=${html`<${Copy} text=${JSON.stringify(of.transaction, null, 2)} />`}>
      <details><summary>Show</summary><${Json} of=${of.transaction} label="The transaction as JSON" /></details>
    </${Card}>
  `;
}

// Blocks contain actions that communities ignore, since the rules of communities aren't rules of the chain. Who signed one is notified.
function Ignored({ of }) {
  const sent = of.transaction.operations.map(operationOf).filter(({ name, value }) => name === "custom_json" && value.id === "community");
  const signers = [...new Set(sent.flatMap(({ value }) => value.required_posting_auths))];
  const { result = [] } = useAnswer(() => (of.timestamp && signers.length ? loadErrors(signers, of.timestamp) : null), `${of.id} ${of.timestamp}`);
  return result.map(({ account, msg }) => html`
    <p class="note bad">The community ignored an action of <${Account} name=${account} /> in this block: ${msg.replace(/^error: /, "")}</p>`);
}

async function loadErrors(accounts, time) {
  const ask = (account) => call("bridge.account_notifications", { account, limit: NOTIFICATIONS_MAX }).catch(() => []);
  const found = await Promise.all(accounts.map(async (account) => (await ask(account)).map((one) => ({ ...one, account }))));
  return found.flat().filter(({ type, date }) => type === "error" && date === time);
}

function Status({ of }) {
  const { irreversible } = useChain();
  if (of.block_num === null) return html`<span class="badge warn" role="status">waits for a block</span>`;
  const isSettled = of.is_irreversible || of.block_num <= irreversible;
  return html`<span role="status">in block <${BlockLink} number=${of.block_num} /> <span class=${`badge ${isSettled ? "good" : "warn"}`}>
    ${isSettled ? "irreversible" : "can still be undone"}</span></span>`;
}

function About({ of }) {
  const { reference, transaction } = of;
  const isPending = of.block_num === null;
  return html`
    <${Card} title="Facts">
      <${Facts} of=${[
        ["Block", isPending ? "none yet" : html`<${BlockLink} number=${of.block_num} />, transaction ${of.trx_in_block + 1} in it`],
        ["Time", of.timestamp && html`<${Time} at=${of.timestamp} />`],
        ["Id", html`<${Copyable} text=${of.id} />`],
        ["Signed digest", html`<${Copyable} text=${of.digest} what="digest" />`],
        ["Size", `${numberText(of.size)} bytes`],
        ["Expiration", html`<${Time} at=${transaction.expiration} /> ${isPending && html`<${Ticking}>
          ${() => milliseconds(transaction.expiration) < now() && html`<span class="badge bad">expired</span>`}</${Ticking}>`}`],
        ["Reference block", html`<${Reference} of=${reference} isPending=${isPending} />`],
        ["Extensions", transaction.extensions.length ? html`<code>${JSON.stringify(transaction.extensions)}</code>` : null],
      ]} />
    </${Card}>
  `;
}

function Reference({ of, isPending }) {
  const named =
    of.block_num === null
      ? html`none that this node has (number … ${of.ref_block_num})`
      : html`<${BlockLink} number=${of.block_num} /> <${Copyable} text=${of.block_id} />`;
  if (of.is_same) return html`${named} <span class="badge good">still that block</span>`;
  return html`${named} <span class="badge bad">not the block that it was signed on</span>${isPending && " It can't get into a block of this chain."}`;
}

function Signed({ of }) {
  return html`
    <${Card} title="Signatures" aside="what they are worth now">
      ${of.is_impersonated && html`<p class="note">It was accepted without the signatures that it needs: this node impersonates accounts.</p>`}
      ${of.signed_by.length ? html`<ul class="keys">${of.signed_by.map((signer) => html`<${Signer} of=${signer} />`)}
        </ul>` : html`<p class="muted">It has none.</p>`}
      <h3>What it needs</h3>
      <${Table} caption="Authorities that the transaction needs" nothing="Nothing." rows=${of.required} columns=${[
        { title: "Authority", cell: ({ account, role }) => (account ? html`${role} of <${Account} name=${account} />` : "one that the operation gives") },
        { title: "Weight reached", isNumber: true, cell: ({ reached, threshold }) => `${numberText(reached)} of ${numberText(threshold)}` },
        { title: "Now", cell: ({ met_by, role }) => (met_by ? html`<span class="badge good">${met_by === role ? "satisfied" : `satisfied by ${met_by}`}
          </span>` : html`<span class="badge bad">no longer satisfied</span>`) },
      ]} />
    </${Card}>
  `;
}

function Signer({ of }) {
  if (!of.key) return html`<li>A signature that no key can have made.</li>`;
  const places = (list) => list.map(({ account, role }, i) => html`${i ? ", " : ""}${role} of <${Account} name=${account} />`);
  return html`
    <li>
      <${Copyable} text=${of.key} what="key" /><br />
      ${of.belongs_to.length > 0 && places(of.belongs_to)}
      ${of.belonged_to && html`no longer anybody's; it was ${places(of.belonged_to)}`}
      ${!of.belongs_to.length && !of.belonged_to && html`<span class="muted">belongs to nobody who is known here now</span>`}
    </li>
  `;
}

function Credits({ of }) {
  return html`
    <${Card} title="Resource credits" aside="what it would cost now">
      <p><b>${numberText(of.cost)}</b> credits, paid by ${of.payer ? html`<${Account} name=${of.payer} />` : "nobody"}.
        ${" "}What it did cost depended on the prices of then, which are not kept.</p>
      <${Table} caption="Resource credits by kind" rows=${of.resources} columns=${[
        { title: "Resource", cell: ({ resource }) => RESOURCES[resource] ?? resource },
        { title: "Used", isNumber: true, cell: ({ used }) => numberText(used) },
        { title: "Credits", isNumber: true, cell: ({ cost }) => numberText(cost) },
      ]} />
    </${Card}>
  `;
}

function Again({ of }) {
  const [chosen, setChosen] = useState("curl");
  const texts = programs(of.transaction);
  const [, , text] = texts.find(([name]) => name === chosen);
  return html`
    <${Card} title="Send the same again" aside=${html`<${Copy} text=${text} />`}>
      <div class="filters"><${Chips} label="Program" chosen=${chosen} onChoose=${setChosen} options=${texts.map(([name, words]) => [name, words])} /></div>
      <pre tabindex="0" role="region" aria-label="Program">${text}</pre>
    </${Card}>
  `;
}
