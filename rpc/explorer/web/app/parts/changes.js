// What a block changed in the state: tables, in each the rows, and of each row the fields before and after.
import { useChain } from "../chain.js";
import { amountText, isAmount, numberText } from "../format.js";
import { html, useState, useStyle } from "../html.js";
import { Link, path } from "../router.js";
import { useCall } from "../rpc.js";
import { ALL_OTHERS, AllOthers } from "./fork.js";
import { Answer, Card } from "./layout.js";

const KINDS = { created: "good", removed: "bad" };
const ROWS_OPEN = 20;
// What nearly every block changes; it comes last, and closed.
const BOOKKEEPING = new Set(
  "global_properties witnesses witness_schedules block_summaries transactions reward_funds feed_histories nai_pools rc/pools rc/parameters".split(" "),
);

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
  const count = of.rows.length + of.rows_left_out;
  const left = of.rows_left_out ? `, of which the first ${numberText(of.rows.length)} are shown` : "";
  const listed = [...tables].sort(([some], [other]) => BOOKKEEPING.has(some) - BOOKKEEPING.has(other));
  return html`
    <div class="changes">
      <p>${`${numberText(count)} row${count === 1 ? "" : "s"} in ${numberText(tables.size)} table${tables.size === 1 ? "" : "s"}${left}.`}</p>
      ${listed.map(([table, rows]) => html`
        <details open=${!BOOKKEEPING.has(table) && rows.length <= ROWS_OPEN}>
          <summary><b>${words(table)}</b> <span class="muted">${numberText(rows.length)}</span></summary>
          <div class="scroll" tabindex="0" role="region" aria-label=${words(table)}>
            <table>
              <caption class="hidden">Rows of ${words(table)} before and after the block</caption>
              <thead><tr><th scope="col">Row</th><th scope="col">Field</th><th scope="col">Before</th><th scope="col">After</th></tr></thead>
              <tbody>${rows.map((row) => html`<${Row} of=${row} />`)}</tbody>
            </table>
          </div>
        </details>
      `)}
    </div>
  `;
}

function Row({ of }) {
  const name = of.name || "the one row";
  const to = of.post ? path.post(of.post.author, of.post.permlink) : of.account ? path.account(of.account) : null;
  const fields = of.fields.length ? of.fields : [null];
  const count = fields.length + (of.fields_left_out ? 1 : 0);
  const nothing = html`<span class="muted">—</span>`;
  return html`
    ${fields.map((one, i) => html`
      <tr>
        ${!i && html`
          <th scope="rowgroup" rowspan=${count} class="row-name">
            ${name === ALL_OTHERS ? html`<${AllOthers} />` : to ? html`<${Link} to=${to}>${name}</${Link}>` : html`<span class="break">${name}</span>`}
            ${of.change !== "changed" && html` <span class=${`badge ${KINDS[of.change]}`}>${of.change}</span>`}
          </th>`}
        <td class="mono">${one?.field}</td>
        <td>${one && of.change !== "created" ? shown(one.before, one.field) : nothing}</td>
        <td>${one && of.change !== "removed" ? shown(one.after, one.field) : nothing}</td>
      </tr>
    `)}
    ${of.fields_left_out > 0 && html`<tr><td colspan="3" class="muted">and ${numberText(of.fields_left_out)} more fields</td></tr>`}
  `;
}

// "rc/pools" is a table of the plugin rc; names of tables have underscores.
function words(table) {
  const [plugin, name] = table.includes("/") ? table.split("/") : ["", table];
  return `${name.replaceAll("_", " ")}${plugin ? ` (${plugin})` : ""}`;
}

function shown(value, field) {
  if (value === null) return html`<span class="muted">nothing</span>`;
  if (isAmount(value)) return html`<span class="money">${amountText(value)}</span>`;
  if (typeof value === "number") return field.endsWith("_time") ? String(value) : numberText(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (value === "") return html`<span class="muted">empty</span>`;
  return typeof value === "string" ? (/^-?\d{5,}$/.test(value) ? numberText(value) : value) : html`<code>${JSON.stringify(value)}</code>`;
}
