// A post or a reply: its text, what it earns and by which arithmetic, or what was paid to whom, the votes on it, and the replies as a tree.
import { milliseconds, now, useChain } from "../chain.js";
import { amountText, branded, durationText, isNever, numberText, percentText, units } from "../format.js";
import { html, useState } from "../html.js";
import { Answer, Card, Facts, Page, Table } from "../parts/layout.js";
import { Account, CommunityName, PostName } from "../parts/names.js";
import { Paid, Pending } from "../parts/payouts.js";
import { Replies } from "../parts/replies.js";
import { Exact, Text, Title, plainTitle } from "../parts/text.js";
import { Copy, Json, Ticking, Time, TransactionLink } from "../parts/values.js";
import { Votes } from "../parts/votes.js";
import { Link, path } from "../router.js";
import { call, useAnswer, useCall } from "../rpc.js";

const MANY_VOTES = 300;
const TAGS_SHOWN = 30;
const LIMIT_NONE = 1_000_000_000n; // what clients write where a post may earn anything
const HISTORY_READ = 1000;

export default function Post({ author, permlink }) {
  const { head } = useChain();
  const name = `${author}/${permlink}`;
  // The votes come with the post: where there are many, only a change brings them again.
  const small = useCall("database_api.find_comments", { start: [[author, permlink]] }, head);
  const row = small.result?.comments[0];
  const state = row ? `${row.abs_rshares} ${row.net_votes} ${row.last_update} ${row.cashout_time} ${row.children}` : "";
  const isCrowded = row && Math.abs(row.net_votes) > MANY_VOTES;
  const found = useAnswer(() => (small.result ? load(author, permlink) : null), `${name} ${state} ${isCrowded || !small.result ? "" : head}`, name);
  const title = found.result ? plainTitle(found.result.post.title) || plainTitle(name) : plainTitle(name);
  return html`
    <${Page} title=${title} heading=${html`<${Heading} title=${found.result?.post.title ?? ""} name=${name} />`}>
      <${Answer} of=${small.error ? small : found}>${(known) => (known.post.author ? html`<${Shown} ...${known} />` : html`<${Missing} />`)}</${Answer}>
    </${Page}>
  `;
}

function Heading({ title, name }) {
  return title.trim() ? html`<${Title} of=${title} />` : html`<${Exact} of=${name} />`;
}

function Missing() {
  return html`<p>There is no post with this name. It may have been deleted, or it may be still to come.</p>`;
}

async function load(author, permlink) {
  const [post, fund, price, props] = await Promise.all([
    call("condenser_api.get_content", [author, permlink]),
    call("condenser_api.get_reward_fund", ["post"]).catch(() => null),
    call("condenser_api.get_current_median_history_price", []),
    call("condenser_api.get_dynamic_global_properties", []),
  ]);
  return { post, fund, price, props };
}

function Shown({ post, fund, price, props }) {
  const isPaid = isNever(post.cashout_time);
  return html`
    ${post.parent_author && html`<${Parents} post=${post} />`}
    <div class="grid wide-left">
      <div>
        <${Card} title="Text" aside=${html`<${Byline} post=${post} />`}>
          <${Text} of=${post.body} />
          <details class="small written">
            <summary class="muted">As it was written</summary>
            <pre tabindex="0" role="region" aria-label="The text as it was written">${post.body}</pre>
          </details>
        </${Card}>
        ${isPaid ? html`<${Paid} post=${post} />` : html`<${Pending} post=${post} fund=${fund} price=${price} props=${props} />`}
      </div>
      <${About} post=${post} isPaid=${isPaid} />
    </div>
    <${Votes} post=${post} isPaid=${isPaid} />
    <${Card} title="Replies" aside=${`${numberText(post.children)} in all`}>
      ${post.children > 0
        ? html`<${Replies} author=${post.author} permlink=${post.permlink} community=${post.category} version=${`${post.children} ${post.active}`} />`
        : html`<p class="muted">There are none.</p>`}
    </${Card}>
    <${Versions} post=${post} />
    <${Card} title="As JSON" aside=${html`<${Copy} text=${JSON.stringify(post, null, 2)} />`}>
      <details><summary>Show</summary><${Json} of=${post} label="The post as JSON" /></details>
    </${Card}>
  `;
}

function Parents({ post }) {
  const top = html`<${PostName} author=${post.root_author} permlink=${post.root_permlink} title=${post.root_title} />`;
  return html`
    <p class="muted">
      A reply to ${" "}<${PostName} author=${post.parent_author} permlink=${post.parent_permlink} />
      ${post.depth > 1 && html`${" below "}${top}`}
    </p>
  `;
}

function Byline({ post }) {
  return html`by <${Account} name=${post.author} />, <${Time} at=${post.created} isShort />`;
}

function About({ post, isPaid }) {
  const { result: placed } = useCall("bridge.get_post", { author: post.author, permlink: post.permlink }, `${post.author}/${post.permlink}`);
  const metadata = metadataOf(post.json_metadata);
  const most = units(post.max_accepted_payout);
  const share = branded(post, "percent_coin_dollars");
  return html`
    <${Card} title="Facts">
      <${Facts} of=${[
        ["Author", html`<${Account} name=${post.author} />`],
        ["Permlink", html`<span class="mono"><${Exact} of=${post.permlink} /></span>`],
        placed?.community ? ["Community", html`<${Place} of=${placed} />`] : ["Category", post.category && html`<${Tag} of=${post.category} />`],
        ["Tags", listed(metadata.tags.map((tag) => html`<${Tag} of=${tag} />`))],
        ["Published", html`<${Time} at=${post.created} />`],
        ["Edited", post.last_update !== post.created ? html`<${Time} at=${post.last_update} />` : null],
        ["Last active", post.active !== post.created ? html`<${Time} at=${post.active} />` : null],
        [isPaid ? "Paid" : "Payout", isPaid ? html`<${Time} at=${post.last_payout} />` : html`<${Countdown} at=${post.cashout_time} />`],
        ["Accepts at most", most >= LIMIT_NONE ? null : most ? amountText(post.max_accepted_payout) : "nothing: payouts are declined"],
        ["Author's part", share === 10_000 ? null : `${percentText(share / 2)} of it liquid, the rest in VESTS`],
        ["Beneficiaries", listed(post.beneficiaries.map(({ account, weight }) => html`<${Account} name=${account} /> ${percentText(weight)}`))],
        ["Not allowed", notAllowed(post)],
        ["Written with", metadata.app && html`<${Exact} of=${metadata.app} />`],
      ]} />
    </${Card}>
  `;
}

function listed(items) {
  return items.length ? items.flatMap((item, i) => (i ? [", ", item] : [item])) : null;
}

function Tag({ of }) {
  return html`<${Link} to=${path.posts("trending", of)}><${Exact} of=${of} /></${Link}>`;
}

// The community of a post, and what its author is there.
function Place({ of }) {
  const { community, community_title: title, author_role: role, author_title: name } = of;
  return html`
    <${CommunityName} name=${community} title=${title} />
    ${role !== "guest" && html` <span class="badge">${role}</span>`}
    ${name && html` <span class="badge"><${Title} of=${name} /></span>`}
  `;
}

function Countdown({ at }) {
  return html`<time datetime=${`${at}Z`}>${at.replace("T", " ")}</time> <span class="badge accent"><${Ticking}>${() => {
    const seconds = Math.round((milliseconds(at) - now()) / 1000);
    return seconds > 0 ? `in ${durationText(seconds)}` : "due with the next block";
  }}</${Ticking}></span>`;
}

function notAllowed(post) {
  const found = [[post.allow_votes, "votes"], [post.allow_replies, "replies"], [post.allow_curation_rewards, "rewards for curators"]];
  return found.filter(([is]) => !is).map(([, words]) => words).join(", ");
}

// What is used of the metadata, in which anything may stand.
function metadataOf(text) {
  const texts = (value) => (typeof value === "string" && value.trim() ? [value.slice(0, 200)] : []);
  try {
    const value = JSON.parse(text);
    const tags = Array.isArray(value?.tags) ? [...new Set(value.tags.slice(0, TAGS_SHOWN).flatMap(texts))] : [];
    const app = typeof value?.app === "string" ? value.app : typeof value?.app?.name === "string" ? value.app.name : "";
    return { tags, app: app.slice(0, 200) };
  } catch {
    return { tags: [], app: "" };
  }
}

// The history of accounts is read only when somebody asks: it may be long.
function Versions({ post }) {
  const [isAsked, setAsked] = useState(false);
  const name = `${post.author}/${post.permlink}`;
  const found = useAnswer(() => (isAsked ? versionsOf(post) : null), `${name} ${isAsked} ${post.last_update}`, `${name} ${isAsked}`);
  if (post.last_update === post.created) return null;
  return html`
    <${Card} title="Versions" aside=${html`edited <${Time} at=${post.last_update} isShort />`}>
      ${isAsked
        ? html`<${Answer} of=${found}>${(rows) => html`
            <${Table} caption="Versions" rows=${rows} nothing="None of them is among the last operations of the author." columns=${[
              { title: "Time", cell: ({ timestamp }) => html`<${Time} at=${timestamp} />` },
              { title: "Transaction", cell: ({ trx_id }) => html`<${TransactionLink} id=${trx_id} />` },
              { title: "What was sent", cell: ({ value }) => html`<${Version} title=${value.title} body=${value.body} />` },
            ]} />
            <p class="muted small">
              Of the last ${numberText(HISTORY_READ)} operations of the author. A text that begins with <code>@@</code> is a change to the one before it.
            </p>
          `}</${Answer}>`
        : html`<p><button type="button" onClick=${() => setAsked(true)}>Look for earlier versions</button></p>`}
    </${Card}>
  `;
}

function Version({ title, body }) {
  return html`
    <div class="wide">
      <${Title} of=${title} />
      <details><summary class="muted">${numberText(body.length)} characters</summary><pre tabindex="0">${body}</pre></details>
    </div>
  `;
}

async function versionsOf(post) {
  const { history } = await call("account_history_api.get_account_history", { account: post.author, start: -1, limit: HISTORY_READ });
  return history
    .map(([, { op, timestamp, trx_id }]) => ({ name: op.type, value: op.value, timestamp, trx_id }))
    .filter(({ name, value }) => name === "comment_operation" && value.author === post.author && value.permlink === post.permlink)
    .filter(({ timestamp }) => timestamp >= post.created);
}
