// Lists of an account's posts, by the methods of bridge, with links to the posts' own pages.
import { useChain } from "../../chain.js";
import { amountText, numberText } from "../../format.js";
import { html, useState } from "../../html.js";
import { setQuery } from "../../router.js";
import { call, useAnswer } from "../../rpc.js";
import { Answer, Card, Chips, Table } from "../layout.js";
import { CommunityName, PostName } from "../names.js";
import { Time } from "../values.js";

const PAGE = 20;
const SORTS = [["posts", "posts"], ["comments", "comments"], ["replies", "replies to it"], ["blog", "blog"], ["feed", "feed"], ["payout", "payouts to come"]];

export function Posts({ name, query }) {
  const sort = SORTS.some(([value]) => value === query.get("sort")) ? query.get("sort") : "posts";
  return html`
    <${Card} title="Posts and replies">
      <div class="filters"><${Chips} label="List" options=${SORTS} chosen=${sort} onChoose=${(value) => setQuery({ sort: value })} /></div>
      <${List} key=${sort} name=${name} sort=${sort} />
    </${Card}>
  `;
}

function List({ name, sort }) {
  const { head } = useChain();
  const [starts, setStarts] = useState([null]);
  const start = starts.at(-1);
  const params = { sort, account: name, limit: PAGE, ...(start && { start_author: start.author, start_permlink: start.permlink }) };
  // Only the first page follows the chain: on others the place that one reads from would move.
  const answer = useAnswer(() => call("bridge.get_account_posts", params), `${JSON.stringify(params)} ${start ? "" : head}`, JSON.stringify(params));
  return html`
    <${Answer} of=${answer}>${(posts) => {
      // A list begins with the post at which the one before has ended, but for payouts.
      const rows = start && sort !== "payout" ? posts.slice(1) : posts;
      return html`
        <${Table} caption="Posts" rows=${rows} nothing=${start ? "There are no more." : "There are none."} isStacked columns=${[
          { title: "Post", cell: (post) => html`<${Title} of=${post} isOther=${post.author !== name} />` },
          { title: "Published", cell: ({ created }) => html`<${Time} at=${created} isShort />` },
          { title: "Votes cast", isNumber: true, cell: ({ stats, active_votes }) => numberText(stats?.total_votes ?? active_votes.length) },
          { title: "Replies", isNumber: true, cell: ({ children }) => numberText(children) },
          { title: "Earned", isNumber: true, cell: (post) => html`<${Earned} of=${post} />` },
          { title: "Payout", cell: ({ is_paidout, payout_at }) => (is_paidout ? "done" : html`<${Time} at=${payout_at} isShort />`) },
        ]} />
        <div class="filters">
          <button type="button" disabled=${starts.length < 2} onClick=${() => setStarts(starts.slice(0, -1))}>Newer</button>
          <button type="button" disabled=${posts.length < PAGE} onClick=${() => setStarts([...starts, posts.at(-1)])}>Older</button>
        </div>
      `;
    }}</${Answer}>
  `;
}

// What a post has earned, for its author and for those who voted, or what it would earn now.
function Earned({ of }) {
  if (!of.is_paidout) return html`${amountText(of.pending_payout_value)} <span class="badge">pending</span>`;
  return html`${amountText(of.author_payout_value)} <span class="muted">+ ${amountText(of.curator_payout_value)} for votes</span>`;
}

function Title({ of, isOther }) {
  return html`
    <${PostName} author=${of.author} permlink=${of.permlink} title=${of.title} hasAuthor=${isOther} />
    ${of.parent_author && html`
      <div class="small muted">
        reply to <${PostName} author=${of.parent_author} permlink=${of.parent_permlink} />
      </div>`}
    ${of.community_title && html`<div class="small muted">in <${CommunityName} name=${of.community} title=${of.community_title} /></div>`}
  `;
}
