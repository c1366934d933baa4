"""Two controls on the watched heads, added after their runs; no verdict reads them.

Chapter: chapters/09_frame_precision.md      Tests: tests/test_em_runs.py

*Swap*: a step at a constant rate makes the values jitter, and what jitters never counts as settled. So put the frame of
an early moment together with the content of the end, and the other way round, and look at the loss: it says when each
was good enough. (Queries and keys share no basis with values and read-out, so that the halves of two moments fit.)

*Tied*: the real update differs from the law for free scores and values in two ways. The matrices tie positions
together, and the batch is another one. A step along the held-out gradient itself has the first difference alone.
"""

import numpy as np

from mhc_np.dynamics import advantage as law
from mhc_np.dynamics import em, feedback, timescales
from mhc_np.dynamics.arms import ARMS, Descent, train
from mhc_np.dynamics.head import forward, loss_and_gradients
from mhc_np.lab.em_arms import first_step
from mhc_np.lab.em_setting import Stage, finite
from mhc_np.lab.em_trace import DISTANCE_EVERY, NUM_LOOKS, TRACED
from mhc_np.learn import AdamW, log_spaced_steps

SMALL = 1e-4  # of a tied step, which is to be of first order
DONE = 0.9


def control(setting, seed, rates):
    """Train the traced arms again, to the same bits, and apply both controls; return {"arms": {arm: {...}}}."""
    return {"rates": rates, "arms": {name: _control(setting, seed, name, rates[name]["lowest"]) for name in TRACED}}


def _control(setting, seed, name, rate):
    stage, arm, end = Stage(setting, seed), ARMS[name], setting.num_steps
    at = log_spaced_steps(end - 1, NUM_LOOKS)
    often = list(range(0, end + 1, DISTANCE_EVERY))
    course = train(
        arm,
        AdamW(rate) if arm.adamw else Descent(rate, arm.multiple),
        stage.params,
        stage.draw,
        num_steps=end,
        look=lambda params: params,
        look_steps={*at, *often},
    )
    snapshot = dict(zip(course.steps, course.looks, strict=True))
    routing, content = zip(*(swapped(stage, snapshot[step], course.params) for step in often), strict=True)
    last = stage.look(course.params)["held_out_nats"]
    return {
        "rate": rate,
        "looks": [{"step": step, **tied(snapshot[step], stage.held_out)} for step in at],
        "done": {
            "routing": first_step(often, routing, last + (1 - DONE) * (routing[0] - last)),
            "content": first_step(often, content, last + (1 - DONE) * (content[0] - last)),
        },
        "swap": {"step": often, "routing": routing, "content": content},
    }


def swapped(stage, params, final):
    """Return the held-out losses of (this routing, final content) and of (final routing, this content)."""
    early = {"routing": timescales.ROUTING, "content": timescales.CONTENT}
    mixed = ({w: (params if w in names else final)[w] for w in params} for names in early.values())
    return [stage.look(p)["held_out_nats"] for p in mixed]


def tied(params, batch):
    """Compare one small step of the matrices along the held-out gradient with the laws for free scores and values."""
    _, head, gradients = loss_and_gradients(params, batch.inputs, targets=batch.targets, mask=batch.mask)
    after = {w: p - SMALL * gradients.params[w] for w, p in params.items()}
    weights, d_out, d_scores = head.weights[:, 0], gradients.d_out[:, 0], gradients.d_scores[:, 0]
    moved = (forward(after, batch.inputs).weights[:, 0] - weights)[batch.mask]
    free = feedback.weights_change(weights, -d_scores)[batch.mask]
    value_change = batch.inputs @ (after["W_v"] - params["W_v"])
    variance = (weights**3).sum(axis=-1) - (weights**2).sum(axis=-1) ** 2
    choice = batch.mask & (variance > 1e-9)
    gain = feedback.reinforcement(weights, law.alignment(d_out, value_change))[choice]
    return {
        "weights_cosine": finite(em.cosine(moved, free)),
        "reinforced_share": finite(np.mean(gain > 0)) if choice.any() else None,
    }
