"""The reference: every public name is on its page, docstrings name what exists, and links lead both ways."""

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sphinx", reason="the book's tools are missing: make book")
ROOT = Path(__file__).resolve().parent.parent
BOOK = ROOT / "book"
HTML = BOOK / "_build" / "html"
sys.path.insert(0, str(BOOK))

import reference  # noqa: E402

PAGES = sorted(path for path in (BOOK / "api").glob("*.md") if path.stem != "index")
needs_build = pytest.mark.skipif(not (HTML / "book" / "api").exists(), reason="no built book: make book")


def names_on(path):
    """Full names that a page documents."""
    asked = reference.ASKED.search(path.read_text(encoding="utf-8"))
    package = importlib.import_module(asked[1])
    found = reference.modules(package, re.findall(r"\w+", asked[2] or ""))
    return [name for module in found for name in reference.offered(package, module)]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_holds_what_its_folder_offers(path):
    package = importlib.import_module(f"mhc_np.{path.stem}")
    names = names_on(path)
    assert len(names) == len(set(names)) > 5
    for name in getattr(package, "__all__", []):
        value = getattr(package, name)
        if inspect.ismodule(value):
            assert any(full.startswith(f"{value.__name__}.") for full in names), name
        elif inspect.isroutine(value) or inspect.isclass(value):
            full = {f"{package.__name__}.{name}", f"{value.__module__}.{name}"}
            assert value.__module__ == package.__name__ or full & set(names), name


def test_there_is_a_page_for_every_folder_that_needs_no_pytorch():
    folders = {path.parent.name for path in (ROOT / "mhc_np").glob("*/__init__.py")} - {"torch_twin"}
    assert {path.stem for path in PAGES} == folders


def test_a_name_in_backticks_must_exist():
    assert reference.look_up("AdamW.update", "mhc_np.learn").__qualname__ == "AdamW.update"
    assert reference.look_up("mhc_np.connections.SCHEMES", "mhc_np.lab.cells")["mhc"]
    assert inspect.ismodule(reference.look_up("mhc_np.lab.drifting", "mhc_np.lab.geometry"))
    assert reference.look_up("LOOK_EVERY", "mhc_np.lab.em_arms") > 0
    for nothing in ("AdamW.leap", "mhc_np.ops.atention", "numpy.sin"):
        assert reference.look_up(nothing, "mhc_np.learn") is None


def test_every_chapter_that_shows_a_public_name_is_known():
    """What `show` is called with is what the links below it are about."""
    public = {name.rpartition(".")[2] for path in PAGES for name in names_on(path)}
    shown = {}
    for chapter in sorted((ROOT / "chapters").glob("*.md")):
        calls = re.findall(r"^show\(([^)]*)\)", chapter.read_text(encoding="utf-8"), re.M)
        words = {reference.KERNEL.sub("", word) for call in calls for word in re.findall(r"\w+", call)}
        shown[chapter.stem] = words & public
    assert sum(bool(words) for words in shown.values()) >= 15


CHAPTER = """\
# A chapter

$$
a = b
$$ (eq:rmsnorm-vjp)

```python
# mhc_np/ops/norm.py
def rmsnorm_fwd(x, gain):
```
"""

PAGE = """\
# Some of it

<!-- names of mhc_np.ops in norm -->

```{eval-rst}
.. py:function:: mhc_np.ops.f

   `nowhere`
```
"""


@pytest.mark.slow
def test_links_lead_both_ways_and_a_broken_name_stops_the_build(tmp_path):
    (tmp_path / "book" / "api").mkdir(parents=True)
    (tmp_path / "chapters").mkdir()
    (tmp_path / "book" / "api" / "ops.md").write_text(PAGE)
    (tmp_path / "chapters" / "01_gradients.md").write_text(CHAPTER)
    (tmp_path / "toc.yml").write_text("root: book/api/ops\nentries:\n- file: chapters/01_gradients\n")
    settings = {"external_toc_path": str(tmp_path / "toc.yml"), "nb_execution_cache_path": str(tmp_path / "cache")}
    options = [part for name, value in settings.items() for part in ("-D", f"{name}={value}")]
    command = [sys.executable, "-m", "sphinx", "-q", "-n", "-W", "--keep-going", "-c", str(BOOK), *options]
    said = subprocess.run(
        [*command, str(tmp_path), str(tmp_path / "html")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert said.returncode != 0
    warnings = [line for line in said.stdout.splitlines() if "WARNING" in line]
    assert len(warnings) == 1, said.stdout
    assert "nowhere" in warnings[0]
    shown = (tmp_path / "html" / "chapters" / "01_gradients.html").read_text(encoding="utf-8")
    assert "In the reference:" in shown
    assert 'href="../book/api/ops.html#mhc_np.ops.rmsnorm"' in shown
    names = (tmp_path / "html" / "book" / "api" / "ops.html").read_text(encoding="utf-8")
    assert 'href="../../chapters/01_gradients.html"' in names
    assert 'href="../../_modules/mhc_np/ops/norm.html#rmsnorm"' in names
    assert '<span class="gp">&gt;&gt;&gt; </span>' in names


@needs_build
def test_the_built_chapters_link_the_reference():
    linked = [
        path.stem
        for path in sorted((HTML / "chapters").glob("*.html"))
        if "In the reference:" in path.read_text(encoding="utf-8")
    ]
    assert len(linked) >= 15, linked
