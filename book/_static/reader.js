/* A formula wider than the window is set smaller, as far as one can read it; what is wider still scrolls.
   It is measured again when the window, or the height of the page (something was unfolded), changes. The theme
   then lets the keyboard reach what scrolls, if it is told so by a "resize". */

(() => {
  const SMALLEST = 0.66;

  function fit() {
    const formulas = [...document.querySelectorAll("div.math > mjx-container")];
    for (const formula of formulas) formula.parentElement.style.fontSize = "";
    const ratios = formulas.map(formula => formula.clientWidth / formula.scrollWidth);
    formulas.forEach((formula, at) => {
      if (ratios[at] < 1) formula.parentElement.style.fontSize = `${Math.max(SMALLEST, 0.99 * ratios[at])}em`;
    });
  }

  let waiting;
  const soon = () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      fit();
      window.dispatchEvent(new Event("resize"));
    }, 100);
  };

  window.addEventListener("load", async () => {
    await window.MathJax?.startup?.promise;
    fit();
    const article = document.querySelector("article");
    if (article) new ResizeObserver(soon).observe(article);
  });
})();
