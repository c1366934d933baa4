"""Connections: the oracles that every scheme must pass, for every number of streams that it takes."""

import autograd.numpy as anp
import numpy as np
import pytest

from mhc_np.autodiff import check_op, grad, tree_map
from mhc_np.connections import SCHEMES, coefficients, coefficients_ref, connect, connect_ref, expand, init, reduce
from mhc_np.connections.streams import expand_ref, reduce_ref
from mhc_np.measure import gains
from mhc_np.ops import doubly_stochastic_error

STREAM_COUNTS = [1, 2, 3, 4, 8]
PAIRS = [(scheme, n) for scheme in SCHEMES for n in STREAM_COUNTS if SCHEMES[scheme].fits(n) is None]
every_pair = pytest.mark.parametrize(("scheme", "n"), PAIRS)
WIDTH = 5


def rng(seed=5):
    return np.random.default_rng(seed)


def perturbed(scheme, n, width=WIDTH, size=0.7, sublayer=1, seed=1):
    """Random parameters, far from the start, where every map depends on its input."""
    draw = rng(seed)
    params = init(scheme, n, width, draw, sublayer=sublayer)
    return {name: size * draw.standard_normal(leaf.shape) for name, leaf in params.items()}


def zero_branch(hidden):
    return 0 * hidden


def make_branch(seed=3, width=WIDTH):
    weight = rng(seed).standard_normal((width, width)) / np.sqrt(width)
    return lambda hidden: anp.tanh(anp.dot(hidden, weight))


def stack(params, scheme, n, hidden, depth=4):
    """Expand once, pass through ``depth`` sub-layers, reduce once."""
    streams = expand(hidden, n)
    for k in range(depth):
        streams = connect(params[str(k)], scheme, streams, make_branch(seed=k))
    return reduce(streams)


def start(scheme, n, depth=4):
    return {str(k): init(scheme, n, WIDTH, rng(), sublayer=k) for k in range(depth)}


@pytest.mark.parametrize("n", STREAM_COUNTS)
def test_expand_then_reduce_gives_back_the_hidden_state(n):
    hidden = rng().standard_normal((2, 3, 4))
    np.testing.assert_allclose(reduce(expand(hidden, n)), hidden, rtol=1e-15)
    verdict = check_op(lambda x: expand(x, n), lambda x: expand_ref(x, n), hidden, rng=rng())
    assert verdict, str(verdict)
    verdict = check_op(reduce, reduce_ref, rng().standard_normal((2, 3, n, 4)), rng=rng())
    assert verdict, str(verdict)


def test_there_are_the_schemes_that_the_book_speaks_of():
    assert list(SCHEMES) == [
        *("residual", "scaled", "identity", "hc_static", "hc", "free", "mhc", "mhc_lite", "krom", "cayley"),
    ]


@every_pair
def test_starts_as_the_plain_residual_network(scheme, n):
    """To 1e-12; the sigmoid reads and Sinkhorn's rows sum to one to rounding, so no looser bound is needed."""
    hidden = rng().standard_normal((2, 3, WIDTH))
    plain = stack(start("residual", 1), "residual", 1, hidden)
    np.testing.assert_allclose(stack(start(scheme, n), scheme, n, hidden), plain, atol=1e-12)


@pytest.mark.parametrize("n", STREAM_COUNTS)
def test_residual_adds_the_branch_of_the_mean_to_every_stream(n):
    streams = rng().standard_normal((2, 3, n, 4))
    got = connect(init("residual", n, 4, rng()), "residual", streams, lambda x: 10 * x)
    np.testing.assert_allclose(got, streams + 10 * streams.mean(axis=2, keepdims=True), rtol=1e-14)


@every_pair
def test_identity_as_streams_returns_the_schemes_own_mixing(scheme, n):
    """Each token holds the n unit vectors: with a silent branch the new streams are H_res, entry by entry."""
    params = perturbed(scheme, n, width=n)
    streams = np.broadcast_to(np.eye(n), (2, 3, n, n))
    H_res = coefficients(params, scheme, streams).H_res
    got = connect(params, scheme, streams, zero_branch)
    np.testing.assert_allclose(got, streams if H_res is None else H_res, atol=1e-15)
    always_symmetric = scheme == "krom" or (n == 2 and scheme in ("mhc", "mhc_lite")) or n == 1
    if H_res is not None and not always_symmetric:
        assert np.abs(got - np.swapaxes(got, -1, -2)).max() > 1e-3  # a transpose would be seen


@every_pair
def test_a_constant_branch_is_written_with_the_weights_of_H_post(scheme, n):
    params, streams = perturbed(scheme, n), rng().standard_normal((2, 3, n, WIDTH))
    with_branch = connect(params, scheme, streams, lambda hidden: 0 * hidden + 1)
    written = with_branch - connect(params, scheme, streams, zero_branch)
    H_post = coefficients(params, scheme, streams).H_post
    want = np.ones((2, 3, n)) if H_post is None else H_post
    np.testing.assert_allclose(written, np.repeat(want[..., None], WIDTH, axis=-1), atol=1e-12)


@every_pair
def test_the_branch_sees_the_streams_with_the_weights_of_H_pre(scheme, n):
    params, streams, seen = perturbed(scheme, n), rng().standard_normal((2, 3, n, WIDTH)), []
    connect(params, scheme, streams, lambda hidden: seen.append(hidden) or hidden)
    H_pre = coefficients(params, scheme, streams).H_pre
    want = streams.mean(axis=2) if H_pre is None else np.einsum("btj,btjd->btd", H_pre, streams)
    np.testing.assert_allclose(seen[0], want, atol=1e-14)


@every_pair
def test_mixing_compounds_over_the_stack(scheme, n):
    """Silent branches, constant coefficients: the stack is the product of its matrices, first layer first."""
    streams, mixings = np.eye(n)[None, None], []
    for k in range(6):
        params = perturbed(scheme, n, width=n, seed=k, sublayer=k)
        params = {name: 0 * leaf if name.startswith("W_") else leaf for name, leaf in params.items()}
        H_res = coefficients(params, scheme, streams).H_res
        mixings.append(np.eye(n) if H_res is None else H_res[0, 0])
        streams = connect(params, scheme, streams, zero_branch)
    np.testing.assert_allclose(streams[0, 0], gains.composite(mixings), atol=1e-13)


def rms_normalised(x):
    return x / np.sqrt(np.mean(x * x) + 1e-6)


def test_mhc_and_hc_by_the_papers_formulas():
    """Eq. 5 and Eq. 7 to 9, token by token, in loops that share no code with the package."""
    n, streams = 3, rng().standard_normal((1, 2, 3, WIDTH))
    hc, mhc = perturbed("hc", n), perturbed("mhc", n)
    got_hc, got_mhc = (coefficients(p, name, streams) for p, name in ((hc, "hc"), (mhc, "mhc")))
    for t in range(2):
        each = np.array([rms_normalised(x) for x in streams[0, t]])
        for i in range(n):
            want = hc["b_pre"][i] + hc["alpha"][0] * np.tanh(hc["W_pre"][:, 0] @ each[i])
            assert got_hc.H_pre[0, t, i] == pytest.approx(want)
            want = hc["b_post"][i] + hc["alpha"][1] * np.tanh(hc["W_post"][:, 0] @ each[i])
            assert got_hc.H_post[0, t, i] == pytest.approx(want)
            for j in range(n):  # theta_i looks at old stream j
                want = hc["b_res"][i, j] + hc["alpha"][2] * np.tanh(hc["W_res"][:, i] @ each[j])
                assert got_hc.H_res[0, t, i, j] == pytest.approx(want)
        flat = rms_normalised(streams[0, t].ravel())
        raw = {k: mhc["alpha"][i] * (flat @ mhc[f"W_{k}"]) for i, k in enumerate(("pre", "post", "res"))}
        np.testing.assert_allclose(got_mhc.H_pre[0, t], 1 / (1 + np.exp(-raw["pre"] - mhc["b_pre"])))
        np.testing.assert_allclose(got_mhc.H_post[0, t], 2 / (1 + np.exp(-raw["post"] - mhc["b_post"])))
        plan = np.exp(raw["res"].reshape(n, n) + mhc["b_res"])
        for _ in range(20):
            plan = plan / plan.sum(axis=0)
            plan = plan / plan.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(got_mhc.H_res[0, t], plan, atol=1e-13)


def test_mhc_iterates_twenty_times():
    """Most plans are done sooner. For this one the error of the columns counts the iterations: 1 / (2t + 1)."""
    params = {**init("mhc", 2, 3, rng()), "b_res": np.array([[0.0, 0.0], [-20.0, 0.0]])}
    streams = rng().standard_normal((1, 1, 2, 3))
    for how in (coefficients, coefficients_ref):
        columns = how(params, "mhc", streams).H_res[0, 0].sum(axis=0)
        np.testing.assert_allclose(columns, [1 - 1 / 41, 1 + 1 / 41], rtol=1e-4)


def directional(function, params, direction, step=1e-4):
    """Fourth-order central difference along a direction in a nested dict."""
    at = lambda s: function(tree_map(lambda p, v: p + s * step * v, params, direction))  # noqa: E731
    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)


@every_pair
def test_gradients_in_all_parameters_three_ways(scheme, n):
    """Against the definition entry by entry, and against differences along one random direction a leaf."""
    params = {**perturbed(scheme, n), "streams": rng(2).standard_normal((2, 3, n, WIDTH))}
    cotangent, branch = rng(7).standard_normal((2, 3, n, WIDTH)), make_branch()

    def loss(leaves, how=connect):
        return anp.sum(how(leaves, scheme, leaves["streams"], branch) * cotangent)

    gradient = grad(loss)(params)
    wanted = grad(lambda leaves: loss(leaves, connect_ref))(params)
    assert loss(params) == pytest.approx(loss(params, connect_ref), rel=1e-12)
    for name, leaf in params.items():
        scale = max(np.abs(wanted[name]).max(), 1e-3)
        np.testing.assert_allclose(gradient[name], wanted[name], rtol=0, atol=1e-9 * scale, err_msg=name)
        direction = {k: rng(9).standard_normal(v.shape) * (k == name) for k, v in params.items()}
        slope = np.sum(gradient[name] * direction[name])
        assert directional(loss, params, direction) == pytest.approx(slope, rel=1e-6, abs=1e-8 * scale * leaf.size)
        alive = n > 1 or name not in ("W_res", "b_res") or scheme in ("hc", "hc_static", "free", "scaled")
        assert np.any(wanted[name] != 0) == alive, name


def loss_of_stack(scheme, n):
    hidden, cotangent = rng(1).standard_normal((2, 3, WIDTH)), rng(2).standard_normal((2, 3, WIDTH))
    return lambda params: anp.sum((stack(params, scheme, n, hidden) - cotangent) ** 2)


@pytest.mark.parametrize(("scheme", "n"), [pair for pair in PAIRS if pair[1] > 1 and pair[0] != "residual"])
def test_live_gradients_from_the_first_step(scheme, n):
    """H_post is live at the start. Copies cannot feel a row-stochastic H_res: its gradient waits for step 1."""
    params, loss = start(scheme, n), loss_of_stack(scheme, n)
    gradient = grad(loss)(params)
    assert np.abs(gradient["1"]["b_post"]).min() > 1e-3
    if "b_res" not in params["1"]:
        return
    at_start = np.abs(gradient["1"]["b_res"]).max()
    if scheme in ("mhc", "mhc_lite", "krom"):
        assert at_start < 1e-12
    else:
        assert at_start > 1e-3
    after = grad(loss)(tree_map(lambda p, g: p - 0.05 * g, params, gradient))
    # The size is small where the start is sharp: e^-8 of a difference between streams that have barely parted.
    assert np.abs(after["1"]["b_res"]).max() > 1e-9


def descend(params, loss, steps=25, rate=0.05):
    for _ in range(steps):
        params = tree_map(lambda p, g: p - rate * g, params, grad(loss)(params))
    return params


def divergence(params, scheme, n):
    """Distance of the streams from their mean, relative to their size, after the stack."""
    streams = expand(rng(1).standard_normal((2, 3, WIDTH)), n)
    for k in range(4):
        streams = connect(params[str(k)], scheme, streams, make_branch(seed=k))
    apart = streams - streams.mean(axis=2, keepdims=True)
    return np.sqrt(np.sum(apart * apart) / np.sum(streams * streams))


@pytest.mark.parametrize("n", [2, 4])
def test_a_start_that_treats_streams_alike_keeps_them_copies(n):
    """Symmetric b_pre: parameters stay symmetric and H_res idle. The soft one-hot parts the streams."""
    ours = start("mhc", n)
    symmetric = {k: {**part, "b_pre": np.full(n, -np.log(n - 1))} for k, part in ours.items()}
    loss = loss_of_stack("mhc", n)
    assert loss(symmetric) == pytest.approx(loss(ours), abs=1e-11)
    trained = descend(symmetric, loss)
    assert loss(trained) < 0.9 * loss(symmetric)  # it does learn, as one stream
    assert divergence(trained, "mhc", n) < 1e-12
    assert np.ptp(trained["1"]["b_post"]) < 1e-12
    assert divergence(descend(ours, loss), "mhc", n) > 1e-3


@every_pair
def test_mixings_lie_where_the_scheme_says(scheme, n):
    params = perturbed(scheme, n)
    found = coefficients(params, scheme, 3 * rng().standard_normal((4, 8, n, WIDTH)))
    rule = SCHEMES[scheme]
    if rule.features == "flat" and n > 1:
        assert found.H_pre.min() > 0
        assert found.H_pre.max() < 1
    if rule.features == "flat":
        assert found.H_post.min() > 0
        assert found.H_post.max() < 2
    if scheme in ("mhc", "mhc_lite", "krom"):
        rows, columns = doubly_stochastic_error(found.H_res)
        assert rows.max() < 1e-14
        assert columns.max() < (0.1 if scheme == "mhc" else 1e-14)
        assert found.H_res.min() >= 0
    if scheme == "cayley":
        product = found.H_res @ np.swapaxes(found.H_res, -1, -2)
        np.testing.assert_allclose(product, np.broadcast_to(np.eye(n), product.shape), atol=1e-12)
    if rule.features and n > 1 and rule.res:
        assert np.ptp(found.H_res, axis=(0, 1)).max() > 0.01  # differs from token to token


def test_saturated_gates_stay_in_range():
    params = init("mhc", 2, WIDTH, rng())
    params["b_pre"], params["b_post"] = np.array([50.0, -50.0]), np.array([-50.0, 50.0])
    found = coefficients(params, "mhc", np.ones((1, 1, 2, WIDTH)))
    np.testing.assert_allclose(found.H_pre[0, 0], [1, 0], atol=1e-15)
    np.testing.assert_allclose(found.H_post[0, 0], [0, 2], atol=1e-15)


@every_pair
def test_float32_stays_float32_and_close(scheme, n):
    params, streams = perturbed(scheme, n), rng().standard_normal((2, 3, n, WIDTH))
    cotangent = rng(7).standard_normal(streams.shape)

    def run(dtype):
        leaves = tree_map(lambda leaf: leaf.astype(dtype), {**params, "streams": streams})
        loss = lambda p: anp.sum(connect(p, scheme, p["streams"], lambda x: x * x) * cotangent.astype(dtype))  # noqa: E731
        return connect(leaves, scheme, leaves["streams"], lambda x: x * x), grad(loss)(leaves)

    (out32, gradient32), (out64, gradient64) = run(np.float32), run(np.float64)
    assert out32.dtype == np.float32
    np.testing.assert_allclose(out32, out64, atol=1e-5 * np.abs(out64).max())
    largest = max(np.abs(wanted).max() for wanted in gradient64.values())
    for name, wanted in gradient64.items():
        assert gradient32[name].dtype == np.float32, name
        np.testing.assert_allclose(gradient32[name], wanted, atol=1e-5 * largest, err_msg=name)


@every_pair
def test_a_mix_of_precisions_gives_float64_parameters_float64_gradients(scheme, n):
    """Right to the precision of the streams, in the precision of the parameters."""
    params, streams = perturbed(scheme, n), rng().standard_normal((2, 3, n, WIDTH)).astype(np.float32)
    cotangent = rng(7).standard_normal(streams.shape)
    loss = lambda leaves: anp.sum(connect(leaves, scheme, leaves["streams"], make_branch()) * cotangent)  # noqa: E731
    got, want = (grad(loss)({**params, "streams": streams.astype(dtype)}) for dtype in (np.float32, np.float64))
    for name in params:
        assert got[name].dtype == np.float64
        largest = max(np.abs(slope).max() for slope in want.values())
        np.testing.assert_allclose(got[name], want[name], atol=1e-5 * largest, err_msg=name)


@every_pair
@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_no_token_is_no_trouble(scheme, n, shape):
    params = {**perturbed(scheme, n), "streams": np.zeros((*shape, n, WIDTH))}
    run = lambda leaves: connect(leaves, scheme, leaves["streams"], make_branch())  # noqa: E731
    assert run(params).shape == (*shape, n, WIDTH)
    for name, slope in grad(lambda leaves: anp.sum(run(leaves)))(params).items():
        np.testing.assert_array_equal(slope, np.zeros(params[name].shape))


@every_pair
def test_the_layout_in_memory_does_not_matter(scheme, n):
    params, streams = perturbed(scheme, n), rng().standard_normal((2, 3, n, WIDTH))
    across = np.ascontiguousarray(streams.transpose(3, 2, 1, 0)).transpose(3, 2, 1, 0)
    loss = lambda leaves: anp.sum(connect(leaves, scheme, leaves["streams"], make_branch()) ** 2)  # noqa: E731
    got, want = (grad(loss)({**params, "streams": x}) for x in (across, streams))
    for name, slope in want.items():
        np.testing.assert_allclose(got[name], slope, atol=1e-12 * (1 + np.abs(slope).max()), err_msg=name)


def test_float32_training_with_logits_of_three_hundred_stays_finite():
    params = tree_map(lambda leaf: leaf.astype(np.float32), start("mhc", 4))
    for k, part in params.items():
        part["b_res"] = rng(int(k)).uniform(-300, 300, (4, 4)).astype(np.float32)
        part["W_res"] = rng(int(k)).uniform(-3000, 3000, part["W_res"].shape).astype(np.float32)
    hidden, target = rng(1).standard_normal((2, 4, 6, WIDTH)).astype(np.float32)
    branches = [make_branch(seed=k) for k in range(4)]

    def loss(leaves):
        streams = expand(hidden, 4)
        for k, branch in enumerate(branches):
            streams = connect(leaves[str(k)], "mhc", streams, lambda x, branch=branch: branch(x).astype(np.float32))
        return anp.sum((reduce(streams) - target) ** 2)

    for _ in range(20):
        gradient = grad(loss)(params)
        for part in gradient.values():
            for name, leaf in part.items():
                assert np.all(np.isfinite(leaf)), name
        params = tree_map(lambda p, g: (p - 0.01 * g).astype(np.float32), params, gradient)
    assert np.isfinite(loss(params))


def test_a_network_that_blew_up_shows_nan_and_does_not_stop_the_run():
    with np.errstate(invalid="ignore"):
        out = connect(init("mhc", 2, 3, rng()), "mhc", np.full((1, 1, 2, 3), np.nan), zero_branch)
    assert np.all(np.isnan(out))


@every_pair
def test_init_is_the_same_every_time_and_takes_turns_at_reading(scheme, n):
    first, again = (init(scheme, n, WIDTH, rng(seed), sublayer=2) for seed in (0, 1))
    assert first.keys() == again.keys()
    for name, leaf in first.items():
        np.testing.assert_array_equal(leaf, again[name])
        assert leaf.dtype == np.float64
    if scheme == "mhc":
        np.testing.assert_array_equal(first["b_res"], 8 * np.eye(n) - 8)
    if n > 1 and "b_pre" in first:
        home = [int(np.argmax(init(scheme, n, WIDTH, rng(), sublayer=k)["b_pre"])) for k in range(2 * n)]
        assert home == [k % n for k in range(2 * n)]


@pytest.mark.parametrize("n", [50, 64, 101, 200])
def test_reads_of_many_streams_add_up_to_one_and_favour_their_own(n):
    H_pre = 1 / (1 + np.exp(-init("mhc", n, 1, rng(), sublayer=n + 3)["b_pre"]))
    assert H_pre.sum() == pytest.approx(1)
    assert np.argmax(H_pre) == 3
    assert H_pre.max() > 0.5


@pytest.mark.parametrize(
    ("scheme", "n", "message"),
    [
        ("mHC", 4, r"want a scheme among \['cayley', .*'scaled'\], got 'mHC'"),
        ("mhc", 0, "at least 1, got n = 0"),
        ("mhc_lite", 8, r"at most 4 \(8 streams have 40,320 permutations.*got n = 8"),
        ("krom", 3, "a power of two, at least 2, got n = 3"),
        ("scaled", 2, r"at most 1 .*got n = 2"),
    ],
)
def test_what_a_scheme_cannot_do_is_refused_in_words(scheme, n, message):
    with pytest.raises(ValueError, match=message):
        init(scheme, n, 4, rng())
    if n:
        with pytest.raises(ValueError, match=message):
            connect({}, scheme, np.zeros((1, 1, n, 4)), zero_branch)


def changed(scheme, **leaves):
    params = {**init(scheme, 2, 4, rng()), **leaves}
    return {name: leaf for name, leaf in params.items() if leaf is not None}


@pytest.mark.parametrize(
    ("scheme", "params", "message"),
    [
        ("mhc", {}, r"connect: 'mhc' wants alpha \(3,\), got None; W_pre \(8, 2\), got None; .*; see init"),
        ("scaled", {}, r"'scaled' wants b_post \(1,\), got None"),
        ("mhc", changed("mhc", alpha=None), r"wants alpha \(3,\), got None; see init"),
        ("mhc", changed("mhc", b_res=None), r"wants b_res \(2, 2\), got None; see init"),
        ("hc", changed("hc", W_res=np.zeros((4, 4))), r"wants W_res \(4, 2\), got \(4, 4\); see init"),
        ("identity", changed("mhc"), r"'identity' wants alpha \(2,\), got \(3,\); W_res None, got \(8, 4\)"),
        ("residual", changed("hc_static"), r"'residual' wants b_pre None, got \(2,\)"),
    ],
)
@pytest.mark.parametrize("how", [connect, connect_ref])
def test_parameters_of_another_scheme_or_none_at_all_are_refused(scheme, params, message, how):
    """Were they taken as they come, a network that lost its maps would run on as the plain one."""
    with pytest.raises(ValueError, match=message):
        how(params, scheme, np.zeros((1, 1, 1 if scheme == "scaled" else 2, 4)), zero_branch)


@pytest.mark.parametrize("scheme", ["residual", "identity", "mhc", "hc"])
def test_a_branch_of_another_width_is_refused(scheme):
    with pytest.raises(ValueError, match=r"connect: want the branch to return \(2, 3, 4\), got \(2, 3, 2\)"):
        connect(init(scheme, 2, 4, rng()), scheme, np.zeros((2, 3, 2, 4)), lambda hidden: hidden[..., :2])


def test_streams_of_the_wrong_shape_are_refused():
    with pytest.raises(ValueError, match="connect: want streams to be an array of floats, got int64"):
        connect({}, "residual", np.zeros((2, 3, 1, 4), int), zero_branch)
    with pytest.raises(ValueError, match=r"reduce: want at least one stream, got \(1, 1, 0, 2\)"):
        reduce(np.zeros((1, 1, 0, 2)))
    with pytest.raises(ValueError, match=r"want streams \(B, T, n, D\), got \(2, 3, 4\); use expand"):
        connect({}, "residual", np.zeros((2, 3, 4)), zero_branch)
    with pytest.raises(ValueError, match="at least one stream, got n = 0"):
        expand(np.zeros((1, 1, 2)), 0)
