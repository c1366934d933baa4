"""The advantage law: what the gradient tells each score and each value of an attention head.

Chapter: chapters/07_advantage.md      Tests: tests/test_advantage.py
Symbols: α_ij -> weights (..., T, S), v_j -> values (..., S, K), u_i = dL/d(out_i) -> d_out (..., T, K),
b_ij = u_i·v_j -> alignment (..., T, S), dL/ds_ij = α_ij(b_ij − E_i[b]) -> d_scores (..., T, S)

Row i is a query, column j a source; leading axes (batch, heads) are free, and T and S need not be equal. E_i[b] is the
mean of row i under its weights, Σ_j α_ij b_ij. Everything is plain NumPy. A score that a mask forbids has weight 0, and
so gradient 0: no formula here needs to know the mask. Nor does a query without a label: its u_i is zero.
"""

import numpy as np


def transpose(x):
    """Swap the last two axes."""
    return np.swapaxes(x, -1, -2)


def row_mean(weights, x):
    """Mean of each row of ``x`` under its weights, E_i[x], shape (..., T, 1)."""
    return (weights * x).sum(axis=-1, keepdims=True)


def alignment(d_out, values):
    """Return b_ij = u_i·v_j: by how much the loss of query i rises per unit of source j's value in its output.

    >>> alignment(np.array([[2.0, 1.0]]), np.array([[1.0, 0.0], [0.0, 3.0]]))
    array([[2., 3.]])
    """
    return d_out @ transpose(values)


def advantage(weights, alignment):
    """Return A_ij = E_i[b] − b_ij: how much better than the row's average source j is for query i.

    Parameters
    ----------
    weights, alignment : (..., T, S) floats

    Returns
    -------
    (..., T, S) floats
        Positive where more weight lowers the loss. The mean of each row under its weights is zero.

    Examples
    --------
    >>> advantage(np.array([[0.5, 0.5]]), np.array([[2.0, 3.0]]))
    array([[ 0.5, -0.5]])
    """
    return row_mean(weights, alignment) - alignment


def score_gradient(weights, alignment):
    """Return dL/ds_ij = α_ij(b_ij − E_i[b]), minus weight times advantage (eq:advantage-law).

    Rows sum to zero: adding a constant to a row's scores changes nothing. And it is at most α_ij times the range of the
    row's alignments, so that a source without weight is not heard, and a row with one source does not move.

    Examples
    --------
    Descent raises the score of source 0, whose value costs less than the average.

    >>> score_gradient(np.array([[0.5, 0.5]]), np.array([[2.0, 3.0]]))
    array([[-0.25,  0.25]])
    """
    return -weights * advantage(weights, alignment)


def value_gradient(weights, d_out):
    """Return dL/dv_j = Σ_i α_ij u_i: the errors of the queries that use source j, each by how much (eq:value-law).

    >>> value_gradient(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[2.0], [4.0]]))
    array([[4.],
           [2.]])
    """
    return transpose(weights) @ d_out


def query_gradient(d_scores, keys, scale):
    """Return dL/dq_i = scale·Σ_j dL/ds_ij k_j: toward the keys of better-than-average sources (eq:query-law)."""
    return scale * (d_scores @ keys)


def key_gradient(d_scores, queries, scale):
    """Return dL/dk_j = scale·Σ_i dL/ds_ij q_i: toward the queries to which source j is of use (eq:key-law)."""
    return scale * (transpose(d_scores) @ queries)


def output_change(weights, value_change):
    """Return δout_i = Σ_j α_ij δv_j: exact, as the output is linear in the values."""
    return weights @ value_change


def loss_change(weights, d_out, rate):
    """First-order change of the loss when every value takes a gradient step: −η‖AᵀU‖² (eq:value-step).

    Parameters
    ----------
    weights : (..., T, S) floats
    d_out : (..., T, K) floats
    rate : float
        η.

    Returns
    -------
    (...) floats
        One number for each head; never positive. The outputs change by −η A Aᵀ U, see `output_change`.

    Examples
    --------
    One query looks at one source. The value moves by −η u, and the loss falls by ``η|u|²`` to first order.

    >>> float(loss_change(np.array([[1.0]]), np.array([[3.0, 4.0]]), rate=0.1))
    -2.5
    """
    d_values = value_gradient(weights, d_out)
    return -rate * (d_values * d_values).sum(axis=(-1, -2))
