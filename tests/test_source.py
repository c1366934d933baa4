"""Shown code is the code: cut nothing but docstrings, and say so where they are cut."""

import numpy as np
import pytest

from mhc_np import ops
from mhc_np.autodiff import define_vjp
from mhc_np.lab.source import show
from mhc_np.ops.attention import attention_bwd, attention_fwd


def test_a_kernel_is_shown_to_the_last_letter():
    with open(ops.attention.__code__.co_filename, encoding="utf-8") as file:
        module = file.read()
    shown = show(attention_fwd, attention_bwd)
    head, body = shown.split("\n", 1)
    assert head == "# mhc_np/ops/attention.py"
    forward, backward = body.split("\n\n\n")
    assert forward in module
    assert backward in module
    assert "# its mean, sum_j" in body  # comments are part of the code


def test_brief_cuts_docstrings_alone():
    whole, brief = show(define_vjp), show(define_vjp, brief=True)
    assert '"""Join a hand-written forward' not in brief
    assert '"""Join a forward kernel and its backward into one differentiable operation. …"""' in brief
    assert "Parameters" in whole
    assert "Parameters" not in brief
    tail = whole[whole.index("    def run(") :]
    assert brief.endswith(tail)
    assert show(ops.relu_ref, brief=True) == show(ops.relu_ref)


def test_the_path_is_named_once_for_each_file():
    shown = show(ops.relu_ref, ops.gelu_ref, ops.linear_ref)
    assert shown.count("# mhc_np/ops/activation.py") == shown.count("# mhc_np/ops/linear.py") == 1


def test_a_notebook_gets_a_code_block_and_a_console_the_text():
    shown = show(ops.relu_ref)
    assert shown._repr_markdown_() == f"```python\n{shown}\n```"
    assert repr(shown) == str(shown)


@pytest.mark.parametrize("thing", [np.exp, np.ones(2), 3])
def test_what_has_no_source_is_refused(thing):
    with pytest.raises(TypeError, match="show: want something written in Python"):
        show(thing)
    with pytest.raises(TypeError, match="want at least one"):
        show()
