"""Small interactive figures, one of each kind, from made-up numbers and from the loop of chapter 7."""

import numpy as np
from tiny_looks import looks

from mhc_np.lab import em_laws, plots_interactive
from mhc_np.measure import calibration
from mhc_np.tasks import bijection

SIZE, MOMENTS = 4, (0, 100)
KEPT_STEPS = (0, 10, 40, 150)
EYE = np.eye(4)


def networks():
    """Raw mixings around mHC's start, unprojected ones, and random logits: two tokens, six mixings each."""
    noise = np.random.default_rng(3).standard_normal((2, 6, 4, 4))
    return {
        "mhc": {"words": "mHC", "projected": True, "start": 8 * EYE - 8, "matrices": 8 * EYE - 8 + 3 * noise},
        "free": {"words": "free", "projected": False, "start": EYE, "matrices": EYE + 0.3 * noise},
        "random": {"words": "random", "projected": True, "start": 0 * EYE, "matrices": noise},
    }


def answers():
    """Exact posteriors of three sequences of four symbols, and answers that come nearer to them."""
    rng = np.random.default_rng(4)
    config = bijection.Config(SIZE)
    batch = bijection.sample(config, rng, 3)
    exact = bijection.posterior(config, batch)[:, 0::2]
    noise = rng.standard_normal(exact.shape)
    probs = {
        step: calibration.probabilities(noise + share * np.log(np.maximum(exact, 1e-3)))
        for step, share in zip(MOMENTS, (0.0, 1.0), strict=True)
    }
    return batch, probs, exact


def loop():
    """The loop of chapter 7 at four steps."""
    return em_laws.loop(0, keep=KEPT_STEPS)


def unrolled():
    """The tiny result that has frames."""
    return looks()["geometry-bijection"][0]


def figures():
    """Return one figure of each kind: kind -> Interactive."""
    batch, probs, exact = answers()
    pairs = batch.inputs[:, 0::2], batch.targets[:, 0::2]
    words, one = {"label": "What there is to see."}, unrolled()
    frames = [
        frame | {"coordinates": np.array(frame["coordinates"])[:, ::-1]}
        for frame in one["drift"]["unrolling"]["frames"]
    ]
    turned = {"drift": one["drift"] | {"unrolling": one["drift"]["unrolling"] | {"frames": frames}}}
    runs = {"one": one, "turned": turned}
    return {
        "sinkhorn": plots_interactive.mixings("a-sinkhorn", networks(), questions=(1, 2), **words),
        "posterior": plots_interactive.posterior("a-posterior", pairs, probs, exact, **words),
        "loop": plots_interactive.loop("a-loop", loop(), **words),
        "manifold": plots_interactive.unrolling(
            "a-manifold", runs, words={"one": "bijection", "turned": "turned"}, **words
        ),
    }
