// What scrolls can be reached by the keyboard: the theme puts tables and code into such boxes.
new MutationObserver(() => {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code"))
    box.tabIndex = 0;
}).observe(document.body, { childList: true, subtree: true });
