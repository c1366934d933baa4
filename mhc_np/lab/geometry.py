"""From a finished run's files to the small result that the chapters show.

Chapter: chapters/06_geometry.md      Tests: tests/test_lab_geometry.py

What is looked at are sequences that neither training nor its evaluation has used. Half of them fit probes, axes and
averages, the other half is judged.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from mhc_np.lab import ablate, drifting, keys, lens, results, value_manifold
from mhc_np.learn import load
from mhc_np.measure.calibration import probabilities
from mhc_np.measure.probes import split
from mhc_np.measure.refinement import prior_bits
from mhc_np.models import MODELS, trace
from mhc_np.tasks import TASKS

NUM_SEQUENCES, NUM_DRIFT = 512, 128  # looked at once, and at every snapshot
DIGITS = 5


class Subject(NamedTuple):
    """A finished network and the sequences that it is looked at with."""

    params: dict
    config: object
    inputs: np.ndarray
    exact: np.ndarray
    marks: np.ndarray
    rng: np.random.Generator


def geometry_of(run, seed, out, *, num_sequences=NUM_SEQUENCES, frames=None):
    """Turn a finished run's folder into its diagnostics.

    Parameters
    ----------
    run : mhc_np.lab.recipe.Run
    seed : int
    out : path
        Folder with ``checkpoint.npz`` and, for a Transformer, ``snapshots``.
    num_sequences : int
        Fresh sequences to look at.
    frames : bool, optional
        Whether to keep the points of the animation, most of the file; by default for seed 0 alone.

    Returns
    -------
    dict
        ``run``, ``seed``, ``config``, ``prior_bits``, ``kl_bits``; for a Transformer ``ablation``, ``depth``, ``keys``,
        ``manifold``, ``drift`` (see `mhc_np.lab.ablate`, `lens`, `keys`, `value_manifold`, `drifting`); for an LSTM
        ``manifold``. Plain numbers and lists; None for what is not a number.

    Raises
    ------
    ValueError
        If the folder's checkpoint is of another run or seed, or not finished.
    FileNotFoundError
        If it has no checkpoint or no snapshots.
    """
    arrays, meta = load(Path(out) / "checkpoint.npz")
    given = meta["identity"]["given"]
    if given != results.plain({"name": given["name"], "seed": seed, **run.described()}):
        raise ValueError(f"geometry_of: {out} holds another run, or another seed than {seed}")
    if meta["step"] != run.training.num_steps:
        raise ValueError(f"geometry_of: want a finished run, got {meta['step']} of {run.training.num_steps} steps")
    subject = _subject(run, seed, arrays["averaged"] or arrays["params"], num_sequences)
    found = {"run": given["name"], "seed": seed, "config": given, "prior_bits": prior_bits(subject.exact)}
    if run.model == "lstm":
        found |= _of_lstm(subject)
    else:
        shots = drifting.snapshots(Path(out) / "snapshots")
        found |= _of_transformer(subject, shots, frames=seed == 0 if frames is None else frames)
    return without_nan(results.plain({**found, **results.provenance()}, DIGITS))


def _subject(run, seed, params, num_sequences):
    """Draw fresh sequences: of the children of the seed the first three are the run's own."""
    data_rng, rng = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(5)[3:])
    task, config = TASKS[run.task], run.task_config()
    batch = task.sample(config, data_rng, num_sequences)
    marks = keys.MARKS[run.task](config, batch.inputs)
    return Subject(params, run.model_config(), batch.inputs, task.posterior(config, batch), marks, rng)


def _of_lstm(subject):
    params, config, inputs, exact, _, rng = subject
    predicted = probabilities(MODELS["lstm"].logits(params, config, inputs=inputs))
    manifold = value_manifold.of_lstm(params, config, inputs=inputs, exact=exact, rng=rng)
    return {"kl_bits": ablate.mean_kl_bits(exact, predicted), "manifold": manifold}


def _of_transformer(subject, shots, frames):
    params, config, inputs, exact, marks, rng = subject
    fit, judge = split(len(exact))
    average = ablate.averages(params, config, inputs=inputs[fit])
    costs = {
        kind: ablate.costs(params, config, inputs=inputs[judge], exact=exact[judge], average=known)
        for kind, known in (("zero", None), ("mean", average))
    }
    heads = {
        kind: ablate.concentration({name: bits for name, bits in found.items() if name.startswith("head")})
        for kind, found in costs.items()
    }
    few = {"inputs": inputs[:NUM_DRIFT], "exact": exact[:NUM_DRIFT]}
    curves = drifting.curves(shots, config, **few)
    drift = {"curves": curves, "settled": drifting.settled(curves)}
    if frames:
        drift["unrolling"] = drifting.unrolling(shots, config, **few)
    return {
        "kl_bits": ablate.mean_kl_bits(exact[judge], ablate.answer(params, config, inputs=inputs[judge])),
        "ablation": {**costs, "heads": heads},
        "depth": lens.through_depth(params, config, inputs=inputs, exact=exact),
        "keys": keys.keys_and_queries(params, config, inputs=inputs, exact=exact, marks=marks, rng=rng),
        "manifold": value_manifold.of_transformer(params, config, inputs=inputs, exact=exact, rng=rng),
        "manifold_at_start": _points(shots[0][1], config, inputs, exact),
        "drift": drift,
    }


def _points(params, config, inputs, exact):
    """Describe the value manifold alone: of the first network, it is the null answer."""
    rows = trace(params, config, inputs=inputs)[1]["attention", config.num_applied - 1]
    return value_manifold.describe(*value_manifold.labelled(rows, exact))


def without_nan(value):
    """Put None in the place of every float that JSON cannot hold.

    >>> without_nan({"a": [1.0, float("nan")], "b": float("inf")})
    {'a': [1.0, None], 'b': None}
    """
    if isinstance(value, dict):
        return {key: without_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_nan(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
