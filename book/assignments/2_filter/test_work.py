"""The checks of assignment 2: against the sum over all paths."""

import re
from itertools import product
from pathlib import Path

import numpy as np

from book.assignments.grading import want

RNG = np.random.default_rng(2)
INITIAL = np.array([0.7, 0.2, 0.1])
TRANSITION = np.array([[0.6, 0.3, 0.1], [0.1, 0.8, 0.1], [0.3, 0.0, 0.7]])
EMISSION = np.array([[0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.7, 0.1], [0.2, 0.2, 0.2, 0.4]])
SEEN = np.array([2, 0, 3, 3, 1])


def over_paths(seen):
    """Return filtered states and ln p(seen), by adding up every path."""
    rows = []
    for length in range(1, len(seen) + 1):
        last = np.zeros(3)
        for path in product(range(3), repeat=length):
            p = INITIAL[path[0]] * np.prod([TRANSITION[i, j] for i, j in zip(path, path[1:], strict=False)])
            last[path[-1]] += p * np.prod([EMISSION[z, x] for z, x in zip(path, seen, strict=False)])
        rows.append(last)
    return np.array([row / row.sum() for row in rows]), float(np.log(rows[-1].sum()))


def test_nothing_is_borrowed(work):
    text = Path(work.__file__).read_text(encoding="utf-8")
    borrowed = re.search(r"^\s*(import|from) mhc_np", text, re.MULTILINE)
    want(not borrowed, "write it yourself: no import from mhc_np here")


def test_the_first_observation_meets_the_initial_distribution(work):
    filtered, _ = work.filter_states(INITIAL, TRANSITION, EMISSION, SEEN[:1])
    want(np.shape(filtered) == (1, 3), f"filtered: want shape (T, S) = (1, 3), got {np.shape(filtered)}")
    want(abs(np.sum(filtered) - 1) < 1e-12, "the first row does not sum to one: divide by p(x_1)")
    words = "the first row is wrong: no move comes before the first observation"
    want(np.allclose(filtered[0], over_paths(SEEN[:1])[0][0], atol=1e-12), words)


def test_every_row_is_the_sum_over_paths(work):
    filtered, _ = work.filter_states(INITIAL, TRANSITION, EMISSION, SEEN)
    right, _ = over_paths(SEEN)
    backwards = np.abs(work.filter_states(INITIAL, TRANSITION.T, EMISSION, SEEN)[0] - right).max()
    want(backwards > 1e-9, "right for the transposed matrix: transition[i, j] leads from i to j")
    far = np.flatnonzero(np.abs(filtered - right).max(axis=1) > 1e-12)
    first = far[0] + 1 if far.size else None
    want(first is None, f"wrong from observation {first} on: what happens between observations?")


def test_the_evidence_is_in_nats_and_of_all_observations(work):
    found, right = work.filter_states(INITIAL, TRANSITION, EMISSION, SEEN)[1], over_paths(SEEN)[1]
    want(abs(found - right / np.log(2)) > 1e-9, "the evidence is in bits: want nats")
    words = f"log_evidence: want {right:.6f}, got {found:.6f}; add up ln p(x_t given the past)"
    want(abs(found - right) < 1e-12, words)


def test_a_long_sequence_does_not_underflow(work):
    long = RNG.integers(0, 4, 3000)
    filtered, evidence = work.filter_states(INITIAL, TRANSITION, EMISSION, long)
    words = "after 3000 observations the numbers are gone: normalise at every step, and add up logarithms"
    want(np.isfinite(evidence) and np.all(np.isfinite(filtered)), words)


def test_the_prediction_moves_before_it_emits(work):
    filtered, _ = over_paths(SEEN)
    found = work.predict_next(TRANSITION, EMISSION, filtered)
    want(np.shape(found) == (5, 4), f"predict_next: want shape (T, V) = (5, 4), got {np.shape(found)}")
    want(np.abs(found - filtered @ EMISSION).max() > 1e-9, "that is what the present state emits: move it first")
    want(np.abs(found - filtered @ TRANSITION @ EMISSION).max() < 1e-12, "predict_next: sum over both states, i and j")
