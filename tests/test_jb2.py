"""What the check with Jupyter Book 2 translates and hands over. ``make check-jb2`` is the check itself."""

import json
import sys
from pathlib import Path

import jupytext
import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book"))

import check_jb2  # noqa: E402


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("see {doc}`notation`.", "see [](notation.md)."),
        ("{doc}`the\nplan <../book/preregistration>` says", "[the\nplan](../book/preregistration.md) says"),
        ("{ref}`notation` and `{doc}`", "{ref}`notation` and `{doc}`"),
    ],
)
def test_links_to_pages_are_translated(ours, theirs):
    assert check_jb2.native(ours) == theirs


def test_outputs_are_named_as_jupyter_book_2_names_them():
    """Its own file for a page with two cells, among them characters that JSON may escape and JavaScript does not."""
    cells = ["import numpy as np", 'print("α → β", "\\n")\nnp.pi']
    assert check_jb2.name_in_cache("python3", cells) == "bbaa5b0a75ab2f55b24d3ce8642765aa"


def test_outputs_of_every_page_but_one_are_handed_over(tmp_path):
    shown = {"output_type": "stream", "name": "stdout", "text": "x"}
    outputs = {}
    for path in sorted((ROOT / "chapters").glob("*.md")):
        cells = [cell for cell in jupytext.read(path, fmt="md:myst").cells if cell.cell_type == "code"]
        outputs[tuple(cell.source for cell in cells)] = [[shown]] * len(cells)
    check_jb2.hand_over(outputs, tmp_path)
    written = list((tmp_path / "_build" / "execute").glob("*.ipynb"))
    assert len(written) == len(outputs) - 1
    cells = json.loads(written[0].read_text(encoding="utf-8"))["cells"]
    assert {cell["metadata"]["mystResultType"] for cell in cells} == {"code"}
    assert all(cell["outputs"] == [shown] for cell in cells)
