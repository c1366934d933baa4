"""Code that runs in the page: what is packed, and how a cell is run and fails. In a browser: test_live_page.py."""

import io
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BOOK = ROOT / "book"
sys.path.insert(0, str(BOOK))

import live  # noqa: E402
import live_session  # noqa: E402
import pyodide_files  # noqa: E402

# A cell


@pytest.fixture
def cell():
    """Run cells that share their names; give (went through, what was emitted)."""
    namespace = {"__name__": "__main__"}

    def run(code, name="<cell 3>"):
        said = []
        return live_session.run(code, lambda *piece: said.append(piece), namespace, name), said

    return run


def test_a_cell_prints_shows_its_last_value_and_keeps_its_names(cell):
    done, said = cell("x = 20\nprint('x is', x)\nx + 1")
    assert done
    assert "".join(text for kind, text in said if kind == "text") == "x is 20\n21\n"
    assert cell("x += 1\nx") == (True, [("text", "21\n")])


@pytest.mark.parametrize("code", ["", "# nothing", "x = 1", "None", "6 * 7;", "def f():\n    return 1"])
def test_a_cell_may_show_nothing(cell, code):
    assert cell(code) == (True, [])


def test_a_cell_shows_what_a_notebook_would(cell):
    code = "class Shown:\n    def _repr_{0}_(self):\n        return '<{0}/>'\nShown()"
    assert cell(code.format("svg")) == (True, [("svg", "<svg/>")])
    assert cell(code.format("html")) == (True, [("html", "<html/>")])


def test_a_figure_of_the_book_is_a_picture(cell):
    done, said = cell("from mhc_np.lab import plots\ndrawing, ax = plots.figure()\ndrawing")
    assert done
    assert [kind for kind, _ in said] == ["svg"]
    assert "<svg" in said[0][1]


def test_a_figure_of_pyplot_is_a_picture_and_is_closed(cell):
    done, said = cell("import matplotlib.pyplot as plt\nplt.plot([1, 2]);")
    assert done
    assert [kind for kind, _ in said] == ["svg"]
    assert cell("plt.get_fignums()") == (True, [("text", "[]\n")])


def test_source_of_a_function_in_a_cell_can_be_shown(cell):
    cell("def double(x):\n    return 2 * x", "<cell 2>")
    said = cell("import inspect\nprint(inspect.getsource(double))")[1]
    assert "".join(text for _, text in said).strip() == "def double(x):\n    return 2 * x"


def test_progress_bars_are_left_out_and_other_news_is_not(cell):
    code = "import sys\nprint('\\r 10%', file=sys.stderr)\nprint('mind this', file=sys.stderr)"
    said = "".join(text for _, text in cell(code)[1])
    assert "10%" not in said
    assert "mind this" in said


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("x = 1\nx +", "Line 2 of this cell: SyntaxError: invalid syntax\n    x +"),
        ("\nunknown", "Line 2 of this cell: NameError: name 'unknown' is not defined\n    unknown"),
        ("assert 1 == 2", "Line 1 of this cell: AssertionError\n    assert 1 == 2"),
        ("import sys\nsys.exit(3)", "Line 2 of this cell: SystemExit: 3\n    sys.exit(3)"),
        ("def f():\n    1 / 0\n\nf()", "Line 2 of this cell: ZeroDivisionError: division by zero\n    1 / 0"),
    ],
)
def test_an_error_is_told_in_words(cell, code, words):
    assert cell(code) == (False, [("error", words)])


def test_an_error_inside_the_package_names_both_places(cell):
    done, said = cell("import numpy as np\nfrom mhc_np.ops import sinkhorn\n\nsinkhorn(np.ones((2, 3)))")
    assert not done
    assert re.match(r"Line 4 of this cell: ValueError: sinkhorn: want", said[0][1])
    assert re.search(r"raised in .*mhc_np/ops/sinkhorn\.py, line \d+\)$", said[0][1])


# What is packed


@pytest.fixture(scope="module")
def packed():
    return zipfile.ZipFile(io.BytesIO(live.archive()))


def test_the_archive_has_every_module_and_every_saved_result(packed):
    paths = [*ROOT.glob("mhc_np/**/*.py"), *ROOT.glob("chapters/results/**/*.json")]
    wanted = {path.relative_to(ROOT).as_posix() for path in paths}
    names = packed.namelist()
    assert len(set(names)) == len(names)
    assert wanted - set(names) == set()
    assert [name for name in names if name.endswith(".pyc")] == []
    assert {name.split("-")[0] for name in names if "/licenses/" in name} == set(live.PURE)


def test_the_same_sources_make_the_same_archive(packed):
    assert live.archive() == packed.fp.getvalue()


@pytest.mark.slow
def test_the_archive_alone_is_enough_to_work_with(packed, tmp_path):
    """As in the worker: the packed files, NumPy and Matplotlib, and nothing else of this machine's packages."""
    packed.extractall(tmp_path)
    script = """
import importlib.metadata as metadata, pathlib, sys
import autograd, live_session, mhc_np, tqdm
from mhc_np.lab import results
here = pathlib.Path(sys.path[0]).resolve()
for module in (autograd, live_session, mhc_np, tqdm):
    assert here in pathlib.Path(module.__file__).resolve().parents, module
assert results.KEPT == here / "chapters" / "results"
assert results.load_kept("bijection-v5-soft")
assert live_session.run("from mhc_np.ops import linear", print)
print(metadata.version("autograd"))
"""
    script = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{script}"
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.strip()


# The page's side


def test_the_address_is_named_once_and_its_version_is_pinned():
    assert re.fullmatch(r"https://cdn\.jsdelivr\.net/pyodide/v\d+\.\d+\.\d+/full/", pyodide_files.cdn())
    written = (path for path in BOOK.rglob("*") if path.suffix in (".py", ".js", ".md", ".css", ".yml"))
    sources = [path for path in written if "_build" not in path.parts]
    named = [path.name for path in sources if "jsdelivr" in path.read_text(encoding="utf-8")]
    assert named == ["live.js"]


def test_every_cell_of_a_chapter_is_on_its_page():
    """What runs in the page is what stands there: a cell that is left out would be missed by those below it."""
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / "chapters").glob("*.md")}
    assert [path.name for path, text in texts.items() if re.search(r"remove[-_](input|cell)", text)] == []
    assert [path.name for path, text in texts.items() if re.search(r"^\s*[%!]\w", text, re.M)] == []
