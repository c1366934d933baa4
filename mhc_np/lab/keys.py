"""Keys and queries of a trained network: how orthogonal the hypotheses' keys are, and when queries turn to them.

Chapter: chapters/06_geometry.md      Tests: tests/test_keys.py
Symbols: keys by head -> (B, H, T, K), the hypothesis that a token stands for -> marks (B, T), −1 for none

What a hypothesis is, the task says: for the bijection a value (its token, wherever it stands), for the hidden Markov
model a state (its row in the header). The posterior is over the same hypotheses.
"""

import numpy as np

from mhc_np.measure import geometry
from mhc_np.measure.calibration import entropy_bits
from mhc_np.measure.manifold import spearman
from mhc_np.measure.probes import split
from mhc_np.models import trace
from mhc_np.ops.attention import split_heads

LOW, HIGH = 0.05, 0.95  # quantiles of a baseline
NUM_DRAWS = 400


def _of_bijection(config, inputs):
    """Return the value that a token names, −1 for a key."""
    return np.where(inputs >= config.num_symbols, inputs - config.num_symbols, -1)


def _of_hmm(config, inputs):
    """Return the state whose row a header token holds, −1 for the rest."""
    place = np.arange(inputs.shape[1])
    return np.broadcast_to(np.where(place < config.num_states, place, -1), inputs.shape[:2])


MARKS = {"bijection": _of_bijection, "hmm": _of_hmm}


def of_hypotheses(vectors, marks):
    """Return the mean vector of every hypothesis over all its tokens, (B, H, T, K) -> (H, n, K).

    Raises
    ------
    ValueError
        If a hypothesis between 0 and the largest has no token.

    Examples
    --------
    >>> vectors = np.array([[[[1.0], [2.0], [9.0]]], [[[3.0], [4.0], [9.0]]]])
    >>> of_hypotheses(vectors, np.array([[0, 1, -1], [0, 1, -1]]))[0]
    array([[2.],
           [3.]])
    """
    count = np.bincount(marks[marks >= 0], minlength=marks.max() + 1)
    if (count == 0).any():
        raise ValueError(f"of_hypotheses: want a token of each of {len(count)}, got none of number {count.argmin()}")
    which = (marks[..., None] == np.arange(len(count))).astype(vectors.dtype)  # (B, T, n)
    return np.einsum("btn,bhtk->hnk", which, vectors) / count[:, None]


def _seen_by_each(vectors, marks):
    """Return the keys as each sequence sees them, (B, H, n, K): its own where it shows every hypothesis, else means."""
    n = marks.max() + 1
    if all((marks == z).sum(axis=1).min() == 1 for z in range(n)):
        order = np.stack([(marks == z).argmax(axis=1) for z in range(n)], axis=1)  # (B, n)
        return np.take_along_axis(vectors, order[:, None, :, None], axis=2)
    return np.broadcast_to(of_hypotheses(vectors, marks), (len(marks), *of_hypotheses(vectors, marks).shape))


def keys_and_queries(params, config, *, inputs, exact, marks, rng):
    """Look at the keys and the queries of every layer and head.

    Parameters
    ----------
    params : nested dict of arrays
    config : ModelConfig
    inputs : (B, T) ints, or (B, T, F) floats
    exact : (B, T, n) floats
        The posterior, NaN where there is none; at the same positions in all sequences.
    marks : (B, T) ints
        As from `MARKS`.
    rng : np.random.Generator
        Draws the baselines.

    Returns
    -------
    dict
        ``baseline`` and ``baseline_centred``: ``n``, ``d``, ``mean``, ``low``, ``high`` of random vectors (5 % and 95 %
        quantiles), and ``formula``, sqrt(2 / (π d)); ``baseline_gap`` of their simplex gaps. ``layers``: a row for
        each applied block, with lists by head of ``cosine``, ``cosine_centred`` (mean absolute cosines of the
        hypotheses' keys) and ``simplex_gap``, ``alignment`` (with the belief, on the first half of the sequences),
        ``query_key_cosine`` (mean over all pairs of sources and queries, signed), and ``attention_entropy`` (mean of
        the labelled rows, as a share of log2 of the number of sources); and ``by_position``, the alignment of the head
        that the first half chose, on the second half.
        ``best``: the layer and head with the largest alignment on the first half, judged on the second:
        ``alignment``, ``null`` (mean, low, high with beliefs of other sequences), ``by_position``, ``entropy_bits`` by
        position; ``per_sharpness``, the alignment over the mean distance of the beliefs from uniform (NaN where they
        are uniform), since a sharper belief alone makes the alignment larger; and ``grows``, its rank correlation with
        −entropy over positions.
    """
    seen = trace(params, config, inputs=inputs)[1]
    at = np.flatnonzero(~np.isnan(exact[0, :, 0]))
    belief, (fit, judge) = exact[:, at], split(len(exact))
    layers, heads = [], {}
    for layer in range(config.num_applied):
        queries, keys = (split_heads(np.float64(seen[s, layer]), config.num_heads) for s in ("queries", "keys"))
        each, mean = _seen_by_each(keys, marks), of_hypotheses(keys, marks)
        weights = seen["weights", layer][:, :, at]
        row = {
            "cosine": geometry.mean_absolute_cosine(mean),
            "cosine_centred": geometry.mean_absolute_cosine(mean, centred=True),
            "simplex_gap": geometry.simplex_gap(mean),
            "query_key_cosine": _causal_mean(geometry.cosine(queries, keys)),
            "attention_entropy": _entropy_share(weights, at),
            "alignment": [],
        }
        for head in range(config.num_heads):
            heads[layer, head] = queries[:, head, at], each[:, head]
            chosen = (side[fit] for side in (*heads[layer, head], belief))
            row["alignment"].append(float(geometry.belief_alignment(*chosen).mean()))
        chosen = _best(row["alignment"])
        judged = (side[judge] for side in (*heads[layer, chosen], belief))
        layers.append({"layer": layer, **row, "by_position": geometry.belief_alignment(*judged).mean(axis=0)})
    n, d = mean.shape[1:]
    best = list(heads)[_best([each for row in layers for each in row["alignment"]])]
    return {
        "baseline": _baseline(n, d, rng, centred=False),
        "baseline_centred": _baseline(n, d, rng, centred=True),
        "baseline_gap": _spread(geometry.simplex_gap(rng.standard_normal((NUM_DRAWS, n, d)))),
        "layers": layers,
        "best": {"layer": best[0], "head": best[1], **_judged(*heads[best], belief, judge, at, rng)},
    }


def _judged(queries, keys, belief, judge, at, rng):
    """Hold the alignment of one head against that with other sequences' beliefs, and follow it over positions."""
    queries, keys, belief = (side[judge] for side in (queries, keys, belief))
    by_position = geometry.belief_alignment(queries, keys, belief).mean(axis=0)
    null = geometry.shuffled_alignment(queries, keys, belief, rng, num_draws=100)
    entropy = entropy_bits(belief).mean(axis=0)
    sharpness = np.sqrt(((belief - 1 / belief.shape[-1]) ** 2).sum(axis=-1)).mean(axis=0)
    says = sharpness > 1e-9
    per_sharpness = np.where(says, by_position / np.where(says, sharpness, 1.0), np.nan)
    return {
        "alignment": by_position.mean(),
        "null": _spread(null),
        "positions": at,
        "by_position": by_position,
        "entropy_bits": entropy,
        "per_sharpness": per_sharpness,
        "grows": spearman(per_sharpness[says], -entropy[says]),
    }


def _baseline(n, d, rng, *, centred):
    draws = geometry.random_baseline(n, d, rng, centred=centred, num_draws=NUM_DRAWS)
    return {"n": n, "d": d, **_spread(draws), "formula": geometry.expected_cosine(d)}


def _spread(draws):
    return {"mean": draws.mean(), "low": np.quantile(draws, LOW), "high": np.quantile(draws, HIGH)}


def _best(alignments):
    """Return which is the largest; a head whose keys or queries are zero has no alignment, and is not the best."""
    return int(np.nan_to_num(alignments, nan=-np.inf).argmax())


def _causal_mean(cosines):
    """Mean over sequences and over pairs (i, j <= i) of (B, H, T, T), by head."""
    rows, columns = np.tril_indices(cosines.shape[-1])
    return cosines[..., rows, columns].mean(axis=(0, 2))


def _entropy_share(weights, at):
    """Mean entropy of attention rows as a share of the largest possible, by head; rows with one source left out."""
    several = at > 0
    share = entropy_bits(np.float64(weights))[..., several] / np.log2(at[several] + 1)
    return share.mean(axis=(0, 2))
