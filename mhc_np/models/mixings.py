"""The mixing matrices of a network, as its tokens meet them: for the gains of single layers and of their product.

Chapter: chapters/11_hyper_connections.md      Tests: tests/test_mixings.py
Symbols: H_res of sub-layer l -> (B, T, n, n), first sub-layer first
"""

import numpy as np

from mhc_np import connections
from mhc_np.models.trace import trace


def mixings(params, config, *, inputs):
    """Run the model and return H_res of every sub-layer, in the order in which a token passes them.

    Parameters
    ----------
    params : nested dict of arrays
    config : ModelConfig
    inputs : (B, T) ints, or (B, T, num_inputs) floats

    Returns
    -------
    list of (B, T, n, n) arrays
        Two for each applied block, attention and then feed-forward: what `mhc_np.measure.gains.composite` multiplies.
        The identity where a scheme does not mix.

    Examples
    --------
    >>> from mhc_np.models import ModelConfig, init
    >>> config = ModelConfig(num_inputs=3, num_outputs=2, num_positions=4, width=8, scheme="hc", num_streams=2)
    >>> found = mixings(init(config, np.random.default_rng(0)), config, inputs=np.array([[0, 2, 1]]))
    >>> len(found), found[1][0, 2]
    (2, array([[1., 0.],
           [0., 1.]], dtype=float32))
    """
    _, seen = trace(params, config, inputs=inputs)
    streams, found = seen["embedding", 0], []
    for layer in range(config.num_applied):
        block = params["blocks"][str(layer % config.num_layers)]
        for name in ("attention", "mlp"):
            H_res = connections.coefficients(block[name].get("connection", {}), config.scheme, streams).H_res
            if H_res is None:
                n = config.num_streams
                H_res = np.broadcast_to(np.eye(n, dtype=streams.dtype), (*streams.shape[:2], n, n))
            found.append(H_res)
            streams = seen[f"after {name}", layer]
    return found
