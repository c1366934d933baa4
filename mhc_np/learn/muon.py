"""Muon: make the step of a weight matrix orthogonal, so that it moves every direction alike.

Chapter: chapters/04_training.md      Tests: tests/test_learn_muon.py
Symbols: G -> grads (in, out), M -> momentum (k, in, out), O -> orthogonalize(M),
    (a, b, c) -> QUINTIC, sigma -> singular values
"""

from dataclasses import dataclass, field
from math import sqrt

import numpy as np

from mhc_np.autodiff import flatten, unflatten
from mhc_np.learn.adamw import AdamW, decays
from mhc_np.learn.vector import rebuild

QUINTIC = (3.4445, -4.7750, 2.0315)


def on_muon(path, leaf):
    """Say whether Muon moves this parameter: the weight matrices inside the blocks, nothing else.

    Embeddings and the head are not maps between hidden vectors, and the mixing parameters of a
    connection are too small to have directions worth evening out; AdamW moves those.

    >>> matrix = np.zeros((2, 2))
    >>> on_muon("blocks/0/attention/W_q", matrix), on_muon("head/W_out", matrix)
    (True, False)
    >>> on_muon("blocks/0/attention/connection/W_res", matrix), on_muon("blocks/0/mlp/b_in", matrix[0])
    (False, False)
    """
    parts = path.split("/")
    return parts[0] == "blocks" and parts[-1].startswith("W_") and decays(path) and leaf.ndim == 2


def orthogonalize(matrices, num_iters=5):
    """Bring all singular values of each matrix near 1, keeping its singular vectors.

    Parameters
    ----------
    matrices : np.ndarray, shape (..., rows, columns)
        One or many; each is treated by itself.
    num_iters : int
        How often the quintic is applied.

    Returns
    -------
    np.ndarray, shape (..., rows, columns)
        Of the same dtype. A zero matrix stays zero.

    Notes
    -----
    Take the SVD X = U S V^T. Then X X^T = U S^2 U^T, so an odd polynomial of X,

        (a I + b X X^T + c (X X^T)^2) X  =  U (a S + b S^3 + c S^5) V^T,      (eq:newton-schulz)

    leaves U and V alone and sends each singular value s to phi(s) = a s + b s^3 + c s^5. Iterate phi, and
    matrix products alone do what would have taken an SVD. Dividing by the Frobenius norm first puts every
    s into [0, 1]. The classical choice (3/2, -1/2, 0) converges to 1, quadratically in the end, but lifts a
    small s by 3/2 only. This one lifts it by 3.4445, at a price: phi does not settle at 1 but wanders around it.
    Five rounds send every s >= 0.01 into [0.68, 1.14], which is near enough for a step direction.

    Newton–Schulz for orthogonal factors: Björck & Bowie, SIAM J. Numer. Anal. 8 (1971). The coefficients and
    the optimiser: K. Jordan et al., https://kellerjordan.github.io/posts/muon (2024). Why orthogonal, as steepest
    descent in the spectral norm: Bernstein & Newhouse, https://arxiv.org/abs/2409.20325.

    Examples
    --------
    For a diagonal matrix only phi acts. Here both singular values start at 1/sqrt(2), and the signs stay:

    >>> orthogonalize(np.diag([3.0, -3.0]), num_iters=1).round(4)
    array([[ 1.1065,  0.    ],
           [ 0.    , -1.1065]])
    """
    a, b, c = QUINTIC
    # By its largest entry first: the squares in the norm then neither overflow nor underflow.
    X = matrices / _or_one(np.max(np.abs(matrices), axis=(-2, -1), keepdims=True))
    X /= _or_one(np.sqrt(np.sum(X * X, axis=(-2, -1), keepdims=True)))
    tall = X.shape[-2] > X.shape[-1]
    if tall:
        X = np.swapaxes(X, -2, -1)  # X X^T is then the smaller of the two products
    rows = X.shape[-2]
    diagonal = np.arange(rows)
    for _ in range(num_iters):
        gram = X @ np.swapaxes(X, -2, -1)
        inner = gram * c  # Horner: a I + gram (b I + c gram)
        inner[..., diagonal, diagonal] += b
        outer = gram @ inner
        outer[..., diagonal, diagonal] += a
        X = outer @ X
    return np.swapaxes(X, -2, -1) if tall else X


@dataclass(frozen=True)
class Muon:
    """Momentum, orthogonalised, for the matrices inside the blocks; another optimiser for the rest.

    Parameters
    ----------
    learning_rate : float
        Peak rate of the matrices. The step's singular values are about this, so it is a distance
        relative to the activations, much larger than an Adam rate.
    momentum : float
        Discount of the gradient sum M = momentum M + G. The step uses G + momentum M (Nesterov).
    num_iters : int
        Rounds of `orthogonalize`.
    weight_decay : float
        As in `AdamW`: a step takes ``rate * weight_decay`` of each of the matrices.
    rest : AdamW
        Moves all parameters that `on_muon` does not name, with its own rate.

    Notes
    -----
    Matrices are (in, out) here. The step is scaled by sqrt(max(1, out / in)): the released code, which
    stores (out, in), calls the same number sqrt(max(1, rows / columns)). Matrices of one shape are
    stacked and orthogonalised in one batched product.

    Examples
    --------
    >>> optimizer = Muon(learning_rate=0.1, weight_decay=0.0)
    >>> params = {"blocks": {"0": {"mlp": {"W_in": np.zeros((2, 2)), "b_in": np.zeros(2)}}}}
    >>> sorted(optimizer.init(params)["momentum"])
    ['2x2']
    """

    learning_rate: float = 0.02
    momentum: float = 0.95
    num_iters: int = 5
    weight_decay: float = 0.05
    rest: AdamW = field(default_factory=AdamW)

    def init(self, params):
        """Return the state before the first step: ``{"momentum": {"RxC": (k, R, C)}, "rest": …}``."""
        leaves = flatten(params)
        groups, others = _split(leaves)
        momentum = {name: np.zeros_like(np.stack([leaves[path] for path in paths])) for name, paths in groups.items()}
        return {"momentum": momentum, "rest": self.rest.init(_choose(leaves, others))}

    def update(self, params, grads, state, factor=1.0):
        """Make one step; the contract is `AdamW.update`'s."""
        leaves, slopes = flatten(params), flatten(grads)
        groups, others = _split(leaves)
        rest, rest_state = self.rest.update(_choose(leaves, others), _choose(slopes, others), state["rest"], factor)
        moved, rate = flatten(rest), self.learning_rate * factor
        for name, paths in groups.items():
            M, G = state["momentum"][name], np.stack([slopes[path] for path in paths])
            M *= self.momentum
            M += G
            G += self.momentum * M
            step = orthogonalize(G, self.num_iters)
            step *= rate * sqrt(max(1.0, G.shape[-1] / G.shape[-2]))
            W = np.stack([leaves[path] for path in paths])
            W *= 1 - rate * self.weight_decay
            W -= step
            moved.update(zip(paths, W, strict=True))
        return rebuild(moved, params), {"momentum": state["momentum"], "rest": rest_state}


def _split(leaves):
    """Sort the paths: Muon's, grouped by shape, ``{"RxC": paths}``; and all others."""
    groups, others = {}, []
    for path in sorted(leaves):
        if on_muon(path, leaves[path]):
            groups.setdefault("x".join(map(str, leaves[path].shape)), []).append(path)
        else:
            others.append(path)
    return groups, others


def _choose(leaves, paths):
    """Return the tree of the named leaves."""
    return unflatten({path: leaves[path] for path in paths})


def _or_one(norm):
    """Replace zeros by ones, so that a zero matrix is divided by 1."""
    return np.where(norm > 0, norm, np.ones_like(norm))
