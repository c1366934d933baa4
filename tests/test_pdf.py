"""The PDF of the book: pages in order, an outline, numbers, links that lead inside, nothing cut off.

Skipped, with the reason, without a browser; what reads the book runs in `make check-book`, which builds it first.
"""

import os
import sys
from pathlib import Path

import pytest

BOOK = Path(__file__).resolve().parent.parent / "book"
HTML = BOOK / "_build" / "html"
sys.path.insert(0, str(BOOK))

import browser  # noqa: E402
import check_html  # noqa: E402
import freshness  # noqa: E402
import pdf  # noqa: E402

if browser.MISSING:
    pytest.skip(f"NO PDF WAS MADE, for want of {' and '.join(browser.MISSING)}", allow_module_level=True)
pypdf = pytest.importorskip("pypdf")
pytestmark = pytest.mark.slow

PAGE = """<!doctype html><title>t</title><link rel="stylesheet" href="custom.css"><nav class="bd-header">menu</nav>
<main class="bd-main"><div class="bd-content"><article class="bd-article"><section>
<h1>{title}<a class="headerlink">#</a></h1><p id="top">{text}</p></section></article></div></main>"""
ONE = """See <a href="two.html#place">the place</a>, <a href="https://example.org/">outside</a>.</p>
<h2>A part</h2><details class="hide"><summary>Show</summary>hidden</details><div
class="solution">The answer is four.</div>
<pre style="overflow: auto">x = "{}end"</pre><p>After the code."""
TWO = '<p style="margin-top: 1500px">Far below</p><h2 id="place">Here</h2><a href="#place">to it</a>'


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    (folder / "custom.css").write_text((BOOK / "_static" / "custom.css").read_text())
    (folder / "one.html").write_text(PAGE.format(title="One", text=ONE.format("wide " * 60)))
    (folder / "two.html").write_text(PAGE.format(title="Two &amp; last", text=TWO))
    file = folder / "book.pdf"
    count = pdf.make(folder, ["one", "two"], file, book="A <book>")
    reader = pypdf.PdfReader(file)
    assert len(reader.pages) == count
    return reader


def outline(reader, level=0):
    """Words and sheets of one level of the outline."""
    entries = reader.outline
    if level:
        entries = [entry for nested in reader.outline if isinstance(nested, list) for entry in nested]
    return [(at.title, reader.get_destination_page_number(at)) for at in entries if not isinstance(at, list)]


def test_pages_are_in_order_behind_the_contents_and_in_the_outline(printed):
    begin = len(printed.pages) - 2  # the second page takes two sheets
    assert outline(printed) == [("One", 1), ("Two & last", begin)]
    assert outline(printed, 1) == [("A part", 1), ("Solutions", begin - 1), ("Here", begin + 1)]
    front = printed.pages[0].extract_text()
    assert "A <book>" in front
    assert f"Two&last{begin + 1}" in "".join(front.split())


def test_every_sheet_but_the_first_has_its_number(printed):
    texts = [sheet.extract_text().split() for sheet in printed.pages]
    assert all(str(at + 1) in text for at, text in enumerate(texts) if at)


def test_what_was_folded_is_sorted_and_nothing_is_cut(printed):
    text = " ".join(printed.pages[1].extract_text().split())
    assert text.index("After the code.") < text.index("Solutions") < text.index("The answer is four.")
    assert 'end"' in text
    assert [word for word in ("hidden", "menu", "#") if word in text] == []


def test_links_lead_inside_and_out(printed):
    links = [link.get_object() for link in printed.pages[1]["/Annots"]]
    inside = [link["/Dest"] for link in links if "/Dest" in link]
    assert [printed.get_page_number(dest[0].get_object()) for dest in inside] == [len(printed.pages) - 1]
    assert [link["/A"]["/URI"] for link in links if "/A" in link] == ["https://example.org/"]


MISSING = freshness.missing(HTML) if "CHECK_BOOK" in os.environ else "the book is printed by: make check-book"


@pytest.mark.skipif(bool(MISSING), reason=str(MISSING))
def test_the_whole_book_is_printed(tmp_path):
    pages = check_html.pages_of_contents()
    pdf.make(HTML, pages, tmp_path / "book.pdf")
    reader = pypdf.PdfReader(tmp_path / "book.pdf")
    begins = [sheet for _, sheet in outline(reader)]
    assert len(begins) == len(pages)
    assert begins == sorted(set(begins))
    addresses = [
        str(link.get_object()["/A"]["/URI"])
        for sheet in reader.pages
        for link in sheet.get("/Annots", [])
        if "/URI" in link.get_object().get("/A", {})
    ]
    assert addresses
    assert [address for address in addresses if "127.0.0.1" in address] == []
