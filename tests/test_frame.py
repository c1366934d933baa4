"""The house rules that no single module can test: versions, floors, headers, sizes."""

import ast
import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest
import yaml

import mhc_np

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # comes with pytest there

ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted((ROOT / "mhc_np").rglob("*.py"))
CHAPTERS = ROOT / "chapters"
EQUATION = re.compile(r"\beq:[\w-]+")

# Written later; until then a header may name them.
PLANNED = {
    *("04_training", "07_advantage", "08_em", "09_frame_precision"),
    *("10_identity_path", "11_hyper_connections", "12_sinkhorn", "13_mhc", "14_relatives"),
    *("15_the_question", "16_what_breaks_first", "17_ledger"),
}

# What each floor stands on, besides itself.
FLOORS = {
    "autodiff": set(),
    "ops": {"autodiff"},
    "connections": {"autodiff", "ops"},
    "models": {"autodiff", "ops", "connections"},
    "learn": {"autodiff", "ops"},
    "dynamics": {"autodiff", "ops"},
    "tasks": set(),
    "measure": set(),
}
FROM_OUTSIDE = {
    **dict.fromkeys(FLOORS, {"numpy", "autograd"}),
    "learn": {"numpy", "autograd", "tqdm"},
    "tasks": {"numpy"},
    "measure": {"numpy"},
    "lab": {"numpy", "autograd", "tqdm", "IPython", "distributed"},
    "torch_twin": {"numpy", "autograd", "tqdm", "ot", "hyper_connections"},
}


def name_of(path):
    """``mhc_np/ops/loss.py`` for a path; also the name of a parametrised test."""
    return path.relative_to(ROOT).as_posix()


def every_module(function):
    return pytest.mark.parametrize("path", MODULES, ids=name_of)(function)


def imported(path):
    """Every module that a file imports, anywhere in it, as dotted names."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}: import by full name"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def floor_of(path):
    return path.relative_to(ROOT / "mhc_np").parts[0].removesuffix(".py")


def misplaced(floor, path, names):
    """Those of the imported names that a module on this floor must not import."""
    wrong = []
    for name in names:
        top, *rest = name.split(".")
        if top in sys.stdlib_module_names:
            continue
        if top == "mhc_np":
            below = {floor, *FLOORS[floor]} if floor in FLOORS else None
            allowed = below is None or not rest or rest[0] in below
        elif top == "matplotlib":
            allowed = floor == "lab" and path.stem.startswith("plots")
        elif top == "torch":
            allowed = floor == "torch_twin"
        else:
            allowed = top in FROM_OUTSIDE.get(floor, {"numpy", "autograd"})
        if not allowed:
            wrong.append(name)
    return wrong


# Versions


def pins(requirements):
    return {re.sub(r"\s*#.*", "", line).replace(" ", "").lower() for line in requirements}


def test_environment_has_the_versions_of_pyproject():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = pins(project["dependencies"] + extras["test"] + extras["book"] + extras["lab"] + extras["browser"])
    conda = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    from_pip = next(entry["pip"] for entry in conda if isinstance(entry, dict))
    plain = {entry for entry in conda if isinstance(entry, str)} - {"pip"}
    found = pins({entry for entry in plain if not entry.startswith(("python", "nodejs"))} | set(from_pip))
    assert found == wanted | {"-e."}


@pytest.mark.parametrize(("package", "extra"), [("torch", "torch"), ("hmmlearn", "oracle"), ("POT", "oracle")])
def test_what_is_only_compared_with_is_an_extra_of_its_own(package, extra):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert [name for name, needed in extras.items() if any(need.startswith(package) for need in needed)] == [extra]


def test_one_version_and_one_address_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changelog = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert mhc_np.__version__ == project["version"] == citation["version"] == changelog[0]
    address = re.search(r'^REPOSITORY = "(.+)"', (ROOT / "book" / "conf.py").read_text(encoding="utf-8"), re.M)[1]
    myst = yaml.safe_load((ROOT / "myst.yml").read_text(encoding="utf-8"))["project"]
    assert address == project["urls"]["Homepage"] == citation["repository-code"] == myst["github"]


# Floors


@every_module
def test_a_module_imports_only_from_below(path):
    assert misplaced(floor_of(path), path, imported(path)) == []


@pytest.mark.parametrize(
    ("floor", "module", "name"),
    [
        ("autodiff", "tape", "mhc_np.ops.linear"),
        ("ops", "loss", "mhc_np.models"),
        ("models", "transformer", "mhc_np.tasks.bijection"),
        ("tasks", "bijection", "mhc_np.models"),
        ("tasks", "bijection", "autograd.numpy"),
        ("measure", "calibration", "autograd.numpy"),
        ("learn", "loop", "mhc_np.models"),
        ("lab", "runs", "matplotlib.pyplot"),
        ("ops", "loss", "scipy"),
        ("lab", "bench", "torch"),
    ],
)
def test_a_planted_import_is_found(floor, module, name):
    assert misplaced(floor, Path(f"{module}.py"), [name, "math", "numpy"]) == [name]


# Headers and sizes


def header(path):
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


@every_module
def test_a_module_has_at_most_200_lines(path):
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= 200, f"{lines} lines: a second idea is inside"


@every_module
def test_a_header_names_a_chapter_and_a_test_that_exist(path):
    said = header(path)
    assert said, "no docstring"
    if path.name.startswith("__"):  # what a folder offers, or the command line: no chapter is about it
        return
    named = re.search(r"^Chapter: chapters/(\w+)\.md\s+Tests: (tests/\w+\.py)", said, re.M)
    assert named, "no line 'Chapter: chapters/NN_name.md      Tests: tests/test_x.py'"
    chapter, tests = named.groups()
    assert (CHAPTERS / f"{chapter}.md").exists() or chapter in PLANNED
    assert (ROOT / tests).exists()


@every_module
def test_cited_equations_are_in_the_chapter(path):
    text = path.read_text(encoding="utf-8")
    labels = set(EQUATION.findall(text))
    named = re.search(r"^Chapter: (chapters/\w+\.md)", header(path), re.M)
    if not labels:
        return
    assert named, f"cites {labels} and names no chapter"
    chapter = ROOT / named[1]
    if chapter.exists():
        written = chapter.read_text(encoding="utf-8")
        assert [label for label in sorted(labels) if f"({label})" not in written] == []


@every_module
def test_a_written_backward_cites_its_equation(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name.endswith("_bwd"):
            assert EQUATION.search(ast.get_docstring(node) or ""), f"{node.name} cites no equation"


# Contracts


def public_functions():
    for floor in [*FLOORS, "lab"]:
        folder = importlib.import_module(f"mhc_np.{floor}")
        for name, value in vars(folder).items():
            if inspect.isfunction(value) and not name.startswith("_") and value.__module__.startswith("mhc_np."):
                yield pytest.param(value, id=f"{floor}.{name}")


@pytest.mark.parametrize("function", list(public_functions()))
def test_a_contract_speaks_of_every_parameter(function):
    contract = inspect.getdoc(function) or ""
    assert contract, "no docstring"
    if "Parameters\n---" in contract:
        names = inspect.signature(function).parameters
        assert [name for name in names if not re.search(rf"\b{name}\b", contract)] == []
