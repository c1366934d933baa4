"""Golden vectors: our kernels pass in both precisions, and the slips of other implementations are named."""

import json

import autograd.numpy as anp
import numpy as np
import pytest

from mhc_np import ops
from mhc_np.autodiff import grad
from mhc_np.connections import coefficients, connect
from mhc_np.lab.golden import GOLDEN, _load, check_file, write_golden
from mhc_np.lab.golden_cases import cases


@pytest.fixture(scope="module")
def golden():
    return _load(GOLDEN)


def save(tmp_path, entries, name="theirs.npz"):
    path = tmp_path / name
    if path.suffix == ".json":
        path.write_text(json.dumps({key: np.asarray(array).tolist() for key, array in entries.items()}))
    else:
        np.savez(path, **entries)
    return path


def test_the_golden_file_is_what_the_definitions_say():
    report = check_file(GOLDEN)
    assert report, str(report)
    assert len(report.lines) == len(cases())


def test_writing_it_again_gives_the_same_numbers(tmp_path, golden):
    path = tmp_path / "again.npz"
    assert write_golden(path) == len(golden)
    again = _load(path)
    for key, array in golden.items():
        if key.endswith("/settings"):
            assert json.loads(str(again[key])) == json.loads(str(array))
        else:
            np.testing.assert_allclose(again[key], array, atol=1e-12, err_msg=key)


def test_json_is_as_good(tmp_path):
    path = tmp_path / "golden.json"
    write_golden(path)
    assert check_file(path)
    with pytest.raises(ValueError, match=r"path that ends in \.npz or \.json"):
        write_golden(tmp_path / "golden.txt")


def by_our_kernels(golden, dtype):
    """Fill in outputs and gradients as a framework author would, from the file's inputs alone."""
    theirs = {}
    for name in sorted({key.split("/")[0] for key in golden} - {"version"}):
        settings = json.loads(str(golden[f"{name}/settings"]))
        start = f"{name}/in/"
        inputs = {key.removeprefix(start): array for key, array in golden.items() if key.startswith(start)}
        inputs = {key: array if key == "ids" else array.astype(dtype) for key, array in inputs.items()}
        cotangent = inputs["cotangent"]
        if settings["kind"] in ("sinkhorn", "sinkhorn_eps"):
            options = {key: value for key, value in settings.items() if key != "kind"}
            op = getattr(ops, settings["kind"])
            run = lambda x, op=op, options=options: op(x, **options)  # noqa: E731
            theirs[f"{name}/out/plan"] = run(inputs["logits"])
            theirs[f"{name}/grad/logits"] = grad(lambda x, r=run, d=cotangent: anp.sum(r(x) * d))(inputs["logits"])
        elif settings["kind"] == "connection":
            params = {key.removeprefix("params/"): leaf for key, leaf in inputs.items() if key.startswith("params/")}
            leaves = {**params, "streams": inputs["streams"], "branch": inputs["branch"]}
            scheme = settings["scheme"]

            def step(given, scheme=scheme):
                branch = lambda hidden: anp.tanh(anp.matmul(hidden, given["branch"]))  # noqa: E731
                return connect(given, scheme, given["streams"], branch)

            theirs[f"{name}/out/streams"] = step(leaves)
            found = coefficients(params, scheme, inputs["streams"])._asdict()
            theirs |= {f"{name}/out/{key}": value for key, value in found.items() if value is not None}
            gradient = grad(lambda given, run=step, d=cotangent: anp.sum(run(given) * d))(leaves)
            for key, value in gradient.items():
                theirs[f"{name}/grad/{'params/' if key in params else ''}{key}"] = value
    return theirs


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_our_kernels_pass(tmp_path, golden, dtype):
    report = check_file(save(tmp_path, by_our_kernels(golden, dtype)))
    assert report, str(report)
    assert all("right" in line and "not given" not in line for line in report.lines)


def test_a_part_is_enough_and_what_is_missing_is_said(tmp_path, golden):
    key = "sinkhorn-plain/out/plan"
    report = check_file(save(tmp_path, {key: golden[key]}))
    assert report
    assert str(report) == "sinkhorn-plain: right, 1 of 2 arrays (not given: grad/logits)"


def test_own_inputs_are_taken(tmp_path):
    logits = np.random.default_rng(0).standard_normal((3, 3))
    settings = np.array(json.dumps({"kind": "sinkhorn", "num_iters": 7}))
    entries = {"mine/settings": settings, "mine/in/logits": logits, "mine/in/cotangent": np.zeros((3, 3))}
    assert check_file(save(tmp_path, {**entries, "mine/out/plan": ops.sinkhorn(logits, 7)}, "a.npz"))
    assert check_file(save(tmp_path, {**entries, "mine/out/plan": ops.sinkhorn(logits, 7)}, "a.json"))
    assert not check_file(save(tmp_path, {**entries, "mine/out/plan": ops.sinkhorn(logits, 8)}, "b.npz"))


SLIPS = {
    "H_res transposed": ("connection-mhc/out/H_res", lambda x: np.swapaxes(x, -1, -2), "right numbers, transposed"),
    "H_post without its factor": ("connection-mhc/out/H_post", lambda x: x / 2, "0.5 times what it should be"),
    "gradient negated": ("sinkhorn-plain/grad/logits", lambda x: -x, "right size, wrong sign"),
    "gradient cut": ("connection-mhc/grad/params/b_res", lambda x: 0 * x, "zero everywhere"),
    "one entry off": ("model-mhc/out/logits", lambda x: x + 0.1 * (np.arange(x.size) == 3).reshape(x.shape), "off by"),
    "wrong shape": ("sinkhorn-plain/out/plan", lambda x: x[0], r"want (5, 4, 4), got (4, 4)"),
    "overflow": ("sinkhorn-huge/out/plan", lambda x: np.where(x > 0.9, np.nan, x), "is not finite"),
    "words": ("sinkhorn-plain/out/plan", lambda x: x.astype(str), "holds no numbers"),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_slips_are_named(tmp_path, golden, slip):
    key, change, words = SLIPS[slip]
    report = check_file(save(tmp_path, {key: change(golden[key])}))
    assert not report
    assert words in str(report)


def test_algorithms_that_differ_are_caught(tmp_path, golden):
    """Rows before columns, eps on the wrong side of the division, a backward that uses the last matrix alone."""
    logits, cotangent = (golden[f"sinkhorn-truncated/in/{name}"] for name in ("logits", "cotangent"))
    plan = golden["sinkhorn-truncated/out/plan"]
    other_order = np.swapaxes(ops.sinkhorn(np.swapaxes(logits, -1, -2)), -1, -2)
    G = cotangent * plan
    for _ in range(20):
        G = G - plan * G.sum(axis=-1, keepdims=True)
        G = G - plan * G.sum(axis=-2, keepdims=True)
    assert not check_file(save(tmp_path, {"sinkhorn-truncated/out/plan": other_order}, "order.npz"))
    assert not check_file(save(tmp_path, {"sinkhorn-truncated/grad/logits": G}, "last.npz"))
    eps = np.swapaxes(golden["sinkhorn-eps-published/out/plan"], -1, -2)  # comb[old, new] as it is stored
    assert not check_file(save(tmp_path, {"sinkhorn-eps-published/out/plan": eps}, "comb.npz"))


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({"elsewhere/out/plan": np.eye(2)}, "no such case; put settings and inputs in the file"),
        ({"sinkhorn-plain/out/plam": np.eye(2)}, "out/plam is not part of this case"),
        ({"sinkhorn-plain/in/logits": np.eye(4)}, "nothing to check"),
        ({"x/settings": np.array('{"kind": "softmax"}'), "x/out/y": np.eye(2)}, "want a kind among"),
        ({"x/settings": np.array('{"kind": "sinkhorn"}'), "x/out/y": np.eye(2)}, "cannot be computed"),
    ],
)
def test_what_cannot_be_checked_fails_in_words(tmp_path, entries, words):
    report = check_file(save(tmp_path, entries))
    assert not report
    assert words in str(report)


def test_other_versions_and_other_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match="want golden vectors of version 1, got version 2"):
        check_file(save(tmp_path, {"version": np.array(2)}))
    with pytest.raises(ValueError, match=r"want a \.npz or \.json file"):
        check_file(tmp_path / "numbers.txt")
