"""Precision: what a trained network still knows when its streams are kept in fewer bits.

    python -m mhc_np.lab.low_precision        train twelve networks, minutes on one core, and keep the result

Chapter: chapters/15_the_question.md      Tests: tests/test_low_precision.py
Symbols: bits of a stored stream -> "float32", "bfloat16", "float16"

A final norm hides the size of the stream from the loss, but not from the format in which it is kept: float16 ends at
65,504, and bfloat16 rounds whatever is added to a stream 256 times its size. Only the streams are rounded, after every
sub-layer, and only when the trained network answers; its training was in float32.
"""

import argparse
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from mhc_np.lab import results
from mhc_np.lab.ablate import answer, mean_kl_bits
from mhc_np.lab.cell_runs import subject_of, train
from mhc_np.lab.cells import Cell
from mhc_np.lab.geometry import without_nan
from mhc_np.measure import streams
from mhc_np.models import trace

KEPT = results.KEPT / "low-precision.json"
ARMS = ("residual", "hc", "free", "mhc")
SEEDS = range(3)
CELL = Cell(depth=12, rate=1e-2)  # one of the main grid's strata, where the gain of the free arms has exploded


def bfloat16(x):
    """Round float32 to the nearest value of eight significant bits, ties to even.

    >>> bfloat16(np.array([1.0, 256.0, 257.0, 259.0], np.float32)).tolist()
    [1.0, 256.0, 256.0, 260.0]
    """
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    bits = bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return (bits & np.uint32(0xFFFF0000)).view(np.float32)


def float16(x):
    """Round to eleven significant bits; beyond 65,504 is infinity.

    >>> float16(np.array([2049.0, 7e4], np.float32)).tolist()
    [2048.0, inf]
    """
    with np.errstate(over="ignore"):
        return np.asarray(x, np.float32).astype(np.float16).astype(np.float32)


FORMATS = {"float32": lambda x: x, "bfloat16": bfloat16, "float16": float16}


def kept_in(round_to):
    """Make a hook for `mhc_np.models.transformer.logits` that stores the streams rounded."""

    def hook(site, layer, value):
        return round_to(value) if site == "embedding" or site.startswith("after") else value

    return hook


def look(params, subject):
    """Return the KL in bits by format, None where the answer is not finite, and the growth of the stream."""
    inputs, found = subject.batch.inputs, {}
    with np.errstate(all="ignore"):
        for name, round_to in FORMATS.items():
            found[name] = mean_kl_bits(
                subject.exact, answer(params, subject.config, inputs=inputs, hook=kept_in(round_to))
            )
        seen = trace(params, subject.config, inputs=inputs)[1]
        last = seen["after mlp", subject.config.num_applied - 1]
    return {"kl_bits": found, "growth": streams.growth(seen["embedding", 0], last)}


def low_precision(cell=CELL, arms=ARMS, seeds=SEEDS):
    """Train the cell with each arm and seed; return the looks, a row a network."""
    rows = []
    for seed, arm in product(seeds, arms):
        one = replace(cell, arm=arm, seed=seed)
        with np.errstate(all="ignore"):
            rows.append({"arm": arm, "seed": seed, **look(train(one)[1], subject_of(one))})
    found = {"cell": cell.described(), "rows": rows}
    return without_nan({**results.plain(found, 5), "made": results.provenance()})


def main(argv=None):
    """Make the result."""
    parser = argparse.ArgumentParser(prog="python -m mhc_np.lab.low_precision", description="Streams in fewer bits.")
    parser.add_argument("--out", type=Path, default=KEPT)
    out = parser.parse_args(argv).out
    results.save(out, low_precision())
    print(out)


if __name__ == "__main__":
    main()
