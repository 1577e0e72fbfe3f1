// Refused transactions: what was sent, why the chain didn't take it, and what to do.
import { operationOf } from "../format.js";
import { html, useErrorBoundary } from "../html.js";
import { Link, path } from "../router.js";
import { Sentence } from "../sentences.js";
import { Time } from "./values.js";

export function Refusals({ of, isLocal }) {
  if (!isLocal) return html`<p class="muted">Refusals are shown on the machine of the node, to pages of a chain that is made for tests.</p>`;
  if (!of.length) return html`<p class="muted">Nothing was refused.</p>`;
  return html`<ul class="list">${of.map((refusal) => html`<${Refusal} key=${`${refusal.time} ${refusal.id}`} of=${refusal} />`)}</ul>`;
}

function Refusal({ of }) {
  const { explain, message, id, time } = of;
  const operations = operationsOf(of);
  return html`
    <li>
      <div class="row">
        <div>
          ${operations.map((operation, i) => html`<div key=${i}><${Sent} operation=${operation} /></div>`)}
          ${!operations.length && html`<span class="muted">something that can't be read, or was too large to be kept</span>`}
        </div>
        <div class="end"><${Time} at=${time} isShort /></div>
      </div>
      <div class="note bad small">
        <p><b>${explain?.why ?? message}</b></p>
        ${explain?.what_to_do && html`<p>${explain.what_to_do}</p>`}
        <p>${explain?.rule && html`<span class="badge bad">${explain.rule}</span>`} ${id && html`<${Link} to=${path.refusal(id)}>More</${Link}>`}</p>
      </div>
    </li>
  `;
}

// The operations of what was refused. What couldn't be read may have any form, and what was too large isn't there.
export function operationsOf({ transaction }) {
  const listed = Array.isArray(transaction?.operations) ? transaction.operations : [];
  const isReadable = (name, value) => typeof name === "string" && isObject(value);
  return listed.filter((one) => (Array.isArray(one) ? isReadable(one[0], one[1]) : isReadable(one?.type, one?.value)));
}

function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

// An operation that was refused, whose fields may hold anything: its name where no sentence can be made of them.
export function Sent({ operation }) {
  const [error] = useErrorBoundary();
  return error ? html`<span class="sentence">${operationOf(operation).name.replaceAll("_", " ")}</span>` : html`<${Sentence} operation=${operation} isAttempt />`;
}
