"""Run one cell of the book inside the page. Packed by ``live.py``, imported by the worker of ``live.js``.

Plain Python: no notebook and no kernel are needed, so that the tests call it as the page does. What a
cell prints or shows goes to ``emit(kind, text)`` while it runs; kinds are text, svg, html and error.
"""

import ast
import linecache
import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout

MAIN = sys.modules["__main__"].__dict__


class Printed:
    """A stream that hands on what is written to it; progress bars, which go back in their line, are dropped."""

    def __init__(self, emit):
        self.emit = emit

    def write(self, text):
        """Emit the text."""
        if text and "\r" not in text:
            self.emit("text", text)
        return len(text)

    def flush(self):
        """Do nothing: nothing is held back."""


def run(code, emit, namespace=MAIN, name="<cell>"):
    """Run a cell and show its last value as a notebook would.

    Parameters
    ----------
    code : str
        What stands in the cell.
    emit : callable
        Takes (kind, text).
    namespace : dict
        Where the names of the page's cells live.
    name : str
        The cell's name in messages, as ``<cell 3>``.

    Returns
    -------
    bool
        Whether the cell went through; if not, an error has been emitted, in words.
    """
    lines = code.splitlines(keepends=True)
    linecache.cache[name] = (len(code), None, lines, name)  # for inspect.getsource
    printed = Printed(emit)
    with redirect_stdout(printed), redirect_stderr(printed):
        try:
            body = ast.parse(code, name).body
            last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
            exec(compile(ast.Module(body, []), name, "exec"), namespace)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), name, "eval"), namespace)
                if value is not None and not code.rstrip().endswith(";"):
                    show(value, emit)
            show_pyplot(emit)
        except BaseException as error:  # also sys.exit: the page must hear of everything
            emit("error", in_words(error, name, lines))
            return False
    return True


def show(value, emit):
    """Emit a value as a picture, a table or text, whichever it offers first."""
    for kind in ("svg", "html"):
        picture = getattr(value, f"_repr_{kind}_", None)
        shown = picture() if picture else None
        if shown:
            return emit(kind, shown)
    return emit("text", repr(value) + "\n")


def show_pyplot(emit):
    """Emit what was drawn with pyplot, if a reader used it, and close it."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    for number in pyplot.get_fignums() if pyplot else ():
        import io

        stream = io.StringIO()
        pyplot.figure(number).savefig(stream, format="svg")
        pyplot.close(number)
        emit("svg", stream.getvalue())


def in_words(error, name, lines):
    """Say which line of the cell failed, why, and where the package refused, instead of a traceback."""
    if isinstance(error, SyntaxError) and error.filename == name:
        number, where = error.lineno, ""
        said = f"{type(error).__name__}: {error.msg}"
    else:
        frames = traceback.extract_tb(error.__traceback__)
        number = next((frame.lineno for frame in reversed(frames) if frame.filename == name), None)
        deepest = frames[-1]
        file = deepest.filename.removeprefix("/book/")
        where = "" if file == name else f"\n(raised in {file}, line {deepest.lineno})"
        said = f"{type(error).__name__}: {error}".removesuffix(": ")
    place = f"Line {number} of this cell: " if number else ""
    line = f"\n    {lines[number - 1].strip()}" if number and number <= len(lines) else ""
    return f"{place}{said}{line}{where}"
