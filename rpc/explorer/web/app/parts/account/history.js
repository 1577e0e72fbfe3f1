// The history of an account, newest first, by themes. Pages are read from the node by the numbers of their entries, so that any place of a long
// history is reached at once; a theme looks through a bounded number of entries for each page.
import { useChain } from "../../chain.js";
import { numberText } from "../../format.js";
import { html, useState } from "../../html.js";
import { setQuery } from "../../router.js";
import { call, useAnswer, useCall } from "../../rpc.js";
import { themeOf, themes } from "../../sentences.js";
import { Answer, Card, Chips } from "../layout.js";
import { Operations } from "../operations.js";
import { BlockLink, Time, TransactionLink } from "../values.js";

const PAGE = 50;
export const STEP = 1000;
const STEPS_MAX = 5;
const NEWEST = -1;
const NO_TRANSACTION = "0".repeat(40);

// The entries numbered up to `from`, newest first, until a page is full: {entries, next}, where next is the number at which to go on.
export async function readHistory(account, from, isWanted, { page = PAGE, step = STEP, steps = STEPS_MAX } = {}) {
  const found = [];
  let next = from;
  for (let i = 0; i < steps && next > 0 && found.length < page; i++) {
    const limit = Math.min(step, next);
    const { history } = await call("account_history_api.get_account_history", { account, start: next, limit });
    next = history.length ? history[0][0] - 1 : 0;
    for (const [number, entry] of history.reverse()) {
      if (found.length === page) {
        next = number;
        break;
      }
      if (isWanted(entry)) found.push({ number, ...entry });
    }
  }
  return { entries: found, next };
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
  const from = Math.min(last, Number(before) || last);
  const isWanted = (entry) => !theme || themeOf(entry.op) === theme;
  // Without a theme a page takes as much as it shows.
  const bounds = theme ? {} : { step: PAGE, steps: 1 };
  const answer = useAnswer(() => readHistory(name, from, isWanted, bounds), `${name} ${theme} ${from}`, `${name} ${theme} ${before}`);
  return html`
    <${Answer} of=${answer}>${({ entries, next }) => html`
      <${Operations} rows=${entries.map(rowOf)} nothing=${`Nothing of this kind among the entries ${numberText(next + 1)} to ${numberText(from)}.`} />
      <${Steps} from=${from} next=${next} last=${last} count=${entries.length} theme=${theme} isNewest=${!before} />
    `}</${Answer}>
  `;
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
function Steps({ from, next, last, count, theme, isNewest }) {
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
        ${numberText(count)} shown of the entries ${numberText(next + 1)} to ${numberText(from)}; ${numberText(last)} in all
      </span>
    </nav>
  `;
}
