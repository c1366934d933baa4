"""Write the ``.ipynb`` twin of each chapter: ``python book/twins.py`` (``--check``: only compare).

Colab and a plain Jupyter cannot open a MyST notebook. A twin holds the same cells without outputs,
its text in Markdown that any notebook shows, and a first cell that installs the package if missing.
Twins are never edited: change the chapter and run this again. The instructors' page quotes the chapters
too, and is brought into step in the same breath.
"""

import json
import re
import sys
from pathlib import Path

import jupytext
import syllabus

BOOK = Path(__file__).resolve().parent
CHAPTERS = BOOK.parent / "chapters"
REPOSITORY = re.search(r'^REPOSITORY = "(.+)"', (BOOK / "conf.py").read_text(encoding="utf-8"), re.M)[1]

FIRST_CELL = f"""\
# On Colab, or wherever the package or the saved runs are missing: fetch both, and install what they need.
# Elsewhere this cell does nothing.
import os
import sys
from importlib.util import find_spec

found = find_spec("mhc_np")
if found is None or not os.path.isdir(os.path.join(os.path.dirname(found.origin), "../chapters/results")):
    home = ".." if os.path.isdir("../mhc_np") else "mhc_np_book"
    if not os.path.isdir(home):
        !git clone -q --depth 1 {REPOSITORY} {{home}}
    %pip install -q -e {{home}}
    sys.path.insert(0, os.path.abspath(home))
"""

# A fenced block: a directive such as ```{exercise} Title, or code when it has no name in braces.
FENCE = re.compile(
    r"^(?P<fence>`{3,}|:{3,})(?:\{(?P<name>[\w:-]+)\})?[ \t]*(?P<title>[^\n`]*)\n"
    r"(?P<options>(?:[ \t]*:[\w-]+:[^\n]*\n)*)(?P<body>.*?)^(?P=fence)[ \t]*$",
    re.M | re.S,
)
EQUATION = re.compile(r"^\$\$(?P<tex>[^$]+?)\$\$[ \t]*\((?P<label>[^)\s]+)\)[ \t]*$", re.M)
ROLE = re.compile(r"\{(?P<name>[\w:-]+)\}`(?P<text>[^`]+)`")


def plain_role(match, equations):
    """Say in plain words what a role such as ``{ref}`` or ``{cite:p}`` stands for."""
    name, text = match["name"], match["text"]
    titled = re.fullmatch(r"(.*?)\s*<([^>]+)>", text, re.S)
    words, target = titled.groups() if titled else (text, text)
    if name == "eq":
        return f"({equations.get(target, target)})"
    if name == "cite:p":
        return f"[{text}]"
    if name.startswith("glue"):
        return f"⟨{text.split(':')[0]}⟩"
    if name == "math":
        return f"${text}$"
    return words.replace("%s", "").replace("{number}", "").strip()


def plain_directive(match, plain):
    """Turn a directive into bold words, a quotation, or a fold for a solution."""
    name, title, body = match["name"].split(":")[-1], match["title"].strip(), match["body"].strip()
    if name == "math":
        return f"$$\n{body}\n$$"
    body = plain(body)
    if name in ("figure", "image"):
        return f"![]({title}) {body}".rstrip()
    if name == "bibliography" or name.endswith("-end"):
        return ""
    if name == "solution-start":
        return "**Solution**"
    if name == "solution":
        return f"<details><summary>Solution</summary>\n\n{body}\n\n</details>"
    if name in ("admonition", "dropdown"):
        head = f"**{title}**"
    else:
        head = f"**{name.removesuffix('-start').capitalize()}**" + (f" ({title})" if title else "")
    lines = [head, "", *body.splitlines()] if body else [head]
    return "\n".join(("> " + line).rstrip() for line in lines)


def plain_markdown(text, equations):
    """Rewrite the MyST syntax of one text cell; ``equations`` maps labels to numbers."""

    def prose(part):
        part = re.sub(r"^\([^)\s]+\)=[ \t]*\n|^% .*\n?", "", part, flags=re.M)
        part = EQUATION.sub(lambda m: f"$${m['tex'].rstrip()} \\tag{{{equations[m['label']]}}}\n$$", part)
        return ROLE.sub(lambda m: plain_role(m, equations), part)

    def plain(part):
        pieces, end = [], 0
        for match in FENCE.finditer(part):
            pieces.append(prose(part[end : match.start()]))
            pieces.append(plain_directive(match, plain) if match["name"] else match[0])
            end = match.end()
        return "".join(pieces) + prose(part[end:])

    return plain(text).strip()


def twin(chapter):
    """Return the text of the ``.ipynb`` beside a chapter."""
    text = chapter.read_text(encoding="utf-8")
    notebook = jupytext.reads(text, fmt="md:myst")
    number = int(re.match(r"\d*", chapter.name)[0] or 0)
    equations = {}
    for match in EQUATION.finditer(text):  # an equation may be cited before it is written
        equations.setdefault(match["label"], f"{number}.{len(equations) + 1}")
    cells = [("code", FIRST_CELL, {})]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cells.append(("code", cell.source, dict(cell.metadata)))
        else:
            cells.append(("markdown", plain_markdown(cell.source, equations), {}))
    return json.dumps(
        {
            "cells": [
                {
                    "cell_type": kind,
                    **({"execution_count": None} if kind == "code" else {}),
                    "id": f"cell-{position}",
                    "metadata": metadata,
                    **({"outputs": []} if kind == "code" else {}),
                    "source": source.strip("\n").splitlines(keepends=True),
                }
                for position, (kind, source, metadata) in enumerate(cells)
            ],
            "metadata": {
                "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
                "language_info": {"name": "python"},
            },
            "nbformat": 4,
            "nbformat_minor": 5,
        },
        indent=1,
        ensure_ascii=False,
    ) + "\n"


def main():
    """Write the twins that are out of step; with ``--check`` only name them, exit code 1."""
    stale = []
    for chapter in sorted(CHAPTERS.glob("*.md")):
        path, text = chapter.with_suffix(".ipynb"), twin(chapter)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.name)
            if "--check" not in sys.argv:
                path.write_text(text, encoding="utf-8")
    verb = "out of step" if "--check" in sys.argv else "written"
    print(f"twins {verb}: {', '.join(stale) or 'none'}")
    return bool(stale) and "--check" in sys.argv


if __name__ == "__main__":
    sys.exit(main() or syllabus.main())
