"""PyTorch agrees: logits, losses, every gradient of every variant, the operations one by one, ten steps of AdamW."""

import subprocess
import sys
from dataclasses import replace as change

import autograd.numpy as anp
import numpy as np
import pytest
from test_transformer import PLAIN, VARIANTS, inputs_for, params_for

from mhc_np import ops
from mhc_np.autodiff import flatten, grad, value_and_grad
from mhc_np.connections import SCHEMES
from mhc_np.learn import AdamW
from mhc_np.models import logits

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'mhc_np[torch]'")
twin = pytest.importorskip("mhc_np.torch_twin")
F = torch.nn.functional
pytestmark = pytest.mark.torch
twin.one_thread()  # the arrays are small, and threads would only wait for each other

WIDE = {  # what the shared table of variants does not combine
    "several at once": change(PLAIN, activation="gelu", positions="relative", num_header=2, head="tied", num_loops=2),
    "rotary features": change(PLAIN, positions="rotary", embedder="features", num_inputs=4, final_norm=False),
}
JOINED = {
    f"{scheme}, n = {n}": change(PLAIN, scheme=scheme, num_streams=n)
    for scheme in SCHEMES
    for n in (1, 2, 4)
    if SCHEMES[scheme].fits(n) is None
}
CONFIGS = {**VARIANTS, **WIDE, **JOINED}
every_config = pytest.mark.parametrize("name", CONFIGS)
both_precisions = pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-10), (np.float32, 1e-5)])


def rng(seed=8):
    return np.random.default_rng(seed)


def assert_close(got, wanted, tolerance, name=""):
    """Agree to a share of the largest entry, in one dtype."""
    got, wanted = (x.detach().numpy() if isinstance(x, torch.Tensor) else np.asarray(x) for x in (got, wanted))
    assert got.dtype == wanted.dtype
    np.testing.assert_allclose(got, wanted, rtol=0, atol=tolerance * np.abs(wanted).max(), err_msg=name)


def task(soft):
    """Targets and mask for IDS-like inputs (2, 5) and three symbols; what lies outside the mask is never read."""
    draw = rng()
    mask = draw.random((2, 5)) < 0.7
    if soft:
        return np.where(mask[..., None], draw.dirichlet(np.ones(3), (2, 5)), np.nan), mask
    return draw.integers(0, 3, (2, 5)), mask


def ours(params, config, targets, mask):
    return ops.cross_entropy(logits(params, config, inputs=inputs_for(config)), targets=targets, mask=mask)


def theirs(tensors, config, targets, mask):
    return twin.cross_entropy(twin.logits(tensors, config, inputs=inputs_for(config)), targets=targets, mask=mask)


@both_precisions
def test_parameters_go_to_torch_and_back_bit_for_bit(dtype, tolerance):
    params = params_for(PLAIN, dtype)
    before = {path: leaf.tobytes() for path, leaf in flatten(params).items()}
    tensors = twin.to_torch(params)
    back = twin.to_numpy(tensors)
    for tensor in flatten(tensors).values():
        assert tensor.is_leaf
        assert tensor.requires_grad
        tensor.data.zero_()  # copies on both ways: nothing reaches the arrays
    for tree in (params, back):
        assert {path: leaf.tobytes() for path, leaf in flatten(tree).items()} == before
    assert {leaf.dtype for leaf in flatten(back).values()} == {np.dtype(dtype)}


@both_precisions
@every_config
def test_logits(name, dtype, tolerance):
    config = CONFIGS[name]
    params = params_for(config, dtype)
    wanted = twin.logits(twin.to_torch(params), config, inputs=inputs_for(config))
    assert_close(logits(params, config, inputs=inputs_for(config)), wanted, tolerance)


@both_precisions
@pytest.mark.parametrize("soft", [False, True], ids=["hard", "soft"])
@every_config
def test_loss_and_every_gradient(name, soft, dtype, tolerance):
    config = CONFIGS[name]
    params, supervision = params_for(config, dtype), task(soft)
    value, gradient = value_and_grad(ours)(params, config, *supervision)
    wanted, reference = twin.value_and_grad(theirs)(params, config, *supervision)
    assert abs(value - wanted) <= tolerance * abs(wanted)
    largest = max(np.abs(leaf).max() for leaf in flatten(reference).values())
    for path, leaf in flatten(reference).items():
        got = flatten(gradient)[path]
        assert got.dtype == leaf.dtype
        np.testing.assert_allclose(got, leaf, rtol=0, atol=tolerance * largest, err_msg=path)


def test_the_comparison_sees_a_millionth(monkeypatch):
    params, supervision = params_for(PLAIN), task(soft=False)
    monkeypatch.setattr(twin.model, "EPS", 2e-6)  # the only change: another epsilon in RMSNorm
    value, gradient = value_and_grad(ours)(params, PLAIN, *supervision)
    wanted, reference = twin.value_and_grad(theirs)(params, PLAIN, *supervision)
    assert abs(value - wanted) > 1e-10 * abs(wanted)
    with pytest.raises(AssertionError):
        assert_close(gradient["blocks"]["0"]["mlp"]["W_in"], reference["blocks"]["0"]["mlp"]["W_in"], 1e-10)


def test_a_parameter_that_plays_no_part_gets_zeros_as_in_numpy():
    params = {"used": np.ones(2), "unused": {"a": np.ones((1, 3), np.float32), "none": {}}}
    value, gradient = twin.value_and_grad(lambda p: (p["used"] ** 2).sum())(params)
    assert value == 2.0
    assert gradient["unused"]["none"] == {}
    np.testing.assert_array_equal(gradient["used"], [2, 2])
    np.testing.assert_array_equal(gradient["unused"]["a"], np.zeros((1, 3), np.float32))


def heads(x):
    return x.view(2, 5, 2, 3).transpose(1, 2)


def attend(queries, keys, values, bias=None):
    """PyTorch's own attention in our layout."""
    if bias is not None:
        bias = bias.masked_fill(torch.ones(5, 5, dtype=torch.bool).triu(1), -torch.inf)
    q, k, v = heads(queries), heads(keys), heads(values)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=bias, is_causal=bias is None)
    return out.transpose(1, 2).reshape(2, 5, 6)


LABELS, SUPERVISED = task(soft=False)
SOFT = np.nan_to_num(task(soft=True)[0])
OPERATIONS = {  # ours, PyTorch's, shapes
    "attention": (lambda *x: ops.attention(*x, num_heads=2), attend, [(2, 5, 6)] * 3),
    "attention with bias": (lambda *x: ops.attention(*x, num_heads=2), attend, [(2, 5, 6)] * 3 + [(2, 5, 5)]),
    "rmsnorm": (ops.rmsnorm, lambda x, gain: F.rms_norm(x, (6,), gain, 1e-6), [(2, 5, 6), (6,)]),
    "gelu": (ops.gelu, lambda x: F.gelu(x, approximate="tanh"), [(4, 6)]),
    "relu": (ops.relu, F.relu, [(4, 6)]),
    "linear": (ops.linear, lambda x, weight, bias: F.linear(x, weight.T, bias), [(2, 5, 6), (6, 4), (4,)]),
    "cross-entropy, hard": (
        lambda z: ops.cross_entropy(z, targets=LABELS, mask=SUPERVISED),
        lambda z: F.cross_entropy(z[torch.tensor(SUPERVISED)], torch.tensor(LABELS[SUPERVISED])),
        [(2, 5, 3)],
    ),
    "cross-entropy, soft": (
        lambda z: ops.cross_entropy(z, targets=SOFT, mask=SUPERVISED),
        lambda z: F.cross_entropy(z[torch.tensor(SUPERVISED)], torch.tensor(SOFT[SUPERVISED]).to(z)),
        [(2, 5, 3)],
    ),
}


@both_precisions
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_against_torchs_own(name, dtype, tolerance):
    op, reference, shapes = OPERATIONS[name]
    draw = rng()
    arrays = [draw.standard_normal(shape).astype(dtype) for shape in shapes]
    tensors = [torch.tensor(array, requires_grad=True) for array in arrays]
    value, wanted = op(*arrays), reference(*tensors)
    assert_close(value, wanted, tolerance)
    cotangent = np.asarray(draw.standard_normal(np.shape(value)), dtype)
    wanted.backward(torch.tensor(cotangent))
    for argnum, tensor in enumerate(tensors):

        def pulled_back(x, argnum=argnum):
            return anp.sum(op(*arrays[:argnum], x, *arrays[argnum + 1 :]) * cotangent)

        assert_close(grad(pulled_back)(arrays[argnum]), tensor.grad, tolerance, f"argument {argnum}")


@both_precisions
def test_ten_steps_of_training(dtype, tolerance):
    """Losses and parameters, AdamW included; the schedule stays at one."""
    settings = AdamW(learning_rate=3e-3, betas=(0.9, 0.98), weight_decay=0.1)
    config, supervision = VARIANTS["gelu"], task(soft=False)
    params = start = params_for(config, dtype)
    tensors = twin.to_torch(params)
    step = twin.training_step(tensors, config, settings)
    state, compute = settings.init(params), value_and_grad(ours)
    for _ in range(10):
        loss, gradient = compute(params, config, *supervision)
        params, state = settings.update(params, gradient, state)
        wanted = step(inputs_for(config), *supervision)
        assert abs(loss - wanted) <= tolerance * abs(wanted)
    assert loss < 0.9 * ours(start, config, *supervision)
    for path, leaf in flatten(twin.to_numpy(tensors)).items():
        assert_close(flatten(params)[path], leaf, tolerance, path)


def test_without_torch_the_import_says_what_to_do():
    code = "import sys; sys.modules['torch'] = None; import mhc_np.torch_twin"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    wanted = "ModuleNotFoundError: mhc_np.torch_twin: wants PyTorch, which is not here; pip install 'mhc_np[torch]'"
    assert wanted in done.stderr
