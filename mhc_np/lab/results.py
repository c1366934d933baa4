"""Saved results: small JSON files that say what was run, by what code, and what came out.

Chapter: chapters/04_training.md      Tests: tests/test_lab.py
"""

import json
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

from mhc_np import __version__
from mhc_np.learn import load as load_checkpoint

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "chapters" / "results"  # committed: what the book shows
OWN = Path("runs")  # ignored: what a reader runs
TRAINING = ("run", "seed", "params", "steps", "seconds", "metrics", "config")  # what a training run's result holds


def plain(value, digits=6):
    """Turn arrays, tuples and NumPy numbers into what JSON holds; round floats to significant digits.

    Examples
    --------
    >>> plain({"a": (np.float32(0.123456789), np.arange(2))})
    {'a': [0.123457, [0, 1]]}
    """
    if isinstance(value, dict):
        return {str(key): plain(item, digits) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, digits) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist(), digits)
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def save(path, result):
    """Write a result, a line an entry, all of it or nothing."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in plain(result).items()]
    temporary.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    os.replace(temporary, path)


class ResultError(ValueError):
    """A file that cannot be read as a saved result. The message names it and the way out."""


def load(path, needed=("run", "config")):
    """Read a result. It is plain text without a digest: whoever edits it makes it say something else.

    Parameters
    ----------
    path : path
    needed : names
        Entries that it must have.

    Raises
    ------
    ResultError
        Naming the file, if it is not one.
    """
    try:
        result = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise ResultError(f"{path}: not a saved result ({error}); move it away to run again") from error
    missing = [name for name in needed if name not in result] if isinstance(result, dict) else needed
    if missing:
        raise ResultError(f"{path}: not a saved result of a named run (no {missing[0]!r}); move it away to run again")
    return result


def find(name):
    """Return the saved results of a run, those kept with the book first: a list of (path, result)."""
    paths = [*sorted((KEPT / name).glob("seed-*.json")), *sorted((OWN / name).glob("*/result.json"))]
    return [(path, load(path, TRAINING)) for path in paths]


def of_folder(folder):
    """Return (path, result) of one run's folder.

    Raises
    ------
    ResultError
        If there is none; where the run is on its way, saying how far it is.
    """
    path = Path(folder) / "result.json"
    if path.exists():
        return path, load(path, TRAINING)
    try:
        _, meta = load_checkpoint(path.with_name("checkpoint.npz"))
        told = f"its run has made {meta['step']} of {meta['identity']['num_steps']} steps; the same command goes on"
    except FileNotFoundError:
        told = "no checkpoint either: not the folder of a run"
    raise ResultError(f"{folder}: no result yet; {told}")


def load_kept(name):
    """Return the book's saved results of a run, one a seed.

    Raises
    ------
    FileNotFoundError
        If there are none, with the command that makes one.
    """
    found = [load(path, TRAINING) for path in sorted((KEPT / name).glob("seed-*.json"))]
    if not found:
        raise FileNotFoundError(f"no saved results of {name!r}; make one: python -m mhc_np run {name} --seed 0 --keep")
    return found


def provenance():
    """Say what made a result: versions of all that computes, and the commit."""
    packages = {name: version(name) for name in ("numpy", "autograd")}
    return {
        "versions": {"mhc_np": __version__, "python": platform.python_version(), **packages, "os": sys.platform},
        "commit": _commit(),
    }


def _commit():
    """Return the commit of the code, marked when it has been changed since; None outside a repository."""

    def git(*words):
        return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True).stdout

    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", "mhc_np").strip()
        return git("rev-parse", "--short=12", "HEAD").strip() + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None
