"""Carry a number from a cell into the prose around it, so that no result is ever typed.

Chapter: chapters/01_gradients.md      Tests: tests/test_glue.py

The book's engine reads what `glue` leaves in the output of a cell: ``{glue:text}`name` `` in the text puts it there.
The output is what myst-nb's function of the same name writes, but a chapter opened in a bare notebook needs no
myst-nb, and one run as a script needs no notebook at all.
"""

import numpy as np

PREFIX = "application/papermill.record/"  # a type of output that notebooks keep and do not show
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def glue(name, value, spec=""):
    """Keep a value under a name for the prose.

    Parameters
    ----------
    name : str
        Unique within the chapter.
    value : number or str
    spec : str
        How to write a number: a format specification as ``".3f"``, or ``"power"`` for a power of ten as in
        `power_of_ten`.

    Returns
    -------
    str
        What the prose will show.

    Examples
    --------
    >>> glue("error", 0.012345, ".3f"), glue("count", 13312, ","), glue("rounding", 2.2e-16, "power")
    ('0.012', '13,312', '2·10⁻¹⁶')
    """
    if spec == "power":
        shown = power_of_ten(value)
    else:
        shown = value if isinstance(value, str) else format(value, spec)
    try:
        from IPython import get_ipython
        from IPython.display import display
    except ImportError:
        return shown
    if get_ipython() is not None:
        metadata = {"scrapbook": {"name": name, "mime_prefix": PREFIX}}
        display({PREFIX + "text/plain": repr(shown)}, metadata=metadata, raw=True)
    return shown


def power_of_ten(value, digits=0):
    """Write a number as people do.

    Examples
    --------
    >>> power_of_ten(0.000123), power_of_ten(0.000123, digits=1), power_of_ten(0)
    ('1·10⁻⁴', '1.2·10⁻⁴', '0')
    """
    if value == 0:
        return "0"
    front, exponent = f"{value:.{digits}e}".split("e")
    return f"{front}·10{str(int(exponent)).translate(SUPERSCRIPTS)}"


def spread(values, digits=2):
    """Write the median of the seeds, and their range where they differ.

    Parameters
    ----------
    values : list of float or None
        One number a seed; None where a seed has none.
    digits : int
        Digits behind the point.

    Returns
    -------
    str

    Examples
    --------
    >>> spread([0.31, 0.25, 0.29]), spread([1.0, 1.0])
    ('0.29 (0.25 to 0.31)', '1.00')
    """
    values = [np.nan if value is None else value for value in values]
    low, middle, high = (f"{each:.{digits}f}" for each in (min(values), np.median(values), max(values)))
    return middle if low == high else f"{middle} ({low} to {high})"
