"""Checkpoints: a tree of arrays and a few words about it, in one file that is either whole or refused.

Chapter: chapters/04_training.md      Tests: tests/test_learn_checkpoint.py

The file is an ``.npz`` without pickles. Its members: ``arrays/a/b/c`` for each leaf, ``header`` (JSON text)
and ``sha256``, taken over the names, dtypes, shapes and bytes of all the others. A file is written beside its
place and moved there when it is safely on the disk, so a kill at any moment leaves the old one or the new one.
"""

import hashlib
import json
import os
import time
from pathlib import Path

import numpy as np

from mhc_np.autodiff import flatten, unflatten

FORMAT = "mhc_np checkpoint 1"
ABANDONED_AFTER = 60.0  # seconds; no save takes that long, so an older temporary file has no owner


class CheckpointError(ValueError):
    """A file that cannot be trusted as a checkpoint. The message names it and the way out."""


def save(path, arrays, meta):
    """Write a checkpoint, replacing the one at ``path`` only when the new one is complete.

    Parameters
    ----------
    path : str or Path
        Where; folders are made. Leftover temporary files of killed saves are removed.
    arrays : nested dict of arrays
        Of any numeric, bool or text dtype; empty dicts are kept.
    meta : dict
        Anything JSON holds, big integers included (so a generator's ``bit_generator.state`` fits). NumPy scalars and
        arrays become numbers and lists, tuples become lists.

    Raises
    ------
    ValueError
        If a leaf is of a dtype that would need a pickle. Nothing is written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(f"{folder}/run.npz", {"W_q": np.eye(2), "none": {}}, {"step": 3})
    ...     arrays, meta = load(f"{folder}/run.npz")
    >>> arrays, meta
    ({'W_q': array([[1., 0.],
           [0., 1.]]), 'none': {}}, {'step': 3})
    """
    path = Path(path)
    header = {"format": FORMAT, "empty": _empty_dicts(arrays), "meta": meta}
    members = {f"arrays/{name}": np.asarray(leaf) for name, leaf in flatten(arrays).items()}
    members["header"] = np.array(to_json(header))
    for name, leaf in members.items():
        if leaf.dtype.kind not in "biufcUS":
            raise ValueError(
                f"save: want numbers or text in {name!r}, got dtype {leaf.dtype}; put what is not an array into meta"
            )
    members["sha256"] = np.array(digest(members))
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as handle:
            np.savez(handle, **members)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    for leftover in path.parent.glob(f".{path.name}.*.tmp"):
        if time.time() - leftover.stat().st_mtime > ABANDONED_AFTER:
            leftover.unlink(missing_ok=True)


def load(path):
    """Read a checkpoint back.

    Parameters
    ----------
    path : str or Path
        A file written by `save`.

    Returns
    -------
    arrays : nested dict of arrays
    meta : dict

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    CheckpointError
        If the file is cut short, foreign, of another version, or changed since it was written.
    """
    way_out = "move it away to start over, or put a good copy in its place"
    with open(path, "rb") as handle:
        try:
            with np.load(handle, allow_pickle=False) as archive:
                members = {name: archive[name] for name in archive.files}
            stored = members.pop("sha256").item()
            header = json.loads(members["header"].item())
            version = header["format"]
        except Exception as error:  # zip, header parser and JSON fail in a dozen ways; all mean this one
            raise CheckpointError(
                f"{path}: cut short, or not a checkpoint at all ({type(error).__name__}: {error}); {way_out}"
            ) from error
    if version != FORMAT:
        raise CheckpointError(
            f"{path}: want format {FORMAT!r}, got {version!r}; read it with the version that wrote it, or {way_out}"
        )
    if digest(members) != stored:
        raise CheckpointError(f"{path}: changed since it was written (its sha256 differs); {way_out}")
    del members["header"]
    arrays = unflatten({name.removeprefix("arrays/"): leaf for name, leaf in members.items()})
    for name in header["empty"]:
        node = arrays
        for key in name.split("/"):
            node = node.setdefault(key, {})
    return arrays, header["meta"]


def digest(leaves):
    """Return the sha256 over names, dtypes, shapes and bytes of ``{name: array}``, in any order of names.

    >>> digest({"a": np.zeros(2)}) == digest({"a": np.zeros((2, 1))})
    False
    """
    sha = hashlib.sha256()
    for name in sorted(leaves):
        leaf = np.asarray(leaves[name])
        sha.update(f"{name}\n{leaf.dtype.str}{leaf.shape}\n".encode())
        sha.update(leaf.tobytes())
    return sha.hexdigest()


def to_json(meta):
    """Write JSON, with NumPy scalars and arrays as plain numbers and lists.

    >>> to_json({"step": np.int64(3), "key": np.arange(2)})
    '{"step": 3, "key": [0, 1]}'
    """

    def plain(value):
        if isinstance(value, np.generic | np.ndarray):
            return value.tolist()
        raise TypeError(f"meta: want what JSON holds, got {type(value).__name__}")

    return json.dumps(meta, default=plain)


def _empty_dicts(tree, prefix=""):
    """List the paths of the empty dicts inside a tree."""
    found = []
    for key, value in tree.items():
        if isinstance(value, dict):
            found += _empty_dicts(value, f"{prefix}{key}/") if value else [f"{prefix}{key}"]
    return found
