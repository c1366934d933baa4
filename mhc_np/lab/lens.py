"""Belief through depth: what the stream says after every sub-layer, through the head and through a fitted probe.

Chapter: chapters/05_who_does_what.md      Tests: tests/test_lens.py
Symbols: stream after sub-layer l -> states (B, T, D), its belief -> beliefs (L, B, T, V), KL -> kl (L, B, T) in bits

The *logit lens* asks the network's own head, which was made for the last state alone. The *probe* fits a head to every
state, on other sequences. Where the lens errs and the probe does not, the belief is there in another basis.
"""

import numpy as np

from mhc_np.connections import reduce
from mhc_np.measure import probes, refinement
from mhc_np.measure.calibration import entropy_bits, probabilities
from mhc_np.measure.rows import has_posterior
from mhc_np.models import logits, replace, trace

NUM_PATHS = 8


def sites(config):
    """Return the sites of the stream in order: the embedding, then after each sub-layer.

    >>> from mhc_np.models import ModelConfig
    >>> sites(ModelConfig(num_inputs=3, num_outputs=2, num_positions=4))
    [('embedding', 0), ('after attention', 0), ('after mlp', 0)]
    """
    after = [(f"after {site}", layer) for layer in range(config.num_applied) for site in ("attention", "mlp")]
    return [("embedding", 0), *after]


def states(params, config, *, inputs):
    """Return the stream at every site, {site: (B, T, n, D)}."""
    seen = trace(params, config, inputs=inputs)[1]
    return {site: seen[site] for site in sites(config)}


def logit_lens(params, config, *, inputs, found=None):
    """Let the network stop at every site in turn: put that state in the place of the last one.

    Parameters
    ----------
    params : nested dict of arrays
    config : ModelConfig
    inputs : (B, T) ints, or (B, T, F) floats
    found : dict, optional
        As from `states`, if it is there already.

    Returns
    -------
    (L, B, T, V) float64
        Beliefs; the last is the network's answer.
    """
    found = states(params, config, inputs=inputs) if found is None else found
    last = sites(config)[-1]
    return np.stack(
        [
            probabilities(logits(params, config, inputs=inputs, hook=replace({last: state})))
            for state in found.values()
        ]
    )


def probe_beliefs(found, exact, *, num_iters=300):
    """Fit a linear head to every site on the first half of the sequences; return its beliefs on the second half.

    A probe reads what the network's head could: the mean stream, divided by its root mean square.

    Parameters
    ----------
    found : dict
        As from `states`.
    exact : (B, T, V) floats
    num_iters : int

    Returns
    -------
    (L, B/2, T, V) float64
    """
    fit, judge = probes.split(len(exact))
    labelled = has_posterior(exact)
    beliefs = []
    for state in found.values():
        rows = normalized(state)
        probe = probes.softmax_probe(rows[fit][labelled[fit]], exact[fit][labelled[fit]], num_iters=num_iters)
        beliefs.append(probabilities(probes.read(probe, rows[judge])))
    return np.stack(beliefs)


def readable(found, targets, labelled, penalty=1e-3):
    """Return how much of numbers is linearly readable at every site: R² on sequences not fitted to, one a site.

    Parameters
    ----------
    found : dict
        As from `states`.
    targets : (B, T) floats
        An entropy, a count.
    labelled : (B, T) bools
        Where to ask.
    """
    fit, judge = probes.split(len(targets))
    shares = []
    for state in found.values():
        rows = normalized(state)
        probe = probes.ridge(rows[fit][labelled[fit]], targets[fit][labelled[fit]], penalty)
        answers = probes.read(probe, rows[judge][labelled[judge]])
        shares.append(probes.explained(answers, targets[judge][labelled[judge]]))
    return shares


def paths(exact, beliefs, count=NUM_PATHS):
    """Pick a few questions, each of another sequence, from the first position to the last; follow their beliefs.

    Parameters
    ----------
    exact : (B, T, V) floats
    beliefs : dict
        Reader -> (L, B, T, V).
    count : int

    Returns
    -------
    dict
        ``positions`` (count,), ``exact`` (count, V), and for each reader (L, count, V).
    """
    asked = np.flatnonzero(has_posterior(exact).all(axis=0))
    at = asked[np.linspace(0, len(asked) - 1, min(count, len(exact))).round().astype(int)]
    rows = np.arange(len(at))
    return {"positions": at, "exact": exact[rows, at], **{name: each[:, rows, at] for name, each in beliefs.items()}}


def through_depth(params, config, *, inputs, exact, tolerance_share=0.02):
    """Follow the belief through the network.

    Parameters
    ----------
    params, config, inputs : as for the model
    exact : (B, T, V) floats
    tolerance_share : float
        A step smaller than this share of the prior's bits counts as staying.

    Returns
    -------
    dict
        ``prior_bits``: what there is to learn. ``sites``: their names. For ``lens`` and ``probe``, judged on the second
        half: ``kl_bits`` by site, ``by_position`` (rows sites, columns positions), and the counts of
        `refinement.count_steps` over sub-layers (``sub_layers``) and over whole blocks (``blocks``).
        ``entropy_readable``: R² of the exact entropy by site. ``paths``: a few beliefs themselves.
    """
    found = states(params, config, inputs=inputs)
    judge = probes.split(len(exact))[1]
    beliefs = {
        "lens": logit_lens(params, config, inputs=inputs[judge], found={k: v[judge] for k, v in found.items()}),
        "probe": probe_beliefs(found, exact),
    }
    bits = refinement.prior_bits(exact)
    labelled = has_posterior(exact)
    result = {
        "prior_bits": bits,
        "sites": [f"{site} {layer}" for site, layer in found],
        "entropy_readable": readable(found, np.nan_to_num(entropy_bits(exact)), labelled),
        "paths": paths(exact[judge], beliefs),
    }
    for name, belief in beliefs.items():
        kl = refinement.kl_through_depth(exact[judge], belief)
        positions, means = refinement.by_layer_and_position(kl)
        result[name] = {
            "kl_bits": refinement.by_layer(kl),
            "positions": positions,
            "by_position": means,
            "sub_layers": refinement.count_steps(kl, tolerance_share * bits)._asdict(),
            "blocks": refinement.count_steps(kl[::2], tolerance_share * bits)._asdict(),
        }
    return result


def normalized(state):
    """Reduce streams (B, T, n, D) to their mean and divide it by its root mean square, in float64."""
    mean = np.asarray(reduce(state), np.float64)
    return mean / np.sqrt((mean * mean).mean(axis=-1, keepdims=True) + 1e-12)
