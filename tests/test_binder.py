"""Binder builds the repository from ``environment.yml`` at its root, and a page's buttons name notebooks that exist."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
HTML = ROOT / "book" / "_build" / "html"
CONF = (ROOT / "book" / "conf.py").read_text(encoding="utf-8")
REPOSITORY = re.search(r'^REPOSITORY = "(.+)"', CONF, re.M)[1]

# Binder looks into these folders first, and then into no other; of these files it would take one for the environment.
BEFORE = ("binder", ".binder", "Dockerfile", "conda-lock.yml", "runtime.txt", "requirements.txt", "Pipfile", "setup.py")


def test_nothing_keeps_binder_from_the_environment():
    assert [name for name in BEFORE if (ROOT / name).exists()] == []


def test_the_environment_opens_a_notebook_with_the_package_and_the_saved_runs():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    (from_pip,) = (entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict))
    assert any(need.startswith("jupyterlab") for need in from_pip)
    assert any(need.startswith("ipykernel") for need in from_pip)
    assert "-e ." in from_pip  # an editable package finds chapters/results
    assert any(str(entry).startswith("python=") for entry in environment["dependencies"])


def buttons(page):
    """Every launch address of a built page."""
    return re.findall(r'href="(https://(?:mybinder\.org|colab\.research\.google\.com)/[^"]+)"', page)


@pytest.mark.skipif(not (HTML / "index.html").exists(), reason="no built book: make book")
def test_every_button_of_the_built_book_names_a_notebook_that_exists():
    owner = urlsplit(REPOSITORY).path
    colab, binder = f"/github{owner}/blob/main/", f"/v2/gh{owner}/main?urlpath=lab/tree/"
    opened = {}
    for path in sorted(HTML.rglob("*.html")):
        for address in buttons(path.read_text(encoding="utf-8")):
            start = binder if "mybinder" in address else colab
            name = address.split(start)[-1]
            assert (ROOT / name).is_file(), f"{path.relative_to(HTML)}: {address}"
            opened.setdefault(path.stem, set()).add(name)
    chapters = {path.stem for path in (ROOT / "chapters").glob("*.md")}
    assert set(opened) == chapters
    assert opened == {name: {f"chapters/{name}.ipynb"} for name in chapters}
