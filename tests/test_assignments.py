"""The assignments: no stub passes, every solution does, and each planted mistake fails with the right hint."""

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

grading = importlib.import_module("book.assignments.grading")


def failures(name, work):
    """Run the checks of an assignment on a module; return what each failing one says."""
    checks = grading.load(grading.HERE / name / "test_work.py")
    said = []
    for check in (value for key, value in vars(checks).items() if key.startswith("test_")):
        try:
            check(work)
        except (pytest.fail.Exception, NotImplementedError) as trouble:
            said.append(str(trouble))
    return said


def solution(name):
    return grading.load(grading.HERE / "solutions" / f"{name}.py")


def changed(name, **instead):
    """Return a solution in which some functions are replaced; each gets the right one as first argument."""
    right = solution(name)
    functions = dict(inspect.getmembers(right, inspect.isfunction))
    for key, wrong in instead.items():
        functions[key] = lambda *args, wrong=wrong, own=functions[key]: wrong(own, *args)
    return SimpleNamespace(__file__=right.__file__, **functions)


def without_the_length(right, d_out, cache):
    x_unit, y_unit, x_size, y_size, _ = cache
    return d_out[:, None] * y_unit / x_size, d_out[:, None] * x_unit / y_size


def only_the_last(right, d_plan, cache):
    return right(d_plan, cache[-2:])


def rows_first(right, logits, num_iters):
    plan, cache = right(np.swapaxes(logits, -1, -2), num_iters)
    return np.swapaxes(plan, -1, -2), cache


def at_a_common_rate(errors, least=2 / 3):
    own, other = (np.nanmedian(errors[arm].get(3e-3, errors[arm][1e-3])) for arm in ("new", "plain"))
    return "holds" if own < least * other else "false" if other < least * own else "not seen here"


def best_seed(errors):
    own, other = (min(map(np.nanmin, errors[arm].values())) for arm in ("new", "plain"))
    return "holds" if own < other else "false"


def two_mixed(maps, raw, n):
    H_pre, H_post, H_res = maps(raw, n)
    return H_pre, H_post, H_res + 0.1 * raw[2:]


def alike(maps, raw, n):
    H_pre, H_post, H_res = maps(raw, n)
    return H_pre, np.ones(n), H_res


FILTER, LAW, VERDICT = "2_filter", "3_advantage", "6_verdict"
PLANTED = [
    ("1_gradients", {"cosine_bwd": without_the_length}, "has a part along its row"),
    ("1_gradients", {"cosine_bwd": lambda f, *a: [-d for d in f(*a)]}, "off by|sign"),
    ("1_gradients", {"cosine_fwd": lambda f, x, y: ((x * y).sum(-1), f(x, y)[1])}, "divide by both lengths"),
    (FILTER, {"filter_states": lambda f, a, b, *r: f(a @ b, b, *r)}, "no move comes before the first observation"),
    (FILTER, {"filter_states": lambda f, a, b, *r: f(a, b.T, *r)}, "leads from i to j"),
    (FILTER, {"filter_states": lambda f, *a: (f(*a)[0], f(*a)[1] / np.log(2))}, "in bits"),
    (FILTER, {"predict_next": lambda f, b, c, d: d @ c}, "move it first"),
    (LAW, {"score_gradient": lambda f, w, b: w * b}, "subtract the row's average"),
    (LAW, {"score_gradient": lambda f, *a: -f(*a)}, "sign is turned"),
    (LAW, {"value_gradient": lambda f, w, d: w @ d}, "sum over the queries"),
    (LAW, {"predicted_fall": lambda f, *a: 2 * f(*a)}, "2 times the fall"),
    ("4_sinkhorn", {"sinkhorn_bwd": only_the_last}, "does every iteration go back"),
    ("4_sinkhorn", {"sinkhorn_bwd": lambda f, d, cache: (d * cache[-1][0],)}, "gradient of argument 0 is wrong"),
    ("4_sinkhorn", {"sinkhorn_fwd": rows_first}, "rows last"),
    ("5_mixing", {"maps": two_mixed}, "negative"),
    ("5_mixing", {"maps": alike}, "copies stay copies"),
    ("5_mixing", {"maps": lambda f, r, n: (np.full(n, 1 / n), f(r, n)[1], np.eye(n) + 0 * r[2:])}, "cannot move it"),
    ("5_mixing", {"init": lambda f, n: f(n) - np.eye(n + 2, n, -1)[::-1]}, "H_post has the mean"),
    ("5_mixing", {"init": lambda f, n: np.vstack([np.full((1, n), -30.0), f(n)[1:]])}, "too far out"),
    (VERDICT, {"rule": lambda f, errors: at_a_common_rate(errors)}, "its own best rate"),
    (VERDICT, {"rule": lambda f, errors: at_a_common_rate(errors)}, "broken is infinitely bad"),
    (VERDICT, {"rule": lambda f, errors: best_seed(errors)}, "want at most 5%"),
    (VERDICT, {"rule": lambda f, errors: best_seed(errors)}, "missing: want 'not seen here'"),
    (VERDICT, {"rule": lambda f, errors: "not seen here"}, "want 90%"),
]


def test_every_assignment_has_a_stub_checks_and_a_solution():
    assert grading.NAMES == ["1_gradients", "2_filter", "3_advantage", "4_sinkhorn", "5_mixing", "6_verdict"]
    solved = sorted(path.stem for path in (grading.HERE / "solutions").glob("*.py"))
    assert solved == grading.NAMES
    assert {name for name, _, _ in PLANTED} == set(grading.NAMES)


@pytest.mark.parametrize("name", grading.NAMES)
def test_a_solution_passes(name):
    assert failures(name, solution(name)) == []


@pytest.mark.parametrize("name", grading.NAMES)
def test_a_stub_fails_and_says_what_to_write(name):
    stub = grading.load(grading.HERE / name / "work.py")
    said = failures(name, stub)
    written = [key for key, _ in inspect.getmembers(stub, inspect.isfunction)]
    assert {words.split(":")[0] for words in said} <= set(written)
    assert len(said) >= len(written)
    assert all(len(words.split()) >= 6 for words in said)
    assert f"python -m pytest book/assignments/{name}" in stub.__doc__


@pytest.mark.parametrize(("name", "instead", "hint"), PLANTED, ids=lambda part: part if isinstance(part, str) else "")
def test_a_planted_mistake_gets_its_hint(name, instead, hint):
    said = failures(name, changed(name, **instead))
    assert any(re.search(hint, words) for words in said), said


@pytest.mark.slow
def test_the_command_of_the_page_works():
    def grade(*args):
        command = [sys.executable, "-m", "pytest", "-q", "book/assignments/1_gradients", *args]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    done = grade("--work", "book/assignments/solutions/1_gradients.py")
    assert (done.returncode, "4 passed" in done.stdout) == (0, True), done.stdout
    stub = grade()
    assert stub.returncode == 1
    assert "not written yet: cosine_fwd: return the cosines" in stub.stdout
    assert "Traceback" not in stub.stdout
    assert "During handling" not in stub.stdout
