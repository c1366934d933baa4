"""What the checks of all assignments share: load someone's file, and fail in words."""

import importlib.util
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
NAMES = sorted(path.name for path in HERE.glob("[0-9]_*"))


def load(path):
    """Return the module in a file, whatever the file is called."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def want(condition, words):
    """Fail with a sentence and no traceback unless the condition holds."""
    if not condition:
        pytest.fail(words, pytrace=False)
