// The results of a search. A single result leads to its page at once, several are listed.
import { useChain } from "../chain.js";
import { numberText, shortId } from "../format.js";
import { html, useEffect } from "../html.js";
import { ALL_OTHERS, AllOthers } from "../parts/fork.js";
import { Answer, Card, Page } from "../parts/layout.js";
import { Account } from "../parts/names.js";
import { Exact, Title } from "../parts/text.js";
import { Link, go, path } from "../router.js";
import { useCall } from "../rpc.js";

const ID = /^[0-9a-f]{40}$/i;

export default function Search({ query }) {
  const text = (query.get("q") ?? "").trim();
  const answer = useCall(text ? "explorer_api.find" : "", { text }, text);
  const to = answer.result && leadsTo(answer.result, text);
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

// The address of the only hit, or of the only exact one, or "". A name with a typo is only suggested. An unknown id can be that of a refused
// transaction, which the page of transactions looks for.
function leadsTo(hits, text) {
  if (!hits.length && ID.test(text)) return path.transaction(text.toLowerCase());
  const exact = hits.filter((hit) => hit.is_exact);
  const [only, ...others] = exact.length ? exact : hits;
  return only && !others.length && !only.is_similar ? addressOf(only) : "";
}

// A key leads to its account if it has one.
export function addressOf(hit) {
  if (hit.kind === "block") return path.block(hit.block_num);
  if (hit.kind === "transaction") return path.transaction(hit.id);
  if (hit.kind === "post") return path.post(hit.account, hit.permlink);
  if (hit.kind === "community") return path.community(hit.name);
  if (hit.kind === "tag") return path.posts("trending", hit.tag);
  if (hit.kind === "proposal") return path.proposal(hit.proposal_id);
  if (hit.kind === "token") return path.token(hit.nai);
  if (hit.kind === "key") return hit.accounts?.length === 1 ? path.account(hit.accounts[0]) : "";
  return path.account(hit.account);
}

function Hits({ of, isLeading }) {
  if (isLeading) return html`<p class="muted" role="status">Found.</p>`;
  if (!of.length) return html`<p class="note" role="status">Nothing on this chain matches it.</p><${Help} />`;
  const isSimilar = of.every((hit) => hit.is_similar);
  return html`
    <${Card} title=${isSimilar ? "Did you mean" : "Found"} aside=${numberText(of.length)}>
      <ul class="list">${of.map((hit, i) => html`<li key=${i}><${Hit} of=${hit} /></li>`)}</ul>
    </${Card}>`;
}

// The name of a hit: its title if it has one.
export function nameOf(hit) {
  const title = html`<${Title} of=${hit.title} />`;
  if (hit.kind === "block") return `block ${numberText(hit.block_num)}`;
  if (hit.kind === "transaction") return `transaction ${shortId(hit.id, 12)}`;
  if (hit.kind === "post") return hit.title ? html`${title} by ${hit.account}` : html`<${Exact} of=${`${hit.account}/${hit.permlink}`} />`;
  if (hit.kind === "community") return hit.title ? html`${title} (${hit.name})` : hit.name;
  if (hit.kind === "tag") return `#${hit.tag}`;
  if (hit.kind === "proposal") return html`proposal ${hit.proposal_id}: ${title}`;
  if (hit.kind === "token") return hit.symbol ? `${hit.symbol} (${hit.nai})` : hit.nai;
  if (hit.kind === "key") return `${shortId(hit.key, 12)} of ${hit.accounts[0]}`;
  return hit.account;
}

function Hit({ of }) {
  if (of.kind === "key") return html`<${Key} of=${of} />`;
  const where = of.kind === "transaction" && (of.block_num === null ? ", pending" : `, in block ${numberText(of.block_num)}`);
  if (of.account === ALL_OTHERS) return html`<${Link} to=${addressOf(of)}><${AllOthers} /></${Link}>`;
  return html`<span class="badge">${of.kind}</span> <${Link} to=${addressOf(of)}>${nameOf(of)}</${Link}>${where}`;
}

function Key({ of }) {
  return html`
    <span class="badge">key</span> <span class="mono break">${of.key}</span>
    <div>
      ${of.accounts === null
        ? html`<span class="muted">Its accounts can only be found with the plugin <code>account_by_key</code>.</span>`
        : of.accounts.length
          ? html`of ${of.accounts.map((name, i) => html`${i ? ", " : ""}<${Account} name=${name} />${" "}
              <span class="muted">(${of.roles[name].join(", ")})</span>`)}`
          : "No account has it in an authority now, nor as its memo key among the first 5,000 accounts, nor do the first 1,000 witnesses sign blocks with it."}
    </div>
  `;
}

function Help() {
  const { head } = useChain();
  const examples = [
    ["a block", "its number, with or without commas, or its id or the first 8 or more digits of it", html`<${Link} to=${`/search?q=${head}`}>${numberText(head)}</${Link}>`],
    ["a transaction", "its id or the first 6 or more digits of it", html`<code>1f2e3d4c</code>`],
    ["an account", "its name or the beginning of it; with one wrong letter, similar names are shown", html`<code>@alice</code>, <code>ali</code>`],
    ["a post", "author and permlink, the address of a page of it, or words of its title if it is among the last 500", html`<code>alice/hello</code>, <code>example.com/@alice/hello</code>`],
    ["a community", "its name, or words of its title", ""],
    ["a tag", "its name after #, if posts have it", html`<code>#life</code>`],
    ["a proposal", "its id, or words of its subject", html`<code>proposal 0</code>`],
    ["a public key", "the accounts that have it", ""],
    ["a token", "its number or its letters", html`<code>@@000000021</code>`],
  ];
  return html`
    <${Card} title="What can be found">
      <dl class="facts">${examples.map(([what, how, example]) => html`<dt>${what}</dt><dd>${how}${example && html`: ${example}`}</dd>`)}</dl>
    </${Card}>
  `;
}
