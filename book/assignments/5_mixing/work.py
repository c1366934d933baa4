"""Assignment 5, a mixing of your own (chapters 10 to 13). Check: python -m pytest book/assignments/5_mixing.

A layer with n streams of width D computes  streams <- H_res @ streams + H_post[:, None] * F(H_pre @ streams).
Design a parametrisation: raw numbers that training may move anywhere, and a function from them to the three maps.

1. At the start, streams are n copies and the network must be the plain residual one, x <- x + F(x), to 1e-9.
2. Whatever the raw numbers become, gains must not explode: entries of H_res >= 0, its rows sum to one.
3. At the start the mixing must hear its gradient, and the streams must be told apart.
4. Training must be able to move H_res: it may not be a constant.
Say in the docstring of `maps` what your scheme can express and what it cannot.
"""

import autograd.numpy as np  # noqa: F401  the checks differentiate through your function


def init(n):
    """Return the raw numbers at the start, one array."""
    raise NotImplementedError("init: which raw numbers make H_res lie near a matrix that you know?")


def maps(raw, n):
    """Return (H_pre (n,), H_post (n,), H_res (n, n)) from the raw numbers."""
    raise NotImplementedError("maps: a softmax makes rows that sum to one; what must H_pre and H_post sum to?")
