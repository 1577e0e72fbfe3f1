// Lists of posts: all, or those with a tag, in several orders, part by part.
import { useChain } from "../chain.js";
import { html } from "../html.js";
import { OnlyHere } from "../parts/fork.js";
import { Answer, Card, Page, Tabs } from "../parts/layout.js";
import { Parts, PostTable, startOf } from "../parts/posts.js";
import { Exact, plainTitle } from "../parts/text.js";
import { Link, go, path } from "../router.js";
import { useCall } from "../rpc.js";

const PART = 25;
// The name in the address, words, and the order of the method; the last one needs no plugin.
const ORDERS = [
  ["trending", "Trending", "trending", "by the trending score: rshares, and how new a post is"],
  ["hot", "Hot", "hot", "by the hot score, in which being new counts more"],
  ["created", "New", "created", "the newest first"],
  ["active", "Active", "active", "the last answered first"],
  ["votes", "Net votes", "votes", "by the votes for it less those against it"],
  ["children", "Replies", "children", "by the number of replies"],
  ["payout", "Payout", "post_payout", "by the pending payout"],
  ["replies", "Replies by payout", "comment_payout", "replies by their pending payout"],
  ["cashout", "Due next", "cashout", "by the time of the payout"],
  ["promoted", "Promoted", "promoted", "by the SBD that was burned for it"],
  ["updated", "Updated", "", "the last changed first; needs no plugin"],
];

export default function Posts({ order, tag = "", query }) {
  const { head } = useChain();
  const [name, words, sort, about] = ORDERS.find(([one]) => one === order) ?? ORDERS[0];
  const start = startOf(query);
  const found = useCall(
    sort ? "explorer_api.list_posts" : "explorer_api.list_updated_posts",
    { ...(sort && { order: sort, tag }), limit: PART, ...start },
    head,
  );
  const title = tag ? `${words} posts in ${plainTitle(tag)}` : `${words} posts`;
  return html`
    <${Page} title=${title} heading=${tag ? html`Posts in <${Exact} of=${tag} />` : "Posts"}>
      <${OnlyHere} />
      <${Tabs} label="Orders" chosen=${name} tabs=${ORDERS.filter(([, , one]) => one || !tag).map(([one, text]) => [one, text, path.posts(one, tag)])} />
      <${TagForm} order=${name} tag=${tag} key=${tag} />
      <${Card} title=${words} aside=${about}>
        <${Answer} of=${found}>
          ${({ posts, has_more }) => html`
            <${PostTable} posts=${posts} caption=${title} nothing=${start.start_author ? "The list ends here." : "There are no such posts."} />
            ${!posts.length && sort && html`
              <p class="muted small">
                Posts whose metadata is empty stand in no list but <${Link} to=${path.posts("updated")}>that of all posts</${Link}>;
                those by score or payout have no paid ones.
              </p>`}
            <${Parts} posts=${posts} hasMore=${has_more} here=${path.posts(name, tag)} query=${query} />
          `}
        </${Answer}>
        ${found.error && sort && html`<p><${Link} to=${path.posts("updated")}>All posts, the last changed first</${Link}>, are listed in any case.</p>`}
      </${Card}>
      <${TagCloud} order=${name} />
    </${Page}>
  `;
}

function TagForm({ order, tag }) {
  const find = (event) => {
    event.preventDefault();
    go(path.posts(order === "updated" ? "created" : order, new FormData(event.target).get("tag").trim().toLowerCase().replace(/^#/, "")));
  };
  return html`
    <form class="filters" onSubmit=${find}>
      <label>Tag or community <input name="tag" size="16" maxlength="64" placeholder="any" autocomplete="off" defaultValue=${tag} /></label>
      <button>Show</button>
      ${tag && html`<${Link} to=${path.posts(order)}>All tags</${Link}>`}
    </form>
  `;
}

function TagCloud({ order }) {
  const { result } = useCall("tags_api.get_trending_tags", { start_tag: "", limit: 30 });
  const tags = (result?.tags ?? []).filter(({ name }) => name);
  if (!tags.length) return null;
  return html`
    <${Card} title="Tags" aside="by the trending scores of their posts">
      <div class="cloud">
        ${tags.map(({ name }) => html`<${Link} to=${path.posts(order === "updated" ? "created" : order, name)}><${Exact} of=${name} /></${Link}>`)}
      </div>
    </${Card}>
  `;
}
