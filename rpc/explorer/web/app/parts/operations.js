// Operations in lists: a sentence each, with its kind, and the JSON for those who want it.
import { operationOf } from "../format.js";
import { html, useState } from "../html.js";
import { Sentence } from "../sentences.js";
import { Json } from "./values.js";

// `rows` are {operation, where}: where is what stands at the end of the line, such as a time or a block.
export function Operations({ rows, nothing = "There are no operations." }) {
  if (!rows.length) return html`<p class="muted">${nothing}</p>`;
  return html`<ul class="list">${rows.map(({ id, ...row }) => html`<${Operation} key=${id} ...${row} />`)}</ul>`;
}

export function Operation({ operation, where, isVirtual }) {
  const { name, value } = operationOf(operation);
  const badge = isVirtual && html`<span class="badge" title="made by the chain, not sent by anybody">virtual</span>`;
  const [isOpen, setOpen] = useState(false);
  return html`
    <li>
      <div class="row">
        <div><${Sentence} operation=${operation} /></div>
        <div class="end">${badge} ${where}</div>
      </div>
      <details class="small" onToggle=${(event) => setOpen(event.target.open)}>
        <summary class="muted">${name}</summary>
        ${isOpen && html`<${Json} of=${value} label=${name} />`}
      </details>
    </li>
  `;
}
