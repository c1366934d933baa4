"""Slides: what a deck takes from a page, what an author can ask for, and that no slide of the book overflows."""

import importlib.util
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parent.parent
BOOK = ROOT / "book"
HTML = BOOK / "_build" / "html"
sys.path.insert(0, str(BOOK))

NEEDED = ("bs4", "docutils", "sphinx_revealjs")
if any(importlib.util.find_spec(name) is None for name in NEEDED):
    pytest.skip("the book's tools are missing: make book", allow_module_level=True)

import browser  # noqa: E402
import course  # noqa: E402
import slide_parts  # noqa: E402
import slides  # noqa: E402

needs_build = pytest.mark.skipif(not (HTML / "index.html").exists(), reason="no built book: make book")
needs_chromium = pytest.mark.skipif(bool(browser.MISSING), reason=f"missing: {', '.join(browser.MISSING)}")
SMALL = 0.6  # of the usual size of letters; below it the last row cannot read

EQUATION = '<div class="math" id="e"><span class="eqno">(1.1)<a class="headerlink">#</a></span>\\[a = b\\]</div>'
PAGE = f"""<article><section id="top"><h1><span class="section-number">1. </span>Made</h1>
<p>A question that is asked in one sentence. An answer.</p>
<p><strong>You will be able to</strong></p>
<ul><li><p>count;</p></li></ul>
<section id="symbols"><h2>Symbols</h2><p>Nothing of this section belongs on a slide, however long it is.</p></section>
<section id="idea"><h2>The idea, on two<a class="headerlink" href="#idea">#</a></h2>
<p>Two is more than one. This is <a href="x.html">known</a> to those who can count so far.</p>
<div class="math">\\[1 + 1 = 2\\]</div>
<p>So the reader is told to look at what comes now:</p>
</section>
<section id="law"><h2>The law</h2>
<p>Some say this. Others say that \\(a.b\\) is what follows from it. Therefore</p>
{EQUATION}
<p>where \\(a\\) is a letter and nothing follows from that for the rest of us.</p>
<div class="proof theorem" id="t"><p class="admonition-title"><span class="caption-number">Theorem 1.1</span></p>
<p>It holds.</p></div>
<div class="proof"><p>Proof. It is left out of every deck, since it is read at home.</p></div>
<!-- slide: no -->
<div class="cell"><figure><img alt="dull" src="../_images/dull.svg"></figure></div>
<div class="cell"><div class="cell_input">code</div><div class="cell_output"><figure id="f">
<img alt="a line" src="../_images/line.svg"><figcaption><p>Fig. 1.1</p></figcaption></figure></div></div>
<table><tr><td>not asked for</table>
<!-- slide -->
<table><tr><td>asked for</table>
<!-- slide -->
<div class="cell"><div class="cell_input">more code</div>
<div class="cell_output"><table><tr><td>made</table></div></div>
</section>
<section id="aside"><h2>An aside</h2>
<!-- slide: no -->
<p>This is an aside that goes on for more than sixty letters.</p></section>
</section></article>"""
EXERCISE = SimpleNamespace(title="Count < three", kind="By hand", stars=2, minutes=10)
CHAPTER = SimpleNamespace(number=1, title="Made", exercises=[EXERCISE])
README = "| C1 | it counts | holds | 1 |\n| C2 | it adds | false | 2 |\n"


@pytest.fixture
def deck():
    return slides.deck(PAGE, CHAPTER, README)


def test_a_deck_has_title_goals_sections_claims_and_exercises(deck):
    title, made, _ = deck
    heads = [re.search(r"<h[12]>(.*?)</h[12]>", slide)[1] for slide in made]
    assert (title, heads[:2], heads[-2:]) == (
        "Made",
        ["Made", "You will be able to"],
        ["What the story says, and the verdict", "Exercises"],
    )
    assert set(heads[2:-2]) == {"The idea, on two", "The law"}
    assert "A question that is asked in one sentence. An answer." in made[0]
    assert "it counts<td><b>holds</b>" in made[-2]
    assert "C2" not in made[-2]
    assert "Count &lt; three<td>By hand<td>★★<td>10 min" in made[-1]


def test_a_section_gives_openings_equations_theorems_and_figures(deck):
    text = "\n".join(deck[1])
    assert "<li>Two is more than one. This is known to those who can count so far.</li>" in text
    assert "1 + 1 = 2" in text
    assert "<p>Therefore</p>" in text
    assert "a = b" in text
    assert "Theorem 1.1" in text
    assert "a.b" in text
    assert 'src="images/line.svg"' in text
    for gone in ("look at what comes now", "where", "Proof", "Nothing of this", "href", "headerlink", "id=", ">code"):
        assert gone not in text
    assert deck[2] == {"../_images/line.svg"}


def test_comments_of_the_author_are_followed(deck):
    text = "\n".join(deck[1])
    assert "asked for" in text.replace("not asked for", "")
    assert "made" in text
    for gone in ("not asked for", "more code", "dull", "An aside", "<!--"):
        assert gone not in text


def test_what_is_long_goes_on_several_slides_in_order():
    pieces = [f"<p>{letter * 300}</p>" for letter in "abcd"]
    made = slide_parts.packed(pieces)
    assert 1 < len(made) < 4
    assert "".join(made) == "".join(pieces)
    figure, text = "<figure></figure>", "<p>a</p>"
    assert slide_parts.packed([figure, text, figure, figure]) == [figure, text + figure, figure]


def test_a_picture_inside_the_page_stays_there():
    images = set()
    assert 'src="data:image/svg' in slide_parts.clean('<img src="data:image/svg+xml,x">', images)
    assert images == set()


@pytest.mark.slow
def test_a_comment_reaches_the_page_and_no_reader(tmp_path):
    from test_book import sphinx

    code, said = sphinx(tmp_path, "One.\n\n% slide: no\n\nTwo.\n\n% another comment\n\nThree.")
    assert code == 0, said
    page = (tmp_path / "html" / "book" / "page.html").read_text(encoding="utf-8")
    assert page.count("<!-- slide: no -->") == 1
    assert "another comment" not in page


# The decks of the built book


@pytest.fixture(scope="module")
def decks(tmp_path_factory):
    out = tmp_path_factory.mktemp("slides") / "slides"
    slides.main(HTML, out)
    return out


@needs_build
@pytest.mark.slow
def test_every_chapter_has_a_deck_and_nothing_comes_from_outside(decks):
    made = sorted(path.name for path in decks.glob("[0-9]*.html"))
    assert made == [f"{chapter.number:02}.html" for chapter in course.chapters()]
    for path in decks.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        loaded = [name for name in re.findall(r'(?:src|href)="([^"]+)"', text) if not name.startswith("data:")]
        assert [name for name in loaded if not (decks / name).exists()] == []


@needs_build
@needs_chromium
@pytest.mark.slow
def test_no_slide_overflows_and_no_formula_is_broken(decks):
    planted = {
        "long": "<p>line</p>" * 60,
        "broken": r'<p>Look: <span class="math">\(\left( a\)</span></p>',
        "wide": rf'<p>Look:</p><div class="math">\[{"a + b + " * 60} c\]</div>',
        "fine": '<p>Look here:</p><div class="math">\\[a = b\\]</div>',
    }
    made = "".join(f'<section><div class="fit"><h2>{name}</h2>{text}</div></section>' for name, text in planted.items())
    (decks / "planted.html").write_text(slides.TEMPLATE.read_text(encoding="utf-8").replace("{{slides}}", made))
    look = """() => [...document.querySelectorAll(".fit")].map(fit => [
      fit.querySelector("h1, h2").innerText, +fit.dataset.size, fit.dataset.overflows || "",
      fit.querySelectorAll("mjx-merror").length, fit.innerText.length])"""
    bad, said = {}, []
    with browser.served(decks) as address, browser.chromium() as chromium:
        page = chromium.new_page(viewport={"width": 1280, "height": 720})
        page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        for name in ("planted", *(f"{chapter.number:02}" for chapter in course.chapters())):
            page.goto(f"{address}/{name}.html")
            page.wait_for_selector("body[data-ready]", state="attached")
            found = page.evaluate(look)
            bad[name] = [one for one in found if one[1] < SMALL or one[2] or one[3] or one[4] < 5]
    assert [one[0] for one in bad.pop("planted")] == ["long", "broken", "wide"]
    assert {name: some for name, some in bad.items() if some} == {}
    assert [words for words in said if "favicon" not in words and "404" not in words] == []
