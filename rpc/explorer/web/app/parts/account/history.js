// The history of an account, newest first, by themes. Pages are read from the node by the numbers of their entries, so that any place of a long
// history is reached at once; a theme looks through a bounded number of entries for each page.
import { useChain } from "../../chain.js";
import { numberText, operationOf, sumsText } from "../../format.js";
import { html, useRef, useState } from "../../html.js";
import { setQuery } from "../../router.js";
import { call, useAnswer, useCall } from "../../rpc.js";
import { themeOf, themes } from "../../sentences.js";
import { Answer, Card, Chips } from "../layout.js";
import { Operations } from "../operations.js";
import { BlockLink, Time, TransactionLink } from "../values.js";

const PAGE = 50;
export const STEP = 1000;
const STEPS_MAX = 10;
const NEWEST = -1;
const NO_TRANSACTION = "0".repeat(40);

// The entries numbered up to `from`, newest first, until a page is full: {entries, next, first}. Next is the number at which to go on,
// 0 at the end, and first that of the oldest entry that was looked at.
export async function readHistory(account, from, isWanted, { page = PAGE, step = STEP, steps = STEPS_MAX } = {}) {
  const found = [];
  let next = from;
  let first = from;
  for (let i = 0; i < steps && next > 0 && found.length < page; i++) {
    const limit = Math.min(step, next);
    const { history } = await call("account_history_api.get_account_history", { account, start: next, limit });
    // The node may have dropped the oldest entries; then there are fewer than were asked for.
    next = history.length < limit ? 0 : history[0][0] - 1;
    first = history.length ? history[0][0] : first;
    for (const [number, entry] of history.reverse()) {
      if (found.length === page) {
        next = number;
        first = number + 1;
        break;
      }
      if (isWanted(entry)) found.push({ number, ...entry });
    }
  }
  return { entries: found, next, first };
}

export function History({ name, query }) {
  const { head } = useChain();
  const theme = query.get("theme") ?? "";
  const newest = useCall("account_history_api.get_account_history", { account: name, start: NEWEST, limit: 1 }, head);
  return html`
    <${Card} title="History" aside="newest first; operations of others that touch this account are in it">
      <div class="filters">
        <${Chips} label="Kind" chosen=${theme} options=${[["", "all"], ...themes.map((one) => [one, one])]}
          onChoose=${(value) => setQuery({ theme: value, before: "" })} />
      </div>
      <${Answer} of=${newest}>${({ history }) =>
        history.length
          ? html`<${Entries} name=${name} theme=${theme} last=${history[0][0]} before=${query.get("before")} />`
          : html`<p class="muted">Nothing has happened yet.</p>`}
      </${Answer}>
    </${Card}>
  `;
}

function Entries({ name, theme, last, before }) {
  const { head, undone } = useChain();
  const from = Math.min(last, Number(before) || last);
  const subject = `${theme} ${before} ${undone}`;
  const kept = useRef(null);
  const load = async () => {
    const isWanted = (entry) => themeOf(entry.op) === theme;
    // Without a theme a page takes as much as it shows.
    if (!theme) return readHistory(name, from, () => true, { step: PAGE, steps: 1 });
    const known = kept.current?.subject === subject ? kept.current : null;
    const found = known && from - known.from <= PAGE ? await extended(known, name, from, isWanted) : await readHistory(name, from, isWanted);
    kept.current = { ...found, subject, from };
    return found;
  };
  const answer = useAnswer(load, `${subject} ${from} ${theme || before ? "" : head}`, `${theme} ${before}`);
  return html`
    <${Answer} of=${answer}>${({ entries, next, first }) => html`
      ${theme === "money" && html`<${Sums} name=${name} entries=${entries} />`}
      <${Operations} rows=${entries.map(rowOf)} nothing=${`Nothing of this kind among the entries ${numberText(first)} to ${numberText(from)}.`} />
      ${!next && first > 1 && html`<p class="muted">This node keeps no entries older than number ${numberText(first)}.</p>`}
      <${Steps} from=${from} next=${next} first=${first} last=${last} count=${entries.length} theme=${theme} isNewest=${!before} />
    `}</${Answer}>
  `;
}

// What the account paid and received by the transfers that are shown.
function Sums({ name, entries }) {
  const transfers = entries.map((entry) => ({ ...operationOf(entry.op), time: entry.timestamp })).filter((one) => one.name === "transfer");
  if (!transfers.length) return null;
  const sum = (mine, others) => sumsText(transfers.filter(({ value }) => value[mine] === name && value[others] !== name).map(({ value }) => value.amount));
  return html`
    <p class="small">Transfers on this page, since <${Time} at=${transfers.at(-1).time} />: paid <b>${sum("from", "to")}</b>, received <b>${sum("to", "from")}</b>.</p>
  `;
}

// What was found up to a number, with what has come since: a page of a theme that follows the chain doesn't look through everything again.
async function extended(found, name, from, isWanted) {
  if (from <= found.from) return found;
  const { entries } = await readHistory(name, from, isWanted, { step: from - found.from, steps: 1 });
  return { ...found, entries: [...entries, ...found.entries] };
}

function rowOf({ number, op, block, trx_id, virtual_op, timestamp }) {
  return {
    operation: op,
    id: number,
    isVirtual: virtual_op > 0,
    where: html`
      ${trx_id !== NO_TRANSACTION && html`<${TransactionLink} id=${trx_id} /> · `}
      <${BlockLink} number=${block} /> · <${Time} at=${timestamp} isShort /> · <span title="number in this history">no. ${numberText(number)}</span>
    `,
  };
}

// Where the page stands in the history, and how to get elsewhere.
function Steps({ from, next, first, last, count, theme, isNewest }) {
  const [wanted, setWanted] = useState("");
  const newer = () => setQuery({ before: from + PAGE >= last ? "" : from + PAGE });
  const go = (event) => {
    event.preventDefault();
    const number = Number(wanted);
    if (Number.isSafeInteger(number) && number > 0) setQuery({ before: Math.min(number, last) });
  };
  return html`
    <nav class="filters steps" aria-label="Pages of the history">
      <button type="button" disabled=${isNewest} onClick=${() => setQuery({ before: "" })}>Newest</button>
      ${!theme && html`<button type="button" disabled=${from >= last} onClick=${newer}>Newer</button>`}
      <button type="button" disabled=${next < 1} onClick=${() => setQuery({ before: next })}>Older</button>
      <form class="filters" onSubmit=${go}>
        <label>From number <input size="8" inputmode="numeric" pattern="[0-9]+" value=${wanted} onInput=${(event) => setWanted(event.target.value)} /></label>
        <button>Go</button>
      </form>
      <span class="muted small" role="status">
        ${numberText(count)} shown of the entries ${numberText(first)} to ${numberText(from)}; ${numberText(last)} in all
      </span>
    </nav>
  `;
}
