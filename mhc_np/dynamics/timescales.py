"""Two time scales: how fast routing and content can still lower the loss, and why routing stops first.

Chapter: chapters/09_frame_precision.md      Tests: tests/test_timescales.py
Symbols: α_ij -> weights (..., T, S), v_j -> values (..., S, K), g_i = Σ_j α_ij v_j -> out,
1 − Σ_j α_ij² -> advantage_weight (..., T), |∇_block L|² -> block_rates

Gradient descent with rate η lowers the loss by η|∇L|² to first order, and every block of parameters has its own share
of that sum. So |∇_block L|² / (L − L*) is a rate, and its inverse a time constant. For one query with error u, free
scores contribute Σ_j α_ij² ((v_j − g_i)·u)² and free values Σ_j α_ij² |u|²: when the weights gather on one source, v_j
nears g_i where α_ij is large, the first sum vanishes with the *square* of what is left over, and the second goes to
|u|². Routing freezes; content goes on.
"""

import numpy as np

ROUTING = ("W_q", "W_k")
CONTENT = ("W_v", "W_o")


def advantage_weight(weights):
    """Return 1 − Σ_j α_ij²: the chance that two draws from row i are different sources.

    It bounds how much the scores of the row can hear: ``Σ_j |dL/ds_ij|`` is at most this times the range of b_i
    (eq:freezing).

    >>> advantage_weight(np.array([[0.5, 0.5], [1.0, 0.0]]))
    array([0.5, 0. ])
    """
    return 1 - (weights * weights).sum(axis=-1)


def routing_kernel(weights, values):
    """Return ``Σ_j α_ij² |v_j − g_i|²``: squared speed of query i's output per unit of error, from its free scores.

    Summed over the K directions of the error; divide by K for the mean over directions.

    >>> routing_kernel(np.array([[0.5, 0.5]]), np.array([[0.0], [2.0]]))
    array([0.5])
    """
    out = weights @ values
    distance = ((values[..., None, :, :] - out[..., :, None, :]) ** 2).sum(axis=-1)
    return (weights * weights * distance).sum(axis=-1)


def content_kernel(weights, width):
    """Return K Σ_j α_ij²: the same from the free values of its sources, summed over the K directions.

    >>> content_kernel(np.array([[0.5, 0.5], [1.0, 0.0]]), width=1)
    array([0.5, 1. ])
    """
    return width * (weights * weights).sum(axis=-1)


def block_rates(d_params):
    """Return the loss's first-order fall per unit of learning rate, by block: ``|∇L|²`` of routing and of content.

    >>> one = np.ones((1, 1))
    >>> block_rates({"W_q": 3 * one, "W_k": 4 * one, "W_v": one, "W_o": 2 * one})
    {'routing': 25.0, 'content': 5.0}
    """
    size = {name: float((d * d).sum()) for name, d in d_params.items()}
    return {"routing": sum(size[w] for w in ROUTING), "content": sum(size[w] for w in CONTENT)}


def two_source_rates(weight, gap):
    """Linear rates of a query with two sources, whose values lie ``gap`` apart along the error, near a solution.

    Parameters
    ----------
    weight : float
        α, the weight of one source; the other has 1 − α.
    gap : float

    Returns
    -------
    routing, content : float
        The error falls as exp(−rate·η·t) under gradient descent of ``½|out − target|²``: routing α²(1 − α)²·gap²·2 with
        both scores free, content α² + (1 − α)² (eq:two-source-rates).

    Examples
    --------
    >>> two_source_rates(0.5, gap=1.0)
    (0.125, 0.5)
    """
    spread = weight * (1 - weight) * gap
    return 2 * spread * spread, weight**2 + (1 - weight) ** 2


def row_movement(weights, final_weights):
    """Mean total variation between the rows of two sets of weights: how far the routing still has to go, in [0, 1]."""
    return float(0.5 * np.abs(weights - final_weights).sum(axis=-1).mean())


def content_movement(content, final_content):
    """Root mean square distance between what sources write, values times read-out (…, S, V), row means removed.

    The product does not change when the values are turned and the read-out is turned back, and a constant added to a
    source's logits is no content: so both are taken out before the distance is.
    """
    gap = content - final_content
    gap = gap - gap.mean(axis=-1, keepdims=True)
    return float(np.sqrt((gap * gap).mean()))
