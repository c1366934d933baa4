"""AdamW: step against the average gradient, measured in units of its usual size.

Chapter: chapters/04_training.md      Tests: tests/test_learn_adamw.py
Symbols: g_t -> grads, m_t -> m (N,), v_t -> v (N,), beta_1 and beta_2 -> betas, eta -> learning_rate,
    lambda -> weight_decay, eta_t / eta -> factor
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from mhc_np.autodiff import flatten
from mhc_np.learn.vector import pack, rebuild, unpack

BLOCK = 32768  # entries a pass: four float32 blocks fill half a megabyte and stay in the second cache


def decays(path):
    """Say whether weight decay acts on the parameter at ``path``. The one place that decides it.

    Matrices and embedding tables decay. Gains, biases and everything that mixes streams do not:
    zero is not their neutral value (a gain's is 1; a mixing parameter's is whatever makes the
    start the identity), so decay would pull them somewhere and not merely make them small.

    >>> decays("blocks/0/mlp/W_in"), decays("embed/table")
    (True, True)
    >>> decays("blocks/0/mlp/b_in"), decays("blocks/0/mlp/gain")
    (False, False)
    >>> decays("blocks/0/attention/connection/W_res")
    False
    """
    *parents, leaf = path.split("/")
    return (leaf.startswith("W_") or leaf == "table") and "connection" not in parents


@dataclass(frozen=True)
class AdamW:
    """Adam with decoupled weight decay.

    Parameters
    ----------
    learning_rate : float
        The peak rate, about the distance one entry moves in one step.
    betas : tuple of two floats
        How much of yesterday's gradient average, and of yesterday's average square, is kept.
    eps : float
        Keeps the quotient finite where the gradient has been zero all along.
    weight_decay : float
        Share of a parameter lost a step, as a multiple of the rate; where, `decays` says.

    Notes
    -----
    ``m`` and ``v`` are *discounted sums*, of gradients and of their squares: ``m = beta_1 m + g``. An
    average is such a sum over the sum of its weights, ``(1 - beta^t) / (1 - beta)`` after t steps.
    Written so, Adam's bias correction is no extra: it is the division that makes a sum an average.

    The update is Kingma & Ba, https://arxiv.org/abs/1412.6980; the decay beside it and not inside the
    gradient is Loshchilov & Hutter, https://arxiv.org/abs/1711.05101.

    Examples
    --------
    The first step is one learning rate long, whatever the size of the gradient: m = g and sqrt(v) = abs(g).

    >>> optimizer = AdamW(learning_rate=0.1)
    >>> params, grads = {"gain": np.array([1.0, 1.0])}, {"gain": np.array([7.0, -0.002])}
    >>> params, state = optimizer.update(params, grads, optimizer.init(params))
    >>> params["gain"].round(5)
    array([0.9, 1.1])
    """

    learning_rate: float = 3e-3
    betas: tuple = (0.9, 0.98)
    eps: float = 1e-8
    weight_decay: float = 0.01

    def init(self, params):
        """Return the state before the first step: ``{"step": (), "m": (N,), "v": (N,)}``."""
        leaves = flatten(params)
        empty = np.zeros_like(pack(leaves, list(leaves)))
        return {"step": np.zeros((), np.int64), "m": empty, "v": empty.copy()}

    def update(self, params, grads, state, factor=1.0):
        """Make one step.

        Parameters
        ----------
        params, grads : nested dicts of arrays
            One structure, one dtype. Neither is changed.
        state : dict
            From `init` or the step before. Its ``m`` and ``v`` are used up: the new state lives in them.
        factor : float
            The schedule's value in [0, 1]; multiplies the rate, and so the decay too.

        Returns
        -------
        params, state : nested dicts of arrays
            The new parameters are views of one new vector.
        """
        leaves = flatten(params)
        paths = sorted(leaves, key=lambda path: (not decays(path), path))  # those that decay first
        num_decayed = sum(leaves[path].size for path in paths if decays(path))
        theta, g = pack(leaves, paths), pack(flatten(grads), paths, like=leaves)
        m, v, step = state["m"], state["v"], int(state["step"]) + 1
        if m.shape != theta.shape:
            raise ValueError(
                f"AdamW: want a state for {theta.size} parameters, got one for {m.size}; make it with init(params)"
            )
        beta_1, beta_2 = self.betas
        rate = self.learning_rate * factor
        weights_1 = (1 - beta_1**step) / (1 - beta_1)
        weights_2 = (1 - beta_2**step) / (1 - beta_2)
        # (m / weights_1) / (sqrt(v / weights_2) + eps), with the scalars drawn out of the vectors
        scale, floor = rate * sqrt(weights_2) / weights_1, self.eps * sqrt(weights_2)
        theta[:num_decayed] *= 1 - rate * self.weight_decay
        for start in range(0, theta.size, BLOCK):
            block = slice(start, start + BLOCK)
            _step(theta[block], g[block], m[block], v[block], beta_1, beta_2, scale, floor)
        moved = rebuild(unpack(theta, leaves, paths), params)
        return moved, {"step": np.array(step, np.int64), "m": m, "v": v}


def _step(theta, g, m, v, beta_1, beta_2, scale, floor):
    """One block, in place: the sums, then theta -= scale * m / (sqrt(v) + floor). Uses up ``g``."""
    m *= beta_1
    m += g
    v *= beta_2
    g *= g
    v += g
    np.sqrt(v, out=g)
    g += floor
    np.divide(m, g, out=g)
    g *= scale
    theta -= g
