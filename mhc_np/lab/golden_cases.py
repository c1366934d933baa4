"""The cases of the golden vectors: small inputs, and what the definitions make of them in float64.

Chapter: chapters/13_mhc.md      Tests: tests/test_golden.py

Every case has a cotangent: the gradient recorded for an input is that of ``sum(output * cotangent)``. Inputs are
rounded to three decimals, so that they are the same numbers in any language. Models alone are computed by the package's
own kernels; the tests hold them against PyTorch.
"""

from dataclasses import asdict
from typing import NamedTuple

import autograd.numpy as anp
import numpy as np

from mhc_np import ops
from mhc_np.autodiff import flatten, grad, tree_map, unflatten
from mhc_np.connections import SCHEMES, coefficients_ref, connect_ref, init
from mhc_np.models import ModelConfig, transformer

SEED = 251224880


class Case(NamedTuple):
    """What to compute, on what."""

    settings: dict  # kind and options
    inputs: dict  # name -> array; those named in `DIFFERENTIATED` or starting with "params/" have a gradient


class Answer(NamedTuple):
    """What comes out."""

    outputs: dict  # name -> float64 array
    gradients: dict  # name of an input -> float64 array


def cases():
    """Return {name: Case}, the same at every call."""
    rng = np.random.default_rng(SEED)
    draw = lambda *shape, scale=1.0: np.round(scale * rng.standard_normal(shape), 3)  # noqa: E731
    found = {}
    for name, logits, num_iters in [
        ("one-iteration", np.array([[0.0, 2.0], [0.0, 0.0]]), 1),
        ("slow", np.array([[0.0, 0.0], [-20.0, 0.0]]), 20),
        ("near-identity", 8 * np.eye(4) - 8 + draw(3, 4, 4, scale=0.1), 20),
        ("plain", draw(5, 4, 4), 20),
        ("truncated", draw(5, 4, 4, scale=4.0), 20),
        ("huge", draw(5, 3, 3, scale=1e4), 20),
    ]:
        settings = {"kind": "sinkhorn", "num_iters": num_iters}
        found[f"sinkhorn-{name}"] = Case(settings, {"logits": logits, "cotangent": draw(*logits.shape)})
    for name, eps in (("published", 1e-6), ("coarse", 0.02)):
        settings = {"kind": "sinkhorn_eps", "num_iters": 20, "eps": eps}
        found[f"sinkhorn-eps-{name}"] = Case(settings, {"logits": draw(5, 4, 4), "cotangent": draw(5, 4, 4)})
    for scheme, rule in SCHEMES.items():
        n, width = (4, 5) if rule.fits(4) is None else (1, 5)
        start = init(scheme, n, width, rng, sublayer=1)
        inputs = {f"params/{name}": draw(*leaf.shape, scale=0.5) for name, leaf in start.items()}
        inputs |= {"streams": draw(2, 3, n, width), "branch": draw(width, width), "cotangent": draw(2, 3, n, width)}
        found[f"connection-{scheme}"] = Case({"kind": "connection", "scheme": scheme}, inputs)
    for scheme in ("residual", "hc", "mhc"):
        found[f"model-{scheme}"] = _model(scheme, rng, draw)
    return found


def _model(scheme, rng, draw):
    """Return a case of two layers on n = 4 streams (the plain network on one), away from its start."""
    config = ModelConfig(
        *(6, 5, 4), width=8, num_layers=2, num_heads=2, scheme=scheme, num_streams=1 if scheme == "residual" else 4
    )
    params = tree_map(lambda leaf: leaf + draw(*leaf.shape, scale=0.2), transformer.init(config, rng, np.float64))
    inputs = {f"params/{path}": np.round(leaf, 3) for path, leaf in flatten(params).items()}
    inputs |= {"ids": rng.integers(0, 6, (2, 4)), "cotangent": draw(2, 4, 5)}
    return Case({"kind": "model", "config": asdict(config)}, inputs)


def answer(settings, inputs):
    """Compute a case in float64, from definitions.

    Parameters
    ----------
    settings, inputs : dict
        As in `Case`.

    Returns
    -------
    Answer
    """
    return KINDS[settings["kind"]](settings, {name: _wide(array) for name, array in inputs.items()})


def _sinkhorn(settings, inputs):
    return _pulled_back(lambda leaves: ops.sinkhorn_ref(leaves["logits"], settings["num_iters"]), inputs, "plan")


def _sinkhorn_eps(settings, inputs):
    run = lambda leaves: ops.sinkhorn_eps_ref(leaves["logits"], settings["num_iters"], settings["eps"])  # noqa: E731
    return _pulled_back(run, inputs, "plan")


def _connection(settings, inputs):
    def run(leaves):
        params = {name.removeprefix("params/"): leaf for name, leaf in leaves.items() if name.startswith("params/")}
        branch = lambda hidden: anp.tanh(anp.matmul(hidden, leaves["branch"]))  # noqa: E731
        return connect_ref(params, settings["scheme"], leaves["streams"], branch)

    found = _pulled_back(run, inputs, "streams")
    params = {name.removeprefix("params/"): leaf for name, leaf in inputs.items() if name.startswith("params/")}
    H = coefficients_ref(params, settings["scheme"], inputs["streams"])._asdict()
    return found._replace(outputs={**{name: value for name, value in H.items() if value is not None}, **found.outputs})


def _model_answer(settings, inputs):
    config = ModelConfig(**settings["config"])

    def run(leaves):
        params = {name.removeprefix("params/"): leaf for name, leaf in leaves.items() if name.startswith("params/")}
        return transformer.logits(unflatten(params), config, inputs=inputs["ids"])

    return _pulled_back(run, inputs, "logits")


KINDS = {
    "sinkhorn": _sinkhorn,
    "sinkhorn_eps": _sinkhorn_eps,
    "connection": _connection,
    "model": _model_answer,
}


def _pulled_back(run, inputs, name):
    """Run, and pull the cotangent back to every input that has a gradient."""
    fixed = ("cotangent", "ids")
    leaves = {key.replace("/", "\0"): leaf for key, leaf in inputs.items() if key not in fixed}
    named = lambda given: {key.replace("\0", "/"): leaf for key, leaf in given.items()}  # noqa: E731
    gradients = grad(lambda given: anp.sum(run(named(given)) * inputs["cotangent"]))(leaves)
    return Answer({name: run(named(leaves))}, named(gradients))


def _wide(array):
    array = np.asarray(array)
    return array.astype(np.float64) if np.issubdtype(array.dtype, np.floating) else array
