"""Sweep the learning rate of every arm, then run each at its best on five fresh seeds.

Chapter: chapters/08_em.md      Tests: tests/test_em_runs.py

An arm has two best rates: the *fastest*, which reaches the late target in the fewest steps, and the *lowest*, which
ends at the lowest held-out loss. Both are chosen on seeds of their own (`SWEEP_SEEDS`), and each arm answers each
question at the rate that is best for it there.
"""

import numpy as np

from mhc_np.dynamics.arms import ARMS, Descent, train
from mhc_np.lab.em_setting import Stage
from mhc_np.learn import AdamW

SWEEP_SEEDS = (100, 101)
SAME_RATE_ARMS = ("sgd", "value_x10", "all_x10", "frame_frozen", "readout_x10")
LOOK_EVERY, LAST_LOOKS = 20, 5


def run_arm(setting, seed, name, rate):
    """Train one arm; return its numbers and its curve.

    Returns
    -------
    dict
        ``half``, ``late``: first step at or below that target, None if never. ``final_nats``, ``entropy_nats``,
        ``kl_bits``, ``entropy_mae_bits``: mean of the last looks, None if the run diverged. ``curve``: the held-out
        loss (nats) every `LOOK_EVERY` steps. ``bayes_nats``: the mean entropy of the exact posterior there.
    """
    stage, arm = Stage(setting, seed), ARMS[name]
    optimizer = AdamW(rate) if arm.adamw else Descent(rate, arm.multiple)
    course = train(
        arm,
        optimizer,
        stage.params,
        stage.draw,
        num_steps=setting.num_steps,
        look=stage.look,
        look_steps=range(0, setting.num_steps + 1, LOOK_EVERY),
    )
    curve = [look["held_out_nats"] for look in course.looks]
    last, lost = course.looks[-LAST_LOOKS:], course.diverged or None in curve

    def mean_of_last(key):
        return None if lost else float(np.mean([look[key] for look in last]))

    return {
        "rate": rate,
        "half": first_step(course.steps, curve, stage.target_nats(setting.half)),
        "late": first_step(course.steps, curve, stage.target_nats(setting.late)),
        "final_nats": mean_of_last("held_out_nats"),
        "entropy_nats": mean_of_last("entropy_nats"),
        "kl_bits": mean_of_last("kl_bits"),
        "entropy_mae_bits": mean_of_last("entropy_mae_bits"),
        "bayes_nats": stage.bayes_nats,
        "curve": curve,
    }


def first_step(steps, curve, target):
    """Return the first step whose loss is at or below the target; None if there is none.

    >>> first_step([0, 20, 40], [2.0, None, 1.0], 1.5)
    40
    """
    return next((step for step, loss in zip(steps, curve, strict=True) if loss is not None and loss <= target), None)


def sweep(setting, seed):
    """Run every arm at every rate; return {"sweep": {arm: [numbers a rate]}}, without the curves."""
    found = {}
    for name, arm in ARMS.items():
        runs = [run_arm(setting, seed, name, rate) for rate in (setting.adamw_rates if arm.adamw else setting.rates)]
        found[name] = [{key: value for key, value in run.items() if key != "curve"} for run in runs]
    return {"sweep": found}


def pick(sweeps):
    """Choose each arm's two rates by the mean over the sweeps' seeds.

    Parameters
    ----------
    sweeps : list of dict
        Results of `sweep`.

    Returns
    -------
    dict
        ``{arm: {"fastest": rate, "lowest": rate}}``. A target that is not reached, or a run that diverged, counts as
        infinite; of equal rates the smallest wins.
    """
    rates = {}
    for name in sweeps[0]["sweep"]:
        by_rate = list(zip(*(sweep["sweep"][name] for sweep in sweeps), strict=True))

        def mean(runs, key):
            return np.mean([np.inf if run[key] is None else run[key] for run in runs])

        fastest = min(by_rate, key=lambda runs: (mean(runs, "late"), mean(runs, "half"), mean(runs, "final_nats")))
        lowest = min(by_rate, key=lambda runs: mean(runs, "final_nats"))
        rates[name] = {"fastest": fastest[0]["rate"], "lowest": lowest[0]["rate"]}
    return rates


def arms(setting, seed, rates):
    """Run every arm at its two rates, and the papers' comparison at one rate.

    Returns
    -------
    dict
        ``fastest`` and ``lowest``, {arm: numbers and curve}; ``same_rate``, the same for the arms that share a base
        rate, a tenth of plain descent's fastest, and ``first_below``: the step at which an arm first reaches what
        plain descent has at the end.
    """
    result = {
        kind: {name: run_arm(setting, seed, name, rates[name][kind]) for name in ARMS} for kind in ("fastest", "lowest")
    }
    shared = float(f"{rates['sgd']['fastest'] / 10:.3g}")
    result["same_rate"] = {name: run_arm(setting, seed, name, shared) for name in SAME_RATE_ARMS}
    steps = range(0, setting.num_steps + 1, LOOK_EVERY)
    for run in result["same_rate"].values():
        reached = list(zip(steps, run["curve"], strict=False))
        end = result["same_rate"]["sgd"]["curve"][-1]
        run["first_below"] = first_step([s for s, _ in reached], [loss for _, loss in reached], end)
    return {"rates": rates, **result}
