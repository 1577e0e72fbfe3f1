// Refused transactions: what was sent, why the chain didn't take it, and what to do.
import { html } from "../html.js";
import { Link, path } from "../router.js";
import { Sentence } from "../sentences.js";
import { Time } from "./values.js";

export function Refusals({ of, isLocal }) {
  if (!isLocal) return html`<p class="muted">Refusals are shown on the machine of the node, to pages of a chain that is made for tests.</p>`;
  if (!of.length) return html`<p class="muted">Nothing was refused.</p>`;
  return html`<ul class="list">${of.map((refusal) => html`<${Refusal} key=${`${refusal.time} ${refusal.id}`} of=${refusal} />`)}</ul>`;
}

function Refusal({ of }) {
  const { transaction, explain, message, id, time } = of;
  return html`
    <li>
      <div class="row">
        <div>${transaction.operations.map((operation) => html`<div><${Sentence} operation=${operation} /></div>`)}</div>
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
