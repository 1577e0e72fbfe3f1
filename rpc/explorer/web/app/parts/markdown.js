// Posts' Markdown as a tree of {tag, props, children} and texts, from which text.js makes elements. markdown-it reads the text, and only
// elements and attributes of the lists below get into the tree. This file imports nothing, so that tests can load it anywhere.
const TEXT_MAX = 65_536;
const NODES_MAX = 10_000;
const NESTING_MAX = 20;
const ADDRESS_MAX = 2000;
const TITLE_MAX = 300;

export const TAGS = new Set("a bdi blockquote br code del div em h3 h4 h5 h6 hr li ol p pre span strong table tbody td th thead tr ul".split(" "));
export const PICTURE = "elsewhere picture"; // the class of links to pictures
export const ATTRIBUTES = new Set("class href rel scope start tabindex target".split(" "));

// Blocks that can be wider or longer than their place scroll, by the keyboard too.
const SCROLLED = { tabindex: 0 };
const RENAMED = { h1: "h3", h2: "h4", h3: "h5", h4: "h6", h5: "h6", s: "del" };
// HTML tags that are left out, with their text shown. Every other tag is shown as text.
const DROPPED = new Set(
  ("a b i u s p q em br hr h1 h2 h3 h4 h5 h6 div span center strong small sub sup del ins strike kbd mark code pre table thead tbody tr td th " +
    "ul ol li blockquote details summary cite abbr figure figcaption").split(" "),
);
const BREAKING = new Set("br p div center hr h1 h2 h3 h4 h5 h6 tr li blockquote".split(" "));

// Characters that nobody sees: controls, soft hyphens, zero-width ones, marks of direction, fillers, tags. Where a name or an address is shown
// they are shown as well.
const INVISIBLE = new RegExp(
  "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e" +
    "\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]|[\\ud800-\\udfff]",
  "u",
);
const INVISIBLE_ALL = new RegExp(INVISIBLE.source, "gu");
// What would turn the direction of what follows, and what can't be shown at all; taken out of texts.
const HARMFUL_ALL = /[\u202a-\u202e\u2066-\u2069]|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]|[\ud800-\udfff]/gu;
const MENTION = /(?<![\p{L}\p{N}_./@-])@(?=[a-z0-9.-]{3,16}(?![A-Za-z0-9_-]))([a-z][a-z0-9-]{2,15}(?:\.[a-z][a-z0-9-]{2,15})?)(?![A-Za-z0-9_-])/gu;
const TAG = /(?<![\p{L}\p{N}_/&#@-])#([a-z][a-z0-9-]{1,23})(?![\p{L}\p{N}_-])/gu;
const TASK = /^\[([ xX])\] /;
const HTML_TAG = /^<[/]?([a-z][a-z0-9]*)/i;
const HTML_ADDRESS = /\s(?:src|href)\s*=\s*["']?([^\s"'>]{1,2000})/i;

// Returns a name or an address with everything that is invisible written out, as [text, isHidden] pairs.
export function exact(text) {
  const found = [];
  let end = 0;
  for (const match of String(text).matchAll(INVISIBLE_ALL)) {
    if (match.index > end) found.push([text.slice(end, match.index), false]);
    found.push([`U+${match[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`, true]);
    end = match.index + match[0].length;
  }
  if (end < text.length) found.push([text.slice(end), false]);
  return found;
}

// Returns a text without what turns its direction and without controls; a NUL and halves of characters become U+FFFD.
export function harmless(text) {
  return String(text).replace(HARMFUL_ALL, (found) => (found === "\u0000" || found >= "\ud800" ? "\ufffd" : ""));
}

// Returns the URL of a text that is an absolute address of the web and nothing else, or null.
export function webAddress(text) {
  if (text.length > ADDRESS_MAX || !/^https?:[/][/][^/\\]/i.test(text) || /[\s<>"`\\^{|}]/.test(text) || INVISIBLE.test(text)) return null;
  try {
    const url = new URL(text);
    // A name before the host makes addresses look like those of others.
    return /^https?:$/.test(url.protocol) && url.host && !url.username && !url.password ? url : null;
  } catch {
    return null;
  }
}

// Returns the nodes of a text, given the class of markdown-it.
export function parse(text, MarkdownIt) {
  const reader = new MarkdownIt({ html: true, linkify: true, breaks: true, maxNesting: NESTING_MAX });
  // HTML is read within paragraphs only, so that Markdown inside it is read too.
  reader.disable("html_block");
  reader.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
  reader.validateLink = (address) => webAddress(address) !== null || isOwn(address);
  const whole = harmless(String(text).slice(0, TEXT_MAX));
  const nodes = new Tree().blocks(reader.parse(whole, {}));
  if (text.length > TEXT_MAX) nodes.push(node("p", {}, [`… (${text.length - TEXT_MAX} more characters)`]));
  return nodes;
}

function node(tag, props, children) {
  return { tag, props, children };
}

// Makes nodes of the tokens of markdown-it. Beyond NODES_MAX nodes only texts are kept.
class Tree {
  count = 0;

  blocks(tokens) {
    return this.nested(tokens, (open, token) => {
      if (token.type === "inline") this.inline(token.children, open);
      else if (token.type === "fence" || token.type === "code_block") {
        this.add(open, node("pre", SCROLLED, [node("code", {}, [token.content.replace(/\n$/, "")])]));
      } else if (token.type === "hr") this.add(open, node("hr", {}, []));
    });
  }

  inline(tokens, into) {
    const children = this.nested(tokens, (open, token, links) => {
      if (token.type === "softbreak" || token.type === "hardbreak") this.add(open, node("br", {}, []));
      else if (token.type === "code_inline") this.add(open, node("code", {}, [token.content]));
      else if (token.type === "image") this.image(open, token.attrGet("src"), token.content);
      else if (token.type === "html_inline") this.html(open, token.content);
      // A reference such as &#x202e; has become a character.
      else if (links) open.children.push(harmless(token.content));
      else this.text(open, harmless(token.content));
    });
    into.children.push(...children);
  }

  // Walks through tokens that open and close elements, and has `visit` read the others.
  nested(tokens, visit) {
    const path = [node("", {}, [])];
    let links = 0;
    for (const token of tokens) {
      if (token.type === "link_open" || token.type === "link_close") links += token.nesting;
      if (token.nesting > 0) path.push(node(RENAMED[token.tag] ?? token.tag, { token }, []));
      else if (token.nesting < 0) {
        const { tag, props, children } = path.pop();
        const outer = path[path.length - 1];
        if (props.token.hidden || this.count > NODES_MAX) outer.children.push(...children);
        else {
          // Pictures in a link stand before it.
          if (tag === "a") for (const one of picturesIn(children)) this.add(outer, one);
          this.add(outer, made(tag, props.token, children));
        }
      } else visit(path[path.length - 1], token, links);
    }
    return path[0].children;
  }

  add(open, child) {
    this.count += 1;
    if (this.count <= NODES_MAX) open.children.push(child);
    else open.children.push(wordsOf([child]));
  }

  text(open, content) {
    let end = 0;
    for (const found of namesIn(content)) {
      open.children.push(content.slice(end, found.index));
      this.add(open, node("a", found.props, [found[0]]));
      end = found.index + found[0].length;
    }
    open.children.push(content.slice(end));
  }

  image(open, address, words) {
    const url = webAddress(address);
    if (url) this.add(open, imageOf(url, words));
    else open.children.push(`![${words}](${address})`);
  }

  html(open, written) {
    const name = HTML_TAG.exec(written)?.[1].toLowerCase();
    const address = name === "img" || name === "a" ? webAddress((HTML_ADDRESS.exec(written)?.[1] ?? "").replaceAll("&amp;", "&")) : null;
    if (address) this.add(open, name === "img" ? imageOf(address, "") : outside(address, []));
    else if (!DROPPED.has(name)) open.children.push(written);
    else if (BREAKING.has(name) && open.children.length && open.children[open.children.length - 1].tag !== "br") {
      this.add(open, node("br", {}, []));
    }
  }
}

// The names of accounts and the tags in a text, in their order, with the properties of their links.
function namesIn(content) {
  const accounts = [...content.matchAll(MENTION)].filter(([, name]) => name.length <= 16);
  const tags = [...content.matchAll(TAG)];
  for (const found of accounts) found.props = { href: `/@${found[1]}`, class: "account" };
  for (const found of tags) found.props = { href: `/posts/trending/${found[1]}`, class: "tag" };
  return [...accounts, ...tags].sort((a, b) => a.index - b.index);
}

// The children of an entry of a list. If it is a task, "[ ]" or "[x]" at its beginning becomes a box.
function entryOf(children) {
  const [first, ...rest] = children;
  if (first?.tag === "p") return [{ ...first, children: entryOf(first.children) }, ...rest];
  if (typeof first !== "string" || !TASK.test(first)) return children;
  return [first.replace(TASK, (_, mark) => (mark === " " ? "\u2610 " : "\u2611 ")), ...rest];
}

function made(tag, token, children) {
  if (tag === "li") return node(tag, {}, entryOf(children));
  if (tag === "table") return node("div", { class: "scroll", ...SCROLLED }, [node("table", {}, children)]);
  if (tag === "th") return node(tag, { scope: "col" }, children);
  if (tag === "ol" && token.attrGet("start") > 1) return node(tag, { start: token.attrGet("start") }, children);
  return tag === "a" ? linkTo(token.attrGet("href"), children) : node(tag, {}, children);
}

// ------------------------------------------------------------------ links

function linkTo(address, all) {
  const children = withoutPictures(all);
  const url = webAddress(address);
  if (url) return outside(url, plainOf(children));
  if (!isOwn(address)) return node("span", {}, children);
  const own = address.slice(address.indexOf("/@"));
  return node("a", { href: own }, wordsOf(children).trim() ? plainOf(children) : [own]);
}

const isPicture = (one) => one.props?.class === PICTURE;

function picturesIn(nodes) {
  return nodes.flatMap((one) => (isPicture(one) ? [one, " "] : picturesIn(one.children ?? [])));
}

function withoutPictures(nodes) {
  return nodes.filter((one) => !isPicture(one)).map((one) => (one.children ? { ...one, children: withoutPictures(one.children) } : one));
}

// An image is a link: to load it would tell the reader's address to a stranger.
function imageOf(url, words) {
  const about = words.trim().slice(0, TITLE_MAX);
  return node("a", { ...elsewhere(url), class: PICTURE }, [`image${about && `: ${about}`}`, ...hostOf(url)]);
}

// A link to elsewhere, with its host where the words don't say it.
function outside(url, children) {
  const words = wordsOf(children).trim();
  const isSame = words === url.href || words === url.href.replace(/[/]$/, "") || words === url.host;
  const shown = words ? children : [url.href];
  return node("a", elsewhere(url), isSame || !words ? shown : [...shown, ...hostOf(url)]);
}

function elsewhere(url) {
  return { href: url.href, rel: "noreferrer noopener", target: "_blank", class: "elsewhere" };
}

function hostOf(url) {
  return [" ", node("span", { class: "muted small" }, [node("bdi", {}, [`(${url.host})`])])];
}

// Posts link to each other by /@author/permlink, mostly with a category before it.
function isOwn(address) {
  return /^(?:[/][a-z0-9-]{1,64})?[/]@[a-z][a-z0-9.-]{2,15}(?:[/][a-z0-9-]{1,255})?$/.test(address);
}

// What a link shows: no links, and not what would turn or hide its words.
function plainOf(children) {
  return children.flatMap((child) => {
    if (typeof child === "string" && !INVISIBLE.test(child)) return [child];
    if (typeof child === "string") return exact(child).map(([text, isHidden]) => (isHidden ? node("span", { class: "badge" }, [text]) : text));
    return child.tag === "a" ? plainOf(child.children) : [{ ...child, children: plainOf(child.children) }];
  });
}

function wordsOf(children) {
  return children.map((child) => (typeof child === "string" ? child : wordsOf(child.children))).join("");
}
