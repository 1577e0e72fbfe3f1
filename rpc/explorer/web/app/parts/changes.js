// What a block changed in the state: tables, in each the rows, and of each row the fields before and after.
import { useChain } from "../chain.js";
import { amountText, isAmount, numberText } from "../format.js";
import { html, useState, useStyle } from "../html.js";
import { Link, path } from "../router.js";
import { useCall } from "../rpc.js";
import { Answer, Card } from "./layout.js";

const KINDS = { created: "good", changed: "", removed: "bad" };

// Asks when the reader wants it: finding out takes longer than showing a block. `at` is the block's number, `id` its id.
export function Changes({ at, id }) {
  const { irreversible } = useChain();
  const [isWanted, setWanted] = useState(false);
  const isSettled = at <= irreversible;
  return html`
    <${Card} title="What it changed" aside="rows of the state, before and after">
      ${isWanted
        ? html`<${Shown} at=${at} id=${id} />`
        : isSettled
          ? html`<p class="muted">It can't be undone any more, so the node no longer keeps what it changed.</p>`
          : html`<p><button type="button" onClick=${() => setWanted(true)}>Show</button> <span class="muted">as long as the block can be undone</span></p>`}
    </${Card}>
  `;
}

function Shown({ at, id }) {
  useStyle("details");
  const answer = useCall("explorer_api.get_changes", { block_num: at }, id);
  return html`<${Answer} of=${answer}>${(found) => html`<${Tables} of=${found} />`}</${Answer}>`;
}

function Tables({ of }) {
  const tables = new Map();
  for (const row of of.rows) tables.set(row.table, [...(tables.get(row.table) ?? []), row]);
  return html`
    <div class="changes">
      <p>${numberText(of.rows.length + of.rows_left_out)} row${of.rows.length === 1 ? "" : "s"} in ${numberText(tables.size)} tables${of.rows_left_out ? `; the first ${numberText(of.rows.length)} are shown` : ""}.</p>
      ${[...tables].map(([table, rows]) => html`
        <details open=${rows.length <= 20}>
          <summary><b>${words(table)}</b> <span class="muted">${numberText(rows.length)}</span></summary>
          ${rows.map((row) => html`<${Row} of=${row} />`)}
        </details>
      `)}
    </div>
  `;
}

function Row({ of }) {
  const name = of.name || "the one row";
  const to = of.post ? path.post(of.post.author, of.post.permlink) : of.account ? path.account(of.account) : null;
  return html`
    <h3>${to ? html`<${Link} to=${to}>${name}</${Link}>` : html`<span class="break">${name}</span>`} <span class=${`badge ${KINDS[of.change]}`}>${of.change}</span></h3>
    <div class="scroll" tabindex="0" role="region" aria-label=${`${name}: fields`}>
      <table>
        <caption class="hidden">Fields of ${name} before and after</caption>
        <thead><tr><th scope="col">Field</th>${of.change !== "created" && html`<th scope="col">Before</th>`}${of.change !== "removed" && html`<th scope="col">After</th>`}</tr></thead>
        <tbody>
          ${of.fields.map(({ field, before, after }) => html`
            <tr><td class="mono">${field}</td>${of.change !== "created" && html`<td>${shown(before)}</td>`}${of.change !== "removed" && html`<td>${shown(after)}</td>`}</tr>
          `)}
        </tbody>
      </table>
    </div>
    ${of.fields_left_out > 0 && html`<p class="muted small">and ${numberText(of.fields_left_out)} more fields</p>`}
  `;
}

// "rc/pools" is a table of the plugin rc; names of tables have underscores.
function words(table) {
  const [plugin, name] = table.includes("/") ? table.split("/") : ["", table];
  return `${name.replaceAll("_", " ")}${plugin ? ` (${plugin})` : ""}`;
}

function shown(value) {
  if (value === null) return html`<span class="muted">nothing</span>`;
  if (isAmount(value)) return html`<span class="money">${amountText(value)}</span>`;
  if (typeof value === "number") return numberText(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (value === "") return html`<span class="muted">empty</span>`;
  return typeof value === "string" ? (/^-?\d{5,}$/.test(value) ? numberText(value) : value) : html`<code>${JSON.stringify(value)}</code>`;
}
