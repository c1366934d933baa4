"""A network set by hand: who does what in it is known.

Bijection with V symbols. Head 0 of layer 0 averages all tokens so far and writes, for every value seen, a large
negative number on that value's logit. All else is idle: head 1, every feed-forward part, every further layer. So the
answer is exact, and without head 0 it is uniform.
"""

import itertools

import numpy as np

from mhc_np.models import ModelConfig, init
from mhc_np.tasks import bijection

V = 3
TASK = bijection.Config(num_symbols=V)
STRENGTH = 400.0


def everything():
    """Every bijection with its keys in order, once: averages over the batch are then exact averages."""
    values = np.array(list(itertools.permutations(range(V))))
    batch = bijection.encode(TASK, np.broadcast_to(np.arange(V), values.shape), values)
    return batch, bijection.posterior(TASK, batch)


def counting(num_layers=2, scheme="residual", num_streams=1):
    """The config and the parameters, in float64."""
    config = ModelConfig(
        num_inputs=2 * V,
        num_outputs=V,
        num_positions=2 * V - 1,
        width=2 * V,
        num_heads=2,
        num_layers=num_layers,
        positions="none",
        final_norm=False,
        scheme=scheme,
        num_streams=num_streams,
    )
    params = init(config, np.random.default_rng(0), np.float64)
    params["embed"]["table"] = np.eye(2 * V)
    value = np.arange(V)
    for layer, block in params["blocks"].items():
        for name in ("W_q", "W_k", "W_v", "W_o"):
            block["attention"][name] = np.zeros((2 * V, 2 * V))
        block["mlp"]["W_out"] = np.zeros_like(block["mlp"]["W_out"])
        if layer == "0":
            block["attention"]["W_v"][V + value, value] = 1.0
            block["attention"]["W_o"][value, V + value] = -STRENGTH
    params["head"]["W_head"] = np.eye(2 * V)[:, V:]
    return config, params


def prior_bits():
    """What a uniform answer costs: log2(V / left) bits, left = V, V − 1, …, 1."""
    return float(np.mean(np.log2(V / np.arange(V, 0, -1))))
