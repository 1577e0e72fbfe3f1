// The frame of all pages, and which page is shown at which address. A page's module is loaded when it is first shown.
import { blocks } from "./calls.js";
import { start, useChain } from "./chain.js";
import { Header } from "./header.js";
import { html, render, useEffect, useState } from "./html.js";
import { Page, Problem } from "./parts/layout.js";
import { Link, match, useAddress } from "./router.js";

const routes = [
  { path: "/", page: "home" },
  { path: "/block/:id", page: "block" },
  { path: "/transaction/:id", page: "transaction" },
  { path: "/@:name", page: "account" },
  { path: "/@:author/:permlink", page: "post" },
  { path: "/posts/:order", page: "posts" },
  { path: "/posts/:order/:tag", page: "posts" },
  { path: "/communities", page: "communities" },
  { path: "/community/:name", page: "community" },
  { path: "/witnesses", page: "witnesses" },
  { path: "/market", page: "market" },
  { path: "/proposals", page: "proposals" },
  { path: "/proposal/:id", page: "proposals" },
  { path: "/tokens", page: "tokens" },
  { path: "/token/:nai", page: "tokens" },
  { path: "/due", page: "due" },
  { path: "/node", page: "node" },
  { path: "/console", page: "console" },
  { path: "/console/:method", page: "console" },
  { path: "/refused", page: "refused" },
  { path: "/refused/:id", page: "refused" },
  { path: "/search", page: "search" },
];

// How long the first view waits for what it is about, so that it is drawn once and not thrice.
const PATIENCE_MILLISECONDS = 150;
const loaded = new Map();

async function load(name) {
  loaded.set(name, (await import(`./pages/${name}.js`)).default);
}

function Shown() {
  const { path, query } = useAddress();
  const found = match(routes, path);
  const name = found?.[0].page;
  const [, setRound] = useState(0);
  const [error, setError] = useState(null);
  useEffect(() => {
    if (!name || loaded.has(name)) return;
    load(name).then(() => {
      setError(null);
      setRound((n) => n + 1);
    }, setError);
  }, [name]);
  if (!found) return html`<${NotFound} />`;
  if (error && !loaded.has(name)) return html`<${Problem} error=${error} />`;
  const View = loaded.get(name);
  // A page is made anew for another path, and stays for another query.
  return View ? html`<${View} key=${path} ...${found[1]} query=${query} />` : html`<p class="muted" role="status">Loading…</p>`;
}

function NotFound() {
  return html`<${Page} title="Not found"><p>There is no page at this address. <${Link} to="/">To the start</${Link}></p></${Page}>`;
}

function App() {
  const { overview, problem } = useChain();
  return html`
    <a class="skip" href="#content">To the content</a>
    <${Header} />
    <main id="content">
      ${overview ? html`<${Shown} />` : problem ? html`<${Problem} error=${new Error(problem)} />` : html`<p class="muted" role="status">Loading…</p>`}
    </main>
    <footer>
      ${overview && html`coind ${overview.version} · everything here comes from this node by <a href="/console">JSON-RPC</a>`}
    </footer>
  `;
}

const asked = match(routes, location.pathname)?.[0].page;
// What went wrong with a page's module is shown in its place, where it is asked for again.
const known = [start(), blocks.catch(() => {}), asked && load(asked).catch(() => {})];
await Promise.race([Promise.all(known), new Promise((resolve) => setTimeout(resolve, PATIENCE_MILLISECONDS))]);
render(html`<${App} />`, document.getElementById("app"));
