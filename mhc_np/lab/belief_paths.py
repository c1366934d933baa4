"""How belief moves through depth under three connections: the article's first figure, from trained networks.

    python -m mhc_np.lab.belief_paths         train the three, about a minute on one core, and keep the result

Chapter: chapters/15_the_question.md      Tests: tests/test_belief_paths.py
Symbols: belief after layer l, read through the network's own head -> q_l, H(q_l) -> entropy_bits (L + 1, questions)
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from mhc_np.lab import cell_looks, lens, results
from mhc_np.lab.cell_runs import subject_of, train
from mhc_np.lab.cells import Cell
from mhc_np.lab.geometry import without_nan
from mhc_np.measure import streams
from mhc_np.measure.calibration import entropy_bits, kl_bits

KEPT = results.KEPT / "belief-paths.json"
ARMS = ("residual", "hc", "mhc")
CELL = Cell(depth=12, rate=1e-2, seed=0)  # one of the main grid's
NUM_SEQUENCES = 64


def path_of(params, subject):
    """Follow the belief of a network through its blocks.

    Returns
    -------
    dict
        One entry for the embedding and one after each block: ``kl_bits``, mean over questions; ``entropy_bits``, a list
        a block of the mean entropy at each question; ``growth`` of the stream relative to the embedding.
    """
    found = lens.states(params, subject.config, inputs=subject.batch.inputs)
    found = {site: state for site, state in found.items() if site[0] != "after attention"}
    beliefs = lens.logit_lens(params, subject.config, inputs=subject.batch.inputs, found=found)
    asked = np.flatnonzero(subject.batch.mask[0])
    exact = subject.exact[:, asked]
    first = found["embedding", 0]
    return {
        "kl_bits": [float(kl_bits(exact, belief[:, asked]).mean()) for belief in beliefs],
        "entropy_bits": [entropy_bits(belief[:, asked]).mean(axis=0) for belief in beliefs],
        "growth": [streams.growth(first, state) for state in found.values()],
    }


def belief_paths(cell=CELL, arms=ARMS):
    """Train the cell with each arm; return its paths, with the exact entropy at each question."""
    subject = cell_looks.first(subject_of(cell), NUM_SEQUENCES)
    asked = np.flatnonzero(subject.batch.mask[0])
    found = {"cell": cell.described(), "exact_entropy_bits": entropy_bits(subject.exact[:, asked]).mean(axis=0)}
    for arm in arms:
        of_arm = replace(cell, arm=arm)
        with np.errstate(all="ignore"):
            found[arm] = path_of(train(of_arm)[1], subject._replace(config=of_arm.model_config()))
    return without_nan(results.plain({**found, "made": results.provenance()}, 5))


def main(argv=None):
    """Make the result."""
    parser = argparse.ArgumentParser(prog="python -m mhc_np.lab.belief_paths", description="Belief through depth.")
    parser.add_argument("--out", type=Path, default=KEPT)
    out = parser.parse_args(argv).out
    results.save(out, belief_paths())
    print(out)


if __name__ == "__main__":
    main()
