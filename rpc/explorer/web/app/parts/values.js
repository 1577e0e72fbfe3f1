// Single values as they are shown everywhere: times, money, ids, bars, JSON, and texts that can be copied.
import { agoText, amountText, isNever, shortId, timeText } from "../format.js";
import { html, useEffect, useState } from "../html.js";
import { Link, path } from "../router.js";

const COPIED_MILLISECONDS = 1200;

// One timer for all values of a page that change with time.
const ticking = new Set();
let timer = null;

// Shows something again every second: `children` is a function.
export function Ticking({ children }) {
  const [, setRound] = useState(0);
  useEffect(() => {
    const tick = () => setRound((n) => n + 1);
    if (!ticking.size) timer = setInterval(() => ticking.forEach((one) => one()), 1000);
    ticking.add(tick);
    return () => {
      ticking.delete(tick);
      if (!ticking.size) clearInterval(timer);
    };
  }, []);
  return children();
}

// A time of the chain and how far it is from now.
export function Time({ at, isShort = false }) {
  if (isNever(at)) return html`<span class="muted">never</span>`;
  const ago = html`<${Ticking}>${() => agoText(at)}</${Ticking}>`;
  if (isShort) return html`<time datetime=${`${at}Z`} title=${`${timeText(at)} UTC`}>${ago}</time>`;
  return html`<time datetime=${`${at}Z`}>${timeText(at)}</time> <span class="muted nowrap">(${ago})</span>`;
}

export function Money({ of }) {
  return html`<span class="money">${amountText(of)}</span>`;
}

export function BlockLink({ number }) {
  return html`<${Link} to=${path.block(number)}>${Number(number).toLocaleString("en")}</${Link}>`;
}

export function TransactionLink({ id }) {
  return html`<${Link} class="mono" to=${path.transaction(id)} title=${id}>${shortId(id)}</${Link}>`;
}

export function Copy({ text, words = "Copy" }) {
  const [isDone, copy] = useCopy(text);
  return html`<button type="button" onClick=${copy}>${isDone ? "Copied" : words}</button>`;
}

// An id, key or signature, or `children` in its place, with a button that copies it. The button has no text, only a label with `what`.
export function Copyable({ text, what = "id", children = null }) {
  const [isDone, copy] = useCopy(text);
  return html`<span class="mono break">${children ?? text}</span><button type="button" class=${`copy ${isDone ? "done" : ""}`}
    aria-label=${isDone ? "Copied" : `Copy the ${what}`} title=${`Copy the ${what}`} onClick=${copy}></button>`;
}

// Returns whether a text was just copied, and a function that copies it.
function useCopy(text) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    await copied(text);
    setDone(true);
    setTimeout(() => setDone(false), COPIED_MILLISECONDS);
  };
  return [isDone, copy];
}

// Browsers have the clipboard on https and on the machine itself only; elsewhere a text that is selected can still be copied.
async function copied(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const place = document.createElement("textarea");
  place.value = text;
  place.className = "hidden";
  document.body.append(place);
  place.select();
  document.execCommand("copy");
  place.remove();
  return undefined;
}

export function Json({ of, label = "JSON" }) {
  return html`<pre tabindex="0" role="region" aria-label=${label}>${JSON.stringify(of, null, 2)}</pre>`;
}

// A share between 0 and 1 as a bar, with its words for those who can't see it.
export function Bar({ share, label }) {
  const percent = Math.max(0, Math.min(100, 100 * share));
  return html`
    <div class="bar" role="img" aria-label=${label}><span style=${{ width: `${percent}%` }}></span></div>
  `;
}
