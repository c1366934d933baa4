"""mHC in PyTorch as its equations read, a line each: what one would write first, and the other speed to beat.

Chapter: chapters/13_mhc.md      Tests: tests/test_torch_twin_connections.py
Symbols: as `mhc_np.connections`; equation numbers are those of Xie et al. (2025)

`mhc_np.torch_twin.connections` holds all schemes in one frame and subtracts a maximum before its exponential. This is
one scheme, nothing shared, nothing safeguarded.
"""

import torch

NUM_ITERS = 20


def connect(params, scheme, streams, branch):
    """Send the streams (B, T, n, D) through one sub-layer; the scheme can only be mHC."""
    if scheme != "mhc":
        raise ValueError(f"torch_twin.plain: want the scheme 'mhc', got {scheme!r}")
    n, flat = streams.shape[2], streams.flatten(2)
    unit = flat / torch.sqrt(flat.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
    alpha_pre, alpha_post, alpha_res = params["alpha"]
    raw_pre = alpha_pre * (unit @ params["W_pre"]) + params["b_pre"]  # Eq. 7
    raw_post = alpha_post * (unit @ params["W_post"]) + params["b_post"]
    raw_res = alpha_res * (unit @ params["W_res"]).unflatten(-1, (n, n)) + params["b_res"]
    H_pre, H_post, H_res = torch.sigmoid(raw_pre), 2 * torch.sigmoid(raw_post), torch.exp(raw_res)  # Eq. 8
    for _ in range(NUM_ITERS):  # Eq. 9
        H_res = H_res / H_res.sum(dim=-2, keepdim=True)
        H_res = H_res / H_res.sum(dim=-1, keepdim=True)
    update = branch(torch.einsum("btj,btjd->btd", H_pre, streams))
    mixed = torch.einsum("btij,btjd->btid", H_res, streams)
    return mixed + torch.einsum("bti,btd->btid", H_post, update)  # Eq. 3
