"""Watch one head learn: how near its gradient is to EM, whether the loop feeds itself, and what settles first.

Chapter: chapters/07_advantage.md      Tests: tests/test_em_runs.py
Symbols: α_ij -> weights, r_ij -> responsibility (each source's own price of the label), u_i -> d_out, one label's loss

Everything is measured on held-out sequences with sampled labels, by the closed forms. Where responsibilities are
compared the gradients are those of the *summed* loss: a responsibility belongs to one label.
"""

import numpy as np

from mhc_np.dynamics import advantage as law
from mhc_np.dynamics import em, feedback, timescales
from mhc_np.dynamics.arms import ARMS, Descent, train
from mhc_np.dynamics.head import PARAMETERS, forward, loss_and_gradients
from mhc_np.lab.em_setting import Stage, finite
from mhc_np.learn import AdamW, log_spaced_steps
from mhc_np.measure import drift

TRACED = ("sgd", "adamw")
NUM_LOOKS, DISTANCE_EVERY = 30, 10
NUM_ALONE, GENTLE = 20, 0.1  # steps of one block alone, and their rate: gentle, so that the loss falls smoothly


def trace(setting, seed, rates):
    """Train the traced arms at their lowest rate; return {"arms": {arm: {"looks": [...], "settled": {...}}}}."""
    return {"rates": rates, "arms": {name: _trace(setting, seed, name, rates[name]["lowest"]) for name in TRACED}}


def _trace(setting, seed, name, rate):
    stage, arm, end = Stage(setting, seed), ARMS[name], setting.num_steps
    at = log_spaced_steps(end - 1, NUM_LOOKS)
    often = sorted({*at, *range(0, end + 1, DISTANCE_EVERY), end})
    course = train(
        arm,
        AdamW(rate) if arm.adamw else Descent(rate, arm.multiple),
        stage.params,
        stage.draw,
        num_steps=end,
        look=lambda params: params,
        look_steps={*often, *(step + 1 for step in at)},
    )
    snapshot = dict(zip(course.steps, course.looks, strict=True))
    to_go = {step: distances(snapshot[step], course.params, stage.held_out) for step in often}
    looks = [
        {
            "step": step,
            **stage.look(snapshot[step]),
            **against_em(snapshot[step], snapshot[step + 1], stage.held_out),
            **to_go[step],
            **alone(snapshot[step], stage.held_out, GENTLE * (1 if arm.adamw else rate)),
        }
        for step in at
    ]
    settled = {
        key: finite(drift.arrival(often, [to_go[step][f"{key}_distance"] for step in often]))
        for key in ("routing", "content", *PARAMETERS)
    }
    return {"rate": rate, "looks": looks, "settled": settled}


def against_em(params, after, batch):
    """Compare the gradient, and the real next update, with E-step and M-step of the mixture.

    Returns
    -------
    dict
        ``score_cosine``: −dL/ds against r − α. ``value_cosine``: dL/dv against the mixture's gradient in its
        components, through the read-out. ``weights_cosine``: the real change of the weights against the advantage
        law's. ``reinforced_share``: share of the queries with a choice that the real value step reinforces;
        ``reinforced_share_free``: by a step of free values. ``advantage_weight``: mean of 1 − Σα².
    """
    _, head, gradients = loss_and_gradients(params, batch.inputs, targets=batch.targets, mask=batch.mask)
    labelled, count = batch.mask[:, :, None], batch.mask.sum()
    weights, values = head.weights[:, 0], head.values[:, 0]
    d_out, d_scores, d_values = (count * g[:, 0] for g in (gradients.d_out, gradients.d_scores, gradients.d_values))
    found = em.responsibility(weights, em.source_costs(values, params["W_o"], batch.targets)) * labelled
    source_logits = values @ params["W_o"]
    probs = np.exp(source_logits - source_logits.max(axis=-1, keepdims=True))
    probs /= probs.sum(axis=-1, keepdims=True)
    labels = np.eye(probs.shape[-1])[batch.targets]
    d_components = found.sum(axis=1)[..., None] * probs - law.transpose(found) @ labels
    value_change = batch.inputs @ (after["W_v"] - params["W_v"])
    moved = forward(after, batch.inputs).weights[:, 0] - weights
    variance = (weights**3).sum(axis=-1) - (weights**2).sum(axis=-1) ** 2
    choice = batch.mask & (variance > 1e-9)  # neither uniform nor all on one source

    def share(alignment_change):
        gain = feedback.reinforcement(weights, alignment_change)[choice]
        return finite((gain > 0).mean()) if choice.any() else None

    return {
        "score_cosine": finite(em.cosine(-d_scores, found - weights * labelled)),
        "value_cosine": finite(em.cosine(d_values, d_components @ params["W_o"].T)),
        "weights_cosine": finite(em.cosine(moved * labelled, feedback.weights_change(weights, -d_scores) * labelled)),
        "reinforced_share": share(law.alignment(d_out, value_change)),
        "reinforced_share_free": share(feedback.alignment_change(weights, d_out, 1.0)),
        "advantage_weight": float(timescales.advantage_weight(weights)[batch.mask].mean()),
        "score_gradient_size": float(np.abs(d_scores).sum(axis=-1)[batch.mask].mean()),
        "error_size": float(np.sqrt((d_out**2).sum(axis=-1))[batch.mask].mean()),
        **{f"{block}_rate": rate for block, rate in timescales.block_rates(gradients.params).items()},
    }


def distances(params, final, batch):
    """How far routing, content and parameters are from where training ends."""
    now, end = forward(params, batch.inputs), forward(final, batch.inputs)
    return {
        "routing_distance": timescales.row_movement(now.weights[:, 0][batch.mask], end.weights[:, 0][batch.mask]),
        "content_distance": timescales.content_movement(
            now.values[:, 0] @ params["W_o"], end.values[:, 0] @ final["W_o"]
        ),
        **{f"{w}_distance": float(np.sqrt(((params[w] - final[w]) ** 2).sum())) for w in params},
    }


def alone(params, batch, rate):
    """Let routing alone, then content alone, descend on the held-out labels; return how far the loss falls."""
    falls = {}
    for block, names in (("routing", timescales.ROUTING), ("content", timescales.CONTENT)):
        now, losses = params, []
        for _ in range(NUM_ALONE + 1):
            loss, _, gradients = loss_and_gradients(now, batch.inputs, targets=batch.targets, mask=batch.mask)
            losses.append(loss)
            now = {w: p - rate * gradients.params[w] if w in names else p for w, p in now.items()}
        falls[f"{block}_alone_nats"] = finite(losses[0] - losses[-1])
    return falls
