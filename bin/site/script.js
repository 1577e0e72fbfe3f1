// What style.css can't do. Zensical puts tables into boxes, and other pages into this one, once the page is there.
const SENTENCE = 60 // letters from which a cell of a table is given more room on a phone
const WORD = 28 // letters up to which a name, an option or a few words have enough room by themselves

function mend() {
  // Tables that scroll sideways can be reached by the keyboard.
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

// Names of methods, files and constants break where their words end.
function breakAtWords(name) {
  const [text] = name.childNodes
  if (text instanceof Text && /^\s*\w+[./_][\w./-]+$/.test(text.data)) {
    text.replaceWith(...text.data.split(/(?<=[./_])/).flatMap((word) => [word, document.createElement("wbr")]))
  }
}

new MutationObserver(mend).observe(document.documentElement, {childList: true, subtree: true})
