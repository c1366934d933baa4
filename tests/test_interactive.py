"""Interactive figures: what a cell puts into the page, and that it is whole without any script."""

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import numpy as np
import pytest
from made_figures import KEPT_STEPS, MOMENTS, figures, networks

from mhc_np.lab import interactive as made
from mhc_np.lab import plots
from mhc_np.lab.interactive import Interactive, as_json, interactive

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "book" / "_static" / "figures"
sys.path.insert(0, str(ROOT / "book"))

import figures as extension  # noqa: E402  book/figures.py


class Page(HTMLParser):
    """Tags with their attributes, and the text of each script."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.open += [] if tag == "img" else [tag]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)


@pytest.fixture(scope="module")
def each():
    return figures()


def drawing():
    shown, ax = plots.figure(height=1.5)
    ax.plot([0, 1], [0.015625, 1], label="a < b & 'c'")
    return shown


def small(kind="loop", name="one", data=None, label="Three dots."):
    return interactive(kind, name, data or {"a": [1.0]}, still=drawing(), label=label)


# What is in the page


def test_every_kind_has_a_script_that_registers_it():
    assert set(made.kinds()) == {"loop", "manifold", "posterior", "sinkhorn"}


@pytest.mark.parametrize("kind", ["loop", "manifold", "posterior", "sinkhorn"])
def test_a_figure_is_data_and_a_still_that_says_what_it_shows(each, kind):
    page = Page(each[kind])
    assert page.open == []
    ((_, box),) = [tag for tag in page.tags if tag[0] == "div" and "data-figure" in tag[1]]
    assert (box["data-figure"], box["id"], box["aria-label"]) == (kind, f"a-{kind}", "What there is to see.")
    ((_, image),) = [tag for tag in page.tags if tag[0] == "img"]
    assert image["alt"] == "What there is to see."
    (data,) = page.scripts
    assert json.loads(data)
    assert [attributes for tag, attributes in page.tags if tag == "script"] == [{"type": "application/json"}]
    assert "this figure has knobs" in each[kind]


@pytest.mark.parametrize("kind", ["loop", "manifold", "posterior", "sinkhorn"])
def test_a_figure_loads_nothing_and_is_small(each, kind):
    assert len(each[kind]) < made.MOST
    loaded = [value for _, attributes in Page(each[kind]).tags for name, value in attributes.items() if name == "src"]
    assert all(value.startswith("data:image/svg+xml,") for value in loaded)
    assert "href='http" not in unquote(loaded[0])


def test_the_still_is_the_drawing():
    shown = drawing()
    (source,) = re.findall(r'src="data:image/svg\+xml,([^"]*)"', interactive("loop", "a", {}, still=shown, label="A."))
    assert not set(source) & set('#<>"&')
    kept, drawn = ElementTree.fromstring(unquote(source)), ElementTree.fromstring(shown._repr_svg_())
    shapes = [[shape for shape in tree.iter() if shape.tag.endswith(("path", "use"))] for tree in (kept, drawn)]
    assert len(shapes[0]) == len(shapes[1]) > 10
    numbers = [[float(x) for s in tree for x in re.findall(r"-?[\d.]+", s.get("d", ""))] for tree in shapes]
    np.testing.assert_allclose(*numbers, rtol=1e-4)
    scales = [set(re.findall(r"scale\(([\d.]+)", ElementTree.tostring(tree, "unicode"))) for tree in (kept, drawn)]
    assert scales[0] == scales[1]  # of letters: rounded too much, they overlap


def test_data_come_back_as_they_went_in():
    text = "</script><b>&amp;\u2028\"'"
    page = Page(small(data={"words": text, "numbers": np.array([[1 / 3, 2.0]]), "count": np.int64(3)}))
    assert json.loads(page.scripts[0]) == {"words": text, "numbers": [[0.3333, 2.0]], "count": 3}
    assert "</script><b>" not in page.scripts[0]
    assert "<b>" not in as_json({"a": "<b>"})


def test_a_label_is_escaped_and_put_on_one_line():
    page = Page(small(label='Where a < "b"\n  & c.'))
    assert {attributes["alt"] for tag, attributes in page.tags if tag == "img"} == {'Where a < "b" & c.'}


def test_a_notebook_shows_the_page_and_a_console_a_few_words():
    page = small()
    assert page._repr_html_() == str.__str__(page)
    assert repr(page) == f"<Interactive of {len(page)} characters>"
    assert isinstance(page, Interactive)


def test_the_figures_are_told_what_they_draw(each):
    data = {kind: json.loads(Page(page).scripts[0]) for kind, page in each.items()}
    assert data["posterior"]["steps"] == list(MOMENTS)
    assert np.shape(data["posterior"]["probs"]) == (2, 3, 4, 4)
    np.testing.assert_allclose(np.sum(data["posterior"]["probs"], axis=-1), 1, atol=1e-3)
    assert data["loop"]["keep"] == list(KEPT_STEPS)
    assert np.shape(data["loop"]["courses"]["both"]["values"]) == (4, 5, 2)
    assert data["sinkhorn"]["depth"] == 6
    told = data["sinkhorn"]["networks"]["mhc"]["matrices"]
    np.testing.assert_allclose(told, networks()["mhc"]["matrices"], rtol=1e-4)
    run = data["manifold"]["runs"]["one"]
    assert np.shape(run["points"])[:2] == (len(run["frames"]), len(run["entropy"]))
    assert np.abs(run["points"]).max() == 1
    assert set(run["frames"]) <= set(run["curves"]["step"])  # each moment has its numbers


# What is refused


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"kind": "pie"}, r"interactive: want a kind among \['loop', 'manifold', 'posterior', 'sinkhorn'\], got 'pie'"),
        ({"kind": "kit"}, "interactive: want a kind among .*, got 'kit'"),
        ({"name": "a b"}, "interactive: want a name of letters, digits and hyphens, got 'a b'"),
        ({"name": '"x'}, "interactive: want a name"),
        ({"label": "  "}, "interactive: want a label that says what there is to see"),
        ({"data": {"a": float("nan")}}, "interactive: want finite numbers, text, lists and dicts in data, got"),
        ({"data": {"a": object()}}, "interactive: want finite numbers, text, lists and dicts in data, got"),
        ({"data": {"a": list(range(40_000))}}, r"interactive: want at most 150,000 characters, got .* for 'one'"),
    ],
)
def test_what_a_page_cannot_hold_is_refused(changes, complaint):
    with pytest.raises(ValueError, match=complaint):
        small(**changes)


def test_without_the_book_every_kind_is_taken(monkeypatch, tmp_path):
    """An installed package has no book beside it, and a notebook that uses it should not fail for that."""
    monkeypatch.setattr(made, "SCRIPTS", tmp_path / "none")
    assert 'data-figure="loop"' in small()


# Scripts and style


def test_a_page_loads_the_scripts_of_its_figures_and_another_none(each):
    scripts = extension.scripts_of("".join(each.values()))
    assert scripts[:2] == ["kit", "draw"]
    assert scripts.index("mixing") < scripts.index("sinkhorn")
    assert all((FOLDER / f"{name}.js").is_file() for name in scripts)
    assert {path.stem for path in FOLDER.glob("*.js")} == set(scripts)
    assert extension.scripts_of("<p>data-figure</p>") == []
    assert extension.scripts_of(each["loop"]) == ["kit", "draw", "loop"]


def test_colours_are_those_of_the_plots():
    style = (FOLDER / "figures.css").read_text(encoding="utf-8")
    for name in ("blue", "vermilion", "green", "pink", "orange", "sky"):
        assert f"--play-{name}: {getattr(plots, name.upper()).lower()};" in style
    script = (FOLDER / "draw.js").read_text(encoding="utf-8")
    stops = re.findall(r'"(#[0-9a-f]{6})"', re.search(r"CIVIDIS = \[(.*?)\]", script, re.S)[1])
    cividis = plots.matplotlib.colormaps[plots.STYLE["image.cmap"]]
    assert stops == [plots.matplotlib.colors.to_hex(cividis(k / 10)) for k in range(11)]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.*")), ids=lambda path: path.name)
def test_a_script_is_short_says_what_it_is_and_asks_no_other_machine(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith(("// ", "/* "))
    assert len(text.splitlines()) <= (150 if path.suffix == ".js" else 220)
    addresses = set(re.findall(r"https?://[^\s\"']*", text))
    assert addresses <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"fetch\(|XMLHttpRequest|import\(|eval\(|@import|url\(", text)
