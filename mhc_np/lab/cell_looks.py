"""What is looked at in a cell: calibration, gains, streams and geometry, cheaply on the way and closely at two moments.

Chapter: chapters/15_the_question.md      Tests: tests/test_cells.py
Symbols: Π H_res over all sub-layers -> composite, KL(exact || answer) -> kl_bits

Nothing here raises for a network that has blown up: what cannot be measured is NaN.
"""

from typing import NamedTuple

import numpy as np

from mhc_np.autodiff import tree_map
from mhc_np.connections import reduce
from mhc_np.dynamics import em
from mhc_np.dynamics.advantage import alignment, score_gradient
from mhc_np.lab import drifting, value_manifold
from mhc_np.lab.ablate import Part, answer, mean_kl_bits, remove
from mhc_np.lab.site_gradients import site_gradients
from mhc_np.measure import calibration, gains, labels, streams
from mhc_np.models import trace
from mhc_np.models.mixings import mixings
from mhc_np.ops.attention import split_heads
from mhc_np.tasks import TASKS, Batch

NUM_CLOSE, NUM_ON_THE_WAY, NUM_GAIN, NUM_EM = 256, 32, 8, 16  # sequences
MATCHED_KL, NEAR = 0.02, 1.5  # bits; within this factor a checkpoint counts as being there
NUM_SHOTS = 20  # moments of the drift
GEOMETRY = ("pc1_share", "spearman")
NOTHING = {"pc1_share": np.nan, "spearman": np.nan, "participation": np.nan, "r_squared": np.nan}


class Subject(NamedTuple):
    """A cell's held-out sequences: the same for all arms of a seed."""

    config: object
    batch: Batch
    exact: np.ndarray


def subject(cell, rng):
    """Draw a cell's held-out sequences."""
    batch = TASKS[cell.task].sample(cell.task_config(), rng, NUM_CLOSE)
    return Subject(cell.model_config(), batch, TASKS[cell.task].posterior(cell.task_config(), batch))


def first(subject, count):
    """Return the subject with only the first sequences."""
    return subject._replace(batch=Batch(*(side[:count] for side in subject.batch)), exact=subject.exact[:count])


def entropy_nats(exact):
    """Mean entropy of the rows that have a posterior: what no model's cross-entropy is below."""
    return float(np.nanmean(calibration.entropy_bits(exact)) * np.log(2))


def look(params, subject):
    """Look quickly, on 32 sequences; the gains on 8.

    Returns
    -------
    dict
        ``kl_bits``, ``mae_bits`` (entropy error, per sample); of the composite mixing, means over tokens: ``forward``,
        ``backward``, ``sigma_1``, ``sigma_ratio`` (σ₂/σ₁); ``divergence`` of the last streams, ``growth``
        |x_L| / |x_0|; ``pc1_share``, ``spearman`` of the last layer's attention outputs, and with ``stream_`` before,
        of the last mean stream.
    """
    few = first(subject, NUM_ON_THE_WAY)
    logits, seen = trace(params, few.config, inputs=few.batch.inputs)
    predicted, last = calibration.probabilities(logits), few.config.num_applied - 1
    found = {"kl_bits": mean_kl_bits(few.exact, predicted)}
    found["mae_bits"] = calibration.entropy_mae_bits(few.exact, predicted)
    found |= gain(params, few.config, few.batch.inputs[:NUM_GAIN])
    found["divergence"] = streams.divergence(seen["after mlp", last])
    found["growth"] = streams.growth(seen["embedding", 0], seen["after mlp", last])
    for prefix, rows in (("", seen["attention", last]), ("stream_", reduce(seen["after mlp", last]))):
        described = describe(rows, few.exact)
        found |= {f"{prefix}{name}": described[name] for name in GEOMETRY}
    return found


def gain(params, config, inputs):
    """Return the gains of the composite mixing, means over tokens."""
    product = gains.composite(mixings(params, config, inputs=inputs))
    found, values = gains.summary(product), gains.singular_values(product)
    ratio = float(np.mean(values[..., min(1, config.num_streams - 1)] / values[..., 0]))
    return {"forward": found.forward, "backward": found.backward, "sigma_1": found.sigma_1, "sigma_ratio": ratio}


def describe(rows, exact):
    """Describe a manifold as `mhc_np.lab.value_manifold.describe` does; NaN throughout where rows are not finite."""
    points = value_manifold.labelled(rows, exact)
    if not np.isfinite(points[0]).all() or np.ptp(points[0]) == 0:
        return NOTHING
    return value_manifold.describe(*points)


def closer(shot, subject):
    """Look closely at one moment (step, params), on 256 sequences.

    Returns
    -------
    dict
        ``step``; ``kl_bits``, ``mae_bits``, ``total_variation``; ``ece``, the calibration error over every outcome;
        ``accuracy``; ``kl_without``: KL with the branches of the first, middle and last third of the layers writing
        nothing; ``attention`` and ``stream``: the manifold there; ``em_cosine``: mean over layers of the cosine of
        −dL/ds and the E-step r − α of the summed loss, on 16 sequences.
    """
    step, params = shot
    inputs, exact, targets, mask = *subject.batch[:1], subject.exact, *subject.batch[1:]
    logits, seen = trace(params, subject.config, inputs=inputs)
    predicted, last = calibration.probabilities(logits), subject.config.num_applied - 1
    summary = calibration.summary(exact, predicted)
    whole = np.isfinite(predicted[mask]).all()
    ece = calibration.expected_calibration_error
    return {
        "step": step,
        "kl_bits": summary.kl_bits,
        "mae_bits": summary.entropy_mae_bits,
        "total_variation": summary.total_variation,
        "ece": ece(predicted[mask], targets[mask], events="every") if whole else np.nan,
        "accuracy": labels.accuracy(exact, predicted, targets),
        "kl_without": [without(params, subject, layers) for layers in thirds(subject.config.num_applied)],
        "attention": _kept(describe(seen["attention", last], exact)),
        "stream": _kept(describe(reduce(seen["after mlp", last]), exact)),
        "em_cosine": em_cosine(params, first(subject, NUM_EM)),
    }


def _kept(described):
    return {name: described[name] for name in NOTHING}


def thirds(num_layers):
    """Cut the layers into three stretches, as equal as can be; empty ones are left out.

    >>> thirds(8)
    [[0, 1], [2, 3, 4], [5, 6, 7]]
    """
    edges = [num_layers * k // 3 for k in range(4)]
    return [list(range(a, b)) for a, b in zip(edges[:-1], edges[1:], strict=True) if b > a]


def without(params, subject, layers):
    """KL in bits when the branches of some layers write nothing; skips and mixing stay."""
    part = Part("layers", tuple((site, layer, slice(None)) for site in ("attention", "mlp") for layer in layers))
    hook = remove(part, subject.config)
    return mean_kl_bits(subject.exact, answer(params, subject.config, inputs=subject.batch.inputs, hook=hook))


def em_cosine(params, subject):
    """Compare what the gradient tells the scores with the E-step, layer by layer; the mean cosine."""
    config, found = subject.config, []
    params = tree_map(np.float64, params)
    batch = subject.batch._replace(targets=subject.exact)
    places = [("heads", layer) for layer in range(config.num_applied)]
    seen = trace(params, config, inputs=batch.inputs)[1]
    for (_, layer), d_heads in site_gradients(params, config, batch, places).items():
        weights, values = seen["weights", layer], split_heads(seen["values", layer], config.num_heads)
        cost = batch.mask.sum() * alignment(split_heads(d_heads, config.num_heads), values)
        if not np.isfinite(cost).all():
            return float("nan")
        found.append(em.cosine(-score_gradient(weights, cost), em.responsibility(weights, cost) - weights))
    return float(np.mean(found))


def nearest(kl_bits):
    """Return which look is nearest to the matched KL, by ratio; None if none is near.

    >>> nearest([1.0, 0.025, 0.018]), nearest([1.0, float("nan")])
    (2, None)
    """
    with np.errstate(all="ignore"):
        off = np.abs(np.log(np.asarray(kl_bits, np.float64) / MATCHED_KL))
    off = np.where(np.isnan(off), np.inf, off)
    return int(off.argmin()) if off.min() <= np.log(NEAR) else None


def settled(shots, subject):
    """Return when maps, values and answers have settled; None for a run that ends broken or is too short."""
    chosen = np.unique(np.linspace(0, len(shots) - 1, min(NUM_SHOTS, len(shots))).round().astype(int))
    few = first(subject, NUM_EM)
    shots = [shots[k] for k in chosen]
    finite = all(np.isfinite(answer(params, few.config, inputs=few.batch.inputs)).all() for _, params in shots)
    if len(shots) < 3 or not finite:
        return None
    try:
        curves = drifting.curves(shots, few.config, inputs=few.batch.inputs, exact=few.exact)
        return drifting.settled(curves)
    except (ValueError, np.linalg.LinAlgError):  # streams beyond float32: no angle, no distance
        return None
