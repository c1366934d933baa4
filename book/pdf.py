"""The whole book as one PDF: ``python book/pdf.py [HTML [FILE]]``, or ``make pdf``.

Chromium prints each page of the contents on its own, with the rules for print at the end of ``custom.css``; solutions
go to the end of their page. Then the pages are joined behind a list of contents, in its order: the headings become
the outline, links between pages lead inside the file, and every sheet gets its number.
"""

import html
import io
import sys
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from browser import MISSING, chromium, open_page, served
from check_html import pages_of_contents

BUILD = Path(__file__).resolve().parent / "_build"
MARGINS = {"top": "17mm", "bottom": "20mm", "left": "18mm", "right": "18mm"}
SCALE = 0.8  # of the size on a screen: letters of ten points
WIDTH = round((210 - 36) / 25.4 * 96 / SCALE)  # of the text, in pixels

# What is folded on the page: solutions are gathered, code that draws figures is left out, the rest is open.
PREPARE = """() => {
  const solutions = [...document.querySelectorAll("article div.solution")];
  if (solutions.length) {
    const heading = Object.assign(document.createElement("h2"), {textContent: "Solutions"});
    document.querySelector("article > section, article").append(heading, ...solutions);
  }
  for (const extra of document.querySelectorAll("details.hide")) extra.remove();
  for (const mark of document.querySelectorAll("article .headerlink")) mark.remove();
  const headings = [...document.querySelectorAll("article :is(h1, h2, h3)")];
  return headings.filter(node => node.checkVisibility()).map(node => [Number(node.tagName[1]), node.textContent]);
}"""
SHEET = """<style>
  @page { size: A4; margin: 0 } body { margin: 0; font: 9pt sans-serif; color: #555 }
  div { position: relative; height: 296.9mm; break-after: page }
  div:last-child { break-after: auto }
  div > span { position: absolute; bottom: 10mm; width: 100%; text-align: center }
  main { padding: 25mm 25mm 0 } h1 { font-size: 22pt; color: #222 } p { display: flex; margin: 0.3em 0; gap: 1em }
  p b { font-weight: normal; flex: 1 }
</style>"""


@contextmanager
def printer(folder):
    """Give a function that prints a page of this folder and returns its headings and the PDF's bytes."""
    with served(folder) as home, chromium() as browser:
        page = browser.new_page(viewport={"width": WIDTH, "height": 1000}, color_scheme="light")
        page.emulate_media(media="print")

        def print_page(name):
            open_page(page, f"{home}/{name}.html")
            headings = page.evaluate(PREPARE)
            page.wait_for_timeout(300)  # until reader.js has set wide formulas smaller
            return headings, page.pdf(format="A4", margin=MARGINS, scale=SCALE, outline=True, tagged=True)

        def print_sheets(text):
            page.set_content(SHEET + text)
            return page.pdf(prefer_css_page_size=True)

        yield home, print_page, print_sheets


def places_of(outline):
    """Walk through pypdf's nested outline in order."""
    for entry in outline:
        yield from places_of(entry) if isinstance(entry, list) else [entry]


def add_outline(writer, headings, reader, begin):
    """Add a page's headings, by their own words: Chromium doubles those of a heading that it has moved."""
    from pypdf.generic import Fit

    parents = {}
    for (level, words), place in zip(headings, places_of(reader.outline), strict=True):
        sheet = begin + reader.get_destination_page_number(place)
        parent = parents.get(level - 1) if level > 1 else None
        parents[level] = writer.add_outline_item(
            title=words, page_number=sheet, parent=parent, fit=Fit.xyz(top=place.top), is_open=False
        )


def sheets(book, readers, headings):
    """Lay out the contents, whose page has no number, and one empty sheet with its number for every other page."""
    lines, number = [], 2
    for name, reader in readers.items():
        lines.append(f"<p><b>{html.escape(headings[name][0][1])}</b>{number}</p>")
        number += len(reader.pages)
    numbers = "".join(f"<div><span>{at}</span></div>" for at in range(2, number))
    return f"<div><main><h1>{html.escape(book)}</h1>{''.join(lines)}</main></div>{numbers}"


def join(readers, headings, front, home):
    """Join what was printed; gives pypdf's writer."""
    from pypdf import PdfReader, PdfWriter
    from pypdf.generic import ArrayObject, FloatObject, NameObject, NullObject

    numbers = PdfReader(io.BytesIO(front)).pages
    writer = PdfWriter()
    writer.append(io.BytesIO(front), pages=(0, 1), import_outline=False)
    begins = {}
    for name, reader in readers.items():
        begins[name] = len(writer.pages)
        writer.append(reader, import_outline=False)
        add_outline(writer, headings[name], reader, begins[name])
    for at, sheet in enumerate(writer.pages):
        if at:
            sheet.merge_page(numbers[at])
            sheet.compress_content_streams()

    places = {name: reader.named_destinations for name, reader in readers.items()}

    def destination(name, place):
        """Where in the joined file a place of a page is; its beginning, where Chromium noted no such place."""
        found = places[name].get(f"/{place}") or places[name].get(place)
        offset = readers[name].get_destination_page_number(found) if found else 0
        top = FloatObject(found.top) if found else NullObject()
        sheet = writer.pages[begins[name] + offset].indirect_reference
        return ArrayObject([sheet, NameObject("/XYZ"), NullObject(), top, NullObject()])

    for name in readers:
        for sheet in writer.pages[begins[name] : begins[name] + len(readers[name].pages)]:
            for link in (entry.get_object() for entry in sheet.get("/Annots", [])):
                action = link.get("/A", {})
                address = str(action.get("/URI", ""))
                target = urlsplit(address).path.removeprefix("/").removesuffix(".html")
                if address.startswith(home):
                    del link["/A"]  # what is not in the contents is not in the file either
                    if target in readers:
                        link[NameObject("/Dest")] = destination(target, unquote(urlsplit(address).fragment))
                elif isinstance(link.get("/Dest"), str):
                    link[NameObject("/Dest")] = destination(name, str(link["/Dest"]).removeprefix("/"))
    writer.compress_identical_objects()
    return writer


def make(folder, pages, file, book="Attention, Bayes and Wide Streams"):
    """Print these pages of a folder into one file; gives the number of its sheets."""
    from pypdf import PdfReader

    with printer(folder) as (home, print_page, print_sheets):
        printed = {name: print_page(name) for name in pages}
        headings = {name: found for name, (found, _) in printed.items()}
        readers = {name: PdfReader(io.BytesIO(data)) for name, (_, data) in printed.items()}
        front = print_sheets(sheets(book, readers, headings))
    writer = join(readers, headings, front, home)
    writer.add_metadata({"/Title": book})
    writer.write(file)
    return len(writer.pages)


def main(folder=BUILD / "html", file=BUILD / "book.pdf"):
    """Print the book."""
    if MISSING:
        sys.exit(f"make pdf wants {' and '.join(MISSING)}")
    count = make(folder, pages_of_contents(), file)
    print(f"{file}: {count} sheets, {Path(file).stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(*sys.argv[1:])
