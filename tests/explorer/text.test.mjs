// Rendering of posts: any text results only in allowed elements, attributes and links, within a short time.
// Run by `node --test tests/explorer`.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const APP = new URL("../../rpc/explorer/web/app/", import.meta.url);
const markdown = readFileSync(new URL("parts/markdown.js", APP), "utf8");
const { default: MarkdownIt } = await import(new URL("../vendor/markdown.js", APP));
const { ATTRIBUTES, PICTURE, TAGS, exact, harmless, parse: parseWith, webAddress } = await load(markdown);
const parse = (text) => parseWith(text, MarkdownIt);
// text.js creates elements with `h`. This `h` records its arguments.
const stubs = `const h = (tag, props, ...children) => ({ tag, props, children }); const html = () => null; const useMemo = (make) => make();
const { ATTRIBUTES, PICTURE, TAGS, exact, harmless, parse } = globalThis.markdown;`;
globalThis.markdown = { ATTRIBUTES, PICTURE, TAGS, exact, harmless, parse };
const { elements } = await load(stubs + readFileSync(new URL("parts/text.js", APP), "utf8").replace(/^import .*$/gm, ""));
const attacks = JSON.parse(readFileSync(new URL("../rpc/explorer/attacks.json", import.meta.url), "utf8"));
const everything = [...new Set(Object.values(attacks).flat())];

const ELEMENTS = "a bdi blockquote br code del div em h3 h4 h5 h6 hr li ol p pre span strong table tbody td th thead tr ul".split(" ");
const CLASSES = ["account", "badge", "elsewhere", "elsewhere picture", "muted small", "scroll", "tag"];
const DEPTH_MAX = 60;
const NODES_MAX = 40_000;
const SIZE = 65_536;
const MILLISECONDS_MAX = 1000; // linear time takes a fifth of this, quadratic time several seconds

async function load(source) {
  return import(`data:text/javascript;base64,${Buffer.from(source).toString("base64")}`);
}

function walk(nodes, visit, depth = 1) {
  for (const one of nodes) {
    if (typeof one === "string") continue;
    visit(one, depth);
    walk(one.children, visit, depth + 1);
  }
}

function words(nodes) {
  return nodes.map((one) => (typeof one === "string" ? one : words(one.children))).join("");
}

function check(text) {
  const tree = elements(parse(text));
  let count = 0;
  walk(tree, ({ tag, props, children }, depth) => {
    count += 1;
    assert.ok(depth <= DEPTH_MAX, "too deep");
    assert.ok(ELEMENTS.includes(tag), tag);
    for (const [name, value] of Object.entries(props)) {
      assert.ok(["class", "href", "rel", "scope", "start", "tabindex", "target"].includes(name), name);
      if (name === "class") assert.ok(CLASSES.includes(value), value);
      if (name === "tabindex") assert.equal(value, 0);
      if (name === "start") assert.ok(Number.isSafeInteger(value));
    }
    if (tag !== "a") assert.equal(props.href, undefined);
    else checkLink(props, children);
    for (const child of children) assert.ok(typeof child === "string" || ELEMENTS.includes(child.tag));
  });
  assert.ok(count <= NODES_MAX, "too many elements");
  assert.doesNotMatch(words(tree), /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
  return tree;
}

function checkLink(props, children) {
  walk(children, ({ tag }) => assert.notEqual(tag, "a", "a link within a link"));
  if (props.href.startsWith("/")) {
    assert.match(props.href, /^[/](@[a-z0-9.-]{3,16}([/][a-z0-9-]+)?|posts[/]trending[/][a-z][a-z0-9-]{1,23})$/);
    return;
  }
  const url = new URL(props.href);
  assert.ok(["http:", "https:"].includes(url.protocol), props.href);
  assert.equal(url.username + url.password, "");
  assert.equal(props.rel, "noreferrer noopener");
  const shown = words(children);
  assert.ok(shown.includes(url.host), `${shown} doesn't say that it leads to ${url.host}`);
  if (shown.trim() !== props.href && `${shown.trim()}/` !== props.href) assert.ok(shown.endsWith(`(${url.host})`) || shown === url.host, shown);
}

test("the lists of what may be made are what this test knows", () => {
  assert.deepEqual([...TAGS].sort(), [...ELEMENTS].sort());
  assert.deepEqual([...ATTRIBUTES].sort(), ["class", "href", "rel", "scope", "start", "tabindex", "target"]);
});

test("no attack makes an element, an attribute or a link of another kind", () => {
  for (const attack of everything) check(attack);
});

test("pictures are loaded from https and only when asked for, and their links stay", () => {
  const isImage = (one) => one?.tag === "img";
  const images = (nodes) => [...nodes.flat().filter(isImage), ...nodes.flat().flatMap((one) => (one?.children ? images(one.children) : []))];
  for (const attack of everything) assert.deepEqual(images(elements(parse(attack))), []);
  const text = "![cat](https://b.example/c.png) ![](http://b.example/d.png) ![](javascript:e) <img src=https://b.example/f.png onerror=x>";
  for (const one of [text, ...everything]) {
    for (const { props, children } of images(elements(parse(one), true))) {
      assert.deepEqual(Object.keys(props), ["src", "alt", "loading", "referrerpolicy"]);
      assert.equal(new URL(props.src).protocol, "https:");
      assert.deepEqual(children, []);
    }
  }
  const shown = elements(parse(text), true);
  assert.deepEqual(images(shown).map(({ props }) => props.src), ["https://b.example/c.png", "https://b.example/f.png"]);
  assert.ok(words(shown[0].children.flat().map((one) => (isImage(one) ? "" : one))).startsWith("image: cat (b.example) image (b.example)"));
});

test("nor within other marks", () => {
  const frames = [
    "> @", "- @", "1. @", "# @", "**@**", "*@*", "`@`", "[@](https://good.example)", "[x](@)", "![@](https://good.example/i)", "![x](@)", "<@>",
    "[x][@]\n\n[@]: @",
    "[r]: @\n\n[r] ![r]", "|@|b|\n|-|-|\n|@|[x](@)|", '<a href="@">x</a>', '<a href="https://good.example/">@</a>', '<img src="@">', "```\n@\n```",
    "    @", "~~@~~", "\\@", "&#@;", "https://good.example/@"];
  for (const frame of frames) for (const attack of everything) check(frame.replaceAll("@", () => attack));
});

test("nor pairs of attacks", () => {
  everything.forEach((attack, i) => check(attack + everything[(i * 7 + 1) % everything.length]));
});

test("nor random pieces", () => {
  const pieces = [
    "[", "]", "(", ")", "![", "](", "*", "**", "_", "~~", "`", "```", "\n", "\n\n", "> ", "- ", "1. ", "# ", "|", "|-|", "<", ">", "<a href=",
    '"', "'", "javascript:", "data:", "https://good.example", "//", "\\", "&", "&#106;", "&#x202e;", "&#159;", "@alice",
    "[r]: ", "[r]", "\u202e", "\u200b", "\u0000", "\ud800", "\udc00", "    ", "\t", "x", " ", "</a>", "<img src=", "<br>", "<script>"];
  let seed = 1;
  const next = (most) => (seed = (seed * 48_271) % 2_147_483_647) % most;
  for (let i = 0; i < 20_000; i++) check(Array.from({ length: 1 + next(24) }, () => pieces[next(pieces.length)]).join(""));
});

test("addresses of other schemes are none", () => {
  for (const address of attacks.url) {
    const url = webAddress(address);
    if (url) assert.match(url.href, /^https?:[/][/]/);
  }
  for (const scheme of ["javascript", "data", "vbscript", "file", "blob", "ftp", "view-source"]) assert.equal(webAddress(`${scheme}://good.example/`), null);
  assert.equal(webAddress("https://good.example@evil.example"), null);
  assert.equal(webAddress("https://good.example/a?b=c#d").href, "https://good.example/a?b=c#d");
});

test("what is invisible in a name is written out", () => {
  for (const name of [...attacks.name, "alice\u202e", "\ud800"]) {
    const shown = exact(name).map(([text]) => text).join("");
    assert.doesNotMatch(shown, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/);
  }
  assert.deepEqual(exact("al\u200bice"), [["al", false], ["U+200B", true], ["ice", false]]);
  assert.deepEqual(exact("alice"), [["alice", false]]);
  assert.equal(harmless("a\u202eb\u0000c\ud800"), "ab\ufffdc\ufffd");
});

test("hostile texts of 64 kB are read in time", () => {
  const repeated = [
    "[", "]", "*", "_", "`", "~", "|", "#", "<", ">", "&", "@", "!", "\\", "\n", "\t", "-", "=", "(", "h", "\u0000", "\u202e", "\ud800",
    "\ud83d\ude00",
    "> ", "- ", "1. ", "* * ", "- a\n", "  - a\n", "> a\n", ">\n- >\n", "# a\n", "=\n", "-\n", "a\n\n", "*a\n", "    a\n", "```\n", "~~~\n", "|a",
    "|-", "a|b\n-|-\n", "[](", "![", "](", "[a](b \"", "[](a ", "[[a]](b)", "((",
    "[a]", "[a]: b\n", "[a]: https://b.example\n[a]", "**a ", "*a _b ", "*_", "**", "a**b", "*a*", "~~a~~", "`a``b```c", "[x](https://a.b)", "<a",
    "<a href=\"https://x.y\">", "</a>", "<b>", "<!--", "<br>", "&#1;", "&amp;",
    "http://", "https://a ", "(https://", "@abc ", "#abc ", "#", "- [ ] a\n", "[*a](https://b.c) ", "![a](https://b.c)", "\\[", "a\u0301"];
  const texts = repeated.map((piece) => piece.repeat(Math.ceil(SIZE / piece.length)).slice(0, SIZE));
  texts.push(
    Array.from({ length: 360 }, (_, i) => `${" ".repeat(i)}- a`).join("\n"),
    Array.from({ length: 350 }, (_, i) => "`".repeat(i)).join(" "),
    Array.from({ length: 350 }, (_, i) => `${"> ".repeat(i / 2)}a`).join("\n"),
    `${"|a".repeat(39)}\n${"|-".repeat(39)}\n${"|\n".repeat(30_000)}`,
    `[${"*a*".repeat(21_000)}](https://x.y)`,
    "[".repeat(10) + "](x".repeat(20_000),
    `${"*a ".repeat(11)}${"b* ".repeat(20_000)}`,
    "a".repeat(10_000_000),
  );
  for (const text of texts) {
    // The least processor time of several runs, since the machine may be busy.
    let best = Infinity;
    for (let round = 0; round < 4 && best > MILLISECONDS_MAX / 4; round++) {
      const begun = process.cpuUsage();
      elements(parse(text));
      const { user, system } = process.cpuUsage(begun);
      best = Math.min(best, (user + system) / 1000);
    }
    assert.ok(best < MILLISECONDS_MAX, `${JSON.stringify(text.slice(0, 20))}… took ${Math.round(best)} ms`);
    check(text);
  }
});

test("the usual things look as one expects", () => {
  const shown = (nodes) => nodes.map((one) => (typeof one === "string" ? one : `<${one.tag}>${shown(one.children)}</${one.tag}>`)).join("");
  const cases = {
    "# A\n\nb **c _d_** `e` ~~f~~": "<h3>A</h3><p>b <strong>c <em>d</em></strong> <code>e</code> <del>f</del></p>",
    "a\n===\nb\n---": "<h3>a</h3><h4>b</h4>",
    "- a\n- b\n  - c\n\n1. d": "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul><ol><li>d</li></ol>",
    "> a\n> b\n\nc\n\n---": "<blockquote><p>a<br></br>b</p></blockquote><p>c</p><hr></hr>",
    "```js\na *b*\n```": "<pre><code>a *b*</code></pre>",
    "|a|b|\n|-|-|\n|c\\|d|e|": "<div><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>c|d</td><td>e</td></tr></tbody></table></div>",
    "5 * 3 * 2 snake_case_name": "<p>5 * 3 * 2 snake_case_name</p>",
    "[a](https://b.example)": "<p><a>a <span><bdi>(b.example)</bdi></span></a></p>",
    "https://b.example/c.": "<p><a>https://b.example/c</a>.</p>",
    "![cat](https://b.example/c.png)": "<p><a>image: cat <span><bdi>(b.example)</bdi></span></a></p>",
    "[![cat](https://b.example/c.png)](https://v.example/w)":
      "<p><a>image: cat <span><bdi>(b.example)</bdi></span></a> <a>https://v.example/w</a></p>",
    "[**![cat](https://b.example/c.png)** film](/life/@bob/film)":
      "<p><a>image: cat <span><bdi>(b.example)</bdi></span></a> <a><strong></strong> film</a></p>",
    "[a][b]\n\n[b]: https://b.example": "<p><a>a <span><bdi>(b.example)</bdi></span></a></p>",
    "<center>a</center><script>b</script>": "<p>a<br></br><script>b</script></p>",
    "hi @alice, a@bob.example": "<p>hi <a>@alice</a>, a@bob.example</p>",
    "#life, a#b &#35;x #coin-2! /#x #1 @a#tag ##two #UPPER #x": "<p><a>#life</a>, a#b #x <a>#coin-2</a>! /#x #1 @a#tag ##two #UPPER #x</p>",
    "[see #life](https://b.example)": "<p><a>see #life <span><bdi>(b.example)</bdi></span></a></p>",
    "- [ ] a\n- [x] **b**\n- [y] c": "<ul><li>\u2610 a</li><li>\u2611 <strong>b</strong></li><li>[y] c</li></ul>",
    "1. [X] a\n\n2. b [ ] c": "<ol><li><p>\u2611 a</p></li><li><p>b [ ] c</p></li></ol>",
    "[a](javascript:b)": "<p>[a](javascript:b)</p>",
    "\\*a\\* &amp; &lt;b>": "<p>*a* & <b></p>",
  };
  for (const [text, expected] of Object.entries(cases)) assert.equal(shown(parse(text)), expected);
});
