"""Probes: what a straight line through hidden states can read, on sequences that it was not fitted to.

Chapter: chapters/05_who_does_what.md      Tests: tests/test_probes.py
Symbols: hidden states -> features (N, D), what is to be read -> targets (N,) or (N, V)

Two readers. *Ridge* reads numbers (an entropy, a count), in closed form. The *softmax probe* reads a distribution, so
that its error is a divergence in bits and stands beside the model's own. A probe that reads something shows that it is
there, not that it is used.
"""

from typing import NamedTuple

import numpy as np

from mhc_np.measure.calibration import probabilities


class Probe(NamedTuple):
    """A linear reader: ``features @ weights + intercept``."""

    weights: np.ndarray
    intercept: np.ndarray


def read(probe, features):
    """Return what the probe says, (N,) or (N, V); numbers for ridge, logits for a softmax probe."""
    return np.asarray(features, np.float64) @ probe.weights + probe.intercept


def ridge(features, targets, penalty=1e-3):
    """Fit numbers by penalised least squares, in closed form.

    Parameters
    ----------
    features : (N, D) floats
    targets : (N,) or (N, V) floats
    penalty : float
        In units of the features' mean variance, so that it does not depend on their scale. The intercept is free.

    Returns
    -------
    Probe

    Examples
    --------
    >>> probe = ridge([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0], penalty=0.0)
    >>> probe.weights.round(6), float(probe.intercept.round(6))
    (array([2.]), 1.0)
    """
    features, targets = _checked("ridge", features, targets)
    mean, middle = features.mean(axis=0), targets.mean(axis=0)
    X, Y = features - mean, targets - middle
    gram = X.T @ X
    gram += penalty * np.trace(gram) / len(gram) * np.eye(len(gram))
    weights = np.linalg.lstsq(gram, X.T @ Y, rcond=None)[0]  # least squares: dead features leave it singular
    return Probe(weights, middle - mean @ weights)


def explained(predicted, targets):
    """Return 1 − (squared error) / (variance about the mean), over all columns together; may be negative.

    >>> explained([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]), explained([2.0, 2.0, 2.0], [1.0, 2.0, 3.0])
    (1.0, 0.0)
    """
    predicted, targets = np.asarray(predicted, np.float64), np.asarray(targets, np.float64)
    if predicted.shape != targets.shape:
        raise ValueError(f"explained: want one shape, got {predicted.shape} and {targets.shape}")
    spread = ((targets - targets.mean(axis=0)) ** 2).sum()
    return float(1 - ((predicted - targets) ** 2).sum() / spread) if spread > 0 else float("nan")


def softmax_probe(features, targets, *, penalty=1e-4, num_iters=300):
    """Fit a distribution by softmax regression: the least cross-entropy that a linear reader can reach.

    Each step goes to the minimum of a parabola that lies above the loss: in whitened features the curvature is below
    one half, so the step is twice the gradient, and no rate is to be chosen. Momentum makes it fast.

    Parameters
    ----------
    features : (N, D) floats
    targets : (N, V) floats
        Distributions.
    penalty : float
        On the squared weights of the whitened features; what keeps them finite when a target is certain.
    num_iters : int

    Returns
    -------
    Probe
        ``calibration.probabilities(read(probe, features))`` are distributions.

    References
    ----------
    Böhning (1992), Multinomial logistic regression algorithm (the bound on the curvature).

    Examples
    --------
    >>> probe = softmax_probe([[0.0], [1.0]], [[0.5, 0.5], [0.25, 0.75]], penalty=0.0)
    >>> probabilities(read(probe, [[0.0], [1.0]])).round(3)
    array([[0.5 , 0.5 ],
           [0.25, 0.75]])
    """
    features, targets = _checked("softmax_probe", features, targets)
    mean, count = features.mean(axis=0), len(features)
    _, values, axes = np.linalg.svd(features - mean, full_matrices=False)
    kept = values > 1e-6 * values.max(initial=0)
    whiten = axes[kept].T * (np.sqrt(count) / values[kept])
    X = np.column_stack([np.ones(count), (features - mean) @ whiten])  # X'X / N is the identity
    weights = np.zeros((X.shape[1], targets.shape[1]))
    ahead, shrink = weights, np.where(np.arange(X.shape[1]) > 0, penalty, 0.0)[:, None]
    for step in range(num_iters):
        gradient = X.T @ (probabilities(X @ ahead) - targets) / count + shrink * ahead
        new = ahead - gradient / (0.5 + penalty)
        ahead, weights = new + step / (step + 3) * (new - weights), new
    slopes = whiten @ weights[1:]
    return Probe(slopes, weights[0] - mean @ slopes)


def split(count, share=0.5):
    """Return (fit, judge), slices of sequences: never of positions, since those of one sequence know each other.

    >>> split(10)
    (slice(0, 5, None), slice(5, 10, None))
    """
    edge = round(share * count)
    if not 0 < edge < count:
        raise ValueError(f"split: want both parts to have sequences, got {edge} of {count}")
    return slice(0, edge), slice(edge, count)


def _checked(who, features, targets):
    features, targets = np.asarray(features, np.float64), np.asarray(targets, np.float64)
    if features.ndim != 2 or len(targets) != len(features):
        raise ValueError(f"{who}: want features (N, D) and N targets, got {features.shape} and {targets.shape}")
    return features, targets
