"""Golden vectors: our kernels pass in both precisions, and the slips of other implementations are named."""

import json

import autograd.numpy as anp
import numpy as np
import pytest

from mhc_np import ops
from mhc_np.autodiff import flatten, grad, unflatten
from mhc_np.connections import coefficients, connect
from mhc_np.lab.golden import GOLDEN, _load, check_file, write_golden
from mhc_np.lab.golden_cases import cases
from mhc_np.models import ModelConfig


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


def rounded(array, bits):
    """Keep so many bits of the mantissa: 23 is float32, 7 is bfloat16."""
    mantissa, exponent = np.frexp(array)
    return np.ldexp(np.round(mantissa * 2.0 ** (bits + 1)), exponent - bits - 1)


@pytest.mark.parametrize("name", ["theirs.json", "theirs.npz"])
@pytest.mark.parametrize(("precision", "bits"), [("float32", 23), ("bfloat16", 7)])
def test_what_was_computed_in_less_than_it_is_kept_in_says_so(tmp_path, golden, name, precision, bits):
    """JSON has no float32 and NumPy no bfloat16: without a word, right numbers would count as wrong."""
    theirs = {key: rounded(golden[key], bits) for key in ("sinkhorn-plain/out/plan", "connection-mhc/out/streams")}
    report = check_file(save(tmp_path, theirs, name))
    assert not report
    assert ('was it computed in float32? Then give the file a "precision"' in str(report)) == (precision == "float32")
    assert check_file(save(tmp_path, {**theirs, "precision": np.array(precision)}, name))
    transposed = {key: np.swapaxes(array, -1, -2) for key, array in theirs.items() if key.endswith("plan")}
    assert not check_file(save(tmp_path, {**transposed, "precision": np.array(precision)}, name))


def test_an_unknown_precision_is_refused(tmp_path):
    with pytest.raises(ValueError, match="want a precision among float64, float32, .* got 'fp8'"):
        check_file(save(tmp_path, {"precision": np.array("fp8")}))


def test_settings_may_be_a_dict_of_the_json_file(tmp_path, golden):
    logits = np.random.default_rng(0).standard_normal((3, 3))
    entries = {"x/settings": {"kind": "sinkhorn", "num_iters": 7}, "x/in/logits": logits.tolist()}
    entries |= {"x/in/cotangent": logits.tolist(), "x/out/plan": ops.sinkhorn(logits, 7).tolist()}
    path = tmp_path / "theirs.json"
    path.write_text(json.dumps(entries))
    assert check_file(path)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["model-residual", "model-hc", "model-mhc"])
def test_the_models_are_those_of_pytorch(golden, name):
    """The other cases come from definitions. The models come from our kernels, so somebody else has to agree."""
    twin = pytest.importorskip("mhc_np.torch_twin")
    case = {key.removeprefix(f"{name}/"): value for key, value in golden.items() if key.startswith(f"{name}/")}
    config = ModelConfig(**json.loads(str(case["settings"]))["config"])
    start = "in/params/"
    leaves = {key.removeprefix(start): leaf for key, leaf in case.items() if key.startswith(start)}
    tensors = twin.to_torch(unflatten(leaves))
    out = twin.logits(tensors, config, inputs=case["in/ids"])
    np.testing.assert_allclose(case["out/logits"], out.detach().numpy(), atol=1e-12)
    (out * out.new_tensor(case["in/cotangent"])).sum().backward()
    for path, tensor in flatten(tensors).items():
        slope = np.zeros(tensor.shape) if tensor.grad is None else tensor.grad.numpy()
        np.testing.assert_allclose(case[f"grad/params/{path}"], slope, atol=1e-10, err_msg=path)


def test_the_lines_of_the_readme_do_what_they_say(tmp_path, monkeypatch):
    root = GOLDEN.parents[2]
    lines = (root / "README.md").read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    (tmp_path / "mhc_np").symlink_to(root / "mhc_np")
    monkeypatch.chdir(tmp_path)
    exec(lines, {"np": np, "my_sinkhorn": ops.sinkhorn})
    assert str(check_file("mine.npz")).startswith("sinkhorn-plain: right, 1 of 2 arrays")


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
    "words": ("sinkhorn-plain/out/plan", lambda x: x.astype(str), "holds no real numbers"),
    "complex": ("sinkhorn-plain/out/plan", lambda x: x + 0j, "holds no real numbers but complex128"),
    "another plan": ("sinkhorn-plain/out/plan", lambda x: x[::-1], "off by"),  # as doubly stochastic as the right one
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
        ({"x/settings": np.array('{"kind": "softmax"}'), "x/out/y": np.eye(2)}, "want settings with a kind among"),
        ({"x/settings": np.array('{"kind": "sinkhorn"}'), "x/out/y": np.eye(2)}, "cannot be computed"),
        ({"x/settings": np.array("sinkhorn"), "x/out/y": np.eye(2)}, "want settings with a kind among"),
        ({"x/settings": np.array("[1]"), "x/out/y": np.eye(2)}, "want settings with a kind among"),
        (
            {"model-mhc/in/ids": np.full((2, 4), 99), "model-mhc/out/logits": np.zeros((2, 4, 5))},
            "cannot be computed from its settings and inputs: ValueError: embed: want ids",
        ),
        (
            {"connection-mhc/in/streams": np.zeros((2, 3, 9, 5)), "connection-mhc/out/streams": np.eye(2)},
            "cannot be computed from its settings and inputs: ValueError: connect: 'mhc' wants W_pre (45, 9)",
        ),
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
