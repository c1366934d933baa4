"""What breaks first: in each run, when gain, geometry, calibration and loss pass their thresholds, and who leads.

Chapter: chapters/16_what_breaks_first.md      Tests: tests/test_question.py
"""

import numpy as np

from mhc_np.lab.question import median
from mhc_np.measure import events

KNOWS = 0.3  # bits of KL from which on a run has something to lose
LOSS_RATIO, LOSS_MARGIN = 1.5, 0.05  # times the least KL so far, and bits above it
FALL = 0.2  # by which the rank correlation of belief and stream must fall below its best
GAIN = (0.1, 10.0)
NAMES = ("gain", "geometry", "calibration", "loss")
FEWEST_RUNS, SURE = 10, 0.01
AGREE = 0.8  # share of runs in which the one must come first
ONE_LOOK = 10  # steps


def event_steps(result):
    """Return the step of each event of a run, None where it does not happen.

    *gain*: the composite forward gain is outside [.1, 10]; at any time. The others count from the first look on at
    which the KL is .3 bits or less. *loss*: the KL is 1.5 times its least value so far, and .05 bits above.
    *calibration*: the same of the entropy error. *geometry*: the rank correlation of the posterior's entropy and the
    last stream's first axis is .2 below its best so far. A run that breaks off, once it knew something, has its loss
    event at the last look at the latest; one that never knew has none.
    """
    looks = {
        name: np.array([np.nan if v is None else v for v in curve], float) for name, curve in result["looks"].items()
    }
    steps = looks["step"].astype(int)
    gain = np.where(np.isnan(looks["forward"]), np.inf, looks["forward"])
    found = dict.fromkeys(NAMES) | {"gain": events.first_outside(steps, gain, *GAIN)}
    knows = np.flatnonzero(looks["kl_bits"] <= KNOWS)
    if not len(knows):
        return found
    since = slice(knows[0], None)
    rise = {"ratio": LOSS_RATIO, "margin": LOSS_MARGIN}
    kl, mae = (np.where(np.isnan(looks[name]), np.inf, looks[name]) for name in ("kl_bits", "mae_bits"))
    found["loss"] = events.first_rise(steps[since], kl[since], **rise)
    found["calibration"] = events.first_rise(steps[since], mae[since], **rise)
    found["geometry"] = events.first_fall(steps[since], looks["stream_spearman"][since], FALL)
    if found["loss"] is None and result["train"]["diverged_at"] is not None:
        found["loss"] = int(steps[-1])
    return found


def leads(results, name):
    """Return by how many steps an event comes before the loss, in the runs whose loss goes wrong.

    A run in which the event never happens, though the loss goes wrong, has the lead −(steps of the run): it warned of
    nothing.
    """
    found = []
    for result in results:
        steps = event_steps(result)
        if steps["loss"] is not None:
            last = result["cell"]["num_steps"]
            found.append(steps["loss"] - steps[name] if steps[name] is not None else -last)
    return found


def leading(results, name):
    """Say whether an event leads the loss, with the numbers.

    Returns
    -------
    dict
        ``runs``, ``median_lead``, ``share_before``, ``p`` (one-sided sign-flip test), and ``leads``: True if there are
        ten runs or more, the median lead is a look or more, four runs in five have a positive one, and p < .01.
    """
    steps = leads(results, name)
    found = {
        "runs": len(steps),
        "median_lead": median(steps),
        "share_before": float(np.mean(np.array(steps) > 0)) if steps else float("nan"),
        "p": events.sign_flip_p(steps),
    }
    enough = found["runs"] >= FEWEST_RUNS and found["p"] < SURE
    return found | {"leads": bool(enough and found["median_lead"] >= ONE_LOOK and found["share_before"] >= AGREE)}


def followed(results):
    """Return the share of the runs with a gain event whose loss goes wrong later; NaN without such runs."""
    steps = [event_steps(result) for result in results]
    exploded = [one for one in steps if one["gain"] is not None]
    later = [one["loss"] is not None and one["loss"] >= one["gain"] for one in exploded]
    return float(np.mean(later)) if exploded else float("nan")


def goes_wrong(results):
    """Return the share of runs whose loss goes wrong."""
    return float(np.mean([event_steps(result)["loss"] is not None for result in results])) if results else float("nan")
