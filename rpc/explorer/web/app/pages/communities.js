// The communities: ranked, the newest, or those with most subscribers, and found by the words of their titles.
import { decimalText, numberText } from "../format.js";
import { html } from "../html.js";
import { OnlyHere } from "../parts/fork.js";
import { Answer, Card, Chips, Page, Table } from "../parts/layout.js";
import { Account } from "../parts/names.js";
import { Title } from "../parts/text.js";
import { Time } from "../parts/values.js";
import { Link, path, setQuery } from "../router.js";
import { useCall } from "../rpc.js";
import { symbols } from "../parts/payout.js";

const PART = 50;
const SORTS = [["rank", "by rank"], ["subs", "by subscribers"], ["new", "the newest first"]];

export default function Communities({ query }) {
  const sort = SORTS.some(([name]) => name === query.get("sort")) ? query.get("sort") : "rank";
  const words = query.get("words") ?? "";
  const last = query.get("last") ?? "";
  const found = useCall("bridge.list_communities", { sort, last, query: words || null, limit: PART });
  const find = (event) => {
    event.preventDefault();
    setQuery({ words: new FormData(event.target).get("words").trim(), last: "" });
  };
  return html`
    <${Page} title="Communities">
      <${OnlyHere} />
      <${Card} title="Communities" aside=${SORTS.find(([name]) => name === sort)[1]}>
        <form class="filters" onSubmit=${find}>
          <${Chips} label="Order" options=${SORTS} chosen=${sort} onChoose=${(value) => setQuery({ sort: value === "rank" ? "" : value, last: "" })} />
          <label>With the words <input name="words" size="16" maxlength="100" autocomplete="off" defaultValue=${words} /></label>
          <button>Find</button>
        </form>
        <${Answer} of=${found}>
          ${(rows) => html`
            <${Table} caption="Communities" rows=${rows} columns=${columns()}
              nothing=${last ? "The list ends here." : words ? "None has all of these words." : "There are none yet."} />
            <div class="filters">
              ${last && html`<button type="button" onClick=${() => setQuery({ last: "" })}>First part</button>`}
              ${rows.length === PART && html`<button type="button" onClick=${() => setQuery({ last: rows[rows.length - 1].name })}>Next part</button>`}
            </div>
          `}
        </${Answer}>
      </${Card}>
    </${Page}>
  `;
}

function columns() {
  return [
    { title: "Community", cell: (one) => html`<div class="wide"><${Link} to=${path.community(one.name)}><${Title} of=${one.title || one.name} /></${Link}>
      <div class="muted small">${one.about && html`<${Title} of=${one.about} />`}</div></div>` },
    { title: "Name", cell: (one) => html`<code class="whole">${one.name}</code> ${one.is_nsfw && html`<span class="badge warn">nsfw</span>`}` },
    { title: "Admins", cell: (one) => (one.admins ?? []).map((name, i) => html`${i ? ", " : ""}<${Account} name=${name} />`) },
    { title: "Subscribers", isNumber: true, cell: (one) => numberText(one.subscribers) },
    { title: "Authors", isNumber: true, cell: (one) => numberText(one.num_authors) },
    { title: "Unpaid posts", isNumber: true, cell: (one) => numberText(one.num_pending) },
    { title: `Pending, in ${symbols().sbd}`, isNumber: true, cell: (one) => decimalText(BigInt(Math.round(one.sum_pending)), 0) },
    { title: "Since", cell: (one) => html`<${Time} at=${one.created_at} isShort />` },
  ];
}
