// Changes that style.css can't make. They run on every change, since Zensical wraps tables and replaces page content after loading.
const SENTENCE = 60 // cells of a table with more letters get more width on a phone
const WORD = 28 // names, options and phrases up to this many letters need no extra width

function mend() {
  // Make tables that scroll sideways reachable by the keyboard.
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) {
    box.tabIndex = 0
  }
  for (const cell of document.querySelectorAll(".md-typeset td:not([class])")) {
    const {length} = cell.textContent
    cell.className = length > SENTENCE ? "sentence" : length > WORD ? "phrase" : "short"
  }
  for (const code of document.querySelectorAll(".md-typeset :not(pre) > code:not([class])")) {
    code.className = code.textContent.length > WORD ? "words" : "word"
  }
  for (const name of document.querySelectorAll(".md-content :is(h1, h2):not(:has(wbr)), .md-typeset code.words:not(:has(wbr))")) {
    breakAtWords(name)
  }
}

// Break names of methods, files and constants after their words.
function breakAtWords(name) {
  const [text] = name.childNodes
  if (text instanceof Text && /^\s*\w+[./_][\w./-]+$/.test(text.data)) {
    text.replaceWith(...text.data.split(/(?<=[./_])/).flatMap((word) => [word, document.createElement("wbr")]))
  }
}

new MutationObserver(mend).observe(document.documentElement, {childList: true, subtree: true})
