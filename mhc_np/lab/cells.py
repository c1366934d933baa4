"""A cell of a grid: one training run, described by all that decides its outcome.

Chapter: chapters/15_the_question.md      Tests: tests/test_cells.py

Cells of one seed share the branches' first parameters, the training sequences and the held-out sequences, whatever the
arm: arms are compared on the same draws. Every arm starts as the same function. `mhc_np.lab.cell_runs` trains.
"""

from dataclasses import asdict, dataclass, field
from functools import partial

from mhc_np.connections import SCHEMES
from mhc_np.lab import results
from mhc_np.lab.mixing_recipes import RECIPES
from mhc_np.learn import constant, warmup_cosine
from mhc_np.models import MODELS
from mhc_np.tasks import TASKS

NUM_STREAMS = {"residual": 1, "scaled": 1}  # 4 for all others
WARMUP = 20  # steps
LATER = {"mixing": ""}  # came after the first cells were kept: left out of a record where it says nothing
SCHEDULES = {
    "constant": lambda num_steps: partial(constant, warmup=WARMUP),
    "cosine": lambda num_steps: partial(warmup_cosine, num_steps=num_steps, warmup=min(WARMUP, num_steps)),
}


@dataclass(frozen=True)
class Cell:
    """One run of a grid.

    Parameters
    ----------
    arm : str
        A key of `mhc_np.connections.SCHEMES`.
    final_norm : bool
        Whether an RMSNorm stands before the head.
    depth : int
        L, blocks.
    rate : float
        Peak learning rate.
    seed : int
    task, task_settings : str, dict
    num_steps, batch_size, width : int
    model_settings : dict
        What else the model's config is given.
    schedule : {"constant", "cosine"}
        Of the rate after a warm-up of 20 steps.
    look_every : int
        Steps between looks at held-out sequences.
    noise : float or None
        ε: freeze every H_res at I + ε·noise (see `mhc_np.lab.stress`); None trains it.
    mixing : str
        A key of `mhc_np.lab.mixing_recipes.RECIPES`; "" trains what mixes streams like the rest, without decay.
    """

    arm: str = "residual"
    final_norm: bool = True
    depth: int = 12
    rate: float = 1e-2
    seed: int = 0
    task: str = "bijection"
    task_settings: dict = field(default_factory=lambda: {"num_symbols": 8})
    num_steps: int = 400
    batch_size: int = 16
    width: int = 32
    model_settings: dict = field(default_factory=dict)
    schedule: str = "constant"
    look_every: int = 10
    noise: float | None = None
    mixing: str = ""

    def __post_init__(self):
        """Refuse what has no meaning."""
        choices = {"arm": SCHEMES, "task": TASKS, "schedule": SCHEDULES, "mixing": ("", *RECIPES)}
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise ValueError(f"Cell: want {name} in {sorted(known)}, got {getattr(self, name)!r}")

    @property
    def name(self):
        """What its file is called.

        >>> Cell("mhc", False, 6, 2e-2, 3).name
        'bijection-L6-mhc-bare-0.02-seed-3'
        """
        hops = self.task_settings.get("num_hops", "")
        noise = "" if self.noise is None else f"-noise-{self.noise:g}"
        norm = "norm" if self.final_norm else "bare"
        recipe = f"-{self.mixing}" if self.mixing else ""
        width = "" if self.width == 32 else f"-d{self.width}"
        arm = f"{self.arm}{width}{noise}{recipe}"
        return f"{self.task}{hops}-L{self.depth}-{arm}-{norm}-{self.rate:g}-seed-{self.seed}"

    def described(self):
        """Return the record as JSON holds it."""
        record = asdict(self)
        return results.plain({name: value for name, value in record.items() if (name, value) not in LATER.items()})

    def task_config(self):
        """Return the task's frozen config."""
        return TASKS[self.task].Config(**self.task_settings)

    def model_config(self):
        """Return the model's frozen config."""
        task = self.task_config()
        features = getattr(task, "num_features", None)
        sizes = {
            "num_inputs": features or task.num_ids,
            "num_outputs": task.num_outputs,
            "num_positions": task.num_positions,
            "embedder": "features" if features else "ids",
        }
        shape = {"width": self.width, "num_heads": 2, "num_layers": self.depth, "final_norm": self.final_norm}
        scheme = {"scheme": self.arm, "num_streams": NUM_STREAMS.get(self.arm, 4)}
        return MODELS["transformer"].Config(**{**sizes, **shape, **scheme, **self.model_settings})
