"""The loss's gradient at chosen places inside a network.

Chapter: chapters/05_who_does_what.md      Tests: tests/test_cells.py
Symbols: intermediate h -> value at (site, layer), dL/dh -> the answer's entry of that key
"""

import numpy as np

from mhc_np.autodiff import grad
from mhc_np.models import MODELS
from mhc_np.ops import cross_entropy


def site_gradients(params, config, batch, places, model="transformer"):
    """Differentiate the mean loss with respect to intermediates.

    Parameters
    ----------
    params : nested dict of arrays
    config : ModelConfig
    batch : Batch
    places : list of (site, layer)
        As `mhc_np.models.trace` names them.
    model : str

    Returns
    -------
    dict
        (site, layer) -> array of the intermediate's shape: by what the loss rises per unit of it.
    """
    shifts, logits = {}, MODELS[model].logits

    def keep_shape(site, layer, value):
        if (site, layer) in places:
            shifts[f"{site} {layer}"] = np.zeros_like(value)
        return value

    logits(params, config, inputs=batch.inputs, hook=keep_shape)

    def loss(shifts):
        def shift(site, layer, value):
            return value + shifts[f"{site} {layer}"] if (site, layer) in places else value

        out = logits(params, config, inputs=batch.inputs, hook=shift)
        return cross_entropy(out, targets=batch.targets, mask=batch.mask)

    slopes = grad(loss)(shifts)
    return {(site, layer): slopes[f"{site} {layer}"] for site, layer in places}
