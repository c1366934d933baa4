"""What of a built page goes on slides: cut into pieces, packed into slides. ``slides.py`` makes decks of them."""

import re
from pathlib import Path

from bs4 import BeautifulSoup, Comment, NavigableString
from docutils import nodes

LEFT_OUT = ("Symbols", "Exercises", "Sources", "Claims of this chapter")
SENTENCES, SHORT = 3, 60  # paragraphs a section that are quoted, by openings of at least so many letters
LINES, WIDE = 11, 64  # that fit on a slide, and letters in one; the browser makes smaller what is too long after all
SHARED = 3  # lines of text that a figure leaves room for, by being drawn smaller
LEANING = "Proof|This |These |It |They |Look |Here "  # openings that say nothing without what stands before them
A_SENTENCE = re.compile(rf"(?!{LEANING})[A-Z“‘$\\\d].*[.!?]\W*", re.S)
SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s+(?=[A-Z“‘\[(])")
NOT_SHOWN = "a.headerlink, .toggle, .play-note, button, script, noscript, details > summary"


def clean(part, images):
    """Return a copy of a part of the page as text: no links, no labels; pictures under their names in ``images``."""
    part = BeautifulSoup(str(part), "html.parser")
    for unwanted in part.select(NOT_SHOWN):
        unwanted.decompose()
    for link in part.find_all("a"):
        link.unwrap()
    for tag in part.find_all(True):
        del tag["id"]
    for picture in part.find_all("img", src=lambda source: not source.startswith("data:")):
        images.add(picture["src"])
        picture["src"] = f"images/{Path(picture['src']).name}"
    return str(part).strip()


def sentences(paragraph):
    """Split the content of a paragraph into sentences, each a list of nodes."""
    found = [[]]
    for node in paragraph.children:
        if isinstance(node, NavigableString) and not isinstance(node, Comment):
            first, *others = SENTENCE_ENDS.split(str(node))
            found[-1].append(first)
            found += [[other] for other in others]
        else:
            found[-1].append(node)
    return [text for text in ("".join(str(node) for node in nodes).strip() for nodes in found) if text]


def letters(piece):
    """Return the text of a piece of HTML without its tags."""
    return BeautifulSoup(piece, "html.parser").get_text()


def opening(paragraph):
    """Return the first sentences of a paragraph, as many as it takes to say something."""
    found = sentences(paragraph)
    for count in range(1, len(found)):
        if len(letters(" ".join(found[:count]))) >= SHORT:
            return " ".join(found[:count])
    return " ".join(found)


def said(block):
    """Return what an author's comment asks for the next element: ``""``, ``"slide"`` or ``"no"``."""
    before = block.previous_sibling
    while isinstance(before, NavigableString) and not isinstance(before, Comment):
        before = before.previous_sibling if not before.strip() else None
    comment = str(before).strip() if isinstance(before, Comment) else ""
    return {"slide": "slide", "slide: no": "no"}.get(comment, "")


def is_block(block, title):
    """Say whether an element is shown: a definition, a theorem, a numbered equation; any equation of the idea."""
    classes = block.get("class", [])
    shown = "math" in classes and (block.find(class_="eqno") is not None or title.startswith("The idea"))
    return shown or ("proof" in classes and block.find(class_="caption-number") is not None)  # a proof has no number


def lines(piece):
    """Estimate how many lines of a slide a piece takes."""
    part = BeautifulSoup(piece, "html.parser")
    if part.find(["table", "pre"]):
        return LINES
    if part.find("figure"):
        return LINES - SHARED
    formulas = [math.extract().get_text() for math in part.select("div.math")]
    texts = [len(text.get_text()) for text in part.find_all(["p", "li"])]
    return sum(2.5 + formula.count("\\\\") for formula in formulas) + sum(0.4 + max(1, n / WIDE) for n in texts)


def packed(pieces):
    """Put neighbours on one slide as long as they fit."""
    slides, room = [], 0
    for piece in pieces:
        need = lines(piece)
        if need > room:
            slides.append("")
            room = LINES
        slides[-1] += piece
        room = 0 if "<figure" in piece else room - need  # a figure comes last
    return slides


def section_slides(section, images, of=""):
    """Yield (heading, section above, HTML) for each slide of a section and of those inside it."""
    heading = section.find(re.compile("^h[1-6]$"), recursive=False)
    title = clean(heading, images) if heading else ""
    title = re.sub(r"</?h\d[^>]*>|<span class=\"section-number\">.*?</span>", "", title)
    first = heading.find_next_sibling(True) if heading else None
    if title in LEFT_OUT or (first is not None and said(first) == "no"):
        return
    points, pieces, inner, lead = [], [], [], None
    for block in section.find_all(True, recursive=False):
        wish = said(block)
        if wish == "no" or block is heading:
            continue
        figures = [] if wish else block.select("figure") if block.name != "figure" else [block]
        if block.name == "section":
            inner += section_slides(block, images, title)
        elif wish == "slide":
            pieces.append(clean(block.select_one(".cell_output") or block, images))
        elif figures:
            pieces += [clean(figure, images) for figure in figures if figure.find("img")]
        elif is_block(block, title):
            first = f"<p>{clean(lead, images)}</p>" if lead and "math" in block["class"] else ""
            pieces.append(first + clean(block, images))
        elif block.name == "p" and len(points) < SENTENCES:
            point = clean(opening(block), images)
            if A_SENTENCE.fullmatch(letters(point)):
                points.append(point)
        lead = sentences(block)[-1] if block.name == "p" else None
    if points:
        pieces.insert(0, "<ul>" + "".join(f"<li>{point}</li>" for point in points) + "</ul>")
    yield from ((title, of, slide) for slide in packed(pieces))
    yield from inner


def keep_comments(app, doctree, name):
    """Let comments that steer slides through to the page, where nobody sees them; Sphinx would drop them."""
    for comment in list(doctree.findall(nodes.comment)):
        if comment.astext().startswith("slide"):
            comment.replace_self(nodes.raw("", f"<!-- {comment.astext()} -->\n", format="html"))


def setup(app):
    """Connect the hook; called by Sphinx."""
    app.connect("doctree-resolved", keep_comments)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
