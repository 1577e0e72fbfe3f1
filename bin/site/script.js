// What style.css can't do. Zensical puts tables into boxes, and other pages into this one, once the page is there.
const SENTENCE = 60 // letters from which a cell of a table is given more room on a phone
const WORD = 28 // letters up to which a name or an option stays in one line

function mend() {
  // Tables that scroll sideways can be reached by the keyboard.
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) {
    box.tabIndex = 0
  }
  for (const cell of document.querySelectorAll(".md-typeset td:not([class])")) {
    cell.className = cell.textContent.length > SENTENCE ? "sentence" : "phrase"
  }
  for (const code of document.querySelectorAll(".md-typeset :not(pre) > code:not([class])")) {
    code.className = code.textContent.length > WORD ? "words" : "word"
  }
  // Names of methods and files break where their words end.
  for (const heading of document.querySelectorAll(".md-content :is(h1, h2):not(:has(wbr))")) {
    const [text] = heading.childNodes
    if (text instanceof Text && /^\s*\w+[./_][\w./-]+$/.test(text.data)) {
      text.replaceWith(...text.data.split(/(?<=[./_])/).flatMap((word) => [word, document.createElement("wbr")]))
    }
  }
}

new MutationObserver(mend).observe(document.documentElement, {childList: true, subtree: true})
