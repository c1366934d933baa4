"""The two tasks on which attention's gradient is held against EM, and what is looked at on held-out sequences.

Chapter: chapters/08_em.md      Tests: tests/test_em_runs.py
Symbols: exact posterior p -> exact (N, V), prediction q -> predicted (N, V), Σ −p log q -> held_out_nats
"""

from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np

from mhc_np.dynamics import head
from mhc_np.measure import calibration
from mhc_np.tasks import marked_token, sticky_chain


@dataclass(frozen=True)
class Setting:
    """A task with the sizes of the head and the budget.

    Parameters
    ----------
    task, config : module and its Config
    batch_size, num_steps : int
        Fresh sequences a step, and steps: the budget of every arm.
    half, late : float
        The two targets: the shares of the way from uniform prediction to the Bayes value. One head without a residual
        stream stops at about 0.73 of the way on the sticky chain, so its late target lies below that.
    rates, adamw_rates : tuple of float
        What the sweep tries, in factors of 1.78. The marked token was swept first, and more widely than was of use.
    """

    task: ModuleType
    config: object
    batch_size: int
    num_steps: int
    half: float
    late: float
    rates: tuple
    adamw_rates: tuple


def quarter_decades(first, last):
    """Return 10^(first/4) … 10^(last/4), rounded to three digits.

    >>> quarter_decades(0, 4)
    (1.0, 1.78, 3.16, 5.62, 10.0)
    """
    return tuple(float(f"{10 ** (k / 4):.3g}") for k in range(first, last + 1))


SETTINGS = {
    "sticky": Setting(
        sticky_chain,
        sticky_chain.Config(num_positions=40),
        batch_size=16,
        num_steps=1200,
        half=0.5,
        late=0.65,
        rates=quarter_decades(-5, 5),
        adamw_rates=quarter_decades(-12, -3),
    ),
    "marked": Setting(
        marked_token,
        marked_token.Config(num_positions=32),
        batch_size=32,
        num_steps=1000,
        half=0.5,
        late=0.9,
        rates=quarter_decades(-8, 6),
        adamw_rates=quarter_decades(-14, -3),
    ),
}
KEY_WIDTH, VALUE_WIDTH, NUM_HELD_OUT = 10, 15, 64


class Stage:
    """Everything that one seed fixes: first parameters, the stream of fresh batches, the held-out sequences."""

    def __init__(self, setting, seed):
        init_rng, self._data_rng, held_out_rng = (
            np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(3)
        )
        task, config = setting.task, setting.config
        self.setting = setting
        self.params = head.init(
            init_rng,
            num_inputs=config.num_features,
            num_outputs=config.num_outputs,
            key_width=KEY_WIDTH,
            value_width=VALUE_WIDTH,
        )
        self.held_out = as_float64(task.sample(config, held_out_rng, NUM_HELD_OUT))
        self.exact = task.posterior(config, self.held_out)[self.held_out.mask]
        self.bayes_nats = float(calibration.entropy_bits(self.exact).mean() * np.log(2))

    def draw(self):
        """Return the next fresh batch."""
        return as_float64(self.setting.task.sample(self.setting.config, self._data_rng, self.setting.batch_size))

    def target_nats(self, share):
        """Held-out loss at which ``share`` of the way from uniform prediction to the Bayes value is done."""
        uniform = np.log(self.setting.config.num_outputs)
        return uniform - share * (uniform - self.bayes_nats)

    def look(self, params):
        """Return the held-out loss, predictive entropy (nats) and distance to the posterior (bits)."""
        with np.errstate(over="ignore", invalid="ignore"):
            logits = head.forward(params, self.held_out.inputs).logits[self.held_out.mask]
        if not np.isfinite(logits).all():
            return dict.fromkeys(("held_out_nats", "entropy_nats", "kl_bits", "entropy_mae_bits"))
        predicted = calibration.probabilities(logits)
        kl = calibration.kl_bits(self.exact, predicted).mean()
        return {
            # The mean over labels drawn from the exact posterior, without drawing them: H(p) + KL(p || q).
            "held_out_nats": finite(self.bayes_nats + kl * np.log(2)),
            "entropy_nats": float(calibration.entropy_bits(predicted).mean() * np.log(2)),
            "kl_bits": finite(kl),
            "entropy_mae_bits": calibration.entropy_mae_bits(self.exact, predicted),
        }


def as_float64(batch):
    """Return the batch with float64 inputs: all of these runs are in double precision."""
    return batch._replace(inputs=batch.inputs.astype(np.float64))


def finite(value):
    """Return a Python float, or None for what is infinite or not a number, which JSON cannot hold."""
    return float(value) if np.isfinite(value) else None


def smaller(setting, num_steps):
    """Return the setting with a smaller budget: for tests and exercises."""
    return replace(setting, num_steps=num_steps)
