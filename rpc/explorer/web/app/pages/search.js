// What the text of the search stands for. One clear hit leads on to its page at once, several are listed.
import { useChain } from "../chain.js";
import { numberText, shortId } from "../format.js";
import { html, useEffect } from "../html.js";
import { ALL_OTHERS, AllOthers } from "../parts/fork.js";
import { Answer, Card, Page } from "../parts/layout.js";
import { Link, go, path } from "../router.js";
import { useCall } from "../rpc.js";
import { Account } from "../sentences.js";

export default function Search({ query }) {
  const text = (query.get("q") ?? "").trim();
  const answer = useCall(text ? "explorer_api.find" : "", { text }, text);
  const to = answer.result && leadsTo(answer.result);
  useEffect(() => {
    if (to) go(to, { replace: true });
  }, [to]);
  const title = text ? `Search: ${text}` : "Search";
  return html`
    <${Page} title=${title.slice(0, 80)} heading=${text ? html`Search: <q>${text.slice(0, 200)}</q>` : "Search"}>
      ${text ? html`<${Answer} of=${answer}>${(hits) => html`<${Hits} of=${hits} isLeading=${Boolean(to)} />`}</${Answer}>` : html`<${Help} />`}
    </${Page}>
  `;
}

// The address of the one hit that is clearly meant, or "". A name that only begins with the text is a suggestion.
function leadsTo(hits) {
  const exact = hits.filter((hit) => hit.is_exact);
  return exact.length === 1 ? addressOf(exact[0]) : "";
}

// A key leads to its account if it has one.
export function addressOf(hit) {
  if (hit.kind === "block") return path.block(hit.block_num);
  if (hit.kind === "transaction") return path.transaction(hit.id);
  if (hit.kind === "post") return path.post(hit.account, hit.permlink);
  if (hit.kind === "community") return path.community(hit.name);
  if (hit.kind === "token") return path.token(hit.nai);
  if (hit.kind === "key") return hit.accounts?.length === 1 ? path.account(hit.accounts[0]) : "";
  return path.account(hit.account);
}

function Hits({ of, isLeading }) {
  if (isLeading) return html`<p class="muted" role="status">Found.</p>`;
  if (!of.length) return html`<p class="note" role="status">Nothing on this chain is called so.</p><${Help} />`;
  return html`<${Card} title="Found" aside=${numberText(of.length)}><ul class="list">${of.map((hit, i) => html`<li key=${i}><${Hit} of=${hit} /></li>`)}</ul>
    </${Card}>`;
}

// The words that name a hit.
export function nameOf(hit) {
  if (hit.kind === "block") return `block ${numberText(hit.block_num)}`;
  if (hit.kind === "transaction") return `transaction ${shortId(hit.id, 12)}`;
  if (hit.kind === "post") return `${hit.account}/${hit.permlink}`;
  if (hit.kind === "community") return hit.name;
  if (hit.kind === "token") return hit.symbol ? `${hit.symbol} (${hit.nai})` : hit.nai;
  if (hit.kind === "key") return `${shortId(hit.key, 12)} of ${hit.accounts[0]}`;
  return hit.account;
}

function Hit({ of }) {
  if (of.kind === "key") return html`<${Key} of=${of} />`;
  const where = of.kind === "transaction" && (of.block_num === null ? ", waits for a block" : `, in block ${numberText(of.block_num)}`);
  if (of.account === ALL_OTHERS) return html`<${Link} to=${addressOf(of)}><${AllOthers} /></${Link}>`;
  return html`<span class="badge">${of.kind}</span> <${Link} to=${addressOf(of)}>${nameOf(of)}</${Link}>${where}`;
}

function Key({ of }) {
  return html`
    <span class="badge">key</span> <span class="mono break">${of.key}</span>
    <div>
      ${of.accounts === null
        ? html`<span class="muted">Whose it is, only nodes with the plugin <code>account_by_key</code> know.</span>`
        : of.accounts.length
          ? html`of ${of.accounts.map((name, i) => html`${i ? ", " : ""}<${Account} name=${name} />`)}`
          : "No account has it in an authority now."}
    </div>
  `;
}

function Help() {
  const { head } = useChain();
  const examples = [
    ["a block", "its number, with or without commas, or its id", html`<${Link} to=${`/search?q=${head}`}>${numberText(head)}</${Link}>`],
    ["a transaction", "its id: 40 hex digits", ""],
    ["an account", "its name, or the beginning of it", html`<code>@alice</code>, <code>ali</code>`],
    ["a post", "author and permlink, or the address of a page of it", html`<code>alice/hello</code>, <code>example.com/@alice/hello</code>`],
    ["a public key", "leads to the accounts that have it", ""],
    ["a token", "its number or its letters", html`<code>@@000000021</code>`],
  ];
  return html`
    <${Card} title="What can be found">
      <dl class="facts">${examples.map(([what, how, example]) => html`<dt>${what}</dt><dd>${how}${example && html`: ${example}`}</dd>`)}</dl>
    </${Card}>
  `;
}
