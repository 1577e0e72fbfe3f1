// Posts in lists: a table of them, and the links to the next and to the first part of a list.
import { numberText } from "../format.js";
import { html } from "../html.js";
import { Link, path } from "../router.js";
import { Table } from "./layout.js";
import { Account, CommunityName, MemberTitle } from "./names.js";
import { Exact, Title } from "./text.js";
import { Money, Time } from "./values.js";

// `posts` are summaries of explorer_api; `isHere` is the community whose page it is, which needn't be named.
export function PostTable({ posts, caption, isHere = null, nothing }) {
  return html`<${Table} caption=${caption} rows=${posts} nothing=${nothing} isStacked columns=${[
    { title: "Post", cell: (post) => html`<${PostCell} post=${post} isHere=${isHere} />` },
    { title: "Author", cell: (post) => html`<${Account} name=${post.author} /><${MemberTitle} of=${post.author} community=${isHere} />` },
    { title: "Payout", isNumber: true, cell: (post) => html`<${Payout} post=${post} />` },
    { title: "Net votes", isNumber: true, cell: (post) => numberText(post.net_votes).replace("-", "−") },
    { title: "Replies", isNumber: true, cell: (post) => numberText(post.children) },
    { title: "Published", cell: (post) => html`<${Time} at=${post.created} isShort />` },
  ]} />`;
}

function PostCell({ post, isHere }) {
  const title = post.title.trim() ? html`<${Title} of=${post.title} />` : html`<${Exact} of=${post.permlink} />`;
  return html`
    <div class="wide">
      <${Link} to=${path.post(post.author, post.permlink)}>${title}</${Link}>
      <div class="muted small">
        ${post.is_pinned && html`<span class="badge accent">pinned</span> `}
        ${post.depth > 0 && html`<span class="badge">reply</span> `}
        ${post.community !== isHere && html`<${Place} post=${post} />`}
      </div>
    </div>
  `;
}

function Place({ post }) {
  const { community, community_title: title, category } = post;
  if (community) return html`in <${CommunityName} name=${community} title=${title} />`;
  return category ? html`in <${Link} to=${path.posts("trending", category)}><${Exact} of=${category} /></${Link}>` : null;
}

function Payout({ post }) {
  return html`
    <${Money} of=${post.payout} />
    <div class="muted small">${post.is_paid ? "paid" : html`<${Time} at=${post.cashout_time} isShort />`}</div>
  `;
}

// The parts of a list that is read from one post to the next. `here` is the address without its query, `keep` what stays in that.
export function Parts({ posts, hasMore, here, query, keep = {} }) {
  const to = (start) => {
    const text = new URLSearchParams({ ...keep, ...start }).toString();
    return text ? `${here}?${text}` : here;
  };
  const last = posts[posts.length - 1];
  const isLater = query.has("start_author");
  if (!isLater && !hasMore) return null;
  return html`
    <nav class="filters" aria-label="Parts of the list">
      ${isLater && html`<${Link} class="button" to=${to({})}>First part</${Link}>`}
      ${hasMore && last && html`<${Link} class="button" to=${to({ start_author: last.author, start_permlink: last.permlink })}>Next part</${Link}>`}
    </nav>
  `;
}

// The start post of a list, as the query has it.
export function startOf(query) {
  return { start_author: query.get("start_author") ?? "", start_permlink: query.get("start_permlink") ?? "" };
}
