"""The first cell of a twin, on a machine that has the libraries but not the package: a bare Colab.

This checkout stands in for the repository's address (git rewrites it), and pip may look at no index.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book"))

import twins  # noqa: E402

NEEDED = ("IPython", "hatchling", "editables", "pip")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]
MISSING += [] if shutil.which("git") and (ROOT / ".git").exists() else ["a git checkout"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"missing: {', '.join(MISSING)}"),
]

# Runs cells as a kernel does, magics included, and stops at the first that fails.
RUNNER = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in json.load(open(sys.argv[1], encoding="utf-8")):
    shell.run_cell(cell).raise_error()
"""


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A Python with the libraries of this one and without `mhc_np`; gives its path.

    A folder that a .pth file names is searched, but the .pth files in it are not read, and so an editable install
    of the package stays behind.
    """
    folder = tmp_path_factory.mktemp("colab") / "venv"
    venv.create(folder, with_pip=False, symlinks=True)
    site = next(folder.glob("lib/python*/site-packages"))
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = folder / "bin" / "python"
    found = subprocess.run([python, "-c", "import mhc_np"], cwd=folder, capture_output=True, text=True)
    assert "No module named 'mhc_np'" in found.stderr
    return python


def run(python, folder, cells):
    """Run cells in a folder, the repository's address standing for this checkout; return what was said."""
    (folder / "cells.json").write_text(json.dumps(cells), encoding="utf-8")
    (folder / "run.py").write_text(RUNNER, encoding="utf-8")
    settings = {
        "GIT_CONFIG_COUNT": "2",
        **{"GIT_CONFIG_KEY_0": f"url.{ROOT.as_uri()}.insteadOf", "GIT_CONFIG_VALUE_0": twins.REPOSITORY},
        **{"GIT_CONFIG_KEY_1": "safe.directory", "GIT_CONFIG_VALUE_1": "*"},
        "GIT_ALLOW_PROTOCOL": "file",
        **{"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        "IPYTHONDIR": str(folder / "ipython"),
    }
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | settings
    command = [python, "run.py", "cells.json"]
    finished = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


def test_a_twin_works_where_nothing_but_the_libraries_is(bare, tmp_path):
    twin = json.loads(twins.twin(ROOT / "chapters" / "01_gradients.md"))
    first, *code = ["".join(cell["source"]) for cell in twin["cells"] if cell["cell_type"] == "code"]
    look = "from mhc_np.lab import results; print(len(results.load_kept('bijection-v5-soft')), results.KEPT)"
    said = run(bare, tmp_path, [first, *code[:4], look])
    assert "d_x = [[ 3. 29.]]" in said  # what the chapter's first cells print
    assert str(tmp_path / "mhc_np_book" / "chapters" / "results") in said
    again = run(bare, tmp_path, [first, "print('once is enough')"])
    assert again.strip() == "once is enough"


def test_a_twin_inside_a_checkout_uses_that_checkout(bare, tmp_path):
    for name in ("mhc_np", "chapters"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "LICENSE-text"):
        shutil.copy(ROOT / name, tmp_path)
    site = next((bare.parent.parent / "lib").glob("python*/site-packages"))
    for path in site.glob("*mhc_np*"):  # as installed by the test above
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    said = run(bare, tmp_path / "chapters", [twins.FIRST_CELL, "import mhc_np; print(mhc_np.__file__)"])
    assert said.strip().endswith(str(tmp_path / "mhc_np" / "__init__.py"))
    assert not (tmp_path / "chapters" / "mhc_np_book").exists()
