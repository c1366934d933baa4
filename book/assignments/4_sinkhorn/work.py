"""Assignment 4, Sinkhorn and its gradient (chapter 12). Check: python -m pytest book/assignments/4_sinkhorn.

Start from exp(logits). One iteration divides by the column sums, then by the row sums. Write it and its backward for
stacks of matrices (..., n, n), in plain NumPy. Work with logarithms, where one division is one subtraction.
"""

import numpy as np  # noqa: F401


def sinkhorn_fwd(logits, num_iters):
    """Return (plan, cache) after that many iterations; the cache is what the backward needs."""
    raise NotImplementedError("sinkhorn_fwd: subtract the logarithm of the sums, axis -2 first, then -1")


def sinkhorn_bwd(d_plan, cache):
    """Return a tuple with one array, the gradient of the logits."""
    raise NotImplementedError("sinkhorn_bwd: undo the steps, last first; G loses Y times the sum of G along that axis")
