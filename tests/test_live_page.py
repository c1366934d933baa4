"""A cell runs in a page of the built book, is edited, fails and is stopped, with files in place of the CDN.

Skipped, with the reason, where the book is not built or Chromium, Playwright, npm or the files are missing.
"""

import functools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BOOK = ROOT / "book"
HTML = BOOK / "_build" / "html"
sys.path.insert(0, str(BOOK))

import browser  # noqa: E402
import pyodide_files  # noqa: E402


@functools.cache
def unavailable():
    """Say why the page cannot be tried here, or nothing."""
    if "CHECK_BOOK" not in os.environ:
        return "part of make check-book"
    if browser.MISSING:
        return " and ".join(browser.MISSING) + " missing"
    if not (HTML / "_static" / "live_files.js").exists():
        return "no built book: make book"
    try:
        pyodide_files.folder()
    except (pyodide_files.Gone, subprocess.SubprocessError, OSError) as error:
        return f"no Pyodide to serve: {error}"
    return None


@pytest.fixture
def page():
    """A page of the book whose CDN is a folder on this machine; gives (page, what was asked of other hosts)."""
    if unavailable():
        pytest.skip(unavailable())
    files, cdn, asked = pyodide_files.folder(), pyodide_files.cdn(), []

    def serve(route):
        url = route.request.url
        asked.append(url)
        if url.startswith(cdn) and page.reachable:
            route.fulfill(path=files / url.removeprefix(cdn), headers={"Access-Control-Allow-Origin": "*"})
        else:
            route.abort()

    with browser.served(HTML) as address, browser.chromium() as chromium:
        page = chromium.new_context(viewport={"width": 1200, "height": 900}).new_page()
        page.reachable, page.wrong = True, []
        page.on("pageerror", lambda error: page.wrong.append(str(error)))
        page.context.route(re.compile(r"^https?://(?!127\.0\.0\.1)"), serve)
        page.address = address
        page.goto(f"{address}/chapters/01_gradients.html")
        yield page, asked
        assert page.wrong == []


class Cell:
    """A cell of the page, counted from 1, as a reader works with it."""

    def __init__(self, page, number):
        self.page = page
        self.whole = page.locator(".bd-article .cell:has(.cell_input)").nth(number - 1)
        self.code, self.run = self.whole.locator(".cell_input pre"), self.whole.locator(".live-run")
        self.status, self.output = self.whole.locator(".live-status"), self.whole.locator(".live-output")

    def ends(self, words):
        says = "([node, words]) => new RegExp(words).test(node.textContent)"
        self.page.wait_for_function(says, arg=[self.status.element_handle(), words], timeout=180_000)

    def add(self, line):
        self.code.click()
        for key in ("Control+End", "Enter"):
            self.page.keyboard.press(key)
        self.page.keyboard.type(line)
        self.page.keyboard.press("Shift+Enter")


@pytest.mark.slow
def test_a_cell_runs_in_the_page_is_edited_and_fails_in_words(page):
    page, asked = page
    assert asked == []
    cell = Cell(page, 2)
    book = cell.whole.locator(":scope > .cell_output:not(.live-output)").inner_text()
    assert cell.code.get_attribute("contenteditable") is None
    cell.run.focus()
    page.keyboard.press("Enter")
    cell.ends("^Done")
    assert {url.startswith(pyodide_files.cdn()) for url in asked} == {True}
    assert cell.output.inner_text().split() == book.split()
    loaded = len(asked)

    cell.add("print('half the sum is', d_y.sum() / 2)")  # "/" is a key of the page, but not in here
    cell.ends("^Done")
    page.wait_for_function("node => node.textContent.includes('half the sum is 1.0')", arg=cell.output.element_handle())
    page.keyboard.press("ArrowLeft")
    assert page.url.endswith("/chapters/01_gradients.html")

    cell.add("ops.linear(x, x)")
    cell.ends("^Stopped by an error")
    assert "ValueError: linear: want" in cell.output.locator(".live-error").inner_text()
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.textContent") == "Run"
    cell.whole.locator(".live-undo").click()
    assert cell.output.is_hidden()
    assert "half the sum is" not in cell.code.inner_text()

    figure = next(n for n in range(1, 30) if Cell(page, n).whole.locator("img").count())
    drawn = Cell(page, figure)
    if drawn.whole.locator("summary").count():
        drawn.whole.locator("summary").first.click()
    drawn.run.click()
    drawn.ends("^Done")
    assert drawn.output.locator("img").evaluate("image => image.decode().then(() => image.naturalWidth)") > 100
    assert drawn.output.locator("img").get_attribute("alt") == drawn.whole.locator("img").first.get_attribute("alt")
    assert len(asked) == loaded

    cell.add("while True: pass")
    cell.ends("^Running")
    cell.whole.locator(".live-stop").click()
    cell.ends("^Stopped. The next Run")


@pytest.mark.slow
def test_without_a_network_the_page_says_so_and_can_be_asked_again(page):
    page, asked = page
    page.reachable = False
    cell = Cell(page, 1)
    cell.run.click()
    cell.ends("could not be fetched from cdn.jsdelivr.net.*make lab")
    assert cell.run.is_enabled()
    page.reachable = True
    cell.run.click()
    cell.ends("^Done")

    below = Cell(page, 2)
    cell.add("1 / 0")
    cell.ends("^Stopped by an error")
    assert "ZeroDivisionError" in cell.output.inner_text()
    below.run.click()
    below.ends("^cell 1 above stopped with an error")
    assert below.status.locator("a").get_attribute("href") == f"#{cell.whole.get_attribute('id')}"
    cell.whole.locator(".live-undo").click()
    below.run.click()
    below.ends("^Done")
