"""Golden vectors: inputs, outputs and gradients in float64, and a check of anybody's numbers against the definitions.

Chapter: chapters/13_mhc.md      Tests: tests/test_golden.py

A file is flat: for each case ``CASE/settings`` (JSON text), ``CASE/in/NAME``, ``CASE/out/NAME`` and ``CASE/grad/NAME``.
To check an implementation, take the inputs of `mhc_np/lab/golden-1.npz`, write what you compute from them under the
same names into a file of your own, .npz or .json, in whole or in part, and run

    python -m mhc_np check FILE

Conventions: H_res[new, old]; a gradient is that of sum(output * cotangent); a connection's branch is tanh(hidden @
branch); a model is that of chapter 2, written out in `mhc_np/torch_twin/model.py`. Inputs of your own may be put in the
file too: what is wanted is computed afresh, by definition.

How exact the numbers must be follows from their dtype. For numbers that were computed in another precision than they
are kept in (JSON knows float64 alone, NumPy no bfloat16) put an entry ``precision`` in the file, say "bfloat16".
"""

import json
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mhc_np.autodiff.check import _diagnose
from mhc_np.lab.golden_cases import KINDS, answer, cases

VERSION = 1
GOLDEN = Path(__file__).with_name(f"golden-{VERSION}.npz")
TOLERANCES = {"float64": 1e-9, "float32": 2e-5, "float16": 1e-2, "bfloat16": 3e-2}  # relative to the largest entry


class Report(NamedTuple):
    """The verdict on a file: true when every number in it is right; ``str`` gives it in words."""

    passed: bool
    lines: tuple

    def __bool__(self):
        """Pass or fail."""
        return self.passed

    def __str__(self):
        """Say what was found, a line a case."""
        return "\n".join(self.lines)


def write_golden(path):
    """Compute all cases and write them to ``path``, .npz or .json; return the number of arrays."""
    flat = {"version": np.array(VERSION)}
    for name, case in cases().items():
        found = answer(case.settings, case.inputs)
        flat[f"{name}/settings"] = np.array(json.dumps(case.settings))
        for kind, arrays in (("in", case.inputs), ("out", found.outputs), ("grad", found.gradients)):
            flat.update({f"{name}/{kind}/{key}": np.asarray(array) for key, array in arrays.items()})
    path = Path(path)
    if path.suffix == ".json":
        path.write_text(json.dumps({key: array.tolist() for key, array in flat.items()}), encoding="utf-8")
    elif path.suffix == ".npz":
        np.savez_compressed(path, **flat)
    else:
        raise ValueError(f"write_golden: want a path that ends in .npz or .json, got {path}")
    return len(flat)


def check_file(path):
    """Check an implementation's outputs and gradients against the definitions.

    Parameters
    ----------
    path : path to a .npz or .json file
        Any part of the golden file's ``out`` and ``grad`` entries, computed by somebody else. Inputs and settings that
        are not in it are those of the golden file.

    Returns
    -------
    Report
        True if there is something to check and all of it is right: to 1e-9 of the largest entry in float64, 2e-5 in
        float32, 1e-2 in float16, 3e-2 in bfloat16. A wrong entry is diagnosed: sign, factor, transpose, place.

    Raises
    ------
    ValueError
        If the file is of another version or another kind, or names a precision that is none.
    """
    given, ours = _load(path), _load(GOLDEN)
    version = int(given.pop("version", VERSION))
    if version != VERSION:
        raise ValueError(f"check_file: want golden vectors of version {VERSION}, got version {version}")
    precision = str(given.pop("precision", ""))
    if precision and precision not in TOLERANCES:
        raise ValueError(f"check_file: want a precision among {', '.join(TOLERANCES)}, got {precision!r}")
    lines, passed = [], True
    for name in sorted({key.split("/")[0] for key in given}):
        right, line = _check_case(name, _of_case(name, given), _of_case(name, ours), precision)
        passed = passed and right
        lines.append(f"{name}: {line}")
    if not any("/out/" in key or "/grad/" in key for key in given):
        passed, lines = False, [*lines, "nothing to check: the file has no entry CASE/out/NAME or CASE/grad/NAME"]
    return Report(passed, tuple(lines))


def _check_case(name, given, ours, precision):
    """Return (whether all given numbers of one case are right, the verdict in words)."""
    if "settings" not in given and "settings" not in ours:
        known = ", ".join(sorted({key.split("/")[0] for key in _load(GOLDEN)} - {"version"}))
        return False, f"no such case; put settings and inputs in the file, or take one of {known}"
    settings = _settings(given.get("settings", ours.get("settings")))
    if settings.get("kind") not in KINDS:
        return False, f"want settings with a kind among {', '.join(KINDS)}, got {settings.get('kind')!r}"
    every = {**ours, **given}
    inputs = {key.removeprefix("in/"): array for key, array in every.items() if key.startswith("in/")}
    try:
        wanted = answer(settings, inputs)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        return False, f"cannot be computed from its settings and inputs: {type(error).__name__}: {error}"
    wanted = {f"out/{k}": v for k, v in wanted.outputs.items()} | {f"grad/{k}": v for k, v in wanted.gradients.items()}
    entries = [key for key in given if key.startswith(("out/", "grad/"))]
    wrong = [f"{key} {trouble}" for key in entries if (trouble := _trouble(given[key], wanted.get(key), precision))]
    missing = sorted(set(wanted) - set(entries))
    line = "; ".join(wrong) if wrong else f"right, {len(entries)} of {len(wanted)} arrays"
    if missing and entries:
        line += f" (not given: {', '.join(missing[:4])}{', ...' if len(missing) > 4 else ''})"
    return not wrong, line


def _settings(given):
    """Return the settings as a dict, from JSON text or from a JSON file's own dict; empty if they are neither."""
    try:
        found = given.item() if isinstance(given.item(), dict) else json.loads(str(given))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _trouble(got, wanted, precision):
    """Return None when an array is right, else what is wrong with it."""
    if wanted is None:
        return "is not part of this case"
    got = np.asarray(got)
    if not np.issubdtype(got.dtype, np.integer) and not np.issubdtype(got.dtype, np.floating):
        return f"holds no real numbers but {got.dtype}"
    if got.shape != np.shape(wanted):
        return f"has the wrong shape: want {np.shape(wanted)}, got {got.shape}"
    wide = got.astype(np.float64)
    if not np.all(np.isfinite(wide)):
        return "is not finite"
    error = np.max(np.abs(wide - wanted), initial=0.0)
    relative = error / np.max(np.abs(wanted), initial=1e-3)
    if relative <= TOLERANCES.get(precision or got.dtype.name, TOLERANCES["float64"]):
        return None
    if not precision and relative <= TOLERANCES["float32"]:
        return f'is right to {relative:.0e} only: was it computed in float32? Then give the file a "precision"'
    return f"is wrong: {_diagnose(wide, wanted, error)}"


def _of_case(name, flat):
    return {key.removeprefix(f"{name}/"): value for key, value in flat.items() if key.startswith(f"{name}/")}


def _load(path):
    """Read a flat file of either kind."""
    path = Path(path)
    if path.suffix not in (".json", ".npz"):
        raise ValueError(f"check_file: want a .npz or .json file, got {path}")
    try:
        if path.suffix == ".json":
            given = json.loads(path.read_text(encoding="utf-8"))
            return {key: np.array(value) for key, value in given.items()}
        with np.load(path, allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}
    except (ValueError, AttributeError, zipfile.BadZipFile) as error:
        raise ValueError(f"check_file: {path} is not a {path.suffix} file of named arrays") from error
