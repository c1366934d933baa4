"""The mixture oracle: the E-step is the advantage law, EM climbs, and where attention agrees with it and where not."""

import autograd.numpy as anp
import numpy as np
import pytest

from mhc_np.autodiff import grad
from mhc_np.dynamics import advantage as law
from mhc_np.dynamics.em import cosine
from mhc_np.dynamics.head import masked_softmax
from mhc_np.dynamics.mixture import em_step, evaluate

RNG = np.random.default_rng(21)
T, S, V = 9, 4, 5


def example():
    return RNG.standard_normal((T, S)), RNG.standard_normal((S, V)), RNG.integers(V, size=T)


def softmax(x):
    exps = anp.exp(x)
    return exps / anp.sum(exps, axis=-1, keepdims=True)


def definition(scores, components, targets):
    probs = anp.matmul(softmax(scores), softmax(components))
    return -anp.sum(anp.log(probs[np.arange(len(targets)), targets]))


def test_loss_and_gradients_against_autograd():
    scores, components, targets = example()
    mixture = evaluate(scores, components, targets)
    assert mixture.loss_nats == pytest.approx(definition(scores, components, targets), rel=1e-13)
    d_scores = grad(lambda s: definition(s, components, targets))(scores)
    d_components = grad(lambda c: definition(scores, c, targets))(components)
    np.testing.assert_allclose(mixture.d_scores, d_scores, atol=1e-13)
    np.testing.assert_allclose(mixture.d_components, d_components, atol=1e-13)
    np.testing.assert_allclose(mixture.responsibility.sum(axis=1), 1, atol=1e-15)


def test_the_advantage_law_is_the_e_step():
    """With values p_j and u = −e_y / p(y) the law gives weight minus responsibility, to rounding."""
    scores, components, targets = example()
    mixture = evaluate(scores, components, targets)
    values = softmax(components)
    out = mixture.weights @ values
    d_out = -np.eye(V)[targets] / np.take_along_axis(out, targets[:, None], axis=1)
    b = law.alignment(d_out, values)
    np.testing.assert_allclose(law.score_gradient(mixture.weights, b), mixture.d_scores, atol=1e-14)
    np.testing.assert_allclose(law.row_mean(mixture.weights, b), -1, atol=1e-14)
    assert np.abs(law.score_gradient(mixture.weights, b) + mixture.d_scores).max() > 0.1  # a planted sign


@pytest.mark.parametrize("frame", ["fixed", "free"])
def test_em_never_raises_the_loss(frame):
    scores, components, targets = example()
    scores = np.broadcast_to(scores[:1], scores.shape) if frame == "free" else scores
    losses = []
    for _ in range(50):
        losses.append(evaluate(scores, components, targets).loss_nats)
        scores, components = em_step(scores, components, targets, frame=frame)
    assert np.all(np.diff(losses) < 1e-12)
    assert losses[-1] < losses[0] - 1


def test_the_m_step_is_the_best_for_its_responsibilities():
    scores, components, targets = example()
    found = evaluate(scores, components, targets).responsibility
    best = em_step(scores, components, targets)[1]
    np.testing.assert_allclose(softmax(best).sum(axis=1), 1, atol=1e-12)

    def expected(logits):
        return (found * np.log(masked_softmax(logits).T[targets])).sum()

    for _ in range(20):
        noise = 0.1 * RNG.standard_normal(best.shape)
        with np.errstate(invalid="ignore"):
            worse = np.where(np.isfinite(best), best + noise, best)
        assert expected(worse) < expected(best) + 1e-12


def test_an_em_step_is_a_preconditioned_gradient_step():
    """Xu and Jordan's identity for the components' probabilities: the matrix is positive, so EM climbs."""
    scores, components, targets = example()
    found = evaluate(scores, components, targets).responsibility
    p, after = softmax(components), softmax(em_step(scores, components, targets)[1])
    for j in range(S):
        d_likelihood = (found[:, j : j + 1] * np.eye(V)[targets]).sum(axis=0) / p[j]
        precondition = (np.diag(p[j]) - np.outer(p[j], p[j])) / found[:, j].sum()
        np.testing.assert_allclose(after[j] - p[j], precondition @ d_likelihood, atol=1e-13)


def attention_gradients(scores, components, targets):
    """Average first, softmax after: attention with an identity read-out."""
    weights = masked_softmax(scores)
    d_out = masked_softmax(weights @ components) - np.eye(V)[targets]
    d_scores = law.score_gradient(weights, law.alignment(d_out, components))
    return d_scores, law.value_gradient(weights, d_out)


def test_attention_and_mixture_agree_when_each_query_has_one_source():
    scores, components, targets = example()
    mixture = evaluate(60 * scores, components, targets)
    d_scores, d_values = attention_gradients(60 * scores, components, targets)
    concentrated = mixture.weights.max(axis=1) > 1 - 1e-9
    assert concentrated.sum() >= 6
    np.testing.assert_allclose(d_scores[concentrated], mixture.d_scores[concentrated], atol=1e-7)
    one_hot = np.where(np.eye(S)[scores.argmax(axis=1)] == 1, 0.0, -np.inf)
    exact = evaluate(one_hot, components, targets)
    np.testing.assert_allclose(attention_gradients(one_hot, components, targets)[1], exact.d_components, atol=1e-13)


def test_attention_and_mixture_agree_to_first_order_in_the_spread_of_the_sources():
    scores, components, targets = example()
    gaps = []
    for spread in (1e-1, 1e-2):
        close = components.mean(axis=0) + spread * (components - components.mean(axis=0))
        d_scores, _ = attention_gradients(scores, close, targets)
        gaps.append(np.abs(d_scores - evaluate(scores, close, targets).d_scores).max())
    assert gaps[1] < 0.02 * gaps[0]  # the difference is of second order, the gradients themselves of first


def test_in_between_they_differ():
    scores, components, targets = example()
    mixture = evaluate(scores, 3 * components, targets)
    d_scores, d_values = attention_gradients(scores, 3 * components, targets)
    assert 0 < cosine(d_scores, mixture.d_scores) < 0.99
    assert cosine(d_values, mixture.d_components) < 0.99


def test_edges():
    scores, components, targets = example()
    scores = np.array(scores)
    scores[:, 2] = -np.inf  # a source that nobody may see keeps its component
    after = em_step(scores, components, targets)[1]
    np.testing.assert_array_equal(after[2], components[2])
    with pytest.raises(ValueError, match="equal rows of scores"):
        em_step(scores, components, targets, frame="free")
    with pytest.raises(ValueError, match="want frame 'fixed' or 'free', got 'loose'"):
        em_step(scores, components, targets, frame="loose")
