"""The value manifold where its use is planted: an axis that the answers hang on, and one that nobody reads."""

import numpy as np
import pytest

from mhc_np.lab.value_manifold import axis_costs, describe, labelled, of_lstm, of_transformer, sample
from mhc_np.measure.calibration import entropy_bits, probabilities
from mhc_np.models import MODELS
from mhc_np.tasks import hmm

N, D = 600, 12


def rng(seed=0):
    return np.random.default_rng(seed)


def planted(read_by_head):
    """Points with a large coordinate that falls with the entropy. The head reads it, or the belief on a small one.

    Of two outcomes with logit z the entropy falls with |z|. A head that reads the first coordinate needs z > 0.
    """
    logit = rng().uniform(0 if read_by_head else -4, 4, N)
    exact = probabilities(np.stack([logit, np.zeros(N)], axis=1))
    entropy = entropy_bits(exact)
    turn = np.linalg.qr(rng(1).standard_normal((D, D)))[0]
    points = 0.1 * rng(2).standard_normal((N, D))
    points[:, 0] += 3 * np.abs(logit)
    points[:, 1] = 0.2 * logit
    points = points @ turn + 1
    reader = turn.T @ (np.eye(D)[0] / 3 if read_by_head else np.eye(D)[1] / 0.2)

    def predict(change):
        found = (change(points) - 1) @ reader
        return probabilities(np.stack([found, np.zeros(N)], axis=1))

    return points, entropy, exact, predict


def test_an_axis_that_the_answers_hang_on_is_costly_and_a_random_one_is_not():
    points, entropy, exact, predict = planted(read_by_head=True)
    costs = axis_costs(points, entropy, exact, predict, rng(4))
    assert costs["pc1"] > 0.1
    assert costs["covariance"] > 0.1
    assert costs["entropy"] == max(costs[name] for name in ("readout", "covariance"))
    assert costs["entropy"] > 3 * max(costs["random"])
    assert len(costs["shuffled"]) == 16
    assert abs(costs["pc2"]) < 0.02


def test_an_axis_that_holds_the_entropy_and_that_nobody_reads_is_inert():
    """The trap: R² is one, and taking the axis away costs nothing."""
    points, entropy, exact, predict = planted(read_by_head=False)
    described = describe(points, entropy, np.zeros(N, int))
    assert described["pc1_share"] > 0.95
    assert described["spearman"] > 0.99
    costs = axis_costs(points, entropy, exact, predict, rng(4))
    assert abs(costs["pc1"]) < 0.01
    assert costs["entropy"] < 0.03
    assert costs["pc2"] > 0.1  # where the belief is


def test_shuffled_controls_cost_what_any_axis_of_that_spread_costs():
    """A trap for random axes: the answers hang on the few directions in which points vary, and not on the entropy's."""
    belief = rng().standard_normal((N, 3))
    exact, turn = probabilities(2 * belief), np.linalg.qr(rng(1).standard_normal((60, 60)))[0]
    points = np.concatenate([belief, 0.01 * rng(2).standard_normal((N, 57))], axis=1) @ turn
    unrelated = rng(3).uniform(0, 2, N)

    def predict(change):
        return probabilities(2 * change(points) @ turn.T[:, :3])

    costs = axis_costs(points, unrelated, exact, predict, rng(4))
    assert costs["covariance"] > 3 * max(costs["random"])  # would have been called used
    assert costs["covariance"] < 1.5 * max(costs["shuffled"])


def test_on_a_line_the_shuffled_controls_are_the_line_and_acquit_nothing():
    """A limit of the control, known: with one large axis every direction of covariance is that axis."""
    points, entropy, exact, predict = planted(read_by_head=True)
    costs = axis_costs(points, entropy, exact, predict, rng(4))
    assert costs["entropy"] > 3 * max(costs["random"])  # the planted use is seen against random axes
    assert costs["entropy"] < 3 * max(costs["shuffled"])  # and cannot be, against these


def test_a_coordinate_of_position_alone_is_told():
    position = np.tile(np.arange(10), N // 10)
    entropy = 3.0 - 0.2 * position
    points = np.outer(entropy, rng().standard_normal(D)) + 0.01 * rng(1).standard_normal((N, D))
    found = describe(points, entropy, position)
    assert found["spearman"] > 0.99
    assert found["by_position"] == pytest.approx(1)
    assert np.isnan([found["spearman_within"], found["r_squared_within"]]).all()


def test_where_the_entropy_never_varies_nothing_is_said_and_nothing_taken():
    points, exact = rng().standard_normal((N, D)), np.full((N, 2), 0.5)
    found = describe(points, np.ones(N), np.zeros(N, int))
    assert np.isnan([found["spearman"], found["r_squared"], found["by_position"]]).all()
    costs = axis_costs(points, np.ones(N), exact, lambda change: exact, rng())
    assert costs["covariance"] == 0


@pytest.mark.parametrize(("model", "look"), [("transformer", of_transformer), ("lstm", of_lstm)])
def test_both_models_are_looked_at_alike_and_a_first_network_uses_no_axis(model, look):
    task = hmm.Config(num_states=3, num_symbols=3, num_observations=5)
    batch = hmm.sample(task, rng(), 40)
    config = MODELS[model].Config(task.num_features, 3, task.num_positions, width=16, embedder="features")
    params = MODELS[model].init(config, rng(1))
    found = look(params, config, inputs=batch.inputs, exact=hmm.posterior(task, batch), rng=rng(2))
    assert 0 < found["points"]["pc1_share"] < 1
    assert found["points"]["by_position"] < 1
    assert set(found["axes"]) == ({"attention", "stream"} if model == "transformer" else {"stream"})
    assert all(len(costs["random"]) == 16 for costs in found["axes"].values())
    assert all(abs(costs["entropy"]) < 0.05 for costs in found["axes"].values())
    assert np.shape(found["sample"]["coordinates"]) == (150, 2)
    assert model == "lstm" or found["by_layer"] == [found["points"]]


def test_the_points_to_draw_lie_as_the_description_says():
    position = np.arange(N) % 7
    points = np.outer(rng().standard_normal(N), np.eye(D)[3]) + 0.1 * rng(1).standard_normal((N, D))
    kept = sample(points, points[:, 3], position, count=50)
    assert np.abs(np.corrcoef(kept["coordinates"][:, 0], kept["entropy_bits"])[0, 1]) > 0.99
    assert np.ptp(kept["coordinates"][:, 1]) < np.ptp(kept["coordinates"][:, 0]) / 3
    assert (kept["position"][0], kept["position"][-1]) == (position[0], position[-1])


def test_labelled_rows_keep_their_order():
    exact = np.full((2, 3, 2), np.nan)
    exact[:, 1:] = [[0.5, 0.5], [1.0, 0.0]]
    points, entropy, position = labelled(np.arange(6.0).reshape(2, 3, 1), exact)
    assert points.ravel().tolist() == [1, 2, 4, 5]
    assert entropy.tolist() == [1, 0, 1, 0]
    assert position.tolist() == [1, 2, 1, 2]
