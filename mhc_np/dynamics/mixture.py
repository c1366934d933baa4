"""The mixture in which attention is EM word for word: choose a source by the weights, let it name the label.

Chapter: chapters/08_em.md      Tests: tests/test_mixture.py
Symbols: s_ij -> scores (T, S), α_ij -> weights, logits of source j -> components (S, V), y_i -> targets (T,),
p_j(y) = softmax(components_j)_y, −Σ_i log Σ_j α_ij p_j(y_i) -> loss in nats, r_ij -> responsibility (T, S)

Attention averages values and then takes one softmax: p_i = softmax(Σ_j α_ij z_j). This model takes a softmax of each
source and then averages: p_i = Σ_j α_ij softmax(z_j). In it j is a hidden variable. Then the advantage law is the
E-step, α − r = α(b − E[b]) with b_ij = −p_j(y_i) / p_i(y_i), and the M-step has a closed form. The two models agree
when each query looks at one source. In between, attention is EM in structure only.

Oracle for tests and exercises: small, in plain NumPy, written for reading.
"""

from typing import NamedTuple

import numpy as np

from mhc_np.dynamics.em import responsibility
from mhc_np.dynamics.head import masked_softmax


class Mixture(NamedTuple):
    """The loss, what the E-step finds, and the gradients."""

    loss_nats: float  # summed over the queries
    weights: np.ndarray  # (T, S)
    responsibility: np.ndarray  # (T, S)
    d_scores: np.ndarray  # (T, S)
    d_components: np.ndarray  # (S, V)


def evaluate(scores, components, targets):
    """Return the loss, the responsibilities and the gradients; both gradients come from the responsibilities alone.

    Parameters
    ----------
    scores : (T, S) floats
    components : (S, V) floats
        Logits.
    targets : (T,) ints

    Returns
    -------
    Mixture
        ``d_scores = α − r`` and ``d_components[j] = Σ_i r_ij (p_j − e_{y_i})`` (eq:mixture-gradients): Fisher's
        identity says that the gradient of the log likelihood is the mean, under the responsibilities, of the gradient
        for a known source.

    Examples
    --------
    Source 0 says label 0 with .9, source 1 with .3. Weighed alike they give .6; three quarters of it are source 0's.

    >>> mixture = evaluate(np.zeros((1, 2)), np.log([[0.9, 0.1], [0.3, 0.7]]), np.array([0]))
    >>> float(np.exp(-mixture.loss_nats).round(3)), mixture.responsibility.round(3)
    (0.6, array([[0.75, 0.25]]))
    >>> mixture.d_scores.round(3)
    array([[-0.25,  0.25]])
    """
    weights = masked_softmax(scores)
    probs = masked_softmax(components)
    likelihood = probs.T[targets]  # (T, S): p_j(y_i)
    with np.errstate(divide="ignore"):
        found = responsibility(weights, -np.log(likelihood))
    loss = -np.log((weights * likelihood).sum(axis=-1)).sum()
    d_components = found.sum(axis=0)[:, None] * probs - found.T @ one_hot(targets, probs.shape[1])
    return Mixture(float(loss), weights, found, weights - found, d_components)


def em_step(scores, components, targets, *, frame="fixed"):
    """Take one EM step: responsibilities, then the components (and scores) that are best for them.

    Parameters
    ----------
    scores, components, targets : as for `evaluate`
    frame : {"fixed", "free"}
        *fixed*: the scores stay. *free*: the rows of scores are equal, a shared prior over sources, and its M-step is
        the mean responsibility.

    Returns
    -------
    scores (T, S), components (S, V)
        Component j becomes the label counts that j is responsible for, Σ_i r_ij e_{y_i} / Σ_i r_ij: a weighted
        prototype (eq:prototype). Logits are logarithms of probabilities; -inf for a label never seen. A source that
        takes no responsibility stays as it is.

    Raises
    ------
    ValueError
        If the frame is neither, or is free with rows that differ.
    """
    found = evaluate(scores, components, targets).responsibility
    total = found.sum(axis=0)[:, None]
    counts = found.T @ one_hot(targets, components.shape[1])
    with np.errstate(divide="ignore"):
        components = np.where(total > 0, np.log(counts / np.where(total > 0, total, 1)), components)
        if frame == "free":
            if not np.array_equal(scores, np.broadcast_to(scores[:1], scores.shape)):
                raise ValueError("em_step: a free frame needs equal rows of scores: one prior for all queries")
            scores = np.broadcast_to(np.log(found.mean(axis=0)), scores.shape)
        elif frame != "fixed":
            raise ValueError(f"em_step: want frame 'fixed' or 'free', got {frame!r}")
    return scores, components


def one_hot(targets, num_outputs):
    """Return the labels as rows of zeros with a one."""
    return np.eye(num_outputs)[targets]
