"""Read the served book as a reader would, and say in words what is wrong with a page.

A page is opened once, at a desktop's size and in light colours; then the window shrinks to a phone's, and the
colours change, as they do for a reader. ``tests/test_reader.py`` tries this on faults made on purpose first.
"""

from pathlib import Path

from browser import open_page

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
GRAVE = ("serious", "critical")
PATIENCE = 3000  # milliseconds

# The scripts of a page have followed a change of its size when the keyboard reaches all code that scrolls.
SETTLED = """() => [...document.querySelectorAll("pre")].every(code =>
  code.scrollWidth <= code.clientWidth || code.tabIndex === 0)"""

# Formulas that TeX could not read, pictures without words, and a page wider than its window.
FAULTS = """() => {
  const found = [], where = node => node.closest("[id]")?.id || "top";
  for (const node of document.querySelectorAll("mjx-merror, .MathJax_Error"))
    found.push(`formula at #${where(node)}: ${node.dataset.mjxError || node.textContent}`);
  for (const node of document.querySelectorAll("article img, article svg[role=img], article canvas")) {
    const said = [node.getAttribute("alt"), node.getAttribute("aria-label"), node.querySelector("title")?.textContent];
    const words = said.find(text => text);
    if (!words || words.trim().length < 25) found.push(`picture at #${where(node)} says nothing: "${words || ""}"`);
  }
  return found;
}"""
# Formulas that scroll although ``reader.js`` has made them as small as one can read.
WIDE = """() => [...document.querySelectorAll("div.math > mjx-container")]
  .filter(box => box.scrollWidth > box.clientWidth + 1).map(box =>
  `formula in #${box.closest("[id]")?.id} is ${box.scrollWidth} px wide where ${box.clientWidth} are: break it`)"""
OVERFLOW = """() => {
  const root = document.scrollingElement, wide = root.clientWidth;
  if (root.scrollWidth <= wide) return [];
  const all = [...document.querySelectorAll("main *")].filter(node => node.checkVisibility());
  const outside = all.filter(node => node.getBoundingClientRect().right > wide + 1);
  const names = outside.slice(0, 5).map(node => `${node.tagName.toLowerCase()}.${node.className}`);
  return [`${root.scrollWidth} px wide in a window of ${wide}: ${names.join(", ")}`];
}"""
# Axe takes milliseconds an element, and a chapter has ten thousand, most of them letters of formulas and words of
# code. The insides of formulas are taken out, and code is made plain but for the first word of each kind.
THIN_OUT = """() => {
  for (const formula of document.querySelectorAll("mjx-container")) formula.replaceChildren("x");
  const seen = new Set();
  for (const word of document.querySelectorAll("pre span")) {
    const kind = `${word.className} in ${word.closest("div")?.className}`;
    if (seen.has(kind)) word.replaceWith(...word.childNodes);
    seen.add(kind);
  }
}"""
# Contrast depends on colours, size and weight alone: of each such look, one element is asked about.
AXE = """async grave => {
  const backdrop = node => {
    for (; node; node = node.parentElement) {
      const colour = getComputedStyle(node).backgroundColor;
      if (!colour.endsWith(", 0)")) return colour;
    }
  };
  const looks = new Map();
  for (const node of document.body.querySelectorAll("*")) {
    const speaks = [...node.childNodes].some(child => child.nodeType === Node.TEXT_NODE && child.data.trim());
    if (!speaks || !node.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
    const style = getComputedStyle(node);
    const look = [style.color, style.fontSize, style.fontWeight, style.opacity, backdrop(node), node.tagName].join();
    if (!looks.has(look)) looks.set(look, node);
  }
  const options = {resultTypes: ["violations"], preload: false};
  const rules = await axe.run(document, {...options, rules: {"color-contrast": {enabled: false}}});
  const contrast = await axe.run([...looks.values()], {...options, runOnly: ["color-contrast"]});
  return [...rules.violations, ...contrast.violations].filter(rule => grave.includes(rule.impact)).map(rule =>
    `${rule.id}, ${rule.nodes.length} times: ${rule.nodes[0].target.join(" ")}: ${rule.nodes[0].failureSummary}`);
}"""


def axe_source():
    """Text of axe-core, from the package that brings it as a file."""
    import axe_playwright_python

    return (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


def listen(page, home):
    """Collect what the browser complains of, and requests to anywhere but ``home``; gives the growing list."""
    heard = []
    page.on("console", lambda line: heard.append(f"console: {line.text}") if line.type == "error" else None)
    page.on("pageerror", lambda error: heard.append(f"script: {error}"))

    def judge(request):
        if not request.url.startswith((home, "data:", "blob:", "about:")):
            heard.append(f"asks {request.url}")

    page.on("request", judge)
    page.on("response", lambda reply: heard.append(f"{reply.status}: {reply.url}") if reply.status >= 400 else None)
    return heard


def settle(page):
    """Wait until the page has followed a change of its size, but not for ever."""
    from playwright.sync_api import TimeoutError

    page.wait_for_timeout(500)
    try:
        page.wait_for_function(SETTLED, timeout=PATIENCE)
    except TimeoutError:
        pass  # axe will say what it is that the keyboard does not reach


def problems(page, heard, address, axe):
    """Say what a reader of this address would meet, on a desktop and a phone, in light and in dark."""
    heard.clear()
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(DESKTOP)
    open_page(page, address)
    found = page.evaluate(FAULTS)
    found += [f"desktop: {fault}" for fault in page.evaluate(OVERFLOW)]
    page.set_viewport_size(PHONE)
    settle(page)
    found += [f"phone: {fault}" for fault in page.evaluate(WIDE) + page.evaluate(OVERFLOW)]
    page.evaluate(THIN_OUT)
    page.evaluate(axe)
    page.emulate_media(color_scheme="dark")
    found += [f"phone, dark: {fault}" for fault in page.evaluate(AXE, GRAVE)]
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(DESKTOP)
    settle(page)
    found += [f"desktop, light: {fault}" for fault in page.evaluate(AXE, GRAVE)]
    return found + heard
