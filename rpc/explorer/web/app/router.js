// Which page an address stands for. Each has its own, so that it can be sent to somebody, and back and forward work.
import { html, useEffect, useState } from "./html.js";

const listeners = new Set();

// Shows another address of the explorer.
export function go(path, { replace = false } = {}) {
  // A path that begins with `//` would be another host's address, which the history refuses.
  if (path !== location.pathname + location.search) history[replace ? "replaceState" : "pushState"](null, "", location.origin + path);
  for (const listener of listeners) listener();
}

// The address that is shown: {path, query}.
export function useAddress() {
  const [, setRound] = useState(0);
  useEffect(() => {
    const listener = () => setRound((n) => n + 1);
    listeners.add(listener);
    addEventListener("popstate", listener);
    return () => {
      listeners.delete(listener);
      removeEventListener("popstate", listener);
    };
  }, []);
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}

// A link within the explorer, which the page follows by itself unless the reader asks for a new tab.
export function Link({ to, children, ...rest }) {
  const follow = (event) => {
    if (event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
    scrollTo(0, 0);
  };
  return html`<a href=${to} onClick=${follow} ...${rest}>${children}</a>`;
}

// Changes members of the query of the address that is shown; an empty value takes one away.
export function setQuery(changes) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "" || value === null || value === undefined) query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  go(location.pathname + (text && `?${text}`), { replace: true });
}

// Returns [entry, values] of the first entry whose pattern fits a path, or null. `:name` stands for one part of it.
export function match(routes, path) {
  const parts = path.split("/").filter(Boolean).map(decoded);
  for (const route of routes) {
    const values = {};
    const pattern = route.path.split("/").filter(Boolean);
    const fits =
      pattern.length === parts.length &&
      pattern.every((piece, i) => {
        const at = piece.indexOf(":");
        if (at < 0) return piece === parts[i];
        values[piece.slice(at + 1)] = parts[i].slice(at);
        return parts[i].startsWith(piece.slice(0, at)) && parts[i].length > at;
      });
    if (fits) return [route, values];
  }
  return null;
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const path = {
  blocks: (before = "") => `/blocks${before && `?before=${before}`}`,
  block: (number) => `/block/${number}`,
  transaction: (id) => `/transaction/${id}`,
  account: (name, tab = "") => `/@${encodeURIComponent(name)}${tab && `?tab=${tab}`}`,
  post: (author, permlink) => `/@${encodeURIComponent(author)}/${encodeURIComponent(permlink)}`,
  community: (name) => `/community/${encodeURIComponent(name)}`,
  posts: (order, tag = "") => `/posts/${order}${tag && `/${encodeURIComponent(tag)}`}`,
  proposal: (id) => `/proposal/${id}`,
  token: (nai) => `/token/${encodeURIComponent(nai)}`,
  method: (name) => `/console/${name}`,
  refusal: (id) => `/refused/${id}`,
};
