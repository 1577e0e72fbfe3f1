// Titles of posts and communities, and of the members of communities. One call asks for all titles of a frame, which are kept.
import { chain } from "./chain.js";
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

// The entry of a kind with this key; null while it is unknown. An unknown one is asked for again when it is shown with another head.
function useTitle(kind, key, asked) {
  const [, setRound] = useState(0);
  const found = kind.known.get(key) ?? null;
  useEffect(() => {
    if (!key || found) return undefined;
    const listener = () => kind.known.has(key) && setRound((n) => n + 1);
    listeners.add(listener);
    kind.wanted.set(key, asked);
    askSoon();
    return () => listeners.delete(listener);
  }, [key, found ? 0 : chain.head]);
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
  try {
    const found = await call("explorer_api.get_titles", { posts: wantedPosts, communities: wantedCommunities });
    for (const one of found.posts) keep(posts, `${one.author}/${one.permlink}`, one);
    for (const one of found.communities) keep(communities, one.name, one);
    for (const listener of [...listeners]) listener();
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
