"""The figures of the book, read from its chapters: their labels, what they show, and the command behind them.

Chapter: chapters/17_ledger.md      Tests: tests/test_figure_list.py
"""

import re
from typing import NamedTuple

from mhc_np.lab import results

CHAPTERS = results.ROOT / "chapters"
HEADER = re.compile(r"^```\{code-cell\}[^\n]*\n---\n(.*?)^---\n", re.M | re.S)
NAME = re.compile(r"^ +name: (fig-[\w-]+)$", re.M)
CAPTION = re.compile(r"^ +caption: [|>]-?\n((?: {6}.*\n)+)", re.M)
COMMAND = re.compile(r"`(python -m mhc_np[^`]+)`")
SIGNS = {r"\sigma_2": "σ₂", r"\varepsilon": "ε", r"\prod": "∏", r"\delta_l": "δ", r"\times": "×", "{,}": ","}
READERS = ("load_kept", "geometry_runs", "em_runs", "grid_command", "results.KEPT", "belief_paths", "load(")


class Figure(NamedTuple):
    """A figure that a chapter draws."""

    chapter: str  # the file's name, without suffix
    label: str
    shows: str  # the caption's first sentence
    commands: list  # named in the caption; none if the page computes what it draws, or says the command in its text


def figures(folder=CHAPTERS):
    """List the figures that cells draw, in the order of the book."""
    found = []
    for path in sorted(folder.glob("*.md")):
        for header in HEADER.findall(path.read_text(encoding="utf-8")):
            name, caption = NAME.search(header), CAPTION.search(header)
            if name and caption:
                words = " ".join(caption[1].split())
                found.append(Figure(path.stem, name[1], plain(first_sentence(words)), COMMAND.findall(words)))
    return found


def first_sentence(words):
    """Return a caption's first sentence, or all of it if it has but one.

    >>> first_sentence("Error after 400 steps, rate .01. Dots are seeds.")
    'Error after 400 steps, rate .01.'
    """
    return re.split(r"(?<=[\w)$`][.:]) (?=[A-Z`])", words, maxsplit=1)[0]


def plain(words):
    r"""Return words of a caption without its markup and without formulas that need it.

    >>> plain(r"Median of $\sigma_2$, by {numref}`fig-steps`: `hc`, $n = 4$.")
    'Median of σ₂: `hc`, n = 4.'
    """
    words = re.sub(r",? (?:by|of|from|in) \{\w+\}`[^`]+`", "", words)
    for sign, shown in SIGNS.items():
        words = words.replace(sign, shown)
    return re.sub(r" ?\$[^$]*\\[^$]*\$", "", words).replace("$", "")  # a formula that has no plain form is left out


def reads_results(chapter, folder=CHAPTERS):
    """Say whether a chapter's cells read saved results at all: else all it shows is computed while it is built."""
    text = (folder / f"{chapter}.md").read_text(encoding="utf-8")
    cells = re.findall(r"^```\{code-cell\}.*?^```$", text, re.M | re.S)
    return any(word in cell for cell in cells for word in READERS)
