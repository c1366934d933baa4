"""Build the book with Jupyter Book 2 as well: ``python book/check_jb2.py``. Needs Node 20 or later.

Works in a temporary copy, with a theme that draws nothing, so that neither the repository nor the
network is touched. Whatever Jupyter Book 2 complains of is fatal: a broken reference, an unknown
word, a failed cell. Two things are said differently in its language, and translated in the copy: the
figure that a cell draws (``mystnb:`` in the cell's header) gets its label and caption as options,
and the role ``doc`` becomes a link.

It runs one chapter by itself. For the others it finds what ``make book`` has kept of their cells, in
the form and under the name in which it keeps outputs itself; a page without any is run as well.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import jupytext
import yaml

BOOK = Path(__file__).resolve().parent
ROOT = BOOK.parent
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
HEADED_CELL = re.compile(r"^(```+\{code-cell\}[^\n]*\n)---\n(.*?)^---\n", re.M | re.S)
DOC = re.compile(r"\{doc\}`(?:([^`<]+?)\s*<)?([\w./]+)>?`")
RUN_HERE = "01_gradients"
RAN = re.compile(r"Executing notebook \((.*?)\)")
COMPLAINTS = re.compile(r"^.*(?:⛔|⚠|❌).*$", re.M)


def native(text):
    """Rewrite the headers of code cells as the options that Jupyter Book 2 knows."""

    def options(match):
        header = yaml.safe_load(match[2])
        figure = header.get("mystnb", {}).get("figure", {})
        found = {
            "tags": ", ".join(header.get("tags", [])),
            "label": figure.get("name"),
            "caption": " ".join(figure.get("caption", "").split()),
        }
        return match[1] + "".join(f":{name}: {value}\n" for name, value in found.items() if value)

    return DOC.sub(lambda match: f"[{match[1] or ''}]({match[2]}.md)", HEADED_CELL.sub(options, text))


def copy_to(folder):
    """Copy what Jupyter Book 2 reads, translated, with the stub as its theme."""
    for name in ("book", "chapters"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("_build"))
    for page in [*(folder / "chapters").glob("*.md"), *(folder / "book").glob("*.md")]:
        page.write_text(native(page.read_text(encoding="utf-8")), encoding="utf-8")
    config = (ROOT / "myst.yml").read_text(encoding="utf-8")
    stub = config.replace("template: book-theme", "template: book/_jb2")
    (folder / "myst.yml").write_text(stub, encoding="utf-8")


def kept_outputs(folder):
    """Return the outputs that the other build has kept: code of a page's cells -> outputs of each."""
    from jupyter_cache import get_cache

    found = {}
    for path in folder.glob("*/global.db"):
        cache = get_cache(path.parent)
        for record in cache.list_cache_records():
            cells = [cell for cell in cache.get_cache_bundle(record.pk).nb.cells if cell.cell_type == "code"]
            found[tuple(cell.source for cell in cells)] = [cell.outputs for cell in cells]
    return found


def name_in_cache(kernel, cells):
    """Name outputs as Jupyter Book 2 does: by the kernel and the code, written as JavaScript writes JSON."""
    items = [{"kind": "block", "content": code, "raisesException": False} for code in cells]
    written = json.dumps(items, ensure_ascii=False, separators=(",", ":"))
    return hashlib.md5((kernel + written).encode()).hexdigest()


def hand_over(outputs, folder):
    """Put the kept outputs of every page but one where Jupyter Book 2 looks for them."""
    target = folder / "_build" / "execute"
    target.mkdir(parents=True)
    for page in [*ROOT.glob("book/*.md"), *ROOT.glob("chapters/*.md")]:
        notebook = jupytext.read(page, fmt="md:myst")
        cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
        if cells and page.stem != RUN_HERE and tuple(cells) in outputs:
            made = zip(cells, outputs[tuple(cells)], strict=True)
            kept = [
                {"cell_type": "code", "source": code, "outputs": shown, "metadata": {"mystResultType": "code"}}
                for code, shown in made
            ]
            name = name_in_cache(notebook.metadata["kernelspec"]["name"], cells)
            text = json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": kept})
            (target / f"{name}.ipynb").write_text(text, encoding="utf-8")


def build(folder):
    """Build the copy in ``folder``; return the exit code and all that was said."""
    settings = {"JUPYTER_CONFIG_DIR": str(folder / "book" / "_jb2"), "PYTHONPATH": str(ROOT), "PATH": PATH}
    settings |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")  # cells assert what time they take
    finished = subprocess.run(
        [sys.executable, "-m", "jupyter", "book", "build", "--site", "--execute", "--strict"],
        cwd=folder,
        env={**os.environ, **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return finished.returncode, finished.stdout


def main():
    """Print what Jupyter Book 2 says; exit code 1 if it complains."""
    if shutil.which("node", path=PATH) is None:
        sys.exit("check_jb2: Jupyter Book 2 runs on Node.js 20 or later, which is not installed here: make check-jb2")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        copy_to(copy)
        hand_over(kept_outputs(BOOK / "_build" / "cache"), copy)
        code, said = build(copy)
    print(said)
    print(f"Jupyter Book 2 ran {len(RAN.findall(said))} pages and took the outputs of the others from make book.")
    return bool(code or COMPLAINTS.search(said))


if __name__ == "__main__":
    sys.exit(main())
