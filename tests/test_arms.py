"""The arms: each does what its line says, and gradient descent agrees with a loop written out."""

import numpy as np
import pytest

from mhc_np.dynamics.arms import ARMS, FRAME, RIDGE, Arm, Descent, train, update
from mhc_np.dynamics.em import value_step
from mhc_np.dynamics.head import PARAMETERS, init, loss_and_gradients
from mhc_np.learn import AdamW
from mhc_np.tasks import Batch


def example(seed=0):
    rng = np.random.default_rng(seed)
    params = init(rng, num_inputs=4, num_outputs=3, key_width=2, value_width=2, scale=0.5)
    batch = Batch(rng.standard_normal((2, 6, 4)), rng.integers(3, size=(2, 6)), rng.random((2, 6)) < 0.8)
    return params, batch


def one_update(name, step=0):
    params, batch = example()
    arm = ARMS[name]
    _, head, gradients = loss_and_gradients(params, batch.inputs, targets=batch.targets, mask=batch.mask)
    optimizer = AdamW(0.01) if arm.adamw else Descent(0.1, arm.multiple)
    moved, _ = update(arm, optimizer, params, batch, head, gradients, optimizer.init(params), step)
    exact = value_step(params, batch.inputs, head, gradients, mask=batch.mask, ridge=RIDGE).change
    return {w: moved[w] - params[w] for w in PARAMETERS}, gradients.params, exact


EXPECTED = {  # learning rates of W_q, W_k, W_v, W_o at base rate 0.1; None where the bound moves W_v
    "sgd": (0.1, 0.1, 0.1, 0.1),
    "value_x10": (0.1, 0.1, 1.0, 0.1),
    "all_x10": (1.0, 1.0, 1.0, 1.0),
    "frame_frozen": (0.0, 0.0, 0.1, 0.1),
    "readout_x10": (0.1, 0.1, 0.1, 1.0),
    "m_step": (0.1, 0.1, None, 0.1),
    "m_step_online": (0.1, 0.1, None, 0.1),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_rates(name):
    changes, d, exact = one_update(name)
    for w, rate in zip(PARAMETERS, EXPECTED[name], strict=True):
        wanted = ARMS[name].m_step * exact if rate is None else -rate * d[w]
        np.testing.assert_allclose(changes[w], wanted, atol=1e-15)


def test_in_turns_moves_the_frame_and_then_the_content():
    e_step, d, _ = one_update("in_turns", step=0)
    m_step, _, exact = one_update("in_turns", step=1)
    for w in FRAME:
        np.testing.assert_allclose(e_step[w], -0.1 * d[w], atol=1e-15)
        assert not m_step[w].any()
    assert not e_step["W_v"].any()
    assert not e_step["W_o"].any()
    np.testing.assert_allclose(m_step["W_v"], 0.1 * exact, atol=1e-15)
    np.testing.assert_allclose(m_step["W_o"], -0.1 * d["W_o"], atol=1e-15)


def test_all_arms_are_tested():
    assert set(ARMS) == {*EXPECTED, "in_turns", "adamw"}


def test_all_rates_by_ten_is_plain_descent_at_ten_times_the_rate():
    """So once the rate is swept the two arms are one, and no speed-up over the other can be claimed for either."""
    params, batch = example()
    run = {
        name: train(
            ARMS[name],
            Descent(rate, ARMS[name].multiple),
            params,
            lambda: batch,
            num_steps=5,
            look=lambda p: p["W_v"].copy(),
            look_steps=[5],
        )
        for name, rate in (("sgd", 1.0), ("all_x10", 0.1))
    }
    np.testing.assert_allclose(run["sgd"].looks[0], run["all_x10"].looks[0], atol=1e-14)


def test_training_is_the_loop_written_out():
    params, batch = example()
    before = {w: p.copy() for w, p in params.items()}
    course = train(
        ARMS["sgd"],
        Descent(0.3),
        params,
        lambda: batch,
        num_steps=7,
        look=lambda p: float(loss_and_gradients(p, batch.inputs, targets=batch.targets, mask=batch.mask)[0]),
        look_steps=range(8),
    )
    losses = []
    for _ in range(8):
        loss, _, gradients = loss_and_gradients(params, batch.inputs, targets=batch.targets, mask=batch.mask)
        losses.append(float(loss))
        params = {w: p - 0.3 * gradients.params[w] for w, p in params.items()}
    np.testing.assert_allclose(course.looks, losses, rtol=1e-14)
    assert course.steps == list(range(8))
    assert not course.diverged
    for w in PARAMETERS:
        np.testing.assert_array_equal(before[w], example()[0][w])


def test_divergence_ends_the_run_and_is_said():
    params, batch = example()
    course = train(
        Arm("too fast"), Descent(1e200), params, lambda: batch, num_steps=50, look=lambda p: 0, look_steps=[0, 50]
    )
    assert course.diverged
    assert course.steps == [0]
