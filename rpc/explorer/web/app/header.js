// The top of every page: where one is, how the chain stands, the search, and on test chains what drives it.
import { chain, milliseconds, now, refresh, useChain } from "./chain.js";
import { durationText, numberText, timeText } from "./format.js";
import { html, useEffect, useRef, useState } from "./html.js";
import { hostOf } from "./parts/fork.js";
import { Problem } from "./parts/layout.js";
import { BlockLink, Ticking } from "./parts/values.js";
import { addressOf, nameOf } from "./pages/search.js";
import { Link, go, useAddress } from "./router.js";
import { call } from "./rpc.js";

// [address, words, the addresses that belong to it].
const PAGES = [
  ["/", "Blocks", /^\/($|blocks?\b|transaction\/)/],
  ["/posts/trending", "Posts", /^\/(posts\/|@[^/]+\/.)/],
  ["/communities", "Communities", /^\/communit/],
  ["/market", "Market", /^\/market/],
  ["/witnesses", "Witnesses", /^\/witnesses/],
  ["/proposals", "Proposals", /^\/proposal/],
  ["/tokens", "Tokens", /^\/token/],
  ["/due", "Due", /^\/due/],
  ["/refused", "Refused", /^\/refused/],
  ["/node", "Node", /^\/node/],
  ["/console", "Console", /^\/console/],
];
const DRIFT_SECONDS = 30;
const THEME = "theme";
const SUGGESTIONS_FROM_LETTERS = 2;
const SUGGESTIONS_AFTER_MILLISECONDS = 200;
const SUGGESTIONS_MAX = 8;

export function Header() {
  const { overview } = useChain();
  return html`
    <header class="top">
      <div class="top-row">
        <${Link} class="wordmark" to="/"><img src="/explorer/style/icon.svg" alt="" /><span class="name">coind</span></${Link}>
        ${overview && html`<span class="badge" title=${`chain id ${overview.chain_id}`}>${overview.chain}</span>`}
        ${overview?.fork && html`<${ForkBadge} of=${overview.fork} />`}
        <${Search} />
        <${Theme} />
      </div>
      <div class="top-row"><${Pages} /></div>
      ${overview && html`<${Status} />`}
    </header>
  `;
}

function ForkBadge({ of }) {
  const title = `${of.source}, block of ${timeText(of.time)} UTC`;
  return html`<${Link} class="badge accent fork" to="/fork" title=${title}>fork of ${hostOf(of.source)} at block ${numberText(of.block_num)}</${Link}>`;
}

function Pages() {
  const { path } = useAddress();
  const place = useRef(null);
  const chosen = PAGES.find(([, , own]) => own.test(path))?.[0];
  useEffect(() => {
    // On a narrow screen the pages are a line that scrolls, in which the one that is shown should be seen.
    const link = place.current.querySelector("[aria-current]");
    if (link) place.current.scrollLeft = link.offsetLeft - (place.current.clientWidth - link.offsetWidth) / 2;
  }, [chosen]);
  return html`
    <nav class="main" aria-label="Pages" ref=${place}>
      ${PAGES.map(([to, words]) => html`<${Link} to=${to} aria-current=${to === chosen ? "page" : null}>${words}</${Link}>`)}
    </nav>
  `;
}

// The search hits that have a page, for a text that is being typed.
function useSuggestions(text) {
  const [hits, setHits] = useState([]);
  useEffect(() => {
    if (text.length < SUGGESTIONS_FROM_LETTERS) {
      setHits([]);
      return undefined;
    }
    let isOver = false;
    const timer = setTimeout(async () => {
      const found = await call("explorer_api.find", { text }).catch(() => []);
      if (!isOver) setHits(found.filter(addressOf).slice(0, SUGGESTIONS_MAX));
    }, SUGGESTIONS_AFTER_MILLISECONDS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [text]);
  return hits;
}

function Search() {
  const [text, setText] = useState("");
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState(""); // the address of a hit, which can have another place among the next hits
  const sought = text.trim();
  const { overview } = useChain();
  // A fork that isn't complete would ask its source for each text, and the source's answers are limited.
  const hits = useSuggestions(overview?.fork && !overview.fork.is_complete ? "" : sought);
  const isShown = isOpen && hits.length > 0;
  const at = isShown ? hits.findIndex((hit) => addressOf(hit) === chosen) : -1;
  const leave = (to) => {
    setText("");
    setOpen(false);
    go(to);
  };
  const find = (event) => {
    event.preventDefault();
    if (at >= 0) leave(chosen);
    else if (sought) leave(`/search?q=${encodeURIComponent(sought)}`);
  };
  const type = (event) => {
    setText(event.target.value);
    setOpen(true);
    setChosen("");
  };
  const move = (event) => {
    if (!isShown) return;
    if (event.key === "Escape") setOpen(false);
    else if (event.key === "ArrowDown") setChosen(addressOf(hits[Math.min(hits.length - 1, at + 1)]));
    else if (event.key === "ArrowUp") setChosen(at > 0 ? addressOf(hits[at - 1]) : "");
    else return;
    event.preventDefault();
  };
  useEffect(() => {
    const focus = (event) => {
      if (event.key !== "/" || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
      event.preventDefault();
      document.getElementById("search").focus();
    };
    addEventListener("keydown", focus);
    return () => removeEventListener("keydown", focus);
  }, []);
  return html`
    <form class="search" role="search" onSubmit=${find}>
      <label class="hidden" for="search">Find a block, transaction, account, post, tag, proposal, public key or token</label>
      <input id="search" type="text" enterkeyhint="search" placeholder="Search blocks, transactions, @accounts, titles, #tags, proposals, keys, tokens"
        autocomplete="off" spellcheck="false" maxlength="400" value=${text} onInput=${type} onKeyDown=${move} onBlur=${() => setOpen(false)}
        role="combobox" aria-autocomplete="list" aria-expanded=${isShown ? "true" : "false"} aria-controls=${isShown ? "suggestions" : null}
        aria-activedescendant=${at >= 0 ? `suggestion-${at}` : null} />
      ${isShown && html`
        <ul id="suggestions" class="suggestions" role="listbox" aria-label="Suggestions" onMouseDown=${(event) => event.preventDefault()}>
          ${hits.map((hit, i) => html`
            <li key=${i} id=${`suggestion-${i}`} role="option" aria-selected=${i === at ? "true" : "false"}
              onClick=${() => leave(addressOf(hit))}><span class="badge">${hit.kind}</span> ${nameOf(hit)}</li>`)}
        </ul>`}
      <button>Find</button>
    </form>
  `;
}

function Theme() {
  const [theme, setTheme] = useState(localStorage.getItem(THEME) ?? "");
  useEffect(() => {
    if (theme) document.documentElement.dataset.theme = theme;
  }, [theme]);
  const isDark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const turn = () => {
    const next = isDark ? "light" : "dark";
    localStorage.setItem(THEME, next);
    setTheme(next);
    dispatchEvent(new Event("themechange"));
  };
  return html`<button type="button" onClick=${turn} aria-label=${isDark ? "Light colours" : "Dark colours"}>${isDark ? "☀" : "☾"}</button>`;
}

function Status() {
  const { overview, head, irreversible, headTime, clockAhead, isHeard, isLocal, info } = useChain();
  const ahead = Math.round(clockAhead / 1000);
  const drift = Math.abs(ahead) > DRIFT_SECONDS ? `${durationText(Math.abs(ahead))} ${ahead > 0 ? "ahead" : "behind"}` : "";
  // [name, value, whether a narrow screen has it too].
  const facts = [
    ["head", html`<${BlockLink} number=${head} />`, true],
    ["irreversible", html`<${BlockLink} number=${irreversible} />`],
    ["chain time", html`<${Ticking}>${() => `${timeText(new Date(now()).toISOString().slice(0, 19))} UTC`}</${Ticking}>`, true],
    ["", drift && html`<span class="badge warn" title="beside this machine's clock">${drift}</span>`],
    ["last block", headTime && html`<${Ticking}>${() => `${durationText((now() - milliseconds(headTime)) / 1000)} ago`}</${Ticking}>`],
    ["pending", numberText(overview.pending)],
    ["new blocks", info && modeText(info.block_mode)],
  ];
  return html`
    <div class="status">
      <div class="top-row">
        <dl aria-label="The chain now">
          ${facts.filter(([, value]) => value).map(([name, value, isKept]) => html`<div class=${isKept ? "" : "roomy"}><dt>${name}</dt><dd>${value}</dd></div>`)}
        </dl>
        <span class=${`badge ${isHeard ? "good" : "bad"}`} role="status">${isHeard ? "live" : "no connection"}</span>
        ${isLocal && html`<${Drive} />`}
      </div>
    </div>
  `;
}

// When blocks are made, of the words that the node was started with: "interval:3", "mixed:5".
function modeText(text) {
  const [mode, seconds] = text.split(":");
  const words = {
    manual: "when asked",
    instant: "by transaction",
    interval: seconds ? `every ${seconds} s` : "by the clock",
    mixed: `by transaction, or every ${seconds} s`,
  };
  return words[mode] ?? text;
}

// Drives a chain that is made for tests. Only pages on the node's own machine get to see it, and the node asks again itself.
function Drive() {
  const { info } = useChain();
  const [outcome, setOutcome] = useState(null);
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const [count, setCount] = useState("1");
  const [span, setSpan] = useState("1h");
  const act = async (method, params, words) => {
    setBusy(true);
    setError(null);
    setOutcome(null);
    const before = chain.head;
    try {
      const result = await call(method, params);
      await refresh();
      setOutcome(words(result, before));
    } catch (problem) {
      setError(problem);
    }
    setBusy(false);
  };
  const moved = (result, before) =>
    `Head was block ${numberText(before)} and is block ${numberText(result.head_block_number)}, ${timeText(result.head_block_time)}.`;
  const mine = () => act("dev_api.mine", { count: Number(count) }, moved);
  const advance = () => act("dev_api.advance_time", { seconds: secondsOf(span) }, moved);
  const keep = () => act("dev_api.snapshot", {}, (result) => `Dev snapshot ${result.id ?? result} is taken.`);
  const revert = (id) => act("dev_api.revert", { id }, moved);
  const snapshots = info?.snapshots ?? [];
  return html`
    <details class="menu">
      <summary class="button">Drive</summary>
      <div>
        <form class="filters" onSubmit=${(event) => (event.preventDefault(), mine())}>
          <label>Blocks <input type="number" min="1" max="10000" size="5" value=${count}
            onInput=${(event) => setCount(event.target.value)} /></label>
          <button disabled=${isBusy}>Mine</button>
        </form>
        <form class="filters" onSubmit=${(event) => (event.preventDefault(), advance())}>
          <label>Time <input size="6" value=${span} onInput=${(event) => setSpan(event.target.value)}
            pattern="\\d+\\s*[smhdw]?" title="a number with s, m, h, d or w" /></label>
          <button disabled=${isBusy}>Advance</button>
        </form>
        <div class="filters">
          <button type="button" disabled=${isBusy} onClick=${keep}>Snapshot</button>
          ${snapshots.map((id) => html`<button type="button" disabled=${isBusy} onClick=${() => revert(id)}>Revert to ${id}</button>`)}
        </div>
        <div role="status">
          ${outcome && html`<p class="note good">${outcome}</p>`}
          ${error && html`<${Problem} error=${error} />`}
        </div>
      </div>
    </details>
  `;
}

const UNITS = { s: 1, m: 60, h: 3600, d: 86400, w: 604800 };

function secondsOf(text) {
  const [, number, unit] = text.trim().match(/^(\d+)\s*([smhdw]?)$/) ?? [null, "0", "s"];
  return Number(number) * UNITS[unit || "s"];
}
