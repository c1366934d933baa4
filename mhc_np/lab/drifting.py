"""Drift over training: how far a network's maps, values, answers and parameters are from where they end, by snapshot.

Chapter: chapters/09_frame_precision.md      Tests: tests/test_drifting.py
Symbols: α_ij -> map_drift, values v_j -> value_drift, attention outputs -> output_drift, KL(p || q) -> kl_bits

Every distance ends at zero and is of first order (see `mhc_np.measure.drift`). A thing has arrived when nine tenths of
the way stay behind it. The control is what the parameters themselves do: if W_Q and W_K arrive before W_V and W_O by as
much as maps arrive before values, the maps add nothing.
"""

from pathlib import Path

import numpy as np

from mhc_np.autodiff import flatten
from mhc_np.lab.ablate import mean_kl_bits
from mhc_np.lab.value_manifold import describe, labelled
from mhc_np.learn import load
from mhc_np.measure import drift, manifold
from mhc_np.measure.calibration import entropy_mae_bits, probabilities
from mhc_np.models import trace

BLOCKS = {"routing": ("W_q", "W_k", "bias_table"), "content": ("W_v", "W_o"), "mlp": ("W_in", "b_in", "W_out", "b_out")}
DISTANCES = ("map_drift", "value_drift", "output_drift", "subspace_drift", *(f"{block}_distance" for block in BLOCKS))
NUM_FRAMES, NUM_POINTS = 12, 150  # of the animation


def snapshots(folder):
    """Read the snapshots of a run in the order of their steps: a list of (step, params).

    Raises
    ------
    FileNotFoundError
        If there are fewer than three.
    """
    paths = sorted(Path(folder).glob("step-*.npz"), key=lambda path: int(path.stem.removeprefix("step-")))
    if len(paths) < 3:
        raise FileNotFoundError(f"{folder}: want three snapshots or more, got {len(paths)}; set training.num_snapshots")
    loaded = [load(path) for path in paths]
    return [(meta["step"], params) for params, meta in loaded]


def curves(shots, config, *, inputs, exact):
    """Measure every snapshot against the last.

    Parameters
    ----------
    shots : list of (step, params)
    config : ModelConfig
    inputs, exact : sequences, and their posterior

    Returns
    -------
    dict
        Lists, a number a snapshot: ``step``; ``map_drift`` (Jensen–Shannon distance), ``value_drift`` (Procrustes),
        each the mean over layers; ``output_drift`` (Procrustes) and ``subspace_drift`` (plane of the first two axes) of
        what the last layer's attention writes; ``map_divergence_bits``, of second order, beside them;
        ``routing_distance``, ``content_distance``, ``mlp_distance`` of parameters; ``kl_bits``, ``entropy_mae_bits``;
        ``pc1_share``, ``spearman`` of the value manifold.
    """
    first, last, rows = shots[0][1], shots[-1][1], []
    end = _look(last, config, inputs, exact)
    for step, params in shots:  # one look at a time: maps of all snapshots together would fill the memory
        look = _look(params, config, inputs, exact)
        row = {"step": step, **_against(look, end)}
        row |= {f"{block}_distance": _parameters(params, first, last, names) for block, names in BLOCKS.items()}
        row |= {name: look["described"][name] for name in ("pc1_share", "spearman")}
        rows.append(row | {name: look[name] for name in ("kl_bits", "entropy_mae_bits")})
    return {name: [row[name] for row in rows] for name in rows[0]}


def settled(found):
    """Return the step at which each curve is nine tenths done; for the calibration, of the root of its KL.

    The root, since KL is of second order where the answer is near. NaN for a curve that starts where it ends.
    """
    root = np.sqrt(found["kl_bits"])
    distances = {name: np.asarray(found[name]) for name in DISTANCES} | {"calibration": np.abs(root - root[-1])}
    distances["map_divergence"] = np.asarray(found["map_divergence_bits"])
    return {name: drift.arrival(found["step"], curve) for name, curve in distances.items()}


def unrolling(shots, config, *, inputs, exact):
    """Return what an animation of the manifold needs: the same few points at some snapshots, on two axes.

    Returns
    -------
    dict
        ``entropy_bits`` and ``position`` of the points, and ``frames``: ``step``, ``coordinates`` (points, 2), each on
        the axes of its own snapshot, turned to lie as the last ones do; ``pc1_share``, ``spearman``.
    """
    chosen = np.unique(np.linspace(0, len(shots) - 1, NUM_FRAMES).round().astype(int))
    kept = ("labelled", "described")
    looks = {}
    for k in chosen:
        look = _look(shots[k][1], config, inputs, exact)
        looks[k] = {name: look[name] for name in kept}
    frames, (points, entropy, position) = [], looks[chosen[-1]]["labelled"]
    some = np.linspace(0, len(points) - 1, min(NUM_POINTS, len(points))).astype(int)
    last = manifold.pca(points).coordinates[:, :2]
    for k in chosen:
        own = manifold.pca(looks[k]["labelled"][0]).coordinates[:, :2]
        left, _, right = np.linalg.svd(own.T @ last)
        described = {name: looks[k]["described"][name] for name in ("pc1_share", "spearman")}
        frames.append({"step": shots[k][0], "coordinates": (own @ left @ right)[some], **described})
    return {"entropy_bits": entropy[some], "position": position[some], "frames": frames}


def _look(params, config, inputs, exact):
    """Return what one snapshot does, as far as the curves need it."""
    logits, seen = trace(params, config, inputs=inputs)
    predicted, layers = probabilities(logits), range(config.num_applied)
    rows = labelled(seen["attention", layers[-1]], exact)
    return {
        "weights": [np.float64(seen["weights", layer]) for layer in layers],
        "values": [np.float64(seen["values", layer]).reshape(-1, config.width) for layer in layers],
        "labelled": rows,
        "described": describe(*rows),
        "kl_bits": mean_kl_bits(exact, predicted),
        "entropy_mae_bits": entropy_mae_bits(exact, predicted),
    }


def _against(look, last):
    """Return the distances of one look to the last."""
    pairs = {name: list(zip(look[name], last[name], strict=True)) for name in ("weights", "values")}
    divergence = [drift.jensen_shannon_bits(*pair)[..., 1:].mean() for pair in pairs["weights"]]
    points, final = look["labelled"][0], last["labelled"][0]
    return {
        "map_drift": np.mean([drift.map_drift(*pair) for pair in pairs["weights"]]),
        "map_divergence_bits": np.mean(divergence),
        "value_drift": np.mean([drift.procrustes_distance(*pair) for pair in pairs["values"]]),
        "output_drift": drift.procrustes_distance(points, final),
        "subspace_drift": drift.subspace_distance(points, final, 2),
    }


def _parameters(params, first, last, names):
    """Relative distance of the parameters of these names, over all layers together."""

    def chosen(tree):
        return [leaf for path, leaf in flatten(tree["blocks"]).items() if path.split("/")[-1] in names]

    return drift.relative_distance(chosen(params), chosen(first), chosen(last))
