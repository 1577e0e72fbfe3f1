// Posts' Markdown as a tree of {tag, props, children} and texts, from which text.js makes elements. It imports nothing, so that tests can read
// it anywhere. Every loop moves on or is bounded: the time is linear in the length of a text, whatever is in it.
const TEXT_MAX = 100_000;
const NODES_MAX = 10_000;
const BLOCK_DEPTH_MAX = 6;
const INLINE_DEPTH_MAX = 12;
const COLUMNS_MAX = 40;
const ROWS_MAX = 1000;
const ADDRESS_MAX = 2000;
const TITLE_MAX = 300;
const LABEL_MAX = 100;
const REFERENCES_MAX = 200;
const RUN_MAX = 3;
const FENCE_MAX = 12;

export const TAGS = new Set("a bdi blockquote br code del div em h3 h4 h5 h6 hr li ol p pre span strong table tbody td th thead tr ul".split(" "));
export const ATTRIBUTES = new Set("class href rel scope start tabindex target".split(" "));

// What may be too wide or too long for its place can be reached, and moved, by keyboard.
const SCROLLED = { tabindex: 0 };
const HEADINGS = ["h3", "h4", "h5", "h6", "h6", "h6"];
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", hellip: "…", mdash: "—", ndash: "–", copy: "©" };
// Tags whose words are shown without them. Any other tag is shown as the text that it is.
const DROPPED = new Set(
  ("b i u s p q em br hr h1 h2 h3 h4 h5 h6 div span center strong small sub sup del ins strike kbd mark code pre table thead tbody tr td th ul ol li " +
    "blockquote details summary cite abbr figure figcaption").split(" "),
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
const WORD = /[\p{L}\p{N}_]/u;
const PUNCTUATION = /[!-/:-@[-`{-~]/;

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

// Returns the nodes of a text.
export function parse(text) {
  const whole = harmless(String(text).slice(0, TEXT_MAX).replace(/\r\n?/g, "\n"));
  const context = { count: 0, references: new Map() };
  const nodes = blocks(withoutReferences(whole.split("\n"), context), 0, context);
  if (text.length > TEXT_MAX) nodes.push(node("p", {}, [`… (${text.length - TEXT_MAX} more characters)`]));
  return nodes;
}

function node(tag, props, children) {
  return { tag, props, children };
}

// ------------------------------------------------------------------ blocks

const REFERENCE = /^ {0,3}\[([^\]\n]{1,100})\]:[ \t]+(\S{1,2000})/;
const FENCE = /^ {0,3}(`{3,12}|~{3,12})([^`\n]{0,100})$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]|$)/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])( {1,4}|\t|$)/;
const QUOTE = /^ {0,3}> ?/;
const UNDERLINE = /^ {0,3}(=+|-+) *$/;
const CODE = /^(?: {4}|\t)/;

function withoutReferences(lines, { references }) {
  return lines.filter((line) => {
    if (references.size >= REFERENCES_MAX || !line.includes("]:")) return true;
    const found = REFERENCE.exec(line);
    if (!found) return true;
    const label = found[1].toLowerCase();
    if (!references.has(label)) references.set(label, found[2].replace(/^<|>$/g, ""));
    return false;
  });
}

function blocks(lines, depth, context) {
  const found = [];
  const isDeep = depth >= BLOCK_DEPTH_MAX;
  let i = 0;
  let paragraph = [];
  const add = (made) => {
    context.count += 1;
    found.push(made);
  };
  const finish = () => {
    if (paragraph.length) add(node("p", {}, inline(paragraph.join("\n"), context)));
    paragraph = [];
  };
  while (i < lines.length) {
    const line = lines[i];
    if (context.count > NODES_MAX) {
      finish();
      add(node("pre", SCROLLED, [lines.slice(i).join("\n")]));
      break;
    }
    if (!line.trim()) {
      finish();
      i += 1;
      continue;
    }
    const fence = FENCE.exec(line);
    if (fence) {
      finish();
      const end = fenceEnd(lines, i + 1, fence[1]);
      add(node("pre", SCROLLED, [node("code", {}, [lines.slice(i + 1, end).join("\n")])]));
      i = end + 1;
      continue;
    }
    if (!paragraph.length && CODE.test(line)) {
      let end = i + 1;
      while (end < lines.length && CODE.test(lines[end])) end += 1;
      add(node("pre", SCROLLED, [node("code", {}, [lines.slice(i, end).map((one) => one.replace(CODE, "")).join("\n")])]));
      i = end;
      continue;
    }
    const heading = HEADING.exec(line);
    if (heading) {
      finish();
      add(node(HEADINGS[heading[1].length - 1], {}, inline(withoutEnd(line.slice(heading[0].length).trim()), context)));
      i += 1;
      continue;
    }
    const underline = paragraph.length === 1 && UNDERLINE.exec(line);
    if (underline) {
      add(node(underline[1][0] === "=" ? "h3" : "h4", {}, inline(paragraph.pop().trim(), context)));
      i += 1;
      continue;
    }
    if (isRule(line)) {
      finish();
      add(node("hr", {}, []));
      i += 1;
      continue;
    }
    if (!isDeep && QUOTE.test(line)) {
      finish();
      let end = i;
      while (end < lines.length && QUOTE.test(lines[end])) end += 1;
      add(node("blockquote", {}, blocks(lines.slice(i, end).map((one) => one.replace(QUOTE, "")), depth + 1, context)));
      i = end;
      continue;
    }
    const item = !isDeep && ITEM.exec(line);
    if (item && (!paragraph.length || line.length > item[0].length)) {
      finish();
      const list = listAt(lines, i, item, depth, context);
      add(list.made);
      i = list.end;
      continue;
    }
    if (!paragraph.length && i + 1 < lines.length && line.includes("|")) {
      const table = tableAt(lines, i, context);
      if (table) {
        add(table.made);
        i = table.end;
        continue;
      }
    }
    paragraph.push(line);
    i += 1;
  }
  finish();
  return found;
}

function fenceEnd(lines, from, mark) {
  for (let i = from; i < lines.length; i++) {
    const line = lines[i].trim();
    if (line.length >= mark.length && line.startsWith(mark) && isAll(line, mark[0])) return i;
  }
  return lines.length;
}

function isAll(text, mark) {
  for (let i = 0; i < text.length; i++) if (text[i] !== mark) return false;
  return true;
}

// "# A heading ##" ends without the last marks.
function withoutEnd(text) {
  let end = text.length;
  while (end && text[end - 1] === "#") end -= 1;
  return end === text.length || (end && text[end - 1] !== " ") ? text : text.slice(0, end).trimEnd();
}

function isRule(line) {
  let count = 0;
  let mark = "";
  for (const character of line.slice(0, 4)) if ("-*_".includes(character)) mark ||= character;
  if (!mark) return false;
  for (let i = 0; i < line.length; i++) {
    if (line[i] === mark) count += 1;
    else if (line[i] !== " " && line[i] !== "\t") return false;
  }
  return count >= 3;
}

// A list goes on as long as lines begin an item of the same kind, are indented, or go on with a paragraph.
function listAt(lines, from, first, depth, context) {
  const isOrdered = first[2].length > 1;
  const items = [];
  let own = null;
  let inset = 0;
  let i = from;
  for (; i < lines.length; i++) {
    const line = lines[i];
    if (context.count > NODES_MAX && own) break;
    if (!line.trim()) {
      // One empty line may stand between items and within them.
      const next = lines[i + 1];
      if (next === undefined || !next.trim() || !(isInset(next, inset) || isItem(next, isOrdered))) break;
      own.push("");
      continue;
    }
    if (own && isInset(line, inset)) {
      own.push(line.slice(inset));
      continue;
    }
    const found = ITEM.exec(line);
    if (found && found[2].length > 1 === isOrdered && !isRule(line)) {
      inset = Math.max(2, found[1].length + found[2].length + 1);
      own = [line.slice(found[0].length)];
      items.push(own);
      context.count += 1;
      continue;
    }
    if (found || isRule(line) || HEADING.test(line) || FENCE.test(line) || QUOTE.test(line) || !own[own.length - 1]?.trim()) break;
    own.push(line.trimStart());
  }
  const made = items.map((one) => node("li", {}, unwrapped(blocks(one, depth + 1, context))));
  const start = isOrdered ? parseInt(first[2], 10) : 1;
  return { made: node(isOrdered ? "ol" : "ul", start > 1 ? { start } : {}, made), end: i };
}

function isInset(line, inset) {
  for (let i = 0; i < inset; i++) if (line[i] !== " ") return i === 0 && line[0] === "\t";
  return true;
}

function isItem(line, isOrdered) {
  const found = ITEM.exec(line);
  return found !== null && found[2].length > 1 === isOrdered;
}

// An item that is one paragraph needs none around it.
function unwrapped(found) {
  return found.length && found[0].tag === "p" ? [...found[0].children, ...found.slice(1)] : found;
}

function tableAt(lines, from, context) {
  const line = lines[from + 1];
  if (line.length > 40 * COLUMNS_MAX || !line.includes("-") || /[^-:| \t]/.test(line)) return null;
  const titles = cells(lines[from]);
  if (titles.length > COLUMNS_MAX || cells(line).length !== titles.length) return null;
  let end = from + 2;
  while (end < lines.length && lines[end].includes("|") && end - from < ROWS_MAX) end += 1;
  const row = (tag, texts, props) => {
    context.count += 1 + texts.length;
    return node("tr", {}, texts.slice(0, COLUMNS_MAX).map((text) => node(tag, props, inline(text, context))));
  };
  const rows = lines.slice(from + 2, end).map((one) => row("td", context.count > NODES_MAX ? [one] : cells(one), {}));
  const table = node("table", {}, [node("thead", {}, [row("th", titles, { scope: "col" })]), node("tbody", {}, rows)]);
  return { made: node("div", { class: "scroll", ...SCROLLED }, [table]), end };
}

function cells(line) {
  const found = [];
  let cell = "";
  const text = line.trim();
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "\\" && text[i + 1] === "|") {
      cell += "|";
      i += 1;
    } else if (text[i] === "|") {
      if (i) found.push(cell.trim());
      cell = "";
    } else cell += text[i];
  }
  if (cell.trim()) found.push(cell.trim());
  return found;
}

// ------------------------------------------------------------------ within a paragraph

// Frames are marks that may be closed later, outermost first; what is read goes into the innermost one.
function inline(text, context) {
  if (context.count > NODES_MAX) return [text];
  const frames = [{ mark: "", children: [] }];
  const state = { text, context, frames, open: new Map(), ticks: null, noAnchorAfter: Infinity };
  let plain = "";
  let i = 0;
  const flush = () => {
    if (plain) push(state, plain);
    plain = "";
  };
  while (i < text.length) {
    const character = text[i];
    const read = READERS[character];
    const found = read && context.count <= NODES_MAX ? read(state, i, flush) : 0;
    if (found) {
      i = found;
      continue;
    }
    plain += character;
    i += 1;
  }
  flush();
  while (frames.length > 1) fold(state);
  return frames[0].children;
}

// Each reader gets the place of its character, and returns the place after what it has read, or 0 if that is text.
const READERS = {
  "\\": (state, i, flush) => {
    const next = state.text[i + 1] ?? "";
    if (!PUNCTUATION.test(next)) return 0;
    flush();
    push(state, next);
    return i + 2;
  },
  "\n": (state, i, flush) => {
    flush();
    add(state, node("br", {}, []));
    return i + 1;
  },
  "&": (state, i, flush) => {
    const found = /^&(?:([a-z]{2,6})|#(\d{1,7})|#x([0-9a-f]{1,6}));/i.exec(state.text.slice(i, i + 12));
    const shown = found && entity(found);
    if (!shown) return 0;
    flush();
    push(state, shown);
    return i + found[0].length;
  },
  "`": code,
  "*": emphasis,
  _: emphasis,
  "~": emphasis,
  "[": (state, i, flush) => open(state, "[", i, i + 1, flush),
  "!": (state, i, flush) => (state.text[i + 1] === "[" ? open(state, "![", i, i + 2, flush) : 0),
  "]": closeLink,
  "<": tag,
  "@": mention,
  h: bareAddress,
  H: bareAddress,
};

function entity([, name, decimal, hexadecimal]) {
  if (name) return ENTITIES[name.toLowerCase()] ?? "";
  const number = parseInt(decimal ?? hexadecimal, decimal ? 10 : 16);
  return number > 0 && number <= 0x10ffff ? harmless(String.fromCodePoint(number)) : "";
}

function push(state, child) {
  const { children } = state.frames[state.frames.length - 1];
  const last = children.length - 1;
  if (typeof child === "string" && typeof children[last] === "string") children[last] += child;
  else children.push(child);
}

function add(state, made) {
  state.context.count += 1;
  push(state, made);
}

function open(state, mark, start, next, flush) {
  if (state.frames.length > INLINE_DEPTH_MAX) return 0;
  flush();
  state.frames.push({ mark, start, next, children: [], isDead: false });
  state.open.set(mark, (state.open.get(mark) ?? 0) + 1);
  return next;
}

// Takes the innermost frame away as a text: its mark and what it holds belong to the one around it.
function fold(state) {
  const frame = drop(state);
  push(state, frame.mark);
  for (const child of frame.children) push(state, child);
}

function drop(state) {
  const frame = state.frames.pop();
  state.open.set(frame.mark, state.open.get(frame.mark) - 1);
  return frame;
}

function emphasis(state, i, flush) {
  const { text } = state;
  const character = text[i];
  let end = i + 1;
  while (end < text.length && text[end] === character) end += 1;
  const length = end - i;
  const literal = () => {
    flush();
    push(state, text.slice(i, end));
    return end;
  };
  if (length > RUN_MAX || (character === "~" && length !== 2)) return literal();
  const before = text[i - 1] ?? " ";
  const after = text[end] ?? " ";
  const isWithinWord = character === "_" && WORD.test(before) && WORD.test(after);
  const mayClose = !/\s/.test(before) && !isWithinWord;
  const mayOpen = !/\s/.test(after) && !isWithinWord;
  let rest = length;
  while (mayClose && rest) {
    const marks = [character.repeat(2), character].filter((mark) => mark.length <= rest && state.open.get(mark) > 0);
    if (!marks.length) break;
    const top = state.frames[state.frames.length - 1].mark;
    const mark = marks.includes(top) ? top : marks[0];
    flush();
    while (state.frames[state.frames.length - 1].mark !== mark) fold(state);
    const { children } = drop(state);
    if (children.length) add(state, node(TAG_OF[mark[0] + mark.length], {}, children));
    rest -= mark.length;
  }
  if (rest && mayOpen) {
    if (rest >= 2 && open(state, character.repeat(2), i, end, flush)) rest -= 2;
    if (rest && character !== "~" && open(state, character, i, end, flush)) rest -= 1;
  }
  flush();
  if (rest) push(state, character.repeat(rest));
  return end;
}

const TAG_OF = { "*1": "em", "*2": "strong", _1: "em", _2: "strong", "~2": "del" };

// `code` ends at the next run of as many backticks. Where these stand is found once for a paragraph.
function code(state, i, flush) {
  const { text } = state;
  state.ticks ??= ticksOf(text);
  let end = i + 1;
  while (text[end] === "`") end += 1;
  const length = end - i;
  const places = state.ticks.get(length);
  while (places?.length && places[places.length - 1] < end) places.pop();
  flush();
  if (!places?.length) {
    push(state, text.slice(i, end));
    return end;
  }
  const close = places.pop();
  add(state, node("code", {}, [text.slice(end, close).replaceAll("\n", " ").trim() || " "]));
  return close + length;
}

// The places of runs of backticks by their length, the last one first.
function ticksOf(text) {
  const found = new Map();
  for (const { 0: run, index } of text.matchAll(/`+/g)) {
    if (run.length > FENCE_MAX) continue;
    if (!found.has(run.length)) found.set(run.length, []);
    found.get(run.length).push(index);
  }
  for (const places of found.values()) places.reverse();
  return found;
}

// ------------------------------------------------------------------ links

function closeLink(state, i, flush) {
  if (!state.open.get("[") && !state.open.get("![")) return 0;
  flush();
  let at = state.frames.length - 1;
  while (!state.frames[at].mark.endsWith("[")) at -= 1;
  const frame = state.frames[at];
  const found = frame.isDead ? null : destination(state, frame, i);
  while (state.frames.length - 1 > at) fold(state);
  const made = found && linkTo(found.address, drop(state), found.isImage);
  if (made) {
    // There are no links within links.
    if (frame.mark === "[") for (const outer of state.frames) if (outer.mark === "[") outer.isDead = true;
    add(state, made);
    return found.end;
  }
  if (found) {
    // Of an address of another kind the words and the address are shown as they were written.
    push(state, frame.mark);
    for (const child of frame.children) push(state, child);
    push(state, state.text.slice(i, found.end));
    return found.end;
  }
  fold(state);
  push(state, "]");
  return i + 1;
}

// Returns {address, end} of what follows the words of a link: (address "title"), [label], or nothing where the words are a label.
function destination({ text, context }, frame, i) {
  const isImage = frame.mark === "![";
  if (text[i + 1] === "(") {
    const found = inParentheses(text, i + 2);
    if (found) return { ...found, isImage };
  }
  if (!context.references.size) return null;
  if (text[i + 1] === "[") {
    const end = text.slice(i + 2, i + 3 + LABEL_MAX).indexOf("]");
    if (end > 0) return labelled(context, text.slice(i + 2, i + 2 + end), i + 3 + end, isImage);
  }
  return i - frame.next <= LABEL_MAX ? labelled(context, text.slice(frame.next, i), i + 1, isImage) : null;
}

function labelled({ references }, label, end, isImage) {
  const address = references.get(label.toLowerCase());
  return address === undefined ? null : { address, end, isImage };
}

function inParentheses(text, from) {
  let i = from;
  while (text[i] === " ") {
    i += 1;
    if (i - from > 8) return null;
  }
  const start = i;
  let inner = 0;
  for (; i < text.length && i - start <= ADDRESS_MAX; i++) {
    const character = text[i];
    if (character === "(") {
      inner += 1;
      if (inner > 1) return null;
    } else if (character === ")") {
      if (!inner) break;
      inner -= 1;
    } else if (character === " " || character === "\n" || character === "[") break;
  }
  const address = text.slice(start, i).replace(/^<|>$/g, "");
  if (text[i] === " ") {
    const title = /^ {1,3}(?:"[^"\n]*"|'[^'\n]*') {0,3}(?=\))/.exec(text.slice(i, i + TITLE_MAX));
    if (title) i += title[0].length;
    else if (text[i + 1] === ")") i += 1;
  }
  return text[i] === ")" ? { address, end: i + 1 } : null;
}

function linkTo(address, frame, isImage) {
  const url = webAddress(address.replaceAll("&amp;", "&"));
  if (!url) return !isImage && isOwn(address) ? node("a", { href: address.slice(address.indexOf("/@")) }, plainOf(frame.children)) : null;
  if (isImage) return imageOf(url, wordsOf(frame.children));
  return outside(url, plainOf(frame.children));
}

// An image is not loaded: the reader's address would be told to a stranger.
function imageOf(url, words) {
  const about = words.trim().slice(0, TITLE_MAX);
  return node("a", elsewhere(url), [`image${about && `: ${about}`}`, ...hostOf(url)]);
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

function bareAddress(state, i, flush) {
  const { text } = state;
  if (!/^https?:[/][/]/i.test(text.slice(i, i + 8)) || WORD.test(text[i - 1] ?? " ")) return 0;
  let end = i;
  const most = Math.min(text.length, i + ADDRESS_MAX);
  while (end < most && !/[\s<>"`\\^{|}[\]]/.test(text[end])) end += 1;
  const hasOpening = text.slice(i, end).includes("(");
  while (end > i && (/[.,;:!?'*_~]/.test(text[end - 1]) || (text[end - 1] === ")" && !hasOpening))) end -= 1;
  const written = text.slice(i, end);
  const url = webAddress(written);
  flush();
  if (url) add(state, outside(url, [written]));
  else push(state, written);
  return end;
}

function mention(state, i, flush) {
  const { text } = state;
  if (/[\p{L}\p{N}_./@-]/u.test(text[i - 1] ?? " ")) return 0;
  const found = /^@([a-z][a-z0-9-]{2,15}(?:\.[a-z][a-z0-9-]{2,15})?)(?![A-Za-z0-9_-])/.exec(text.slice(i, i + 40));
  if (!found || found[1].length > 16) return 0;
  flush();
  add(state, node("a", { href: `/@${found[1]}`, class: "account" }, [found[0]]));
  return i + found[0].length;
}

// ------------------------------------------------------------------ HTML in posts

const TAG = /^<[/]?([a-z][a-z0-9]{0,11})(?=[\s/>])([^<>]*)>/i;
const SOURCE = /\s(?:src|href)\s?=\s?["']?([^\s"'>]{1,2000})/i;

function tag(state, i, flush) {
  const { text } = state;
  const piece = text.slice(i, i + ADDRESS_MAX + 200);
  const end = piece.indexOf(">");
  if (end < 0) return 0;
  const written = piece.slice(0, end + 1);
  const address = /^<(https?:[/][/][^\s<>]+)>$/i.exec(written);
  if (address) {
    const url = webAddress(address[1]);
    if (!url) return 0;
    flush();
    add(state, outside(url, [address[1]]));
    return i + end + 1;
  }
  const found = TAG.exec(written);
  if (!found) return 0;
  const name = found[1].toLowerCase();
  const isEnd = written[1] === "/";
  const url = !isEnd && (name === "img" || name === "a") ? webAddress((SOURCE.exec(found[2])?.[1] ?? "").replaceAll("&amp;", "&")) : null;
  if (name === "img" && url) {
    flush();
    add(state, imageOf(url, ""));
    return i + end + 1;
  }
  if (name === "a" && url) return anchor(state, i, i + end + 1, url, flush);
  if (!DROPPED.has(name)) return 0;
  flush();
  const { children } = state.frames[state.frames.length - 1];
  if (BREAKING.has(name) && children.length && children[children.length - 1].tag !== "br") add(state, node("br", {}, []));
  return i + end + 1;
}

// <a href="…">words</a>: the words are plain text.
function anchor(state, i, from, url, flush) {
  if (from >= state.noAnchorAfter) return 0;
  const end = state.text.indexOf("</a>", from);
  if (end < 0) {
    state.noAnchorAfter = Math.min(from, state.noAnchorAfter);
    return 0;
  }
  flush();
  add(state, outside(url, plainOf([state.text.slice(from, end)])));
  return end + 4;
}
