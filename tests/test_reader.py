"""The served book in a browser, as a reader meets it: desktop and phone, light and dark; and its buttons.

Faults made on purpose come first: a check that cannot fail checks nothing. Without a browser all of it is skipped,
with the reason; so is what reads the book, but for `make check-book`, which builds it first.
"""

import os
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BOOK = ROOT / "book"
HTML = BOOK / "_build" / "html"
sys.path.insert(0, str(BOOK))

import browser  # noqa: E402
import check_html  # noqa: E402
import check_pages  # noqa: E402
import freshness  # noqa: E402

if browser.MISSING:
    pytest.skip(f"NO PAGE WAS READ, for want of {' and '.join(browser.MISSING)}", allow_module_level=True)

PAGES = check_html.pages_of_contents()
pytestmark = pytest.mark.slow
MISSING = freshness.missing(HTML) if "CHECK_BOOK" in os.environ else "pages are read by: make check-book"
needs_build = pytest.mark.skipif(bool(MISSING), reason=str(MISSING))


@pytest.fixture(scope="module")
def chromium():
    with browser.chromium() as started:
        yield started


@pytest.fixture(scope="module")
def axe():
    return check_pages.axe_source()


# Faults made on purpose

PAGE = """<!doctype html><html lang="en"><head><title>A page</title><meta name="viewport" content="width=device-width">
<style>body {{ color: #222; background: #fff }} @media (prefers-color-scheme: dark) {{ {dark} }}</style>{head}</head>
<body><main><article id="here"><h1>A page</h1><p>Some words.</p>{body}</article></main></body></html>"""
GOOD = '<img src="dot.svg" alt="A dot in the middle of a square." width="9">'


@pytest.fixture(scope="module")
def look(chromium, axe, tmp_path_factory):
    """A function that gives the problems of a page with this body."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "dot.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"/>')
    (folder / "favicon.ico").write_bytes(b"")
    with browser.served(folder) as home:
        page = chromium.new_page()
        heard = check_pages.listen(page, home)

        def problems(body="", head="", dark=""):
            (folder / "page.html").write_text(PAGE.format(body=body, head=head, dark=dark))
            return check_pages.problems(page, heard, f"{home}/page.html", axe)

        yield problems
        page.close()


def test_a_good_page_passes(look):
    assert look(GOOD) == []


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ({"body": '<div style="width: 1500px">wide</div>'}, "desktop: 15"),
        ({"body": '<div style="width: 500px">wide</div>'}, "phone: 5"),
        ({"body": '<script>console.error("a script grumbles")</script>'}, "console: a script grumbles"),
        ({"body": '<script>throw new Error("a script falls")</script>'}, "script: a script falls"),
        ({"body": '<link rel="stylesheet" href="https://fonts.example/a.css">'}, "asks https://fonts.example/a.css"),
        ({"body": '<script>fetch("https://count.example/").catch(() => 0)</script>'}, "asks https://count.example/"),
        ({"body": '<script src="gone.js"></script>'}, "404: "),
        ({"body": '<mjx-merror data-mjx-error="Undefined control sequence">x</mjx-merror>'}, "Undefined control"),
        ({"body": '<div class="math"><mjx-container style="display: block; overflow: auto" tabindex="0">'
          + '<p style="width: 700px">a = b</p></mjx-container></div>'}, "break it"),
        ({"body": '<img src="dot.svg">'}, "says nothing"),
        ({"body": '<img src="dot.svg" alt="A figure">'}, "says nothing"),
        ({"body": '<p style="color: #999">faint</p>'}, "desktop, light: color-contrast"),
        ({"dark": "p { color: #333 } body { background: #111 }"}, "phone, dark: color-contrast"),
        ({"body": "<button></button>"}, "button-name"),
        ({"body": '<pre style="overflow: auto">' + "x" * 200 + "</pre>"}, "scrollable-region-focusable"),
        ({"body": '<p id="twice"></p><label for="twice">a</label><input>'}, "label"),
    ],
)
def test_a_fault_is_found(look, fault, complaint):
    found = look(**fault)
    assert [problem for problem in found if complaint in problem], found


# The book


@pytest.fixture(scope="module")
def home():
    with browser.served(HTML) as address:
        yield address


@pytest.fixture(scope="module")
def reading(chromium, home):
    """A page, and the growing list of what went wrong on it."""
    page = chromium.new_context(permissions=["clipboard-read", "clipboard-write"]).new_page()
    yield page, check_pages.listen(page, home)
    page.context.close()


@needs_build
@pytest.mark.parametrize("name", PAGES)
def test_a_page_reads_well(reading, home, axe, name):
    page, heard = reading
    assert check_pages.problems(page, heard, f"{home}/{name}.html", axe) == []


def telling_words():
    """The word of each page that tells it best from the others: frequent here, on few other pages."""
    counts, unsought = {}, set(re.findall(r"\w+", (HTML / "_static" / "language_data.js").read_text(encoding="utf-8")))
    for name in PAGES:
        article = (HTML / f"{name}.html").read_text(encoding="utf-8").split("<article")[1].split("</article>")[0]
        words = re.findall(r"\b[a-z]{6,}\b", re.sub(r"<[^>]+>", " ", article).lower())
        counts[name] = Counter(word for word in words if word not in unsought)
    pages_with = Counter(word for count in counts.values() for word in count)
    return {name: max(count, key=lambda word: count[word] / pages_with[word] ** 2) for name, count in counts.items()}


@needs_build
def test_search_finds_a_word_of_every_page(reading, home):
    page, heard = reading
    heard.clear()
    lost = {}
    for name, word in telling_words().items():
        page.goto(f"{home}/search.html?q={word}")
        try:
            page.wait_for_selector(f'#search-results a[href*="{name}.html"]', timeout=10_000)
        except Exception:  # every page that is lost is named at the end
            lost[name] = word
    assert (lost, heard) == ({}, [])


@needs_build
def test_the_search_field_leads_to_the_results(reading, home):
    page, heard = reading
    heard.clear()
    page.set_viewport_size(check_pages.DESKTOP)
    page.goto(f"{home}/{PAGES[1]}.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("cotangent")
    page.keyboard.press("Enter")
    page.wait_for_selector('#search-results a[href*="chapters/01_gradients.html"]')
    assert heard == []


@needs_build
def test_the_copy_button_copies_the_cell(reading, home):
    page, heard = reading
    heard.clear()
    page.goto(f"{home}/{PAGES[1]}.html")
    cell = page.locator("div.cell_input div.highlight").first
    cell.hover()
    cell.locator("button.copybtn").click()
    page.wait_for_function("navigator.clipboard.readText().then(text => text.length > 0)")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.strip() == cell.locator("pre").inner_text().strip()
    assert heard == []


@needs_build
def test_the_theme_button_changes_the_colours_and_they_stay(chromium, home):
    context = chromium.new_context(color_scheme="light", viewport=check_pages.DESKTOP)
    page = context.new_page()
    page.goto(f"{home}/{PAGES[1]}.html")
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.locator("button.theme-switch-button").first.click()
    page.locator('button.theme-change-button[data-mode="dark"]').first.click()
    page.wait_for_selector('html[data-theme="dark"]', state="attached")
    dark = page.evaluate(background)
    page.goto(f"{home}/{PAGES[2]}.html")
    assert page.evaluate(background) == dark != light
    context.close()


@needs_build
def test_a_solution_unfolds_by_keyboard(reading, home):
    page, _ = reading
    page.set_viewport_size(check_pages.PHONE)
    page.goto(f"{home}/{PAGES[1]}.html")
    button = page.locator(".solution button.toggle-button").first
    words = page.locator(".solution").first.locator("p:not(.admonition-title)").first
    assert not words.is_visible()
    button.focus()
    page.keyboard.press("Enter")
    assert words.is_visible()
