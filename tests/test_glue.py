"""Glue: what the book reads from a cell's output, with a notebook and without."""

import pytest

from mhc_np.lab.glue import PREFIX, glue, spread


def test_without_a_notebook_it_returns_what_the_prose_will_show():
    assert glue("error", 0.5, ".2f") == "0.50"
    assert glue("words", "as they are") == "as they are"


def test_in_a_notebook_it_leaves_a_hidden_record_under_its_name():
    shell_module = pytest.importorskip("IPython.core.interactiveshell")
    capture = pytest.importorskip("IPython.utils.capture")
    shell_module.InteractiveShell.instance()
    try:
        with capture.capture_output() as captured:
            glue("count", 13312, ",")
        (output,) = captured.outputs
        assert output.data == {PREFIX + "text/plain": "'13,312'"}
        assert output.metadata["scrapbook"] == {"name": "count", "mime_prefix": PREFIX}
    finally:
        shell_module.InteractiveShell.clear_instance()


def test_the_book_engine_would_write_the_same():
    myst_nb = pytest.importorskip("myst_nb.ext.glue")
    assert myst_nb.GLUE_PREFIX == PREFIX


def test_a_spread_names_its_range_only_where_there_is_one():
    assert spread([3, 1, 2], digits=0) == "2 (1 to 3)"
    assert spread([0.101, 0.102], digits=1) == "0.1"  # alike to the digits that are shown
    assert spread([None]) == "nan"
