// Titles of posts and communities, and of the members of communities. One call asks for all titles of a frame, which are kept until a block
// changes them.
import { chain, onChange } from "./chain.js";
import { operationOf } from "./format.js";
import { useEffect, useState } from "./html.js";
import { call } from "./rpc.js";

const POSTS_MAX = 200;
const COMMUNITIES_MAX = 100;
const MEMBERS_MAX = 1000;
const KEPT_MAX = 5000;
const ACCOUNT = /^[a-z][a-z0-9.-]{2,15}$/;

const posts = { known: new Map(), wanted: new Map(), most: POSTS_MAX };
const communities = { known: new Map(), wanted: new Map(), most: COMMUNITIES_MAX };
const members = new Map();
const listeners = new Set();
let isAsked = false;
let lastBlock = null; // the id of the last block that was looked at for changes
let changes = 0;

onChange(findChanged);

// The title of a post, and that of the post at the top, {title, root_title}; null while it is unknown.
export function usePostTitle(author, permlink) {
  // A refused operation can hold anything, and one wrong argument would be an error for all titles of the call.
  const isName = permlink && typeof permlink === "string" && typeof author === "string" && ACCOUNT.test(author);
  return useTitle(posts, isName ? `${author}/${permlink}` : "", [author, permlink]);
}

// The title of a community; null for other names, and while it is unknown.
export function useCommunityTitle(name) {
  return useTitle(communities, mayBeCommunity(name) ? name : "", name)?.title || null;
}

// The titles that a community has given to its members, by account; none if the name is not that of a community.
export function useMemberTitles(community) {
  const [found, setFound] = useState(null);
  useEffect(() => {
    let isOver = false;
    if (mayBeCommunity(community)) membersOf(community).then((titles) => isOver || setFound(titles));
    return () => {
      isOver = true;
    };
  }, [community, chain.head]);
  return found ?? new Map();
}

function mayBeCommunity(name) {
  return typeof name === "string" && name.startsWith(chain.overview.community_prefix);
}

function membersOf(community) {
  const key = `${community} ${chain.head}`;
  if (!members.has(key)) {
    members.clear();
    const asked = call("bridge.list_community_titles", { community, limit: MEMBERS_MAX });
    members.set(key, asked.then((rows) => new Map(rows.map(([account, , title]) => [account, title])), () => new Map()));
  }
  return members.get(key);
}

// Marks what the blocks that have come may have changed: everything if some of them were missed or undone.
function findChanged() {
  const before = changes;
  const at = chain.blocks.findIndex(({ block_id }) => block_id === lastBlock);
  lastBlock = chain.blocks[0]?.block_id ?? null;
  if (at < 0) {
    for (const { known } of [posts, communities]) for (const key of known.keys()) mark(known, key);
  }
  for (const { transactions } of chain.blocks.slice(0, Math.max(0, at))) {
    for (const { operations } of transactions) for (const one of operations) markChanged(operationOf(one));
  }
  if (changes !== before) announce();
}

function announce() {
  for (const listener of [...listeners]) listener();
}

function markChanged({ name, value }) {
  if (name === "comment") {
    const written = `${value.author}/${value.permlink}`;
    // Replies without a title are named after the post at the top, which may be this one.
    for (const [key, { title }] of posts.known) if (key === written || (!title && !value.parent_author)) mark(posts.known, key);
  } else if (name === "custom_json" && value.id === "community") {
    for (const key of communities.known.keys()) if (value.json.includes(`"${key}"`)) mark(communities.known, key);
  }
}

function mark(known, key) {
  changes += 1;
  known.set(key, { ...known.get(key), isOld: true });
}

// The entry of a kind with this key; null while it is unknown. An unknown one is asked for again when it is shown with another head. One that
// may have changed is shown as it was until the answer is there.
function useTitle(kind, key, asked) {
  const [, setRound] = useState(0);
  const found = kind.known.get(key) ?? null;
  const isCurrent = found && !found.isOld;
  useEffect(() => {
    if (!key) return undefined;
    const listener = () => (kind.known.get(key) ?? null) !== found && setRound((n) => n + 1);
    listeners.add(listener);
    if (!isCurrent) {
      kind.wanted.set(key, asked);
      askSoon();
    }
    return () => listeners.delete(listener);
  }, [key, found, isCurrent ? 0 : chain.head]);
  return found;
}

function askSoon() {
  if (isAsked) return;
  isAsked = true;
  setTimeout(ask); // after the page is drawn
}

async function ask() {
  isAsked = false;
  const [wantedPosts, wantedCommunities] = [posts, communities].map(taken);
  if (posts.wanted.size || communities.wanted.size) askSoon();
  if (!wantedPosts.length && !wantedCommunities.length) return;
  const before = changes;
  try {
    const found = await call("explorer_api.get_titles", { posts: wantedPosts, communities: wantedCommunities });
    const isOld = changes !== before; // what changed meanwhile may be missing in the answer
    for (const [author, permlink] of wantedPosts) posts.known.delete(`${author}/${permlink}`);
    for (const name of wantedCommunities) communities.known.delete(name);
    for (const one of found.posts) keep(posts, `${one.author}/${one.permlink}`, { ...one, isOld });
    for (const one of found.communities) keep(communities, one.name, { ...one, isOld });
    announce();
  } catch {
    // Names stay as they are.
  }
}

function taken({ wanted, most }) {
  const some = [...wanted].slice(0, most);
  for (const [key] of some) wanted.delete(key);
  return some.map(([, asked]) => asked);
}

function keep({ known }, key, found) {
  if (known.size >= KEPT_MAX) known.clear();
  known.set(key, found);
}
