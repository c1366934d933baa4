"""What a saved result holds beyond the errors on fresh sequences, by task: one function each.

Chapter: chapters/04_training.md      Tests: tests/test_extras.py
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mhc_np.measure import calibration, labels, memory
from mhc_np.tasks import bijection, hmm

WINDOWS = range(1, 9)
LENGTHS = (1, 1.5, 2, 2.5)  # in units of the horizon of training
NUM_LONG = 1024
NUM_SHOWN = 8


class Finished(NamedTuple):
    """A finished run, as an extra sees it.

    ``config`` is the task's, ``predict(batch)`` gives the model's probabilities, ``held_out`` are the fresh sequences
    with their ``exact`` posterior and the ``predicted`` one, ``seen`` are sequences of training. ``reads_on`` says
    whether the model takes longer sequences than those of training.
    """

    config: Any
    predict: Any
    held_out: Any
    exact: np.ndarray
    predicted: np.ndarray
    seen: Any
    reads_on: bool


def of(task, finished, rng):
    """Return the extras of a task: a dict, empty for a task without."""
    return EXTRAS[task](finished, rng) if task in EXTRAS else {}


def of_bijection(finished, rng):
    """Ask what is remembered: labels of fresh bijections against labels of those seen in training.

    ``excess_bits`` is what a label costs above the exact posterior. By heart it costs less: the seen bijections are
    then cheaper than the fresh ones by ``remembered_bits``.
    """
    exact, answer = bijection.posterior(finished.config, finished.seen), finished.predict(finished.seen)
    fresh = labels.excess_bits(finished.exact, finished.predicted, finished.held_out.targets)
    seen = labels.excess_bits(exact, answer, finished.seen.targets)
    return {
        "memorisation": {
            "fresh_excess_bits": fresh,
            "seen_excess_bits": seen,
            "remembered_bits": fresh - seen,
            "seen": calibration.summary(exact, answer)._asdict(),
        }
    }


def of_hmm(finished, rng):
    """Ask how far a model looks: longer sequences, the filters with a short memory, and older evidence exchanged.

    Entropies of the first few sequences come with it: their mean over all hides how they rise and fall.
    """
    return {
        "sequences": _sequences(finished),
        "lengths": _lengths(finished, rng),
        "windows": _windows(finished),
        "memory": _memory(finished, rng),
    }


def _sequences(finished):
    """Keep the entropies of a few sequences, observation by observation."""
    rows = slice(NUM_SHOWN), slice(finished.config.num_header, None)
    answers = {"exact": finished.exact, "model": finished.predicted}
    return {f"{name}_entropy_bits": calibration.entropy_bits(answer[rows]) for name, answer in answers.items()}


def _lengths(finished, rng):
    """Errors on sequences longer than those of training, at every position from the first on."""
    rows = []
    for factor in LENGTHS if finished.reads_on else (1,):
        config = replace(finished.config, num_observations=round(factor * finished.config.num_observations))
        batch = hmm.sample(config, rng, NUM_LONG)
        errors = calibration.summary(hmm.posterior(config, batch), finished.predict(batch))
        rows.append({"num_observations": config.num_observations, **errors._asdict()})
    return _columns(rows)


def _windows(finished):
    """Hold the exact filter of the last w observations against the posterior, and the model against that filter."""
    config, rows = finished.config, []
    for window in WINDOWS:
        short = np.full_like(finished.exact, np.nan)
        known = hmm.known(config, finished.held_out)
        short[:, config.num_header :] = hmm.windowed_filter(*known, window)
        own, model = (calibration.summary(p, q) for p, q in ((finished.exact, short), (short, finished.predicted)))
        rows.append(
            {
                "window": window,
                "entropy_mae_bits": own.entropy_mae_bits,
                "kl_bits": own.kl_bits,
                "model_kl_bits": model.kl_bits,
            }
        )
    return _columns(rows)


def _memory(finished, rng):
    """Exchange all but the last w observations, and compare the move of the last answer with the posterior's."""
    config, rows = finished.config, []
    initial, transition, emission, observations = hmm.known(config, finished.held_out)
    others = hmm.draw_paths(rng, initial, transition, emission, config.num_observations)[1]
    for window in WINDOWS[: config.num_observations - 1]:
        batch = hmm.encode(config, transition, emission, memory.splice(observations, others, window))
        moved = memory.movement(
            finished.exact[:, -1],
            hmm.posterior(config, batch)[:, -1],
            finished.predicted[:, -1],
            finished.predict(batch)[:, -1],
        )
        rows.append({"window": window, **moved._asdict()})
    return _columns(rows)


def _columns(rows):
    """Turn a list of rows into a dict of columns; no rows, no columns."""
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


EXTRAS = {"bijection": of_bijection, "hmm": of_hmm}
