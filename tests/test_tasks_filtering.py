"""Filtering and smoothing: against all hidden paths, in two derivations, and at the edges."""

from itertools import product

import numpy as np
import pytest

from mhc_np.tasks.filtering import filter, filter_log, smooth

UMBRELLA = ([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]])


def random_model(seed, S=3, V=4, zeros=False, batch=()):
    """Return initial, transition, emission; with ``zeros``, about 40 % of the entries are 0."""
    rng = np.random.default_rng(seed)
    model = []
    for shape in ((S,), (S, S), (S, V)):
        rows = rng.exponential(size=(*batch, *shape))
        if zeros:
            keep = rng.random(rows.shape) > 0.4
            keep[..., 0] |= ~keep.any(axis=-1)
            rows *= keep
        model.append(rows / rows.sum(axis=-1, keepdims=True))
    return tuple(model)


def by_enumeration(initial, transition, emission, observations):
    """Return (filtered, smoothed, evidence) by adding up the probability of every hidden path."""
    S, T = len(initial), len(observations)

    def weigh(length):
        weights = np.zeros((length, S))
        for path in product(range(S), repeat=length):
            p = initial[path[0]] * emission[path[0], observations[0]]
            for t in range(1, length):
                p *= transition[path[t - 1], path[t]] * emission[path[t], observations[t]]
            for t, state in enumerate(path):
                weights[t, state] += p
        return weights

    filtered = np.array([weigh(t + 1)[t] for t in range(T)])
    smoothed = weigh(T)
    return (
        filtered / filtered.sum(axis=1, keepdims=True),
        smoothed / smoothed.sum(axis=1, keepdims=True),
        smoothed[0].sum(),
    )


def possible(seed, model, T):
    """Draw an observation sequence that the model can produce."""
    rng = np.random.default_rng(seed)
    initial, transition, emission = model
    observations, state = [], rng.choice(len(initial), p=initial)
    for _ in range(T):
        observations.append(rng.choice(emission.shape[1], p=emission[state]))
        state = rng.choice(len(initial), p=transition[state])
    return np.array(observations)


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_all_agree_with_every_hidden_path(seed, zeros):
    model = random_model(seed, zeros=zeros)
    observations = possible(seed, model, T=6)
    filtered, smoothed, evidence = by_enumeration(*model, observations)
    for method in (filter, filter_log):
        result = method(*model, observations)
        np.testing.assert_allclose(result.filtered, filtered, rtol=0, atol=1e-12)
        np.testing.assert_allclose(result.log_evidence, np.log(evidence), rtol=0, atol=1e-12)
    np.testing.assert_allclose(smooth(*model, observations), smoothed, rtol=0, atol=1e-12)


def test_a_transposed_transition_is_caught():
    """The planted fault: random rows are far from symmetric, so the index order shows."""
    initial, transition, emission = random_model(0)
    turned = transition.T / transition.T.sum(axis=1, keepdims=True)
    observations = possible(0, (initial, transition, emission), T=4)
    filtered, smoothed, _ = by_enumeration(initial, transition, emission, observations)
    assert np.abs(filter(initial, turned, emission, observations).filtered - filtered).max() > 0.01
    assert np.abs(smooth(initial, turned, emission, observations) - smoothed).max() > 0.01


def test_smoothing_does_not_count_evidence_twice():
    """Umbrella world, two days: both days are smoothed to 0.883, and filtered to 0.818, 0.883."""
    smoothed = smooth(*UMBRELLA, [0, 0])
    np.testing.assert_allclose(smoothed[:, 0], [0.8834, 0.8834], atol=5e-5)
    np.testing.assert_allclose(filter(*UMBRELLA, [0, 0]).filtered[:, 0], [9 / 11, 0.8834], atol=5e-5)
    _, by_paths, _ = by_enumeration(*map(np.array, UMBRELLA), [0, 0])
    np.testing.assert_allclose(smoothed, by_paths, rtol=0, atol=1e-12)


def test_last_smoothed_row_is_the_last_filtered_row():
    model = random_model(3, S=4)
    observations = possible(3, model, T=30)
    np.testing.assert_array_equal(smooth(*model, observations)[-1], filter(*model, observations).filtered[-1])


def test_evidence_of_all_sequences_sums_to_one():
    model = random_model(4, S=3, V=3)
    every = np.array(list(product(range(3), repeat=5)))
    np.testing.assert_allclose(np.exp(filter(*model, every).log_evidence).sum(), 1.0, atol=1e-12)


def test_the_filter_reads_nothing_from_the_future():
    model = random_model(5)
    observations = possible(5, model, T=10)
    whole = filter(*model, observations).filtered
    for t in range(10):
        part = filter(*model, observations[: t + 1]).filtered
        np.testing.assert_array_equal(part, whole[: t + 1])


@pytest.mark.parametrize("method", [filter, filter_log])
def test_a_batch_is_its_sequences_one_by_one(method):
    model = random_model(6, S=3, V=4, batch=(2, 5))
    observations = np.random.default_rng(6).integers(0, 4, size=(2, 5, 7))
    result = method(*model, observations)
    assert result.filtered.shape == (2, 5, 7, 3)
    assert result.log_evidence.shape == (2, 5)
    smoothed = smooth(*model, observations)
    for b in np.ndindex(2, 5):
        one = tuple(rows[b] for rows in model)
        alone = method(*one, observations[b])
        np.testing.assert_allclose(result.filtered[b], alone.filtered, rtol=0, atol=1e-12)
        np.testing.assert_allclose(result.log_evidence[b], alone.log_evidence, rtol=0, atol=1e-12)
        np.testing.assert_allclose(smoothed[b], smooth(*one, observations[b]), rtol=0, atol=1e-12)


def test_one_model_reads_many_sequences():
    model = random_model(7)
    observations = np.random.default_rng(7).integers(0, 4, size=(6, 5))
    together = filter(*model, observations)
    for b in range(6):
        alone = filter(*model, observations[b])
        np.testing.assert_allclose(together.filtered[b], alone.filtered, rtol=0, atol=1e-12)
    batch = random_model(7, batch=(6,))
    assert filter(model[0], batch[1], model[2], observations[0]).filtered.shape == (6, 5, 3)


def test_a_left_to_right_model_never_goes_back():
    """Zeros below the diagonal: state 0 is left for ever once symbol 1 has been seen."""
    model = ([1.0, 0.0], [[0.5, 0.5], [0.0, 1.0]], [[1.0, 0.0], [0.5, 0.5]])
    result = filter(*model, [0, 0, 1, 0])
    np.testing.assert_allclose(result.filtered[:, 1], [0, 1 / 3, 1, 1], rtol=0, atol=1e-15)
    np.testing.assert_allclose(smooth(*model, [0, 0, 1, 0])[0], [1, 0], rtol=0, atol=1e-15)


@pytest.mark.parametrize("method", [filter, filter_log])
def test_an_impossible_sequence_has_no_posterior(method):
    model = ([1.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    result = method(*model, [[0, 2, 0], [0, 1, 0]])  # only state 1 emits symbol 2
    np.testing.assert_array_equal(result.log_evidence, [-np.inf, np.log(1 / 8)])
    np.testing.assert_array_equal(np.isnan(result.filtered[0, :, 0]), [False, True, True])
    np.testing.assert_array_equal(result.filtered[1], [[1, 0]] * 3)
    smoothed = smooth(*model, [[0, 2, 0], [0, 1, 0]])
    assert np.isnan(smoothed[0]).all()
    np.testing.assert_array_equal(smoothed[1], [[1, 0]] * 3)


def test_five_thousand_steps_stay_finite():
    model = random_model(8, S=5, V=5)
    observations = possible(8, model, T=5000)
    plain, log = filter(*model, observations), filter_log(*model, observations)
    assert np.isfinite(plain.filtered).all()
    assert plain.log_evidence < -745  # exp of it is 0: an unscaled filter would have underflowed
    np.testing.assert_allclose(plain.filtered, log.filtered, rtol=0, atol=1e-9)
    np.testing.assert_allclose(plain.log_evidence, log.log_evidence, rtol=1e-12)
    np.testing.assert_allclose(smooth(*model, observations).sum(axis=1), 1.0, atol=1e-12)


def test_log_space_survives_what_underflows():
    model = ([1.0, 0.0], [[1.0, 1e-200], [0.0, 1.0]], [[1.0, 0.0], [1.0 - 1e-200, 1e-200]])
    result = filter_log(*model, [0, 1])
    np.testing.assert_array_equal(result.filtered[1], [0.0, 1.0])
    np.testing.assert_allclose(result.log_evidence, -400 * np.log(10), rtol=1e-12)


def test_arguments_are_not_changed():
    model = random_model(9)
    observations = np.array([0, 1, 2])
    copies = [array.copy() for array in (*model, observations)]
    filter(*model, observations)
    filter_log(*model, observations)
    smooth(*model, observations)
    for array, copy in zip((*model, observations), copies, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("method", [filter, filter_log, smooth])
def test_bad_arguments(method):
    initial, transition, emission = UMBRELLA
    with pytest.raises(ValueError, match=r"want initial \(..., S\).* got \(2,\), \(1, 2\), \(2, 2\)"):
        method(initial, [[0.5, 0.5]], emission, [0])
    with pytest.raises(ValueError, match="rows of transition that are >= 0 and sum to 1"):
        method(initial, [[0.7, 0.2], [0.3, 0.7]], emission, [0])
    with pytest.raises(ValueError, match="rows of emission"):
        method(initial, transition, [[1.5, -0.5], [0.2, 0.8]], [0])
    with pytest.raises(ValueError, match="rows of initial"):
        method([np.nan, 1.0], transition, emission, [0])
    with pytest.raises(ValueError, match="want observations in 0 .. 1"):
        method(initial, transition, emission, [0, 2])
    with pytest.raises(ValueError, match="of integers, got float64"):
        method(initial, transition, emission, [0.0, 1.0])


@pytest.mark.parametrize("seed", range(3))
def test_hmmlearn_agrees(seed):
    outside = pytest.importorskip("hmmlearn.hmm", reason="the outside oracle: pip install -e '.[oracle]'")
    model = random_model(seed, S=4, V=5)
    observations = possible(seed, model, T=40)
    theirs = outside.CategoricalHMM(n_components=4)
    theirs.startprob_, theirs.transmat_, theirs.emissionprob_ = model
    theirs.n_features = 5
    result = filter(*model, observations)
    column = observations[:, None]
    assert result.log_evidence == pytest.approx(theirs.score(column), abs=1e-12 * 40)
    np.testing.assert_allclose(smooth(*model, observations), theirs.predict_proba(column), rtol=0, atol=1e-12)
    for t in range(40):
        prefix = theirs.predict_proba(column[: t + 1])[-1]
        np.testing.assert_allclose(result.filtered[t], prefix, rtol=0, atol=1e-12)
