// Replies as a tree: a few of each level at once, more when asked for, and from some depth on those of a reply stand on its own page.
import { numberText } from "../format.js";
import { html, useEffect, useRef, useState } from "../html.js";
import { Link, path } from "../router.js";
import { call, useAnswer } from "../rpc.js";
import { Problem } from "./layout.js";
import { Account, MemberTitle } from "./names.js";
import { Text } from "./text.js";
import { Money, Time } from "./values.js";

const FIRST_PART = 20;
const INNER_PART = 5;
const NEXT_PART = 20;
const OPEN_DEPTH = 3;
const DEPTH_MAX = 8;

// The direct replies to a post or a reply. `community` is its category, which can be a community with titles for its members; `version`
// changes when there may be other replies.
export function Replies({ author, permlink, community, version, depth = 0 }) {
  const [more, setMore] = useState([]);
  const [error, setError] = useState(null);
  const isBusy = useRef(false);
  const first = useAnswer(() => load(author, permlink, null, depth ? INNER_PART : FIRST_PART), `${author}/${permlink} ${version}`, `${author}/${permlink}`);
  useEffect(() => setMore([]), [version]);
  if (first.error) return html`<${Problem} error=${first.error} again=${first.again} />`;
  if (!first.result) return html`<p class="muted small" role="status">Loading…</p>`;
  const parts = [first.result, ...more];
  const { next } = parts[parts.length - 1];
  const loadMore = async () => {
    if (isBusy.current) return;
    isBusy.current = true;
    try {
      const part = await load(author, permlink, next, NEXT_PART);
      setMore((known) => [...known, part]);
      setError(null);
    } catch (problem) {
      setError(problem);
    }
    isBusy.current = false;
  };
  const rows = parts.flatMap(({ rows: some }) => some);
  if (!rows.length) return html`<p class="muted">There are none.</p>`;
  return html`
    <ul class=${`replies ${depth ? "" : "first"}`}>
      ${rows.map((row) => html`<${Reply} key=${`${row.author}/${row.permlink}`} of=${row} community=${community} depth=${depth} />`)}
    </ul>
    ${next && html`<p><button type="button" onClick=${loadMore}>Show more replies</button></p>`}
    ${error && html`<${Problem} error=${error} />`}
  `;
}

function Reply({ of, community, depth }) {
  const [isOpen, setOpen] = useState(depth + 1 < OPEN_DEPTH);
  const to = path.post(of.author, of.permlink);
  const isPaid = BigInt(of.total_payout_value.amount) + BigInt(of.curator_payout_value.amount) > 0n;
  return html`
    <li>
      <div class="row">
        <div>
          <${Account} name=${of.author} /><${MemberTitle} of=${of.author} community=${community} />${" "}
          <span class="muted small"><${Time} at=${of.created} isShort />${of.last_update !== of.created ? ", edited" : ""}</span>
        </div>
        <div class="end">
          ${isPaid && html`author got <${Money} of=${of.total_payout_value} /> · `}
          ${numberText(of.net_votes).replace("-", "−")} net ${of.net_votes === 1 ? "vote" : "votes"} · <${Link} to=${to}>this reply</${Link}>
        </div>
      </div>
      <${Text} of=${of.body} />
      ${of.children > 0 && (
        depth + 1 >= DEPTH_MAX
          ? html`<p><${Link} to=${to}>${answers(of.children)} below this one</${Link}></p>`
          : isOpen
            ? html`<${Replies} author=${of.author} permlink=${of.permlink} community=${community} version=${of.children} depth=${depth + 1} />`
            : html`<p><button type="button" onClick=${() => setOpen(true)}>Show ${answers(of.children)}</button></p>`
      )}
    </li>
  `;
}

function answers(count) {
  return count === 1 ? "1 reply" : `${numberText(count)} replies`;
}

// The replies from one on, oldest first, and the one that the next part begins with.
async function load(author, permlink, start, limit) {
  const { comments } = await call("database_api.list_comments", {
    start: [author, permlink, start?.author ?? "", start?.permlink ?? ""],
    limit: limit + 1,
    order: "by_parent",
  });
  // The list goes on with the replies to others.
  const rows = comments.filter((one) => one.parent_author === author && one.parent_permlink === permlink);
  return { rows: rows.slice(0, limit), next: rows[limit] ?? null };
}
