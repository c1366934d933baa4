"""The arms of the comparison, as data: who moves, how fast, and by which step.

Chapter: chapters/08_em.md      Tests: tests/test_arms.py
Symbols: η -> rate, times the arm's ``multiple`` for each of W_q, W_k, W_v, W_o

All arms are the same loop on fresh batches, one closed-form gradient a step; `ARMS` says in what they differ. One rate
multiplied by ten is the papers' "EM-like" arm. Its controls are all rates by ten, the read-out's rate by ten, and a
frame that never moves. The last arms are EM in earnest: the values go to the exact minimum of Böhning's bound, or a
tenth of the way there, as online EM does on small batches; at once with the frame, or in turns with it.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from mhc_np.dynamics.em import value_step
from mhc_np.dynamics.head import PARAMETERS, loss_and_gradients

FRAME = ("W_q", "W_k")
RIDGE = 1e-3  # of the M-steps; the gradient of a fresh batch is noisy where its inputs hardly vary


@dataclass(frozen=True)
class Arm:
    """One way to train the head.

    Parameters
    ----------
    about : str
        What it is, in words.
    multiple : dict
        Learning rate of a parameter in units of the base rate, where that is not 1.
    m_step : float
        Share of the way that W_v goes to the exact minimum of the bound; 0 for a gradient step instead.
    in_turns : bool
        E-steps (the frame W_q, W_k moves) and M-steps (W_v, W_o move) alternate. A step of either kind counts as one.
    adamw : bool
        AdamW instead of gradient descent.
    """

    about: str
    multiple: dict = field(default_factory=dict)
    m_step: float = 0.0
    in_turns: bool = False
    adamw: bool = False


ARMS = {
    "sgd": Arm("gradient descent, one rate for all"),
    "value_x10": Arm("rate of W_v ×10: the papers' EM-like arm", {"W_v": 10.0}),
    "all_x10": Arm("all rates ×10", dict.fromkeys(PARAMETERS, 10.0)),
    "frame_frozen": Arm("W_q and W_k never move", dict.fromkeys(FRAME, 0.0)),
    "readout_x10": Arm("rate of W_o ×10", {"W_o": 10.0}),
    "m_step": Arm("W_v by the exact M-step of the bound", m_step=1.0),
    "m_step_online": Arm("W_v a tenth of the way to the exact M-step", m_step=0.1),
    "in_turns": Arm("E-steps and online M-steps in turns", m_step=0.1, in_turns=True),
    "adamw": Arm("AdamW", adamw=True),
}


class Course(NamedTuple):
    """What training leaves behind."""

    params: dict
    steps: list  # of the looks
    looks: list  # what ``look(params)`` returned there
    diverged: bool


class Descent:
    """Gradient descent with a rate for each parameter; the interface of `mhc_np.learn`'s optimisers."""

    def __init__(self, rate, multiple=None):
        self.rate, self.multiple = rate, multiple or {}

    def init(self, params):
        """Return the state: none is kept."""
        return {}

    def update(self, params, grads, state):
        """Take one step; return (params, state)."""
        return {w: p - self.rate * self.multiple.get(w, 1.0) * grads[w] for w, p in params.items()}, state


def train(arm, optimizer, params, draw, *, num_steps, look, look_steps):
    """Train the head on fresh batches.

    Parameters
    ----------
    arm : Arm
    optimizer : object with ``init(params)`` and ``update(params, grads, state)``
        ``Descent(rate, arm.multiple)``, or AdamW of `mhc_np.learn`.
    params : dict
        W_q, W_k, W_v, W_o; left as they are.
    draw : callable
        ``draw()`` returns a fresh batch with ``inputs, targets, mask``.
    num_steps : int
        Budget in batches, the same for every arm.
    look : callable
        Called as ``look(params)`` at the steps of ``look_steps``, counted in updates made.
    look_steps : collection of int

    Returns
    -------
    Course
        Ends early, with ``diverged`` set, when the loss is no longer finite.
    """
    state, steps, looks, at = optimizer.init(params), [], [], set(look_steps)
    for step in range(num_steps + 1):
        if step in at:
            steps.append(step)
            looks.append(look(params))
        if step == num_steps:
            break
        with np.errstate(over="ignore", invalid="ignore"):
            batch = draw()
            loss, head, gradients = loss_and_gradients(params, batch.inputs, targets=batch.targets, mask=batch.mask)
            if not np.isfinite(loss):
                return Course(params, steps, looks, True)
            params, state = update(arm, optimizer, params, batch, head, gradients, state, step)
    return Course(params, steps, looks, False)


def update(arm, optimizer, params, batch, head, gradients, state, step):
    """Make the arm's step number ``step``; return (params, state)."""
    if arm.in_turns:
        moving = FRAME if step % 2 == 0 else ("W_v", "W_o")
    else:
        moving = PARAMETERS
    by_bound = arm.m_step > 0 and "W_v" in moving
    descending = {w for w in moving if not (by_bound and w == "W_v")}
    grads = {w: d if w in descending else np.zeros_like(d) for w, d in gradients.params.items()}
    moved, state = optimizer.update(params, grads, state)
    if by_bound:
        change = value_step(params, batch.inputs, head, gradients, mask=batch.mask, ridge=RIDGE).change
        moved = {**moved, "W_v": params["W_v"] + arm.m_step * change}
    return moved, state
