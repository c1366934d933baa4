"""What makes a run: a task, a model and a training recipe, as one frozen record.

Chapter: chapters/04_training.md      Tests: tests/test_lab.py

The runs themselves, by name, are in `mhc_np.lab.runs`.
"""

from dataclasses import asdict, dataclass, field

import numpy as np

from mhc_np.models import MODELS
from mhc_np.tasks import TASKS

# What counts, and the least of it; and the ranges [least, below) of what does not count.
LEAST = {"num_steps": 1, "batch_size": 1, "num_evaluations": 3, "num_sequences": 1, "num_reused": 0, "num_snapshots": 0}
RANGES = {
    **dict.fromkeys(("learning_rate", "matrix_rate", "weight_decay"), (0, 1e6)),
    **dict.fromkeys(("beta_2", "average", "warmup"), (0, 1)),
}


@dataclass(frozen=True)
class Training:
    """A recipe.

    Parameters
    ----------
    num_steps, batch_size : int
        Updates, and fresh sequences an update.
    targets : {"soft", "hard"}
        The exact posterior, or labels sampled from it.
    optimizer : {"adamw", "muon"}
    learning_rate, beta_2, weight_decay : float
        AdamW's, for all parameters or, under Muon, for those that are not matrices of a block.
    matrix_rate : float
        Muon's peak rate.
    warmup : float
        Share of the run in which the rates rise; then they fall along a cosine to zero.
    average : float
        Decay of the running average of the parameters that is evaluated; 0 evaluates the last parameters.
    num_evaluations : int
        Looks at fresh sequences on the way, at equal ratios of steps.
    num_sequences : int
        Fresh sequences a look.
    num_reused : int
        0: every sequence is new. Else training shows so many secrets over and over (each time in a new order), so that
        it can be asked what is remembered of them. Only for the bijection task.
    num_snapshots : int
        Copies of the (averaged) parameters to keep on the way, at equal ratios of steps; 0 keeps none.
    """

    num_steps: int = 600
    batch_size: int = 64
    targets: str = "soft"
    optimizer: str = "adamw"
    learning_rate: float = 5e-3
    matrix_rate: float = 0.02
    beta_2: float = 0.98
    weight_decay: float = 0.01
    warmup: float = 0.05
    average: float = 0.0
    num_evaluations: int = 24
    num_sequences: int = 2048
    num_reused: int = 0
    num_snapshots: int = 0

    def __post_init__(self):
        """Refuse what has no meaning."""
        for name, known in {"targets": ("soft", "hard"), "optimizer": ("adamw", "muon")}.items():
            if getattr(self, name) not in known:
                raise ValueError(f"Training: want {name} in {known}, got {getattr(self, name)!r}")
        for name, least in LEAST.items():
            value = getattr(self, name)
            if type(value) is not int or value < least:
                raise ValueError(f"Training: want {name} to be a whole number, at least {least}, got {value!r}")
        for name, (least, below) in RANGES.items():
            value = getattr(self, name)
            if not least <= value < below:
                raise ValueError(f"Training: want {name} in [{least:g}, {below:g}), got {value!r}")
        if 0 < self.num_snapshots < 3:
            raise ValueError(f"Training: want num_snapshots to be 0, or 3 and more, got {self.num_snapshots}")


@dataclass(frozen=True)
class Run:
    """A named run; what a model must know of its task's sizes is filled in by `model_config`."""

    about: str
    task: str
    task_settings: dict = field(default_factory=dict)
    model: str = "transformer"
    model_settings: dict = field(default_factory=dict)
    training: Training = field(default_factory=Training)

    def __post_init__(self):
        """Refuse what has no meaning."""
        if self.training.num_reused and self.task != "bijection":
            raise ValueError(f"Run: want num_reused = 0 for the task {self.task!r}; only bijections can be re-used")

    def described(self):
        """Return the record as a dict; one without snapshots or re-use is the run it was before there were any."""
        record = asdict(self)
        for name in ("num_reused", "num_snapshots"):
            if not record["training"][name]:
                del record["training"][name]
        return record

    def task_config(self):
        """Return the task's frozen config."""
        return TASKS[self.task].Config(**self.task_settings)

    def sizes(self):
        """Return what a model must know of its task."""
        task = self.task_config()
        features = getattr(task, "num_features", None)
        return {
            "num_inputs": features or task.num_ids,
            "num_outputs": task.num_outputs,
            "num_positions": task.num_positions,
            "embedder": "features" if features else "ids",
        }

    def misfit(self):
        """Say in words what keeps the run from being carried out though each of its parts is sound; None if nothing."""
        task = self.task_config()
        try:
            TASKS[self.task].sample(task, np.random.default_rng(0), 1)
        except ValueError as error:
            return str(error)
        model, wanted = self.model_config(), getattr(task, "num_header", 0)
        told = getattr(model, "num_header", wanted)
        if told != wanted and getattr(model, "positions", None) == "relative":
            return f"the task has {wanted} header tokens, the model takes {told}: set model.num_header={wanted} too"
        return None

    def model_config(self):
        """Return the model's frozen config, fitted to the task."""
        return MODELS[self.model].Config(**{**self.sizes(), **self.model_settings})
