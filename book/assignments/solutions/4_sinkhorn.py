"""Assignment 4, a solution."""

import numpy as np


def sinkhorn_fwd(logits, num_iters):
    """Normalise logarithms: columns, then rows; keep every matrix on the way."""
    log_plan, steps = logits, []
    for _ in range(num_iters):
        for axis in (-2, -1):
            largest = log_plan.max(axis=axis, keepdims=True)
            total = np.exp(log_plan - largest).sum(axis=axis, keepdims=True)
            log_plan = log_plan - largest - np.log(total)
            steps.append((np.exp(log_plan), axis))
    return steps[-1][0], steps


def sinkhorn_bwd(d_plan, cache):
    """From the gradient of log plan: each step subtracts Y times the sum of G along its axis."""
    G = d_plan * cache[-1][0]
    for Y, axis in reversed(cache):
        G = G - Y * G.sum(axis=axis, keepdims=True)
    return (G,)
