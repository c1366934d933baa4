"""The verdict rule for C14: what Sinkhorn's matrices are, and where in their polytope the identity lies.

Chapter: chapters/12_sinkhorn.md      Tests: tests/test_ledger.py

No training is needed to judge it, so the rule reads no saved result: it computes.
"""

import numpy as np

from mhc_np.lab.verdicts import Verdict
from mhc_np.measure.gains import doubly_stochastic_error
from mhc_np.ops import sinkhorn

N, NUM_ITERS, NUM_DRAWS = 4, 20, 1000
EXACT, CLOSE = 1e-12, 1e-3  # errors of sums
APART = 8.0  # logit gap of mHC's start, and of the hard pattern's halves


def c14(results=None):
    """Judge: mHC maps onto the Birkhoff polytope: entries >= 0, rows and columns sum to one, identity at its centre.

    Four streams, twenty iterations, float64. *Non-negative* and *rows*: of a thousand plans from normal logits, rows to
    1e-12. *Columns at the start*: to 1e-3 for the logits 8I − 8. *Columns always*: to 1e-3 for the upper triangle of
    ones with e^−100 below, a pattern without total support. *Identity at the centre*: no farther than the mean plan
    from the matrix whose entries are all 1/4. *holds*: all. *holds in part*: the first three. *false*: one of them not.
    """
    plans = sinkhorn(np.random.default_rng(0).standard_normal((NUM_DRAWS, N, N)), num_iters=NUM_ITERS)
    start = sinkhorn(APART * (np.eye(N) - 1), num_iters=NUM_ITERS)
    hard = sinkhorn(np.where(np.tri(N, k=-1) > 0, -100.0, 0.0), num_iters=NUM_ITERS)
    distances = np.sqrt(((plans - 1 / N) ** 2).sum(axis=(-1, -2)))
    numbers = {
        "least entry": float(plans.min()),
        "row error": float(doubly_stochastic_error(plans)[0].max()),
        "column error at the start": float(doubly_stochastic_error(start)[1]),
        "column error of the hard pattern": float(doubly_stochastic_error(hard)[1]),
        "distance of the identity from the centre": float(np.sqrt(((np.eye(N) - 1 / N) ** 2).sum())),
        "largest distance of a plan": float(distances.max()),
        "mean distance of a plan": float(distances.mean()),
    }
    seen = {
        "non-negative": numbers["least entry"] >= 0,
        "rows": numbers["row error"] <= EXACT,
        "columns at the start": numbers["column error at the start"] <= CLOSE,
        "columns always": numbers["column error of the hard pattern"] <= CLOSE,
        "identity at the centre": numbers["distance of the identity from the centre"]
        <= numbers["mean distance of a plan"],
    }
    words = f"found: {', '.join(name for name, yes in seen.items() if yes) or 'nothing'}"
    if all(seen.values()):
        return Verdict("holds", numbers, words)
    first = all(list(seen.values())[:3])
    return Verdict("holds in part" if first else "false", numbers, words)


RULES = {"C14": c14}
