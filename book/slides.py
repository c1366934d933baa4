"""Cut a deck of slides from each chapter of the built book: ``make slides``, or ``python book/slides.py [HTML [OUT]]``.

The page that readers see is the source, so that text and slides cannot part. Of each section a deck shows the first
sentences of its first paragraphs, every definition and theorem, every numbered equation with the sentence before it
(in "The idea ...", every equation), and every figure. Around them stand the title, the goals, the claims with their
verdicts, and the exercises. An author steers this in the chapter, by comments that no engine shows:

    % slide        what follows (a paragraph, a list, a table, the output of a cell) goes on a slide too
    % slide: no    what follows stays off the slides; right below a heading: the whole section
"""

import html
import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import course
from bs4 import BeautifulSoup
from slide_parts import clean, opening, section_slides

BOOK = Path(__file__).resolve().parent
TEMPLATE = BOOK / "_slides" / "deck.html"


def claims(number, readme):
    """Return the claims of a chapter with their verdicts, as rows of the README's table."""
    rows = re.findall(r"^\| (C\d+) \| (.+?) \| (.+?) \| (\d+) \|$", readme, re.M)
    return [(claim, says, verdict) for claim, says, verdict, chapter in rows if int(chapter) == number]


def deck(page, chapter, readme=""):
    """Return (title, slides as HTML, paths of pictures) for one built page and what `course` knows of its chapter."""
    images, top = set(), BeautifulSoup(page, "html.parser").select_one("article section")
    goals = next(block for block in top.find_all("p") if block.get_text().startswith("You will be able to"))
    above = f"<p class=of>Chapter {chapter.number} · {html.escape(course_title())}</p>"
    slides = [f"{above}<h1>{html.escape(chapter.title)}</h1><p>{clean(opening(top.find('p')), images)}</p>"]
    slides.append(f"<h2>You will be able to</h2>{clean(goals.find_next_sibling('ul'), images)}")
    for section in top.find_all("section", recursive=False):
        for title, of, slide in section_slides(section, images):
            slides.append(f"<p class=of>{of}</p><h2>{title}</h2>{slide}")
    judged = [(claim, says, f"<b>{verdict}</b>") for claim, says, verdict in claims(chapter.number, readme)]
    if judged:
        slides.append(f"<h2>What the story says, and the verdict</h2>{table(judged)}")
    tasks = [(html.escape(e.title), e.kind, "★" * e.stars, f"{e.minutes} min") for e in chapter.exercises]
    slides.append(f"<h2>Exercises</h2>{table(tasks)}")
    return chapter.title, [f'<section><div class="fit">{slide}</div></section>' for slide in slides], images


def table(rows):
    """Return a table as HTML."""
    return f"<table class=wide><tr>{'<tr>'.join(''.join(f'<td>{cell}' for cell in row) for row in rows)}</table>"


def course_title():
    """Return the book's title, as its configuration has it."""
    return re.search(r'^project = "(.+)"', (BOOK / "conf.py").read_text(encoding="utf-8"), re.M)[1]


def main(built=BOOK / "_build" / "html", out=BOOK / "_build" / "slides"):
    """Write every deck, a list of them, and what they load."""
    built, out = Path(built), Path(out)
    shutil.rmtree(out, ignore_errors=True)
    reveal = Path(find_spec("sphinx_revealjs").origin).parent / "_static" / "revealjs"
    shutil.copytree(built / "_static" / "vendor" / "mathjax", out / "vendor" / "mathjax")
    (out / "vendor" / "reveal").mkdir()
    (out / "images").mkdir()
    for name in ("dist/reset.css", "dist/reveal.css", "dist/reveal.js", "LICENSE"):
        shutil.copy(reveal / name, out / "vendor" / "reveal")
    shutil.copy(built / "_static" / "pygments.css", out / "vendor")
    template, rows = TEMPLATE.read_text(encoding="utf-8"), []
    readme = (BOOK.parent / "README.md").read_text(encoding="utf-8")
    for chapter in course.chapters():
        page = built / "chapters" / f"{chapter.name}.html"
        title, slides, images = deck(page.read_text(encoding="utf-8"), chapter, readme)
        for image in images:
            shutil.copy(page.parent / image, out / "images")
        name = f"{chapter.number:02}.html"
        text = template.replace("{{title}}", html.escape(title)).replace("{{slides}}", "\n".join(slides))
        (out / name).write_text(text, encoding="utf-8")
        rows.append(f'<li value="{chapter.number}"><a href="{name}">{html.escape(title)}</a> ({len(slides)} slides)')
    style = "<style>body{font:20px/1.7 sans-serif;max-width:40em;margin:3em auto}</style>"
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Slides</title>{style}<h1>Slides</h1>'
    (out / "index.html").write_text(f"{head}<ol>{''.join(rows)}</ol>", encoding="utf-8")
    print(f"{len(rows)} decks: {out / 'index.html'}")


if __name__ == "__main__":
    main(*sys.argv[1:])
