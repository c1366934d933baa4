"""The value manifold of a trained network: what its attention writes, whether entropy is its coordinate, and its use.

Chapter: chapters/06_geometry.md      Tests: tests/test_value_manifold.py
Symbols: attention outputs of the last layer at labelled positions -> points (N, D), H(p) -> entropy (N,)

An axis is *used* if the answers suffer when points are moved to the mean along it, and suffer more than from a control.
Two axes could be "the entropy axis": the direction that reads the entropy best, and the direction along which points
move with the entropy (if the first principal axis is the entropy's, it is this one). Two kinds of control: directions
that are uniform on the sphere, and directions along which points move with *shuffled* entropies. The second lie where
the points vary, as the entropy's does; many an axis is costly for no better reason than that.
"""

import numpy as np

from mhc_np.connections import reduce
from mhc_np.lab.ablate import answer, mean_kl_bits
from mhc_np.measure import manifold
from mhc_np.measure.calibration import entropy_bits, probabilities
from mhc_np.measure.probes import ridge, split
from mhc_np.models import replace, trace
from mhc_np.models.tokens import embed_tokens
from mhc_np.ops import linear, lstm

NUM_CONTROLS = 16  # of each kind
NUM_POINTS = 150  # that are kept, to be drawn
CONTROLS, ENTROPY_AXES = ("random", "shuffled"), ("readout", "covariance")


def describe(points, entropy, position):
    """Describe points and how the entropy lies on them.

    Parameters
    ----------
    points : (N, D) floats
    entropy : (N,) floats
        Of the exact posterior, in bits.
    position : (N,) ints
        Where in its sequence each point stands.

    Returns
    -------
    dict
        ``pc1_share``, ``pc12_share``, ``participation``; absolute rank correlation and R² of the entropy with the first
        coordinate, ``spearman`` and ``r_squared``; the same with the means of each position taken out of both sides,
        ``spearman_within`` and ``r_squared_within``, and ``by_position``, the share of the entropy's variance that the
        position alone tells. NaN where the entropy does not vary.
    """
    found = manifold.pca(points)
    shares, first = manifold.share(found.variances), found.coordinates[:, 0]
    inside = [manifold.within(side, position) for side in (first, entropy)]
    varies = entropy.var() > 1e-12
    return {
        "pc1_share": shares[0],
        "pc12_share": shares[:2].sum(),
        "participation": manifold.participation_ratio(found.variances),
        "spearman": abs(manifold.spearman(first, entropy)),
        "r_squared": manifold.r_squared(first, entropy),
        "spearman_within": abs(manifold.spearman(*(side.round(9) for side in inside))),
        "r_squared_within": manifold.r_squared(*inside) if np.abs(inside[1]).max() > 1e-9 else np.nan,
        "by_position": 1 - inside[1].var() / entropy.var() if varies else np.nan,
    }


def sample(points, entropy, position, count=NUM_POINTS):
    """Return some of the points on their first two principal axes, as `describe` takes them: a dict of lists."""
    some = np.linspace(0, len(points) - 1, min(count, len(points))).round().astype(int)
    plane = manifold.pca(points).coordinates[some, :2]
    return {"coordinates": plane, "entropy_bits": entropy[some], "position": position[some]}


def candidate_axes(points, entropy, rng):
    """Return the directions to take away, name -> (D,): principal axes, the entropy's, and the controls."""
    centred = points - points.mean(axis=0)
    axes = {f"pc{k + 1}": axis for k, axis in enumerate(manifold.pca(points).axes[:3])}
    axes["readout"] = ridge(points, entropy).weights
    axes["covariance"] = centred.T @ (entropy - entropy.mean())
    for k, axis in enumerate(manifold.random_axes(NUM_CONTROLS, points.shape[1], rng)):
        axes[f"random {k}"] = axis
        axes[f"shuffled {k}"] = centred.T @ rng.permutation(entropy - entropy.mean())
    return axes


def axis_costs(points, entropy, exact, predict, rng):
    """Take each direction away and say what it costs.

    Parameters
    ----------
    points : (N, D) floats
        Of sequences that are not judged: they give the axes and the mean.
    entropy : (N,) floats
    exact : (B, T, V) floats
        Of the sequences that are judged.
    predict : callable
        ``predict(change) -> (B, T, V)``: the network's answers when ``change`` is applied to its points.
    rng : np.random.Generator

    Returns
    -------
    dict
        Bits a label above the whole network: one number each for ``pc1``, ``pc2``, ``pc3``, ``readout``,
        ``covariance``; lists for ``random`` and ``shuffled``; for ``entropy`` the larger of the two that could be its
        axis.
    """
    mean, whole = points.mean(axis=0), mean_kl_bits(exact, predict(lambda rows: rows))
    costs = {kind: [] for kind in CONTROLS}
    for name, axis in candidate_axes(points, entropy, rng).items():
        bits = 0.0  # if nothing varies with the entropy, there is nothing to take away
        if np.linalg.norm(axis) > 0:
            without = predict(lambda rows, axis=axis: manifold.project_out(rows, axis, about=mean))
            bits = mean_kl_bits(exact, without) - whole
        kind = name.split()[0]
        if kind in CONTROLS:
            costs[kind].append(bits)
        else:
            costs[name] = bits
    return costs | {"entropy": max(costs[name] for name in ENTROPY_AXES)}


def of_transformer(params, config, *, inputs, exact, rng):
    """Describe what the last layer's attention writes, and take axes away there and from the last stream.

    Returns
    -------
    dict
        ``points``: as from `describe`, for the last layer; ``by_layer``: the same for each; ``sample``: points to draw;
        ``axes``: for "attention" and "stream", as from `axis_costs`.
    """
    seen, last = trace(params, config, inputs=inputs)[1], config.num_applied - 1
    written = [labelled(seen["attention", layer], exact) for layer in range(config.num_applied)]
    by_layer = [describe(*each) for each in written]
    found = {"points": by_layer[last], "by_layer": by_layer, "sample": sample(*written[last]), "axes": {}}
    fit, judge = split(len(exact))
    for name, site in (("attention", ("attention", last)), ("stream", ("after mlp", last))):
        rows = seen[site] if seen[site].ndim == 3 else reduce(seen[site])

        def predict(change, site=site):
            return answer(params, config, inputs=inputs[judge], hook=replace({site: change}))

        costs = axis_costs(*labelled(rows[fit], exact[fit])[:2], exact[judge], predict, rng)
        found["axes"][name] = costs
    return found


def of_lstm(params, config, *, inputs, exact, rng):
    """Do the same with the last hidden state of an LSTM; there is one site, "stream"."""
    hidden = embed_tokens(params["embed"], config, inputs)
    for block in params["blocks"].values():
        hidden = lstm(hidden, *(block["lstm"][name] for name in ("W_x", "W_h", "b")))
    fit, judge = split(len(exact))

    def predict(change):
        return probabilities(linear(change(hidden[judge]), params["head"]["W_head"]))

    costs = axis_costs(*labelled(hidden[fit], exact[fit])[:2], exact[judge], predict, rng)
    points = labelled(hidden, exact)
    return {"points": describe(*points), "sample": sample(*points), "axes": {"stream": costs}}


def labelled(states, exact):
    """Return (points, entropy, position) of the rows that have a posterior: (N, D) float64, (N,), (N,)."""
    kept = ~np.isnan(exact[..., 0])
    position = np.broadcast_to(np.arange(exact.shape[1]), kept.shape)
    return np.float64(states[kept]), entropy_bits(exact[kept]), position[kept]
