"""The Transformer a second time, in PyTorch on the same parameters: a second opinion, and the speed to beat.

Chapter: chapters/02_transformer.md      Tests: tests/test_torch_twin.py
Symbols: as `mhc_np.models.transformer`; parameters are the same nested dicts, holding tensors

Read from the equations and not from our kernels: what PyTorch has an operation for is left to it, every gradient is
its own.
"""

from functools import lru_cache

import torch
from torch.nn import functional as F

from mhc_np.autodiff import flatten, tree_map
from mhc_np.learn import decays
from mhc_np.torch_twin.connections import connect

EPS = 1e-6  # of RMSNorm


def to_torch(params, device="cpu"):
    """Copy a nested dict of arrays to tensors that want a gradient; see `to_numpy` for the way back."""
    return tree_map(lambda leaf: torch.tensor(leaf, device=device, requires_grad=True), params)


def to_numpy(tensors):
    """Copy a nested dict of tensors to arrays, bit for bit.

    Examples
    --------
    >>> import numpy as np
    >>> to_numpy(to_torch({"head": {"W_head": np.array([[0.1, 2.0]])}}))
    {'head': {'W_head': array([[0.1, 2. ]])}}
    """
    return tree_map(lambda tensor: tensor.detach().cpu().numpy().copy(), tensors)


def logits(params, config, *, inputs, connect=connect):
    """Predict at every position; see `mhc_np.models.transformer.logits`. Inputs are an array or a tensor.

    ``connect`` may be another function of the same arguments as that of `mhc_np.torch_twin.connections`.
    """
    x = _embed(params, config, torch.as_tensor(inputs, device=params["embed"]["table"].device))
    if config.scheme != "residual":  # the plain network's streams are copies of each other, so one will do
        x = x[:, :, None].repeat(1, 1, config.num_streams, 1)
    for applied in range(config.num_layers * config.num_loops):
        block = params["blocks"][str(applied % config.num_layers)]
        for name, branch in (("attention", _attention), ("mlp", _mlp)):
            x = _join(block[name], config, x, branch, connect)
    if config.scheme != "residual":
        x = x.mean(dim=2)
    if config.final_norm:
        x = _rmsnorm(x, params["final_norm"]["gain"])
    if config.head == "tied":
        return F.linear(x, params["embed"]["table"][-config.num_outputs :])
    return x @ params["head"]["W_head"]


def cross_entropy(logits, *, targets, mask):
    """Average over the supervised positions, in nats; labels (B, T) or distributions (B, T, V)."""
    targets, mask = (torch.as_tensor(x, device=logits.device) for x in (targets, mask))
    wanted = targets.to(logits) if targets.is_floating_point() else targets.long()
    return F.cross_entropy(logits[mask], wanted[mask])


def value_and_grad(function):
    """Return a function that gives value and gradient as NumPy has them; see `mhc_np.autodiff.value_and_grad`."""

    def compute(params, *args, **kwargs):
        tensors = to_torch(params)
        value = function(tensors, *args, **kwargs)
        leaves = list(flatten(tensors).values())
        found = iter(torch.autograd.grad(value, leaves, allow_unused=True, materialize_grads=True))
        return value.item(), to_numpy(tree_map(lambda _: next(found), tensors))

    return compute


def adamw(tensors, settings):
    """Return PyTorch's AdamW over the tensors, set as ours is; see `mhc_np.learn.AdamW`."""
    leaves = flatten(tensors)
    groups = [
        {"params": [leaf for path, leaf in leaves.items() if decays(path) == decayed], "weight_decay": decay}
        for decayed, decay in ((True, settings.weight_decay), (False, 0.0))
    ]
    groups = [group for group in groups if group["params"]]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, betas=settings.betas, eps=settings.eps)


def training_step(tensors, config, settings, connect=connect):
    """Return ``step(inputs, targets, mask) -> loss``: forward, backward, AdamW on the tensors, in place."""
    optimizer = adamw(tensors, settings)

    def step(inputs, targets, mask):
        optimizer.zero_grad()
        loss = cross_entropy(logits(tensors, config, inputs=inputs, connect=connect), targets=targets, mask=mask)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def one_thread():
    """Let PyTorch compute on one core, as NumPy does under ``OPENBLAS_NUM_THREADS=1``."""
    torch.set_num_threads(1)


def _join(part, config, x, branch, connect):
    """Connect a branch to the stream; all schemes but the plain one are in `mhc_np.torch_twin.connections`."""
    if config.scheme == "residual":
        return x + branch(part, config, x)
    return connect(part.get("connection", {}), config.scheme, x, lambda hidden: branch(part, config, hidden))


def _embed(params, config, inputs):
    table = params["embed"]["table"]
    x = inputs.to(table) @ table if config.embedder == "features" else F.embedding(inputs.long(), table)
    if config.positions == "absolute":
        x = x + params["positions"]["table"][: inputs.shape[1]]
    return x


def _rmsnorm(x, gain):
    return F.rms_norm(x, gain.shape, gain, EPS)


def _attention(part, config, x):
    batch, length, width = x.shape
    x = _rmsnorm(x, part["gain"])
    q, k, v = (
        (x @ part[name]).view(batch, length, config.num_heads, -1).transpose(1, 2) for name in ("W_q", "W_k", "W_v")
    )
    if config.positions == "rotary":
        q, k = _rotate(q), _rotate(k)
    if config.positions == "relative":
        bias = part["bias_table"][_rows(config, length)].permute(2, 0, 1)
        future = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        heads = F.scaled_dot_product_attention(q, k, v, attn_mask=bias.masked_fill(future, -torch.inf))
    else:
        heads = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return heads.transpose(1, 2).reshape(batch, length, width) @ part["W_o"]


def _rotate(x):
    """Multiply coordinates m and m + K/2, taken as one complex number, by exp(i t base^(-2m/K)); x is (B, H, T, K)."""
    length, width = x.shape[-2:]
    speeds = 10_000.0 ** (-2 * torch.arange(width // 2, dtype=torch.float64, device=x.device) / width)
    angles = torch.arange(length, device=x.device)[:, None] * speeds
    pairs = torch.complex(*x.chunk(2, dim=-1))
    turned = pairs * torch.polar(torch.ones_like(angles), angles).to(pairs)
    return torch.cat([turned.real, turned.imag], dim=-1)


@lru_cache(maxsize=32)
def _rows(config, length):
    """Say for every pair of positions (looking, seen) which row of the bias table serves it."""

    def row(i, j):
        if j < config.num_header:
            return config.max_distance + (2 if i < config.num_header else 1)
        return min(max(i - j, 0), config.max_distance)

    return torch.tensor([[row(i, j) for j in range(length)] for i in range(length)])


def _mlp(part, config, x):
    inner = F.linear(_rmsnorm(x, part["gain"]), part["W_in"].T, part["b_in"])
    inner = F.relu(inner) if config.activation == "relu" else F.gelu(inner, approximate="tanh")
    return F.linear(inner, part["W_out"].T, part["b_out"])
