"""Assignment 6, judging by a rule (chapters 15 to 17). Check: python -m pytest book/assignments/6_verdict.

The claim: *the new arm has at most two thirds of the plain arm's error, each at its own best rate*. Its opposite: the
same with the arms exchanged. You get {arm: {rate: [error of each seed]}} for the arms "new" and "plain"; a run that
broke has the error NaN. Write a rule that you would sign before you see any result.

Return "holds", "holds in part", "not seen here" or "false". Wanted are five seeds of every rate, and the same rates for
both arms. If there is no difference, your rule must say *holds* in at most one case of twenty; if the error is halved,
in nine of ten.
"""

import numpy as np  # noqa: F401


def rule(errors):
    """From {arm: {rate: [error of each seed]}} to one of the four verdicts."""
    raise NotImplementedError("rule: what do you want to have, before you compare? then compare; then the middle")
