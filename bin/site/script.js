// Tables that scroll sideways can be reached by the keyboard. Zensical puts them into boxes once the page is there.
new MutationObserver(() => {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) {
    box.tabIndex = 0
  }
}).observe(document.documentElement, {childList: true, subtree: true})
