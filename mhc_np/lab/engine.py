"""What a run computes with, as a record: so that another library can take NumPy's place in it.

Chapter: chapters/04_training.md      Tests: tests/test_torch_twin_train.py
"""

from collections.abc import Callable
from typing import NamedTuple


class Engine(NamedTuple):
    """What computes: NumPy, where nobody says otherwise.

    ``logits`` and ``cross_entropy`` make the loss that ``fit`` trains on, ``forward`` takes and gives arrays, and
    ``about`` goes into the result.
    """

    logits: Callable
    cross_entropy: Callable
    forward: Callable
    fit: Callable
    about: dict
