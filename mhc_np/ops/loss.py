"""Cross-entropy: the price, in nats, of a predicted distribution when the truth is a label or a distribution.

Chapter: chapters/01_gradients.md      Tests: tests/test_loss.py
Symbols: z -> logits (B, T, V), y -> targets (B, T) labels, p -> targets (B, T, V) distributions, mask (B, T)
"""

import autograd.numpy as anp
import numpy as np

from mhc_np.autodiff import define_vjp


def cross_entropy_ref(logits, *, targets, mask):
    """Average -sum_y p(y) log softmax(z)_y over the supervised positions: the definition."""
    shifted = logits - anp.max(logits, axis=-1, keepdims=True)
    log_probs = shifted - anp.log(anp.sum(anp.exp(shifted), axis=-1, keepdims=True))
    wanted = np.where(mask[..., None], _as_distributions(targets, logits.shape), 0.0)
    return -anp.sum(wanted * log_probs) / np.sum(mask)


def cross_entropy(logits, *, targets, mask):
    """Return the mean cross-entropy over the supervised positions, in nats.

    Parameters
    ----------
    logits : (B, T, V) floats
        -inf is a probability of zero: free where the target is zero too, an infinite loss where it is not.
        A supervised row that holds NaN or +inf, or nothing but -inf, is no distribution: the loss is NaN (as is the
        gradient in that row alone), and NumPy warns.
    targets : (B, T) ints, or (B, T, V) floats
        *Hard*: the label. *Soft*: a distribution, rows summing to one. What lies outside the mask is not read.
    mask : (B, T) bools
        The supervised positions; at least one.

    Returns
    -------
    scalar
        Of the logits' dtype. The least possible value for soft targets is their mean entropy, not zero.

    Raises
    ------
    ValueError
        If shapes do not fit, nothing is supervised, a label is out of range, or a soft row does not sum to one.

    Examples
    --------
    Equal logits over two symbols cost log 2 = 0.693 nats whatever the target.

    >>> mask = np.ones((1, 1), bool)
    >>> float(cross_entropy(np.zeros((1, 1, 2)), targets=np.array([[1]]), mask=mask).round(3))
    0.693
    >>> float(cross_entropy(np.zeros((1, 1, 2)), targets=np.array([[[0.3, 0.7]]]), mask=mask).round(3))
    0.693
    """
    targets, mask = np.asarray(targets), np.asarray(mask)
    if logits.ndim != 3 or mask.shape != logits.shape[:2] or mask.dtype != bool:
        raise ValueError(
            "cross_entropy: want logits (B, T, V) and a bool mask (B, T), "
            f"got {logits.shape} and {mask.dtype} {mask.shape}"
        )
    if not mask.any():
        raise ValueError("cross_entropy: want at least one supervised position, got a mask of False")
    hard = np.issubdtype(targets.dtype, np.integer)
    if targets.shape != (logits.shape[:2] if hard else logits.shape):
        raise ValueError(
            f"cross_entropy: want labels (B, T) or distributions (B, T, V) for logits {logits.shape}, "
            f"got {targets.shape}"
        )
    rows = targets[mask]
    if hard and (rows.min() < 0 or rows.max() >= logits.shape[-1]):
        raise ValueError(f"cross_entropy: want labels in [0, {logits.shape[-1]}), got {rows.min()} to {rows.max()}")
    if not hard and not (np.all(rows >= 0) and np.allclose(rows.sum(axis=-1), 1, atol=1e-5)):
        raise ValueError("cross_entropy: want soft targets that are distributions, got rows that do not sum to one")
    return _cross_entropy(logits, targets=targets, mask=mask)


def cross_entropy_fwd(logits, *, targets, mask):
    """Return (loss, cache), looking at the supervised rows alone; the maximum comes off before the exponential."""
    rows = logits[mask]
    rows -= rows.max(axis=-1, keepdims=True)
    probs = np.exp(rows)
    total = probs.sum(axis=-1, keepdims=True)
    probs /= total
    rows -= np.log(total)  # log probabilities from here on
    wanted = _as_distributions(targets[mask], rows.shape).astype(rows.dtype, copy=False)
    loss = -np.sum(np.where(wanted > 0, wanted * np.where(wanted > 0, rows, 0), 0)) / len(rows)
    return loss.astype(rows.dtype), (probs, wanted, mask)


def cross_entropy_bwd(d_loss, cache):
    """Prediction minus target, divided by the number of supervised positions (eq:cross-entropy-vjp)."""
    probs, wanted, mask = cache
    d_logits = np.zeros((*mask.shape, probs.shape[-1]), probs.dtype)
    d_logits[mask] = (probs - wanted) * (d_loss / len(probs))
    return (d_logits,)


def _as_distributions(targets, shape):
    """Turn labels into one-hot rows; leave distributions as they are."""
    if np.issubdtype(targets.dtype, np.integer):
        return (targets[..., None] == np.arange(shape[-1])).astype(float)
    return targets


_cross_entropy = define_vjp(cross_entropy_fwd, cross_entropy_bwd, reference="cross_entropy_ref")
