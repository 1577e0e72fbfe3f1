// Texts of strangers: the Markdown of posts as elements, and names, titles and addresses in which nothing is hidden.
import { h, html, useEffect, useMemo, useState } from "../html.js";
import { useAddress } from "../router.js";
import { ATTRIBUTES, PICTURE, TAGS, exact, harmless, parse } from "./markdown.js";

const LIBRARY = "/explorer/vendor/markdown.js";
const PICTURES_QUERY = "pictures";

let MarkdownIt = null;

// Loads what reads Markdown when a text is first shown; returns whether it is there.
function useLibrary() {
  const [isThere, setThere] = useState(MarkdownIt !== null);
  useEffect(() => {
    if (isThere) return;
    import(LIBRARY).then((module) => {
      MarkdownIt = module.default;
      setThere(true);
    }, () => {}); // the text is shown as it was written all the same
  }, [isThere]);
  return isThere;
}

// The text of a post. No part of it becomes markup by itself, and nothing in it is loaded except pictures, if the reader asks for them.
export function Text({ of }) {
  const isThere = useLibrary();
  const { query } = useAddress();
  const hasPictures = query.has(PICTURES_QUERY);
  const tree = useMemo(() => (isThere ? parse(of, MarkdownIt) : [harmless(of)]), [of, isThere]);
  const nodes = useMemo(() => elements(tree, hasPictures), [tree, hasPictures]);
  return html`
    <div class="text" dir="auto">${nodes}</div>
    ${!hasPictures && holdsPicture(tree) && html`<p><a class="button" href=${withPictures(query)}>Load pictures from other sites</a></p>`}
  `;
}

// The same page, which the node serves with a policy that allows pictures. It has to be loaded again for that.
function withPictures(query) {
  return `?${new URLSearchParams([...query, [PICTURES_QUERY, "shown"]])}`;
}

function holdsPicture(nodes) {
  return nodes.some((one) => isLoadable(one) || (one.children && holdsPicture(one.children)));
}

// Whether it is a link to a picture that the page's policy allows: only over HTTPS.
function isLoadable({ props }) {
  return props?.class === PICTURE && props.href.startsWith("https:");
}

// Returns elements of the nodes of markdown.js. What is not in its lists would be a mistake there, and is left out.
export function elements(nodes, hasPictures = false) {
  return nodes.map((one) => {
    if (typeof one === "string") return one;
    if (!TAGS.has(one.tag)) return null;
    const props = Object.fromEntries(Object.entries(one.props).filter(([name]) => ATTRIBUTES.has(name)));
    const element = h(one.tag, props, ...elements(one.children, hasPictures));
    if (!hasPictures || !isLoadable(one)) return element;
    return [h("img", { src: props.href, alt: "", loading: "lazy", referrerpolicy: "no-referrer" }), element];
  });
}

// A title or another short text: it can't turn or overlap what stands around it.
export function Title({ of, nothing = "(without a title)" }) {
  const shown = harmless(of).trim();
  return shown ? html`<bdi class="foreign">${shown}</bdi>` : html`<span class="muted">${nothing}</span>`;
}

// A name or an address: what is invisible in it is written out.
export function Exact({ of }) {
  const hidden = (text) => html`<span class="badge warn" title="an invisible character">${text}</span>`;
  return html`<bdi class="foreign">${exact(of).map(([text, isHidden]) => (isHidden ? hidden(text) : text))}</bdi>`;
}

// The same title for the window, which knows no isolation.
export function plainTitle(text) {
  return harmless(text).trim();
}
