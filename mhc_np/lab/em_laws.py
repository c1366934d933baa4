"""The runs of EM that need no training: how exact the closed forms are, the Bayes values, the loop of Figure 3.

Chapter: chapters/07_advantage.md      Tests: tests/test_em_runs.py
"""

import numpy as np

from mhc_np.autodiff import value_and_grad
from mhc_np.dynamics import advantage as law
from mhc_np.dynamics import head, mixture
from mhc_np.dynamics.feedback import run_loop
from mhc_np.ops.loss import cross_entropy_ref
from mhc_np.tasks import marked_token, sticky_chain

NUM_SHAPES = 40
STENCIL = ((1, 45), (2, -9), (3, 1))  # central differences of order six


def laws(seed):
    """Hold every closed form against autograd on the definition and against differences, on random shapes.

    Returns
    -------
    dict
        ``errors``: the largest error of each kind, relative to the largest entry of the gradient, or to one.
        ``autograd``: parameters and inputs; ``differences``: along random directions of all parameters; ``row_sum``:
        rows of the score gradient against zero; ``mixture``: the advantage law against weight minus responsibility.
    """
    rng = np.random.default_rng(seed)
    errors = dict.fromkeys(("autograd", "differences", "row_sum", "mixture"), 0.0)

    def note(kind, got, wanted):
        size = max(1.0, np.abs(wanted).max(initial=0))
        errors[kind] = max(errors[kind], float(np.abs(got - wanted).max(initial=0) / size))

    for shape in range(NUM_SHAPES):
        H, T = int(rng.integers(1, 4)), 1 if shape % 8 == 0 else int(rng.integers(2, 12))
        B, D, K, K_v, V = (int(size) for size in rng.integers(1, 7, size=5))
        params = head.init(rng, num_inputs=D, num_outputs=V + 1, key_width=K, value_width=K_v, num_heads=H, scale=0.6)
        if shape % 8 == 1:  # all weight on one source
            params["W_q"] = 1e3 * params["W_q"]
        inputs, targets = rng.standard_normal((B, T, D)), rng.integers(V + 1, size=(B, T))
        mask = rng.random((B, T)) < 0.8
        mask[0, 0] = True
        labels = {"targets": targets, "mask": mask}
        _, _, found = head.loss_and_gradients(params, inputs, num_heads=H, **labels)

        def definition(params, inputs, H=H, labels=labels):
            return cross_entropy_ref(head.head_ref(params, inputs, num_heads=H), **labels)

        for w, wanted in value_and_grad(definition)(params, inputs)[1].items():
            note("autograd", found.params[w], wanted)
        note("autograd", found.d_inputs, value_and_grad(lambda x, p=params: definition(p, x))(inputs)[1])
        note("row_sum", found.d_scores.sum(axis=-1), np.zeros(found.d_scores.shape[:-1]))
        if shape % 8 != 1:  # differences are blunt where the softmax is a cliff
            along = {w: rng.standard_normal(p.shape) for w, p in params.items()}
            note(
                "differences",
                sum((found.params[w] * a).sum() for w, a in along.items()),
                _slope(definition, params, along, inputs),
            )
        note("mixture", *_mixture_pair(rng, T + 1, V + 1))
    return {"metrics": {"errors": errors, "num_shapes": NUM_SHAPES}}


def _slope(function, params, along, inputs, step=1e-3):
    """Differentiate along a direction by differences of order six."""
    total = 0.0
    for distance, share in STENCIL:
        for sign in (1, -1):
            moved = {w: p + sign * distance * step * along[w] for w, p in params.items()}
            total += sign * share * function(moved, inputs)
    return total / (60 * step)


def _mixture_pair(rng, num_queries, num_outputs):
    """Return the advantage law with b = −p_j(y) / p(y), and weight minus responsibility."""
    scores, components = rng.standard_normal((num_queries, 4)), rng.standard_normal((4, num_outputs))
    targets = rng.integers(num_outputs, size=num_queries)
    exact = mixture.evaluate(scores, components, targets)
    values = head.masked_softmax(components)
    likelihood = (exact.weights @ values)[np.arange(num_queries), targets]
    d_out = -np.eye(num_outputs)[targets] / likelihood[:, None]
    return law.score_gradient(exact.weights, law.alignment(d_out, values)), exact.d_scores


def bayes(seed):
    """Measure what can be reached: entropy rates in closed form, the Bayes value for noisy inputs by the filter."""
    rng = np.random.default_rng(seed)
    metrics = {"marked_bayes_nats": marked_token.bayes_nats(marked_token.Config())}
    for name, as_released in (("exact", False), ("released", True)):
        config = sticky_chain.Config(as_released=as_released, num_positions=2000)
        value = sticky_chain.bayes_nats(config, rng, 100)
        metrics[f"entropy_rate_nats_{name}"] = sticky_chain.entropy_rate_nats(config)
        metrics[f"bayes_nats_{name}"], metrics[f"bayes_error_{name}"] = value
    for noise in (0.5, 1.0, 2.0, 3.0, 5.0):
        value = sticky_chain.bayes_nats(sticky_chain.Config(noise=noise, num_positions=1000), rng, 50)
        metrics[f"bayes_nats_noise_{noise:g}"] = value.mean
    return {"metrics": metrics}


def loop(seed, num_steps=400, keep=(0, 20, 60, 150, 400)):
    """Run free scores and values together, six queries with three kinds of label; keep what Figure 3 shows.

    The values are points of the plane, and the read-out is three directions at 120 degrees. At the start no source is
    anyone's: scores and values are small noise. Two more runs freeze one side of the loop.

    Returns
    -------
    dict
        ``labels`` (6,), ``corners`` (3, 2), ``keep``: the steps that are kept in full; ``courses``: for ``both``,
        ``frame_frozen`` and ``values_frozen`` the ``loss`` at every fifth step, and at the kept ones ``weights``,
        ``values``, ``advantage`` and the ``pull`` of the errors on each value, −Σ_i α_ij u_i.
    """
    rng = np.random.default_rng(seed)
    labels, angles = np.array([0, 0, 1, 1, 2, 2]), np.pi / 2 + 2 * np.pi / 3 * np.arange(3)
    corners = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    scores, values = 0.3 * rng.standard_normal((6, 5)), 0.3 * rng.standard_normal((5, 2))

    def loss_and_d_out(out):
        probs = head.masked_softmax(out @ corners.T)
        loss = -np.log(probs[np.arange(6), labels]).sum()
        return float(loss), (probs - np.eye(3)[labels]) @ corners

    courses = {}
    for name, rates in {"both": (0.2, 0.2), "frame_frozen": (0.0, 0.2), "values_frozen": (0.2, 0.0)}.items():
        course = run_loop(scores, values, loss_and_d_out, score_rate=rates[0], value_rate=rates[1], num_steps=num_steps)
        shown = [(course.weights[step], course.values[step]) for step in keep]
        d_outs = [loss_and_d_out(w @ v)[1] for w, v in shown]
        courses[name] = {
            "loss": course.loss[::5],
            "weights": [w for w, _ in shown],
            "values": [v for _, v in shown],
            "advantage": [law.advantage(w, law.alignment(u, v)) for (w, v), u in zip(shown, d_outs, strict=True)],
            "pull": [-law.value_gradient(w, u) for (w, _), u in zip(shown, d_outs, strict=True)],
        }
    return {"labels": labels, "corners": corners, "keep": keep, "courses": courses}
