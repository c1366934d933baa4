"""The list of links that leave the book: complete, with their places, and never asked for in an automatic run."""

import doctest
import http.server
import re
import subprocess
import sys
import threading
from html import unescape
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HTML = ROOT / "book" / "_build" / "html"
sys.path.insert(0, str(ROOT / "book"))

import links  # noqa: E402

REPOSITORY = re.search(r'^REPOSITORY = "(.+)"', (ROOT / "book" / "conf.py").read_text(encoding="utf-8"), re.M)[1]
LAUNCHERS = ("https://colab.research.google.com/", "https://mybinder.org/")  # named by conf.py: tests/test_binder.py


def test_the_examples_of_the_module():
    assert doctest.testmod(links).failed == 0


def test_a_link_is_found_with_its_place(tmp_path):
    (tmp_path / "book").mkdir()
    (tmp_path / "README.md").write_text("Read\n[it](https://example.org/a) and <https://example.org/b>.\n")
    entry = "@misc{x,\n  url = {https://example.org/c},\n  doi = {10.1/d},\n}\n"
    (tmp_path / "book" / "references.bib").write_text(entry)
    assert list(links.links(tmp_path)) == [
        ("README.md", 2, "https://example.org/a"),
        ("README.md", 2, "https://example.org/b"),
        ("book/references.bib", 2, "https://example.org/c"),
        ("book/references.bib", 3, "https://doi.org/10.1/d"),
    ]


def test_every_link_has_a_whole_address():
    found = list(links.links())
    assert len(found) > 40
    assert [link for link in found if not re.fullmatch(r"https?://[\w.-]+\.\w+(/\S*)?", link[2])] == []


@pytest.mark.skipif(not (HTML / "index.html").exists(), reason="no built book: make book")
def test_the_list_has_every_link_of_the_built_pages():
    listed = {address.rstrip("/") for _, _, address in links.links()}
    clicked = set()
    for path in HTML.rglob("*.html"):
        if HTML / "_static" not in path.parents:
            clicked |= set(re.findall(r'<a\b[^>]*\bhref="(https?://[^"]+)"', path.read_text(encoding="utf-8")))
    clicked = {unescape(address).rstrip("/") for address in clicked if not address.startswith((REPOSITORY, *LAUNCHERS))}
    made_by_sphinx = {"https://www.sphinx-doc.org", "https://sphinx-book-theme.readthedocs.io"}
    assert clicked - made_by_sphinx - listed == set()


class Answers(http.server.BaseHTTPRequestHandler):
    """A server of this machine with one good page."""

    def do_GET(self):
        self.send_response(200 if self.path == "/good" else 404)
        self.end_headers()

    def log_message(self, *args):
        pass


def test_a_dead_link_is_told_from_a_good_one():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        assert links.complaint(f"{address}/good") is None
        assert links.complaint(f"{address}/gone") == "answers 404 Not Found"
        server.shutdown()
    assert "gives no answer" in links.complaint(f"{address}/good", seconds=2)


def test_nothing_is_asked_in_an_automatic_run(monkeypatch):
    monkeypatch.setenv("CI", "true")
    command = [sys.executable, ROOT / "book" / "links.py", "--check"]
    finished = subprocess.run(command, capture_output=True, text=True)
    assert finished.returncode == 1
    assert "not for automatic runs" in finished.stderr
