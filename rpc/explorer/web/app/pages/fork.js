// The origin of a forked chain: the source and its block, the accounts and posts from there, and the last fetches.
import { useChain } from "../chain.js";
import { bytesText, numberText, timeText } from "../format.js";
import { html } from "../html.js";
import { AllOthers, hostOf } from "../parts/fork.js";
import { Answer, Card, Facts, Page, Table } from "../parts/layout.js";
import { Account } from "../parts/names.js";
import { Time } from "../parts/values.js";
import { Link, path } from "../router.js";
import { useCall } from "../rpc.js";

const NAMES_SHOWN = 100;
const FETCHES_FIRST = 12;

export default function Fork() {
  const { head } = useChain();
  const answer = useCall("explorer_api.get_fork", {}, head);
  return html`
    <${Page} title="Fork" heading="Where this chain comes from">
      <${Answer} of=${answer}>${(fork) => (fork ? html`<${Shown} fork=${fork} />` : html`<p>This chain begins at its own genesis.</p>`)}</${Answer}>
    </${Page}>
  `;
}

function Shown({ fork }) {
  return html`
    <div class="grid">
      <${Origin} fork=${fork} />
      <${Content} fork=${fork} />
    </div>
    ${(fork.fetches > 0 || fork.is_on_demand) && html`<${Fetches} fork=${fork} />`}
    ${Object.keys(fork.mirrored).length > 0 && html`<${Mirrored} of=${fork.mirrored} />`}
  `;
}

function Origin({ fork }) {
  const { overview } = useChain();
  const isSame = fork.source_chain_id === overview.chain_id;
  return html`
    <${Card} title="Source">
      <${Facts} of=${[
        ["Address", html`<span class="break">${fork.source}</span>`],
        ["Block", html`${numberText(fork.block_num)} <span class="mono small break">${fork.block_id}</span>`],
        ["Its time", html`<${Time} at=${fork.time} />`],
        ["Chain id there", html`<span class="mono small break">${fork.source_chain_id}</span>`],
        ["Chain id here", isSame ? "the same: what is signed here is valid there too" : html`<span class="mono small break">${overview.chain_id}</span>`],
        ["Keys", fork.keys === "kept" ? "those of the source" : html`derived from the names of the accounts: <code>coind keys NAME --fork FILE</code>`],
      ]} />
    </${Card}>
  `;
}

function Content({ fork }) {
  const accounts = fork.accounts.slice(0, NAMES_SHOWN);
  const more = fork.accounts.length - accounts.length;
  const counts = Object.entries(fork.counts).filter(([, count]) => count).sort(([a], [b]) => (a < b ? -1 : 1));
  return html`
    <${Card} title="What came from there" aside=${fork.is_complete ? "everything" : "a part"}>
      <${Facts} of=${[
        ["Accounts", accounts.length ? html`${accounts.map((name, i) => html`${i ? ", " : ""}<${Account} name=${name} />`)}${more > 0 && ` and ${numberText(more)} more`}` : null],
        ["Posts of each", fork.newest_posts ? `the newest ${numberText(fork.newest_posts)}` : null],
        ["Posts", fork.posts.length ? html`<ul class="list">${fork.posts.slice(0, NAMES_SHOWN).map((post) => html`<li><${PostLink} of=${post} /></li>`)}</ul>` : null],
        ["Here now", fork.given && hereText(fork.given)],
        ["On demand", fork.is_on_demand ? "accounts and posts are fetched when a call names them" : null],
      ]} />
      ${!fork.is_complete && html`
        <p class="small">
          Everybody else is one account, <${AllOthers} />, that holds what they hold together. So supplies, prices and reward funds are those of
          the source. Lists and rankings have only what is here.
        </p>`}
      ${counts.length > 0 && html`
        <details><summary class="muted">Rows by table</summary>
          <${Table} caption="Rows by table" rows=${counts} columns=${[
            { title: "Table", cell: ([name]) => name },
            { title: "Rows", isNumber: true, cell: ([, count]) => numberText(count) },
          ]} /></details>`}
      ${fork.notes.length > 0 && html`
        <h3>What the source doesn't give</h3>
        <ul>${fork.notes.map((note) => html`<li class="break">${note}</li>`)}</ul>`}
    </${Card}>
  `;
}

// How many accounts are here, and in how many parts.
function hereText({ full_accounts, light_accounts, named_accounts }) {
  const parts = [[full_accounts, "in full"], [light_accounts, "without their orders, delegations and other rows"], [named_accounts, "by name only"]];
  return `accounts: ${parts.filter(([count]) => count).map(([count, words]) => `${numberText(count)} ${words}`).join(", ") || "none"}`;
}

// `of` is "@author/permlink".
function PostLink({ of }) {
  const [, author, permlink] = of.match(/^@([^/]+)\/(.*)$/) ?? [null, "", ""];
  return author ? html`<${Link} class="break" to=${path.post(author, permlink)}>${author}/${permlink}</${Link}>` : of;
}

function Fetches({ fork }) {
  const columns = [
    { title: "At", cell: (one) => html`<time class="nowrap" datetime=${`${one.time}Z`} title=${`${timeText(one.time)} UTC`}>${one.time.slice(11)}</time>` },
    { title: "What", cell: (one) => html`<div class="wide">${one.what}${one.error && html` <span class="badge bad">failed</span>
      <div class="muted small">${one.error}</div>`}</div>` },
    { title: "Rows", isNumber: true, cell: (one) => numberText(one.rows) },
    { title: "Size", isNumber: true, cell: (one) => bytesText(one.bytes) },
    { title: "Time", isNumber: true, cell: (one) => `${numberText(one.milliseconds)} ms` },
  ];
  const earlier = fork.last_fetches.slice(FETCHES_FIRST);
  const failed = fork.failed_fetches ? `, ${numberText(fork.failed_fetches)} failed` : "";
  return html`
    <${Card} title="Fetched last" aside=${`${numberText(fork.fetches)} fetches since the start${failed}; ${numberText(fork.fetched_rows)} rows, ${bytesText(fork.fetched_bytes)}`}>
      <${Table} caption="The last fetches" columns=${columns} rows=${fork.last_fetches.slice(0, FETCHES_FIRST)}
        nothing=${`Nothing has been fetched from ${hostOf(fork.source)} since the start.`} />
      ${earlier.length > 0 && html`
        <details><summary class="muted small">${numberText(earlier.length)} before these</summary>
          <${Table} caption="Earlier fetches" columns=${columns} rows=${earlier} /></details>`}
    </${Card}>
  `;
}

function Mirrored({ of }) {
  const rows = Object.entries(of).sort(([, a], [, b]) => b - a);
  return html`
    <${Card} title="Operations of the source's later blocks" aside="followed without their signatures">
      <${Table} caption="Operations of later blocks" rows=${rows} columns=${[
        { title: "Outcome", cell: ([name]) => name },
        { title: "Operations", isNumber: true, cell: ([, count]) => numberText(count) },
      ]} />
    </${Card}>
  `;
}
