"""Show code in a chapter as it stands in the package, so that the text and the code cannot part.

Chapter: chapters/01_gradients.md      Tests: tests/test_source.py
"""

import ast
import inspect
from pathlib import Path
from textwrap import dedent

import mhc_np

ROOT = Path(mhc_np.__file__).resolve().parent.parent


class Source(str):
    """Python text that a notebook shows in colour."""

    def _repr_markdown_(self):
        return f"```python\n{self}\n```"

    def __repr__(self):
        """Return the text itself: what a console shows."""
        return str(self)


def show(*objects, brief=False):
    """Return the source of functions or classes, each under the name of its file.

    Parameters
    ----------
    *objects : functions, classes or modules
    brief : bool
        Keep only the first line of each docstring. Code and comments are never cut.

    Returns
    -------
    Source
        A string; a notebook shows it in colour.

    Raises
    ------
    TypeError
        If something has no Python source, as what NumPy wrote in C.

    Examples
    --------
    >>> from mhc_np.ops import relu_ref
    >>> show(relu_ref)
    # mhc_np/ops/activation.py
    def relu_ref(x):
        \"\"\"Keep the positive part: the definition.\"\"\"
        return anp.maximum(x, 0.0)
    """
    if not objects:
        raise TypeError("show: want at least one function or class, got none")
    parts, last = [], None
    for shown in objects:
        path, text = _source(shown)
        parts.append(f"# {path}\n{text}" if path and path != last else text)
        last = path
    return Source("\n\n\n".join(_first_lines(part) if brief else part for part in parts))


def _source(shown):
    """Return (path below the repository or None, dedented source)."""
    try:
        text = dedent(inspect.getsource(shown)).rstrip()
        file = Path(inspect.getsourcefile(shown)).resolve()
    except (TypeError, OSError) as error:
        raise TypeError(
            f"show: want something written in Python, got {shown!r}; is it an array, or the result of define_vjp?"
        ) from error
    return (file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else None), text


def _first_lines(text):
    """Cut every docstring of several lines to its first, and mark the cut by an ellipsis."""
    lines = text.splitlines()
    documented = (ast.FunctionDef, ast.ClassDef, ast.Module)
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, documented) and ast.get_docstring(node)]
    for node in sorted(nodes, key=lambda node: node.body[0].lineno, reverse=True):  # from below: line numbers hold
        first, last = node.body[0].lineno - 1, node.body[0].end_lineno
        if last - first > 1:
            lines[first:last] = [f'{lines[first].rstrip()} …"""']
    return "\n".join(lines)
