// The frame of all pages, and which page is shown at which address.
import { blocks } from "./calls.js";
import { start, useChain } from "./chain.js";
import { Header } from "./header.js";
import { html, render } from "./html.js";
import Account from "./pages/account.js";
import Block from "./pages/block.js";
import Blocks from "./pages/blocks.js";
import Communities from "./pages/communities.js";
import Community from "./pages/community.js";
import Console from "./pages/console.js";
import Due from "./pages/due.js";
import Fork from "./pages/fork.js";
import Home from "./pages/home.js";
import Market from "./pages/market.js";
import Node from "./pages/node.js";
import Post from "./pages/post.js";
import Posts from "./pages/posts.js";
import Proposals from "./pages/proposals.js";
import Refused from "./pages/refused.js";
import Search from "./pages/search.js";
import Tokens from "./pages/tokens.js";
import Transaction from "./pages/transaction.js";
import Witnesses from "./pages/witnesses.js";
import { Page, Problem } from "./parts/layout.js";
import { Link, match, useAddress } from "./router.js";

const routes = [
  { path: "/", page: Home },
  { path: "/blocks", page: Blocks },
  { path: "/block/:id", page: Block },
  { path: "/transaction/:id", page: Transaction },
  { path: "/@:name", page: Account },
  { path: "/@:author/:permlink", page: Post },
  { path: "/posts/:order", page: Posts },
  { path: "/posts/:order/:tag", page: Posts },
  { path: "/communities", page: Communities },
  { path: "/community/:name", page: Community },
  { path: "/witnesses", page: Witnesses },
  { path: "/market", page: Market },
  { path: "/proposals", page: Proposals },
  { path: "/proposal/:id", page: Proposals },
  { path: "/tokens", page: Tokens },
  { path: "/token/:nai", page: Tokens },
  { path: "/due", page: Due },
  { path: "/fork", page: Fork },
  { path: "/node", page: Node },
  { path: "/console", page: Console },
  { path: "/console/:method", page: Console },
  { path: "/refused", page: Refused },
  { path: "/refused/:id", page: Refused },
  { path: "/search", page: Search },
];

// How long the first view waits for what it is about, so that it is drawn once and not thrice.
const PATIENCE_MILLISECONDS = 150;

function Shown() {
  const { path, query } = useAddress();
  const found = match(routes, path);
  if (!found) return html`<${NotFound} />`;
  // A page is made anew for another path, and stays for another query.
  return html`<${found[0].page} key=${path} ...${found[1]} query=${query} />`;
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

const known = [start(), match(routes, location.pathname)?.[0].page === Home && blocks.catch(() => {})];
await Promise.race([Promise.all(known), new Promise((resolve) => setTimeout(resolve, PATIENCE_MILLISECONDS))]);
render(html`<${App} />`, document.getElementById("app"));
