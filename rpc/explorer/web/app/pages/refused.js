// Refused transactions: the last ones, by rule, operation and account, and one in full.
import { useChain } from "../chain.js";
import { names, numberText, operationOf, shortId } from "../format.js";
import { html } from "../html.js";
import { Bytes } from "../parts/bytes.js";
import { Answer, Card, Facts, Page } from "../parts/layout.js";
import { Refusals, Sent, operationsOf } from "../parts/refusals.js";
import { BlockLink, Copy, Copyable, Json, Time } from "../parts/values.js";
import { Link, setQuery } from "../router.js";
import { call, useAnswer, useCall } from "../rpc.js";
import { themeOf } from "../sentences.js";

const LISTED_MAX = 1000;
const SHOWN_MAX = 100;

export default function Refused({ id, query }) {
  return id ? html`<${One} id=${id} />` : html`<${List} query=${query} />`;
}

function useRefused() {
  const { isLocal, refusals } = useChain();
  const newest = refusals[0];
  return useCall(isLocal ? "dev_api.list_refused" : "", { limit: LISTED_MAX },
    `${newest?.time} ${newest?.id} ${newest?.message} ${refusals.length}`);
}

function OnlyLocal() {
  return html`
    <p>Refused transactions are shown on the machine of the node only, and for chains that are made for tests:
      what somebody sent in vain is nobody else's business.</p>
    <p class="muted">A client that is refused gets the same explanation with the error, in <code>error.data.explain</code>.</p>
  `;
}

// ------------------------------------------------------------------ the list

function List({ query }) {
  const { isLocal } = useChain();
  const answer = useRefused();
  return html`
    <${Page} title="Refused" heading="Refused transactions">
      ${isLocal ? html`<${Answer} of=${answer}>${(all) => html`<${Filtered} all=${all} query=${query} />`}</${Answer}>` : html`<${OnlyLocal} />`}
    </${Page}>
  `;
}

function Filtered({ all, query }) {
  const [rule, operation, account] = ["rule", "operation", "account"].map((name) => query.get(name) ?? "");
  const found = all.filter(
    (refusal) =>
      (!rule || ruleOf(refusal) === rule) &&
      (!operation || namesOf(refusal).includes(operation)) &&
      (!account || operationsOf(refusal).some((one) => names(one, account))),
  );
  const rules = counted(all.map(ruleOf));
  const operations = counted(all.flatMap((refusal) => [...new Set(namesOf(refusal))]));
  return html`
    <form class="filters" onSubmit=${(event) => event.preventDefault()}>
      <${Choice} label="Rule" name="rule" chosen=${rule} options=${rules} />
      <${Choice} label="Operation" name="operation" chosen=${operation} options=${operations} />
      <label>Account <input size="14" placeholder="any" value=${account}
        onChange=${(event) => setQuery({ account: event.target.value.trim().replace(/^@/, "") })} /></label>
    </form>
    <${Card} title="Newest first" aside=${`${numberText(found.length)} of ${numberText(all.length)}`}>
      ${all.length && !found.length ? html`<p class="muted">None of them fits.</p>` : html`<${Refusals} of=${found.slice(0, SHOWN_MAX)} isLocal />`}
      ${found.length > SHOWN_MAX && html`<p class="muted">The newest ${numberText(SHOWN_MAX)} are shown.</p>`}
    </${Card}>
  `;
}

function Choice({ label, name, chosen, options }) {
  const listed = chosen && !options.some(([value]) => value === chosen) ? [[chosen, 0], ...options] : options;
  return html`
    <label>${label}${" "}
      <select value=${chosen} onChange=${(event) => setQuery({ [name]: event.target.value })}>
        <option value="">any</option>
        ${listed.map(([value, count]) => html`<option value=${value} selected=${value === chosen}>
          ${value.replaceAll("_", " ")} (${numberText(count)})</option>`)}
      </select>
    </label>
  `;
}

// [value, how often] of each value, the most frequent first.
function counted(values) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort((some, other) => other[1] - some[1]);
}

function ruleOf(refusal) {
  return refusal.explain?.rule ?? "other";
}

function namesOf(refusal) {
  return operationsOf(refusal).map((operation) => operationOf(operation).name);
}

// ------------------------------------------------------------------ one in full

function One({ id }) {
  const { isLocal } = useChain();
  const answer = useRefused();
  return html`
    <${Page} title=${`Refused ${shortId(id)}`} heading=${html`Refused transaction <span class="mono">${shortId(id, 10)}</span>`}>
      ${isLocal ? html`<${Answer} of=${answer}>${(all) => html`<${Found} all=${all.filter((refusal) => refusal.id === id)} id=${id} />`}
        </${Answer}>` : html`<${OnlyLocal} />`}
    </${Page}>
  `;
}

function Found({ all, id }) {
  if (!all.length) return html`<p>Among the last refused transactions is none with the id <span class="mono break">${id}
    </span>. <${Link} to="/refused">All refused ones</${Link}></p>`;
  const [newest, ...earlier] = all;
  const before = earlier.slice(0, 10).map(({ time, explain }, i) => html`${i ? ", " : ""}<${Time} at=${time} isShort /> (${explain?.rule ?? "other"})`);
  return html`
    <${Why} of=${newest} />
    ${earlier.length > 0 && html`
      <p class="muted">It was refused ${numberText(earlier.length)} time${earlier.length === 1 ? "" : "s"} before: ${before}</p>`}
    <${Content} of=${newest} />
  `;
}

function Why({ of }) {
  const { explain, message } = of;
  const { operation: place, operation_name: name, ...values } = explain?.values ?? {};
  const operations = operationsOf(of);
  return html`
    <${Card} title="What was tried">
      ${operations.length ? html`<ul class="list">${operations.map((operation, i) => html`<li key=${i}><${Sent} operation=${operation} /> <span class="badge">
        ${themeOf(operation)}</span></li>`)}</ul>` : html`<p class="muted">It was too large to be kept, or can't be read.</p>`}
    </${Card}>
    <${Card} title="Why it was refused" aside=${explain?.rule && html`<span class="badge bad">${explain.rule}</span>`}>
      <div class="note bad">
        <p><b>${explain?.why ?? message}</b></p>
        ${explain?.what_to_do && html`<p>${explain.what_to_do}</p>`}
      </div>
      <${Facts} of=${[
        ["When", html`<${Time} at=${of.time} />`],
        ["Head then", html`<${BlockLink} number=${of.head_block_number} />`],
        ["Message", html`<code class="break">${message}</code>`],
        ["Operation", name && `${name}${operations.length > 1 ? ` (number ${place + 1} of ${operations.length})` : ""}`],
        ...Object.entries(values).map(([name, value]) => [
          name[0].toUpperCase() + name.slice(1).replaceAll("_", " "),
          typeof value === "object" && value !== null ? html`<${Json} of=${value} label=${name} />` : String(value),
        ]),
      ]} />
    </${Card}>
  `;
}

// Its bytes, and what would become of it now: it may be that it would be accepted by now.
function Content({ of }) {
  const { head } = useChain();
  const trx = of.transaction;
  const answer = useAnswer(() => (trx ? call("dev_api.explain_transaction", { trx }) : null), `${of.id} ${head}`, of.id);
  if (!trx) return null;
  return html`
    <${Answer} of=${answer}>${(now) => html`
      <${Card} title="If it were sent now" aside=${now.rule ? html`<span class="badge bad">${now.rule}
        </span>` : html`<span class="badge good">accepted</span>`}>
        <p>${now.rule ? now.why : "The chain would take it now."}</p>
      </${Card}>
      <${Card} title="Bytes" aside=${`${numberText(now.size)} bytes, by field`}>
        <${Bytes} hex=${now.hex} fields=${now.fields} />
        <${Facts} of=${[["Id", html`<${Copyable} text=${now.id} />`], ["Signed digest", html`<${Copyable} text=${now.digest} what="digest" />`]]} />
        <p class="above"><${Copy} text=${now.hex} words="Copy as hex" /></p>
      </${Card}>`}
    </${Answer}>
    <${Card} title="As JSON" aside=${html`<${Copy} text=${JSON.stringify(trx, null, 2)} />`}>
      <details><summary>Show</summary><${Json} of=${trx} label="The transaction as JSON" /></details>
    </${Card}>
  `;
}
