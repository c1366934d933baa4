"""Build the book with Jupyter Book 2 as well: ``python book/check_jb2.py``. Needs Node 20 or later.

Works in a temporary copy, with a theme that draws nothing, so that neither the repository nor the
network is touched. Whatever Jupyter Book 2 complains of is fatal: a broken reference, an unknown
word, a failed cell. Two things are said differently in its language, and translated in the copy: the
figure that a cell draws (``mystnb:`` in the cell's header) gets its label and caption as options,
and the role ``doc`` becomes a link.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

BOOK = Path(__file__).resolve().parent
ROOT = BOOK.parent
HEADED_CELL = re.compile(r"^(```+\{code-cell\}[^\n]*\n)---\n(.*?)^---\n", re.M | re.S)
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

    return re.sub(r"\{doc\}`(\w+)`", r"[](\1.md)", HEADED_CELL.sub(options, text))


def copy_to(folder):
    """Copy what Jupyter Book 2 reads, translated, with the stub as its theme."""
    for name in ("book", "chapters"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("_build"))
    for chapter in (folder / "chapters").glob("*.md"):
        chapter.write_text(native(chapter.read_text(encoding="utf-8")), encoding="utf-8")
    config = (ROOT / "myst.yml").read_text(encoding="utf-8")
    stub = config.replace("template: book-theme", "template: book/_jb2")
    (folder / "myst.yml").write_text(stub, encoding="utf-8")


def build(folder):
    """Build the copy in ``folder``; return the exit code and all that was said."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    settings = {"JUPYTER_CONFIG_DIR": str(BOOK / "_jb2"), "PYTHONPATH": str(ROOT), "PATH": path}
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
    if shutil.which("node") is None:
        sys.exit("check_jb2: Jupyter Book 2 runs on Node.js 20 or later, which is not installed here")
    with tempfile.TemporaryDirectory() as folder:
        copy_to(Path(folder))
        code, said = build(folder)
    print(said)
    return bool(code or COMPLAINTS.search(said))


if __name__ == "__main__":
    sys.exit(main())
