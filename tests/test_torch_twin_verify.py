"""The twin and NumPy agree on every scheme, and others' Sinkhorn and connections where they mean the same."""

import json

import numpy as np
import pytest

from mhc_np import ops
from mhc_np.connections import connect, init
from mhc_np.lab import results

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'mhc_np[torch]'")
verify = pytest.importorskip("mhc_np.torch_twin.verify")
pytestmark = pytest.mark.torch


@pytest.mark.parametrize("dtype", verify.TOLERANCES)
@pytest.mark.parametrize(("scheme", "n"), verify.PAIRS)
def test_networks(scheme, n, dtype):
    found, tolerance = verify.network(scheme, n, dtype), verify.TOLERANCES[dtype]
    steps = found.pop("steps")
    assert max(found.values()) <= tolerance, found
    assert steps <= (tolerance if dtype == "float64" else 1e-2)


@pytest.mark.parametrize("dtype", verify.TOLERANCES)
@pytest.mark.parametrize("name", verify.OPERATIONS)
def test_operations(name, dtype):
    assert max(verify.operation(name, dtype).values()) <= verify.TOLERANCES[dtype]


@pytest.mark.parametrize("num_iters", [1, 5, 20])
def test_sinkhorn_is_that_of_python_optimal_transport(num_iters):
    pytest.importorskip("ot", reason="Python Optimal Transport is not installed: pip install 'mhc_np[oracle]'")
    assert verify.with_pot(3, num_iters) <= 1e-12


def test_sinkhorn_is_that_of_ott_jax():
    linear = pytest.importorskip("ott.solvers.linear", reason="OTT is not installed: pip install ott-jax")
    import jax
    from ott.geometry.geometry import Geometry

    logits, before = verify.logits_for(3), jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        ones, fixed = np.ones(4), {"min_iterations": 5, "max_iterations": 5, "inner_iterations": 1, "threshold": -1.0}
        geometry = Geometry(cost_matrix=jax.numpy.asarray(-logits), epsilon=1.0)
        plan = linear.solve(geometry, a=ones, b=ones, **fixed).matrix
    finally:
        jax.config.update("jax_enable_x64", before)
    assert verify.apart(ops.sinkhorn(logits, 5), plan) <= 1e-12


def test_hyper_connections_are_those_of_the_package_where_the_norm_is_exact():
    """Ours is H[new, old] and one alpha a map, theirs alpha[old, new] and one scale for the two of the width."""
    package = pytest.importorskip("hyper_connections", reason="pip install 'mhc_np[oracle]'")
    rng, n, width = np.random.default_rng(5), 4, 6
    params = {name: 0.5 * rng.standard_normal(leaf.shape) for name, leaf in init("hc", n, width, rng).items()}
    params["alpha"][2 if len(params["alpha"]) == 3 else -1] = params["alpha"][0]
    streams = 1e4 * rng.standard_normal((2, 3, n, width))  # so large that neither norm's epsilon is seen
    weight = rng.standard_normal((width, width))
    theirs = package.HyperConnections(n, dim=width, layer_index=0).double()
    with torch.no_grad():
        theirs.static_alpha.copy_(torch.tensor(np.concatenate([params["b_pre"][:, None], params["b_res"].T], axis=1)))
        theirs.dynamic_alpha_fn.copy_(torch.tensor(np.concatenate([params["W_pre"], params["W_res"]], axis=1)))
        theirs.dynamic_alpha_scale.copy_(torch.tensor(params["alpha"][0]))
        theirs.static_beta.copy_(torch.tensor(params["b_post"]))
        theirs.dynamic_beta_fn.copy_(torch.tensor(params["W_post"][:, 0]))
        theirs.dynamic_beta_scale.copy_(torch.tensor(params["alpha"][1]))
        flat = torch.tensor(streams).permute(0, 2, 1, 3).reshape(2 * n, 3, width)  # theirs: streams in the batch axis
        branch_input, add_back = theirs(flat)
        out = add_back(torch.tanh(branch_input @ torch.tensor(weight)))
        out = out.reshape(2, n, 3, width).permute(0, 2, 1, 3)
    ours = connect(params, "hc", streams, lambda hidden: np.tanh(hidden @ weight))
    assert verify.apart(ours, out) <= 1e-10


def test_what_the_package_does_otherwise_in_mhc():
    """Its H_res[old, new] is scaled like our H_res[new, old], so in the same orientation it ends on the other axis."""
    name = "hyper_connections.manifold_constrained_hyper_connections"
    package = pytest.importorskip(name, reason="pip install 'mhc_np[oracle]'")
    logits = verify.logits_for(4)  # logits[new, old]
    theirs = package.sinkhorn_knopps(torch.tensor(logits.T), iters=2).numpy().T
    np.testing.assert_allclose(theirs, ops.sinkhorn(logits.T, 2).T, atol=1e-6)
    assert ops.doubly_stochastic_error(theirs)[1] < 1e-6 < 1e-3 < ops.doubly_stochastic_error(theirs)[0]
    assert np.abs(theirs - ops.sinkhorn(logits, 2)).max() > 1e-3
    converged = package.sinkhorn_knopps(torch.tensor(logits.T), iters=500).numpy().T
    np.testing.assert_allclose(converged, ops.sinkhorn(logits, 500), atol=1e-6)
    start = package.sinkhorn_knopps(torch.eye(4)).numpy()  # the identity as logits is not the identity
    np.testing.assert_allclose(np.diag(start), np.e / (np.e + 3), atol=1e-6)


def test_the_kept_table_has_every_row_and_is_within_tolerance():
    table = json.loads((results.KEPT / "twin" / "verify.json").read_text())
    assert {(row["scheme"], row["n"]) for row in table["networks"]} == set(verify.PAIRS)
    for row in table["networks"]:
        assert max(row[name] for name in ("logits", "loss", "gradient", "losses")) <= verify.TOLERANCES[row["dtype"]]
    assert {row["library"] for row in table["sinkhorn"]} == set(verify.SINKHORNS)
