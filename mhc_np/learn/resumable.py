"""May this checkpoint be gone on from? Refuse another run's, or one that is not whole, before anything is taken over.

Chapter: chapters/04_training.md      Tests: tests/test_learn_loop.py
"""

import json
from copy import deepcopy

import numpy as np

from mhc_np.autodiff import flatten
from mhc_np.learn.checkpoint import CheckpointError

META = ("step", "seconds", "diverged_at", "generator", "spawned")
TABLES = ("evaluations", "steps")
START = ("generator", "params")  # they follow from what is given, so they say nothing new once that differs


def require_same_run(path, theirs, ours):
    """Refuse the checkpoint of another run, and say in what they differ: first in what the caller gave.

    Parameters
    ----------
    path : str or Path
        The file, for the error.
    theirs, ours : dict
        As `mhc_np.learn.run.identify` describes runs; what was given stands under "given".

    Raises
    ------
    CheckpointError

    Examples
    --------
    >>> theirs = {"given": {"task": {"V": 5}, "seed": 0}, "params": "6fbd"}
    >>> require_same_run("run.npz", theirs, {"given": {"task": {"V": 5}, "seed": 3}, "params": "0cc1"})
    Traceback (most recent call last):
    mhc_np.learn.checkpoint.CheckpointError: run.npz: belongs to another run (seed: 0 there, 3 here); ...
    """
    if theirs == ours:
        return
    given = list(_differences(theirs.get("given"), ours.get("given")))
    names = [name for name in sorted({*theirs, *ours} - {"given"}) if not (given and name in START)]
    rest = [(name, theirs.get(name), ours.get(name)) for name in names if theirs.get(name) != ours.get(name)]
    told = "; ".join(f"{name}: {_short(there)} there, {_short(here)} here" for name, there, here in given + rest)
    raise CheckpointError(
        f"{path}: belongs to another run ({told}); give this run another folder, or move the file away to start over"
    )


def require_whole(path, arrays, meta, run):
    """Refuse a checkpoint that lacks something this run needs, or holds it in another shape.

    Parameters
    ----------
    path : str or Path
        The file, for the error.
    arrays, meta : dict
        As `mhc_np.learn.checkpoint.load` returns them.
    run : mhc_np.learn.run.Run
        At its start. Left as it is.

    Raises
    ------
    CheckpointError
    """
    ours = run.arrays()
    for name in META:
        _require(name in meta, path, f"{name!r} in its header, got {sorted(meta)}")
    for name in ours:
        _require(name in arrays, path, f"{name!r} among its arrays, got {sorted(arrays)}")
    wanted, got = (flatten({name: tree[name] for name in ("params", "averaged", "state")}) for tree in (ours, arrays))
    for name in sorted({*wanted, *got}):
        forms = [_form(leaves[name]) if name in leaves else "nothing" for leaves in (wanted, got)]
        _require(forms[0] == forms[1], path, f"{forms[0]} at {name!r}, got {forms[1]}")
    history = arrays["history"]
    tables = sorted(history) if isinstance(history, dict) else type(history).__name__
    _require(tables == list(TABLES), path, f"tables {list(TABLES)} in its history, got {tables}")
    for table, columns in history.items():
        shapes = {np.shape(column) for column in columns.values()} if isinstance(columns, dict) else {()}
        alike = len(shapes) <= 1 and all(len(shape) == 1 for shape in shapes)
        _require(alike, path, f"columns of one length in {table!r}, got shapes {sorted(shapes)}")
    for name in ("step", "spawned", "diverged_at"):
        counted = type(meta[name]) is int and meta[name] >= 0 or (name == "diverged_at" and meta[name] is None)
        _require(counted, path, f"{name!r} to count something, got {meta[name]!r}")
    _require(type(meta["seconds"]) in (int, float), path, f"'seconds' to be a number, got {meta['seconds']!r}")
    try:
        deepcopy(run.rng.bit_generator).state = meta["generator"]
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        kind = type(run.rng.bit_generator).__name__
        _require(False, path, f"the state of a {kind} as 'generator', got another ({error})")


def _form(leaf):
    leaf = np.asarray(leaf)
    return f"{leaf.dtype} {leaf.shape}"


def _require(condition, path, wanted):
    if not condition:
        raise CheckpointError(f"{path}: want {wanted}; move it away to start over, or put a good copy in its place")


def _differences(theirs, ours, path=""):
    """List (path, there, here) for what differs between two values of JSON."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for name in {**ours, **theirs}:
            yield from _differences(theirs.get(name), ours.get(name), f"{path}/{name}" if path else name)
    elif theirs != ours:
        yield path or "given", theirs, ours


def _short(value):
    """Show a value in at most sixty characters."""
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
