"""Headless Chromium over a folder of pages: what the tests of a reader and the PDF have in common.

Playwright drives the Chromium that the system has (Debian: ``apt-get install chromium``); it downloads none.
"""

import functools
import http.server
import shutil
import threading
from contextlib import contextmanager
from importlib.util import find_spec

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
MISSING = [
    *([] if CHROMIUM else ["Chromium (Debian: apt-get install chromium)"]),
    *([] if find_spec("playwright") else ["Playwright (pip install -e .[browser])"]),
]

# No network but this machine's own, whatever a page asks for; nor what Chromium asks for by itself.
FLAGS = [
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]

# A page is ready when MathJax, where it is, has set every formula.
READY = "async () => { await window.MathJax?.startup?.promise; await document.fonts.ready; }"

# What is folded is read too: solutions, hidden cells, and the rest.
UNFOLD = """() => {
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  for (const button of document.querySelectorAll(".toggle-button-hidden")) button.click();
}"""


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serve files and say nothing of it."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        """Leave the terminal to the tests."""


@contextmanager
def served(folder):
    """Serve a folder on a free port of this machine; gives its address, as in ``http://127.0.0.1:4711``."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def chromium():
    """Start one browser; gives Playwright's ``Browser``."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def open_page(page, address, unfold=True):
    """Go to an address, and return when all of it can be read."""
    page.goto(address, wait_until="load")
    if unfold:
        page.evaluate(UNFOLD)
    page.evaluate(READY)
