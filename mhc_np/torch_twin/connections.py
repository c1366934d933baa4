"""The connections once more in PyTorch, written from the formulas alone: a second opinion, and the speed to beat.

Chapter: chapters/13_mhc.md      Tests: tests/test_torch_twin_connections.py
Symbols: as `mhc_np.connections`; parameters are the same dicts, holding tensors

Eager PyTorch as one would first write it: batch axes first, autograd for every gradient.
"""

import itertools

import torch


def sinkhorn(logits, num_iters=20):
    """Columns, then rows, on (..., n, n): the obvious layout."""
    plan = torch.exp(logits - logits.detach().amax(dim=(-2, -1), keepdim=True))
    for _ in range(num_iters):
        plan = plan / plan.sum(dim=-2, keepdim=True)
        plan = plan / plan.sum(dim=-1, keepdim=True)
    return plan


def sinkhorn_axes_first(logits, num_iters=20):
    """Do the same on (n, n, batch): sums run along the batch, the best layout that eager PyTorch has."""
    plan = torch.exp(logits - logits.detach().amax(dim=(0, 1), keepdim=True))
    for _ in range(num_iters):
        plan = plan / plan.sum(dim=0, keepdim=True)
        plan = plan / plan.sum(dim=1, keepdim=True)
    return plan


def sinkhorn_log(logits, num_iters=20):
    """Do the same in log space, for logits of any size."""
    for _ in range(num_iters):
        logits = logits - torch.logsumexp(logits, dim=-2, keepdim=True)
        logits = logits - torch.logsumexp(logits, dim=-1, keepdim=True)
    return torch.exp(logits)


def forward_backward(function, x, cotangent, *args):
    """Return a function of nothing that runs ``function(x, *args)`` and its backward on one thread, for timing."""
    torch.set_num_threads(1)
    tensor, d_out = torch.tensor(x, requires_grad=True), torch.tensor(cotangent)

    def run():
        tensor.grad = None
        function(tensor, *args).backward(d_out)
        return tensor.grad

    return run


def permutation_mixture(logits, n):
    """Weight all permutation matrices, in lexicographic order, by a softmax."""
    basis = torch.stack([torch.eye(n)[list(order)] for order in itertools.permutations(range(n))]).to(logits)
    return torch.einsum("...k,kij->...ij", torch.softmax(logits, dim=-1), basis)


def kronecker(logits):
    """Multiply out 2 x 2 factors, the first outermost."""
    plan = torch.ones(*logits.shape[:-1], 1, 1).to(logits)
    for f in range(logits.shape[-1]):
        a = torch.sigmoid(logits[..., f])
        factor = torch.stack([torch.stack([a, 1 - a], dim=-1), torch.stack([1 - a, a], dim=-1)], dim=-2)
        plan = torch.einsum("...ij,...kl->...ikjl", plan, factor)
        plan = plan.reshape(*logits.shape[:-1], 2 ** (f + 1), 2 ** (f + 1))
    return plan


def cayley(raw):
    """Solve for the rotation (I - S/2)^-1 (I + S/2)."""
    half, eye = (raw - raw.transpose(-1, -2)) / 2, torch.eye(raw.shape[-1]).to(raw)
    return torch.linalg.solve(eye - half, eye + half)


def rms_normalised(x, eps=1e-6):
    """Scale the last axis to root mean square one."""
    return x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + eps)


def raw_coefficients(params, scheme, streams):
    """Return {"pre", "post", "res"} before their constraints, for the maps that have parameters."""
    batch, length, n, _ = streams.shape
    names = [name for name in ("pre", "post", "res") if f"b_{name}" in params]
    if any(f"W_{name}" in params for name in names):
        unit = rms_normalised(streams if scheme == "hc" else streams.flatten(2))
    raw = {}
    for i, name in enumerate(names):
        bias = params[f"b_{name}"]
        if f"W_{name}" not in params:
            raw[name] = bias.expand(batch, length, *bias.shape)
        elif scheme == "hc":
            bounded = torch.tanh(unit @ params[f"W_{name}"])
            bounded = bounded.transpose(2, 3) if name == "res" else bounded[..., 0]
            raw[name] = params["alpha"][i] * bounded + bias
        else:
            dynamic = unit @ params[f"W_{name}"]
            raw[name] = params["alpha"][i] * dynamic.reshape(batch, length, *bias.shape) + bias
    return raw


MIXINGS = {
    "mhc": lambda raw, n: sinkhorn(raw),
    "mhc_lite": permutation_mixture,
    "krom": lambda raw, n: kronecker(raw),
    "cayley": lambda raw, n: cayley(raw),
}


def connect(params, scheme, streams, branch):
    """Read, compute, mix, write; see `mhc_np.connections.connect`."""
    n = streams.shape[2]
    raw = raw_coefficients(params, scheme, streams)
    gated = scheme in ("identity", "free", *MIXINGS)
    if "pre" in raw:
        H_pre = torch.sigmoid(raw["pre"]) if gated else raw["pre"]
        hidden = (H_pre[:, :, None] @ streams)[:, :, 0]
    else:
        hidden = streams.mean(dim=2)
    update = branch(hidden)
    if "res" in raw:
        H_res = MIXINGS.get(scheme, lambda raw, n: raw)(raw["res"], n)
        streams = H_res @ streams
    if "post" not in raw:
        return streams + update[:, :, None]
    H_post = 2 * torch.sigmoid(raw["post"]) if gated else raw["post"]
    return streams + H_post[..., None] * update[:, :, None]
