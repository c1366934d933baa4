"""A short run inside a page: a few dozen steps on exact targets, with the parameters kept on the way.

Chapter: chapters/11_hyper_connections.md      Tests: tests/test_short_runs.py
Symbols: exact posterior -> targets (B, T, V), η -> learning_rate

Chapters 11 and 13 train the same network under other connections. Nothing here chooses a best moment, and nothing is
saved: what a verdict rests on is trained by `mhc_np.lab.runs` and `mhc_np.lab.grid`.
"""

from typing import NamedTuple

import numpy as np

from mhc_np.learn import AdamW, fit
from mhc_np.models import logits
from mhc_np.ops import cross_entropy
from mhc_np.tasks import bijection

WARM_UP = 20  # steps over which the rate rises; then it stays


class ShortRun(NamedTuple):
    """What a short run leaves behind."""

    params: dict
    kept: dict


def distil(task, config, params, num_steps, *, learning_rate, seed=0, looks=(), batch_size=16):
    """Train a Transformer on the exact posterior of a bijection task, and keep what it was at some steps.

    Parameters
    ----------
    task : bijection.Config
    config : ModelConfig
    params : nested dict of arrays
        Where to start.
    num_steps : int
    learning_rate : float
        AdamW's, after a linear rise over the first steps.
    seed : int
        Decides the batches.
    looks : iterable of int
        Steps at which the parameters are kept; 0 is the start.
    batch_size : int

    Returns
    -------
    ShortRun
        ``params`` after the last step, and ``kept``: step -> parameters.
    """
    kept = {}

    def loss(params, batch):
        found = logits(params, config, inputs=batch.inputs)
        return cross_entropy(found, targets=batch.targets, mask=batch.mask)

    def sample(rng):
        batch = bijection.sample(task, rng, batch_size)
        return batch._replace(targets=bijection.posterior(task, batch))

    trained = fit(
        *(loss, params, sample, AdamW(learning_rate, (0.9, 0.98))),
        num_steps=num_steps,
        rng=np.random.default_rng(seed + 100),
        schedule=lambda step: min(1.0, (step + 1) / WARM_UP),
        snapshot=lambda params, step: kept.update({step: params}),
        snapshot_steps=looks,
        progress=False,
    )
    return ShortRun(trained.params, kept)
