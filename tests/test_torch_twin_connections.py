"""PyTorch agrees: Sinkhorn in three forms, and every scheme with all its gradients."""

import autograd.numpy as anp
import numpy as np
import pytest

from mhc_np import ops
from mhc_np.autodiff import grad
from mhc_np.connections import SCHEMES, connect, init

torch = pytest.importorskip("torch")
twin = pytest.importorskip("mhc_np.torch_twin.connections")
pytestmark = pytest.mark.torch

PAIRS = [(scheme, n) for scheme in SCHEMES for n in (1, 2, 3, 4, 8) if SCHEMES[scheme].fits(n) is None]


def rng(seed=21):
    return np.random.default_rng(seed)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-10), (np.float32, 1e-5)])
@pytest.mark.parametrize("form", ["sinkhorn", "sinkhorn_log", "sinkhorn_axes_first"])
def test_sinkhorn_value_and_gradient(form, dtype, tolerance):
    logits, cotangent = 2 * rng().standard_normal((2, 30, 4, 4)).astype(dtype)
    first = form.endswith("axes_first")
    there = (lambda x: np.moveaxis(x, 0, -1).copy()) if first else (lambda x: x)
    back = (lambda x: np.moveaxis(x, -1, 0)) if first else (lambda x: x)
    tensor = torch.tensor(there(logits), requires_grad=True)
    plan = getattr(twin, form)(tensor)
    plan.backward(torch.tensor(there(cotangent)))
    np.testing.assert_allclose(ops.sinkhorn(logits), back(plan.detach().numpy()), atol=tolerance)
    gradient = grad(lambda x: anp.sum(ops.sinkhorn(x) * cotangent))(logits)
    np.testing.assert_allclose(gradient, back(tensor.grad.numpy()), atol=tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-10), (np.float32, 1e-5)])
@pytest.mark.parametrize(("scheme", "n"), PAIRS)
def test_every_scheme_value_and_gradients(scheme, n, dtype, tolerance):
    draw, width = rng(), 6
    leaves = init(scheme, n, width, draw, sublayer=1)
    leaves = {name: 0.5 * draw.standard_normal(leaf.shape) for name, leaf in leaves.items()}
    leaves["streams"] = draw.standard_normal((2, 3, n, width))
    leaves = {name: leaf.astype(dtype) for name, leaf in leaves.items()}
    weight, cotangent = draw.standard_normal((width, width)), draw.standard_normal((2, 3, n, width))
    weight, cotangent = weight.astype(dtype), cotangent.astype(dtype)

    def run(params):
        return connect(params, scheme, params["streams"], lambda hidden: anp.tanh(anp.dot(hidden, weight)))

    tensors = {name: torch.tensor(leaf, requires_grad=True) for name, leaf in leaves.items()}
    out = twin.connect(tensors, scheme, tensors["streams"], lambda hidden: torch.tanh(hidden @ torch.tensor(weight)))
    out.backward(torch.tensor(cotangent))
    value = run(leaves)
    np.testing.assert_allclose(value, out.detach().numpy(), atol=tolerance * np.abs(value).max())
    gradient = grad(lambda params: anp.sum(run(params) * cotangent))(leaves)
    largest = max(np.abs(leaf).max() for leaf in gradient.values())
    for name, leaf in gradient.items():
        theirs = tensors[name].grad
        theirs = np.zeros_like(leaf) if theirs is None else theirs.numpy()
        np.testing.assert_allclose(leaf, theirs, atol=tolerance * largest, err_msg=name)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-10), (np.float32, 1e-5)])
def test_mhc_as_its_equations_read_is_the_same_mhc(dtype, tolerance):
    from mhc_np.torch_twin import plain

    draw = rng()
    leaves = {name: 0.5 * draw.standard_normal(leaf.shape) for name, leaf in init("mhc", 4, 6, draw).items()}
    leaves["streams"] = draw.standard_normal((2, 3, 4, 6))
    cotangent, found = torch.tensor(draw.standard_normal((2, 3, 4, 6)).astype(dtype)), []
    for connection in (plain.connect, twin.connect):
        tensors = {name: torch.tensor(leaf.astype(dtype), requires_grad=True) for name, leaf in leaves.items()}
        out = connection(tensors, "mhc", tensors["streams"], torch.tanh)
        out.backward(cotangent)
        found.append({"out": out.detach().numpy(), **{name: tensor.grad.numpy() for name, tensor in tensors.items()}})
    for name, value in found[0].items():
        np.testing.assert_allclose(value, found[1][name], atol=tolerance * np.abs(value).max(), err_msg=name)
    with pytest.raises(ValueError, match="want the scheme 'mhc', got 'hc'"):
        plain.connect({}, "hc", None, None)
