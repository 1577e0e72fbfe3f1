// What pages are put together from: a page with its title, cards, tabs, facts, notes, and what stands there while a call is on its way.
import { html, useEffect, useRef } from "../html.js";
import { Link } from "../router.js";

// A page. Its title is the window's too, and gets the focus when another page is shown, so that a screen reader begins there.
export function Page({ title, heading = title, aside, children }) {
  const top = useRef(null);
  useEffect(() => {
    document.title = `${title} · coind`;
  }, [title]);
  useEffect(() => {
    if (Page.isShown) top.current?.focus({ preventScroll: true });
    Page.isShown = true;
  }, [location.pathname]);
  return html`
    <div class="row">
      <h1 tabindex="-1" ref=${top}>${heading}</h1>
      ${aside && html`<div>${aside}</div>`}
    </div>
    ${children}
  `;
}

export function Card({ title, aside, children, class: kind = "" }) {
  return html`
    <section class=${`card ${kind}`} aria-label=${title}>
      ${title && html`<header><h2>${title}</h2>${aside && html`<div class="muted small">${aside}</div>`}</header>`}
      ${children}
    </section>
  `;
}

// Pairs of a name and a value; what is null or undefined is left out.
export function Facts({ of }) {
  const shown = of.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return html`<dl class="facts">${shown.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

// `tabs` are [name, words, address]; `chosen` is the name of the one that is shown.
export function Tabs({ tabs, chosen, label }) {
  return html`
    <nav class="tabs" aria-label=${label}>
      ${tabs.map(([name, words, to]) => html`<${Link} to=${to} aria-current=${name === chosen ? "page" : null}>${words}</${Link}>`)}
    </nav>
  `;
}

// What an answer shows: `children` is a function of the result. Before it is there, and when the node refuses, it says so.
export function Answer({ of, children, nothing }) {
  if (of.error) return html`<${Problem} error=${of.error} again=${of.again} />`;
  if (of.result === undefined) return html`<p class="muted" role="status">Loading…</p>`;
  if (nothing && (of.result === null || of.result.length === 0)) return html`<p class="muted">${nothing}</p>`;
  return children(of.result);
}

export function Problem({ error, again }) {
  const explain = error.explain;
  const hint = error.data?.hint;
  // What is switched off is no mistake: the hint says how to switch it on.
  if (hint) return html`<p class="note" role="status">${hint[0].toUpperCase()}${hint.slice(1)}.</p>`;
  return html`
    <div class="note bad" role="alert">
      <p>${error.message}</p>
      ${explain?.why && html`<p>${explain.why}</p>`}
      ${explain?.what_to_do && html`<p>${explain.what_to_do}</p>`}
      ${missingPlugin(error) && html`<p>This node runs without what answers that; start it with <code>--enable ${missingPlugin(error)}</code>.</p>`}
      ${again && html`<p><button onClick=${again}>Try again</button></p>`}
    </div>
  `;
}

// Which plugin of the node serves a group of methods.
const PLUGINS = {
  account_by_key_api: "account_by_key",
  account_history_api: "account_history",
  bridge: "communities",
  follow_api: "follow",
  market_history_api: "market_history",
  rc_api: "rc",
  reputation_api: "reputation",
  rewards_api: "rewards_api",
  tags_api: "tags",
  transaction_status_api: "transaction_status",
};

// The plugin that the node would need for a call that it has refused because it doesn't know the group; "" for other errors.
function missingPlugin(error) {
  const [, group] = error.message.match(/Could not find API (\w+)/) ?? [];
  return PLUGINS[group] ?? "";
}

// A table. `columns` are {title, cell: row => ..., isNumber}; `caption` says what it holds, for those who can't see it at a glance.
// `isStacked`: on a narrow screen each row becomes a block with a line for each cell, for rows that are read rather than compared.
export function Table({ columns, rows, caption, nothing = "There are none.", isStacked = false }) {
  if (!rows.length) return html`<p class="muted">${nothing}</p>`;
  // Parts of a table that are laid out as blocks lose their meaning for screen readers unless their roles are given.
  const role = (name) => (isStacked ? name : null);
  return html`
    <div class="scroll" tabindex="0" role="region" aria-label=${caption}>
      <table class=${isStacked ? "stacked" : null} role=${role("table")}>
        <caption class="hidden">${caption}</caption>
        <thead role=${role("rowgroup")}>
          <tr role=${role("row")}>
            ${columns.map(({ title, isNumber }) => html`<th scope="col" role=${role("columnheader")} class=${isNumber ? "number" : ""}>${title}</th>`)}
          </tr>
        </thead>
        <tbody role=${role("rowgroup")}>
          ${rows.map((row, i) => html`
            <tr role=${role("row")}>
              ${columns.map(({ title, cell, isNumber }) => html`
                <td role=${role("cell")} class=${isNumber ? "number" : ""} data-title=${isStacked && typeof title === "string" ? title : null}>${cell(row, i)}</td>`)}
            </tr>`)}
        </tbody>
      </table>
    </div>
  `;
}

// Buttons of which one is pressed. `options` are [value, words].
export function Chips({ options, chosen, onChoose, label }) {
  return html`
    <div class="chips" role="group" aria-label=${label}>
      ${options.map(([value, words]) => html`<button type="button" aria-pressed=${value === chosen} onClick=${() => onChoose(value)}>${words}</button>`)}
    </div>
  `;
}
