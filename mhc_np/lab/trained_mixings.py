"""The mixings of trained networks, so that a figure need not make do with random ones.

    python -m mhc_np.lab.trained_mixings ARM [--rate 0.01] [--seed 0]     half a minute; writes ARM-RATE-seed-SEED.json

Chapter: chapters/13_mhc.md      Tests: tests/test_trained_mixings.py
Symbols: raw H_res of sub-layer l, for one token -> matrices (tokens, 2L, n, n)

A network of the grid of chapter 15 is trained, and read at three questions of a held-out sequence. Of mHC the *raw*
coefficients are kept, before Sinkhorn: whoever has them can run as many iterations as he likes.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from mhc_np import connections
from mhc_np.lab import results
from mhc_np.lab.ablate import answer, mean_kl_bits
from mhc_np.lab.cell_runs import subject_of, train
from mhc_np.lab.cells import Cell
from mhc_np.models.mixings import mixings
from mhc_np.models.trace import trace

KEPT = results.KEPT / "mixings"
ARMS = ("mhc", "free", "hc")
QUESTIONS = (1, 4, 8)  # of the held-out sequence, counted from one
DIGITS = 5


def raw_mixings(params, config, *, inputs):
    """Return the raw coefficients of H_res of every sub-layer: what mHC hands to Sinkhorn.

    They are what the scheme `free`, which is mHC without its projection, makes of the same parameters and streams.

    Parameters
    ----------
    params : nested dict of arrays
    config : ModelConfig
        Of a network with the scheme "mhc".
    inputs : (B, T) ints

    Returns
    -------
    list of (B, T, n, n) arrays
        In the order of `mhc_np.models.mixings.mixings`.

    Raises
    ------
    ValueError
        For another scheme: only mHC has raw coefficients that Sinkhorn takes.
    """
    if config.scheme != "mhc":
        raise ValueError(f"raw_mixings: want a network of the scheme 'mhc', got {config.scheme!r}; see `mixings`")
    _, seen = trace(params, config, inputs=inputs)
    streams, found = seen["embedding", 0], []
    for layer in range(config.num_applied):
        block = params["blocks"][str(layer % config.num_layers)]
        for name in ("attention", "mlp"):
            found.append(connections.coefficients(block[name]["connection"], "free", streams).H_res)
            streams = seen[f"after {name}", layer]
    return found


def look(params, cell):
    """Read a trained cell: ``kl_bits`` on held-out sequences, and ``matrices``, raw ones for mHC."""
    config, batch, exact = subject_of(cell)
    read = raw_mixings if cell.arm == "mhc" else mixings
    found = np.array(read(params, config, inputs=batch.inputs[:1]), np.float64)[:, 0]  # (2L, T, n, n)
    asked = [2 * (question - 1) for question in QUESTIONS]
    kl_bits = mean_kl_bits(exact, answer(params, config, inputs=batch.inputs))
    return {"kl_bits": kl_bits, "questions": QUESTIONS, "matrices": found[:, asked].swapaxes(0, 1)}


def carry_out(cell):
    """Train a cell of the grid and return what its file holds."""
    started = time.process_time()
    _, params = train(cell)
    found = look(params, cell)
    made = {"command": command(cell), "seconds": time.process_time() - started, **results.provenance()}
    return results.plain({"cell": cell.described(), **found, "made": made}, DIGITS)


def command(cell):
    """Return what to type for a cell's file."""
    return f"python -m mhc_np.lab.trained_mixings {cell.arm} --rate {cell.rate:g} --seed {cell.seed}"


def path_of(cell, folder=KEPT):
    """Return where a cell's matrices are kept."""
    return Path(folder) / f"{cell.arm}-{cell.rate:g}-seed-{cell.seed}.json"


def load(arm, rate=0.01, seed=0):
    """Read what the book keeps of a cell, its matrices as a (tokens, 2L, n, n) array."""
    kept = results.load(path_of(Cell(arm, rate=rate, seed=seed)), needed=("cell", "matrices", "made"))
    return {**kept, "matrices": np.array(kept["matrices"])}


def main(argv=None, **changes):
    """Run the command line; ``changes`` are of the cell, for a smaller one."""
    parser = argparse.ArgumentParser(prog="python -m mhc_np.lab.trained_mixings", description="Mixings, trained.")
    parser.add_argument("arm", choices=ARMS)
    parser.add_argument("--rate", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=KEPT, help="folder of the files")
    arguments = parser.parse_args(argv)
    cell = replace(Cell(arguments.arm, rate=arguments.rate, seed=arguments.seed), **changes)
    path = path_of(cell, arguments.out)
    results.save(path, carry_out(cell))
    print(path)


if __name__ == "__main__":
    main()
