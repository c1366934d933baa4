"""A figure with a knob: numbers that a cell computed, a still picture of them, and a place for a script to draw.

Chapter: chapters/13_mhc.md      Tests: tests/test_interactive.py

A cell ends with an `Interactive`. What it puts into the page is a still and a block of JSON, no code. The book's pages
load `book/_static/figures/KIND.js`, which finds the block by its kind and draws in place of the still. Everywhere
else, in a notebook, in print, without scripts, the still is what there is to see. Nothing is loaded from outside.
"""

import json
import re
from html import escape
from pathlib import Path
from string import Template
from urllib.parse import quote

from mhc_np.lab.results import ROOT, plain

SCRIPTS = ROOT / "book" / "_static" / "figures"  # a kind of figure is a file in here
MOST = 150_000  # characters of one figure in the page
NOTE = "A still: on the pages of the book, with scripts, this figure has knobs."
PAGE = Template("""\
<div class="play" id="$name" data-figure="$kind" role="group" aria-label="$label">
<div class="play-still"><img src="data:image/svg+xml,$still" alt="$label"><p class="play-note">$note</p></div>
<script type="application/json">$data</script>
</div>""")


class Interactive(str):
    """The HTML of a figure; a notebook shows it as it is."""

    def _repr_html_(self):
        return str(self)

    def __repr__(self):
        """Return a few words: in a console a page of HTML helps nobody."""
        return f"<Interactive of {len(self)} characters>"


def interactive(kind, name, data, *, still, label, digits=4):
    """Build a figure that its reader can play with.

    Parameters
    ----------
    kind : str
        Which script draws it: a file of `book/_static/figures`, without its suffix.
    name : str
        The element's id: letters, digits and hyphens, unique on its page.
    data : dict
        What the script is given: numbers, text, lists, dicts, arrays. Nothing that JSON cannot hold.
    still : mhc_np.lab.plots.Drawing
        What there is to see where no script runs.
    label : str
        What there is to see, in words.
    digits : int
        Significant digits to which the numbers are rounded.

    Returns
    -------
    Interactive

    Raises
    ------
    ValueError
        If there is no such script, the name cannot be an id, the label is empty, a number is not finite, or the whole
        is larger than 150 kB.

    Examples
    --------
    >>> from mhc_np.lab import plots
    >>> drawing, ax = plots.figure()
    >>> page = interactive("loop", "a-loop", {"weights": [1 / 3]}, still=drawing, label="Weights.")
    >>> '<script type="application/json">{"weights":[0.3333]}</script>' in page
    True
    """
    if SCRIPTS.is_dir() and kind not in kinds():
        raise ValueError(f"interactive: want a kind among {kinds()}, got {kind!r}")
    if not name.replace("-", "").isalnum() or not name.isascii():
        raise ValueError(f"interactive: want a name of letters, digits and hyphens, got {name!r}")
    if not label.strip():
        raise ValueError(f"interactive: want a label that says what there is to see, got {label!r}")
    page = Interactive(
        PAGE.substitute(
            name=name,
            kind=kind,
            label=escape(" ".join(label.split())),
            still=as_address(still),
            note=NOTE,
            data=as_json(data, digits),
        )
    )
    if len(page) > MOST:
        raise ValueError(
            f"interactive: want at most {MOST:,} characters, got {len(page):,} for {name!r}: keep less"
        )
    return page


def kinds(folder=SCRIPTS):
    """Return the kinds of figures there are: the scripts that say ``play.figure("KIND", …)``."""
    named = sorted(Path(folder).glob("*.js"))
    return [path.stem for path in named if f'play.figure("{path.stem}"' in path.read_text(encoding="utf-8")]


def as_json(data, digits=4):
    r"""Write numbers for a script in a page: short, and with nothing in them that HTML could take for a tag.

    >>> as_json({"a": [0.123456, 2.0], "b": "</script>"}, digits=3)
    '{"a":[0.123,2.0],"b":"\\u003c/script\\u003e"}'
    """
    try:
        text = json.dumps(plain(data, digits), separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"interactive: want finite numbers, text, lists and dicts in data, got: {error}") from error
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def as_address(drawing):
    """Return a drawing as what may stand after ``data:image/svg+xml,``: short, numbers to five digits."""
    svg = drawing._repr_svg_()
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg[svg.index("<svg") :], flags=re.S)
    svg = re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.5g}", svg)
    quotes = ("'", "&apos;") if "'" in svg else ('"', "'")
    return quote(re.sub(r"\s+", " ", svg).replace(*quotes), safe=" /:=;,'()!*@$+?[]|")
