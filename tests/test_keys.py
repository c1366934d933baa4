"""Keys and queries on networks set by hand: planted orthogonal keys, planted alignment, and no finding at the start."""

import numpy as np
import pytest
from planted import TASK, V, counting

from mhc_np.lab.keys import MARKS, _judged, keys_and_queries, of_hypotheses
from mhc_np.measure.manifold import spearman
from mhc_np.models import ModelConfig, init
from mhc_np.tasks import bijection, hmm


def rng(seed=0):
    return np.random.default_rng(seed)


def look(config, params, task=TASK, count=80):
    batch = bijection.sample(task, rng(), count)
    exact = bijection.posterior(task, batch)
    marks = MARKS["bijection"](task, batch.inputs)
    return keys_and_queries(params, config, inputs=batch.inputs, exact=exact, marks=marks, rng=rng(1))


def test_planted_orthogonal_keys_are_below_the_baseline_and_planted_copies_above():
    config, params = counting(num_layers=1)
    W_k = np.zeros((2 * V, 2 * V))
    W_k[V:, :V] = np.eye(V)  # head 0: one axis a value
    W_k[V:, V:] = rng().standard_normal((V, 1)) * np.ones(V) + [4.0] * V  # head 1: all along one line
    params["blocks"]["0"]["attention"]["W_k"] = W_k
    found = look(config, params)
    (row,) = found["layers"]
    assert row["cosine"] == pytest.approx([0, 1], abs=1e-6)
    assert row["cosine"][0] < found["baseline"]["low"]
    assert row["cosine"][1] > found["baseline"]["high"]
    assert row["cosine_centred"][0] == pytest.approx(1 / (V - 1))
    assert row["simplex_gap"][0] == pytest.approx(0, abs=1e-6)
    assert row["simplex_gap"][1] > found["baseline_gap"]["high"]
    assert (found["baseline"]["n"], found["baseline"]["d"]) == (V, V)


def test_planted_alignment_is_found_in_its_head_and_grows_with_the_evidence():
    """Layer 0 writes what was seen; in layer 1 the queries of head 0 turn away from the keys of seen values."""
    config, params = counting(num_layers=2)
    part = params["blocks"]["1"]["attention"]
    part["W_k"][V:, :V] = np.eye(V)
    part["W_q"][V:, :V] = -np.eye(V)
    part["W_q"][:V, :V] = 1e-3 * rng(2).standard_normal((V, V))  # before anything is seen, some direction at least
    part["W_k"][:, V:] = rng(3).standard_normal((2 * V, V))  # head 1 looks at nothing in particular
    part["W_q"][:, V:] = rng(4).standard_normal((2 * V, V))
    found = look(config, params)
    assert (found["best"]["layer"], found["best"]["head"]) == (1, 0)
    assert found["best"]["alignment"] > found["best"]["null"]["high"] + 0.1
    assert np.all(np.diff(found["best"]["by_position"]) > 0)
    np.testing.assert_array_equal(found["layers"][1]["by_position"], found["best"]["by_position"])
    assert found["best"]["positions"].tolist() == [0, 2, 4]
    assert found["best"]["by_position"][0] == pytest.approx(0, abs=1e-9)
    assert np.isnan(found["best"]["per_sharpness"][0])  # before any evidence all hypotheses are alike


@pytest.mark.parametrize("grows", [False, True])
def test_a_belief_that_only_sharpens_is_no_growing_alignment(grows):
    """Queries that turn to the truth by the same degree at every position, or by more and more; the belief sharpens."""
    count, positions, n = 400, 12, 4
    truth = rng().integers(n, size=count)
    sharp = np.linspace(0.1, 0.9, positions)[:, None]
    belief = sharp * np.eye(n)[truth][:, None] + (1 - sharp) / n
    degree = np.linspace(0.1, 1.5, positions)[:, None] if grows else 1.0
    queries = degree * np.eye(n)[truth][:, None] + 0.5 * rng(1).standard_normal((count, positions, n))
    keys = np.broadcast_to(np.eye(n), (count, n, n))
    found = _judged(queries, keys, belief, slice(0, count), np.arange(positions), rng(2))
    assert spearman(found["by_position"], -found["entropy_bits"]) > 0.99
    assert found["alignment"] > found["null"]["high"]
    if grows:
        assert found["grows"] > 0.99
    else:
        assert abs(found["grows"]) < 0.9
        assert np.ptp(found["per_sharpness"]) < 0.1 * np.mean(found["per_sharpness"])


def test_a_network_that_has_not_learned_gives_the_null_answer():
    config = ModelConfig(16, 8, 15, width=32, num_layers=2, num_heads=2)
    inside = []
    for seed in range(6):
        found = look(config, init(config, rng(seed)), bijection.Config(num_symbols=8))
        centred, baseline = [c for row in found["layers"] for c in row["cosine_centred"]], found["baseline_centred"]
        inside += [baseline["low"] * 0.9 < c < baseline["high"] * 1.1 for c in centred]
        assert abs(found["best"]["alignment"]) < 0.05
        assert all(0.4 < share <= 1 for row in found["layers"] for share in row["attention_entropy"])
    assert np.mean(inside) > 0.8


def test_hypotheses_of_the_tasks():
    assert MARKS["bijection"](TASK, np.array([[2, 3, 0, 5, 1]])).tolist() == [[-1, 0, -1, 2, -1]]
    config = hmm.Config(num_states=3, num_symbols=3, num_observations=2)
    batch = hmm.sample(config, rng(), 2)
    assert MARKS["hmm"](config, batch.inputs).tolist() == [[0, 1, 2, -1, -1]] * 2


def test_each_sequence_shows_its_own_states():
    """For the hidden Markov model the keys that a query meets are those of its own header."""
    task = hmm.Config(num_states=3, num_symbols=3, num_observations=6)
    batch = hmm.sample(task, rng(), 30)
    config = ModelConfig(
        task.num_features, 3, task.num_positions, width=16, num_heads=2, embedder="features", num_layers=2
    )
    found = keys_and_queries(
        init(config, rng(1)),
        config,
        inputs=batch.inputs,
        exact=hmm.posterior(task, batch),
        marks=MARKS["hmm"](task, batch.inputs),
        rng=rng(2),
    )
    assert len(found["best"]["by_position"]) == 6
    assert found["best"]["positions"].tolist() == [3, 4, 5, 6, 7, 8]
    assert np.isfinite(found["best"]["grows"])


def test_a_hypothesis_without_a_token_is_named():
    with pytest.raises(ValueError, match="want a token of each of 3, got none of number 1"):
        of_hypotheses(np.ones((1, 1, 3, 2)), np.array([[0, 2, -1]]))
