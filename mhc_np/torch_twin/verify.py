"""Measure how far NumPy and PyTorch are apart: every scheme's network, the operations, and others' Sinkhorn.

Chapter: chapters/13_mhc.md      Tests: tests/test_torch_twin_verify.py

A difference is the largest one over the largest entry, and of gradients the worst parameter's against the largest
gradient of all. ``python -m mhc_np.torch_twin verify --keep`` writes the table of the book's appendix.
"""

from importlib.util import find_spec

import autograd.numpy as anp
import numpy as np
import torch
from torch.nn import functional as F

from mhc_np import ops
from mhc_np.autodiff import flatten, grad, tree_map, value_and_grad
from mhc_np.connections import SCHEMES
from mhc_np.learn import AdamW
from mhc_np.models import ModelConfig, transformer
from mhc_np.torch_twin import model

TOLERANCES = {"float64": 1e-10, "float32": 1e-5}
PAIRS = [(scheme, n) for scheme in SCHEMES for n in (1, 2, 4) if SCHEMES[scheme].fits(n) is None]
SHAPE = (3, 5)  # sequences, positions
NUM_STEPS = 10


def measure():
    """Return the whole table: {"networks", "operations", "sinkhorn": rows}, each row with what it compares."""
    networks = [
        {"scheme": scheme, "n": n, "dtype": dtype, **network(scheme, n, dtype)}
        for dtype in TOLERANCES
        for scheme, n in PAIRS
    ]
    operations = [
        {"operation": name, "dtype": dtype, **operation(name, dtype)} for dtype in TOLERANCES for name in OPERATIONS
    ]
    sinkhorn = [{"library": name, "value": compare(8)} for name, compare in SINKHORNS.items() if find_spec(name)]
    return {"networks": networks, "operations": operations, "sinkhorn": sinkhorn}


def network(scheme, n, dtype, seed=8):
    """Compare logits, loss, every gradient; the losses of ten steps of AdamW, and the parameters after them.

    AdamW divides by the gradient's own size. Where that size is nothing but rounding (a weight that plays no part), it
    moves a float32 parameter by a whole rate either way: after steps in float32 the losses are what must agree.
    """
    rng = np.random.default_rng(seed)
    sizes = {"num_inputs": 6, "num_outputs": 3, "num_positions": SHAPE[1], "width": 8, "num_heads": 2}
    config = ModelConfig(**sizes, num_layers=2, scheme=scheme, num_streams=n)
    start = transformer.init(config, rng, np.float64)
    params = tree_map(lambda leaf: (leaf + 0.2 * rng.standard_normal(leaf.shape)).astype(dtype), start)
    inputs = rng.integers(0, 6, SHAPE)
    given = {"targets": rng.integers(0, 3, SHAPE), "mask": rng.random(SHAPE) < 0.7}

    def ours(params):
        return ops.cross_entropy(transformer.logits(params, config, inputs=inputs), **given)

    def theirs(tensors):
        return model.cross_entropy(model.logits(tensors, config, inputs=inputs), **given)

    wanted = model.logits(model.to_torch(params), config, inputs=inputs)
    found = {"logits": apart(transformer.logits(params, config, inputs=inputs), wanted)}
    (loss, gradient), (other, reference) = value_and_grad(ours)(params), model.value_and_grad(theirs)(params)
    found |= {"loss": abs(loss - other) / abs(other), "gradient": apart_in_trees(gradient, reference)}
    settings = AdamW(weight_decay=0.1)
    tensors, state, compute = model.to_torch(params), settings.init(params), value_and_grad(ours)
    step = model.training_step(tensors, config, settings)
    found["losses"] = 0.0
    for _ in range(NUM_STEPS):
        loss, gradient = compute(params)
        params, state = settings.update(params, gradient, state)
        other = step(inputs, **given)
        found["losses"] = max(found["losses"], abs(loss - other) / abs(other))
    found["steps"] = apart_in_trees(params, model.to_numpy(tensors))
    return {name: float(x) for name, x in found.items()}


def operation(name, dtype, seed=8):
    """Compare value and gradients of an operation with PyTorch's own, on a random cotangent."""
    op, other, shapes = OPERATIONS[name]
    rng = np.random.default_rng(seed)
    arrays = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
    tensors = [torch.tensor(array, requires_grad=True) for array in arrays]
    value, wanted = op(*arrays), other(*tensors)
    cotangent = np.asarray(rng.standard_normal(np.shape(value)), dtype)
    wanted.backward(torch.tensor(cotangent))
    ours = grad(lambda leaves: anp.sum(op(*leaves.values()) * cotangent))(dict(zip("abcd", arrays, strict=False)))
    worst = max(apart(leaf, tensor.grad) for leaf, tensor in zip(ours.values(), tensors, strict=True))
    return {"value": float(apart(value, wanted)), "gradient": float(worst)}


def apart(ours, theirs):
    """Return the largest difference, in units of the largest entry."""
    ours, theirs = (x.detach().numpy() if isinstance(x, torch.Tensor) else np.asarray(x) for x in (ours, theirs))
    return np.abs(ours - theirs).max() / np.abs(theirs).max()


def apart_in_trees(ours, theirs):
    """Do the same for two trees, in units of the largest entry of all."""
    ours, theirs = flatten(ours), flatten(theirs)
    largest = max(np.abs(leaf).max() for leaf in theirs.values())
    return max(np.abs(ours[path] - leaf).max() for path, leaf in theirs.items()) / largest


def logits_for(seed, n=4):
    """Draw the matrix that all Sinkhorns are given."""
    return 2 * np.random.default_rng(seed).standard_normal((n, n))


def with_pot(seed, num_iters=20):
    """Compare with Python Optimal Transport: its cost is minus our logits."""
    import ot

    logits, ones = logits_for(seed), np.ones(4)
    plan = ot.sinkhorn(ones, ones, -logits, reg=1.0, numItermax=num_iters, stopThr=0, warn=False)
    return float(apart(ops.sinkhorn(logits, num_iters), plan))


def with_hyper_connections(seed):
    """Compare with the package hyper-connections, which computes in float32."""
    from hyper_connections.manifold_constrained_hyper_connections import sinkhorn_knopps

    return float(apart(ops.sinkhorn(logits_for(seed)), sinkhorn_knopps(torch.tensor(logits_for(seed)))))


def _attend(q, k, v):
    q, k, v = (x.view(2, 5, 2, 3).transpose(1, 2) for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(2, 5, 6)


LABELS = np.arange(10).reshape(2, 5) % 3
OPERATIONS = {  # ours, PyTorch's, shapes
    "attention": (lambda *x: ops.attention(*x, num_heads=2), _attend, [(2, 5, 6)] * 3),
    "rmsnorm": (ops.rmsnorm, lambda x, gain: F.rms_norm(x, (6,), gain, 1e-6), [(2, 5, 6), (6,)]),
    "gelu": (ops.gelu, lambda x: F.gelu(x, approximate="tanh"), [(4, 6)]),
    "cross_entropy": (
        lambda z: ops.cross_entropy(z, targets=LABELS, mask=np.ones((2, 5), bool)),
        lambda z: F.cross_entropy(z.flatten(0, 1), torch.tensor(LABELS.ravel())),
        [(2, 5, 3)],
    ),
}
SINKHORNS = {"ot": with_pot, "hyper_connections": with_hyper_connections}
