"""Gradients through depth, with the skips and without: their size after every sub-layer, and the product bound.

Chapter: chapters/05_who_does_what.md      Tests: tests/test_depth.py
Symbols: stream after sub-layer l -> x_l (B, T, n, D), dL/dx_l -> d_streams, J_l = dx_l / dx_{l−1}

The gradient at the bottom is the gradient at the top times all Jacobians, so |dL/dx_0| <= Π_l |J_l| · |dL/dx_L|. With
skips J = I + E and without them J = E: the bound is what each layer could do, the sizes are what they do together.
"""

import numpy as np

from mhc_np.autodiff import grad, value_and_grad
from mhc_np.lab.lens import sites
from mhc_np.measure.refinement import prior_bits
from mhc_np.ops import cross_entropy

NUM_ITERATIONS = 12


def stream_gradients(model, params, config, batch):
    """Return ``|dL/dx_l|`` of the stream at every site, first the embedding: a list of floats.

    Parameters
    ----------
    model : mhc_np.models.Model
        Whose ``logits`` take a hook.
    params : nested dict of arrays
    config : ModelConfig
    batch : Batch

    Returns
    -------
    list of float
        Root of the summed squares over all tokens.
    """
    places = sites(config)
    shifts = {f"{site} {layer}": np.zeros(()) for site, layer in places}
    found = {}

    def keep_shape(site, layer, value):
        if (site, layer) in places:
            found[f"{site} {layer}"] = np.zeros(value.shape, value.dtype)
        return value

    model.logits(params, config, inputs=batch.inputs, hook=keep_shape)
    shifts = {name: found[name] for name in shifts}

    def loss(shifts):
        def shift(site, layer, value):
            return value + shifts[f"{site} {layer}"] if (site, layer) in places else value

        out = model.logits(params, config, inputs=batch.inputs, hook=shift)
        return cross_entropy(out, targets=batch.targets, mask=batch.mask)

    slopes = value_and_grad(loss)(shifts)[1]
    return [float(np.sqrt((np.float64(slopes[name]) ** 2).sum())) for name in shifts]


def jacobian_norms(model, params, config, inputs, rng, num_iterations=NUM_ITERATIONS):
    """Return the largest singular value of every sub-layer's Jacobian, on these sequences together.

    By power iteration on JᵀJ: Jᵀ from the tape, J from central differences (the tape is of first order).

    Parameters
    ----------
    model, params, config : as for `stream_gradients`; params in float64
    inputs : (B, T) ints, or (B, T, F) floats
        A few sequences: each iteration runs the network three times.
    rng : np.random.Generator
        Draws where the iteration starts.

    Returns
    -------
    list of float
        One a sub-layer. From below: the iteration approaches the norm.
    """
    places, kept = sites(config), {}

    def keep(site, layer, value):
        kept[site, layer] = value
        return value

    model.logits(params, config, inputs=inputs, hook=keep)
    norms = []
    for before, after in zip(places[:-1], places[1:], strict=True):
        start = kept[before]

        def sub_layer(streams, before=before, after=after):
            seen = {}

            def hook(site, layer, value):
                if (site, layer) == after:
                    seen["out"] = value
                return streams if (site, layer) == before else value

            model.logits(params, config, inputs=inputs, hook=hook)
            return seen["out"]

        norms.append(_largest(sub_layer, start, rng, num_iterations))
    return norms


def _largest(function, at, rng, num_iterations):
    """Power iteration for the norm of the derivative of a function at a point."""
    direction, step = rng.standard_normal(at.shape), 1e-5 * max(1.0, np.abs(at).max())
    size = 0.0
    for _ in range(num_iterations):
        direction = direction / np.sqrt((direction * direction).sum())
        forward = (function(at + step * direction) - function(at - step * direction)) / (2 * step)
        size = float(np.sqrt((forward * forward).sum()))
        if size == 0:
            return 0.0
        direction = grad(lambda x, forward=forward: (function(x) * forward).sum())(at)
    return size


def through_depth(model, params, config, batch, exact, rng, num_bound=2):
    """Return the gradients through a network and their bound.

    Returns
    -------
    dict
        ``gradients``: as from `stream_gradients`; ``end_to_end``: the first over the last; ``log10_bound``: the sum of
        log10 of the sub-layers' Jacobian norms on ``num_bound`` sequences, which log10 of ``end_to_end`` on the same
        sequences, ``log10_few``, cannot exceed; ``gradients_few`` on these; ``jacobians``; ``prior_bits``.
    """
    gradients = stream_gradients(model, params, config, batch)
    few = type(batch)(*(side[:num_bound] for side in batch))
    on_few = stream_gradients(model, params, config, few)
    jacobians = jacobian_norms(model, params, config, few.inputs, rng)
    with np.errstate(divide="ignore"):
        bound, real = np.log10(jacobians).sum(), np.log10(on_few[0]) - np.log10(on_few[-1])
    return {
        "gradients": gradients,
        "end_to_end": gradients[0] / gradients[-1] if gradients[-1] > 0 else float("nan"),
        "jacobians": jacobians,
        "log10_bound": float(bound),
        "log10_few": float(real),
        "gradients_few": on_few,
        "prior_bits": prior_bits(exact),
    }
