"""A cell of a grid: one training run, described by all that decides its outcome, and how it is carried out.

Chapter: chapters/15_the_question.md      Tests: tests/test_cells.py

Cells of one seed share the branches' first parameters, the training sequences and the held-out sequences, whatever the
arm: arms are compared on the same draws. Every arm starts as the same function.
"""

import time
from dataclasses import asdict, dataclass, field
from functools import partial

import numpy as np

from mhc_np.autodiff import flatten
from mhc_np.connections import SCHEMES
from mhc_np.lab import cell_looks, results, stress
from mhc_np.lab.geometry import without_nan
from mhc_np.learn import AdamW, constant, fit, warmup_cosine
from mhc_np.measure import events
from mhc_np.models import MODELS
from mhc_np.ops import cross_entropy
from mhc_np.tasks import TASKS

NUM_STREAMS = {"residual": 1, "scaled": 1}  # 4 for all others
WARMUP = 20  # steps
THIN = 4  # every fourth entry of a curve is kept
DIGITS = 5
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

    def __post_init__(self):
        """Refuse what has no meaning."""
        for name, known in {"arm": SCHEMES, "task": TASKS, "schedule": SCHEDULES}.items():
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
        return f"{self.task}{hops}-L{self.depth}-{self.arm}{noise}-{norm}-{self.rate:g}-seed-{self.seed}"

    def described(self):
        """Return the record as JSON holds it."""
        return results.plain(asdict(self))

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


def carry_out(cell):
    """Train a cell and look at it; return what its file holds.

    Returns
    -------
    dict
        ``cell``; ``params`` (their number); ``train``: ``kl_nats`` of every fourth batch, ``spikes`` and
        ``worst_spike`` (see `mhc_np.measure.events`), ``grad_ratio`` (largest over median gradient norm from step 25
        on), ``diverged_at``; ``looks``: a list a measure, ``step`` first (see `mhc_np.lab.cell_looks.look`);
        ``matched`` and ``final``: closer looks at the checkpoint nearest to a KL of .02 bits, None where there is none,
        and at the last one; ``settled``: see `mhc_np.lab.drifting`; ``made``: ``seconds`` of processor time, versions,
        commit. All but ``made`` is the same to the bit whenever the cell is run again.
    """
    started = time.process_time()
    task, task_config, config = TASKS[cell.task], cell.task_config(), cell.model_config()
    seeds = np.random.SeedSequence(cell.seed).spawn(4)
    init_rng, data_rng, look_rng, noise_rng = (np.random.default_rng(seed) for seed in seeds)
    subject = cell_looks.subject(cell, look_rng)
    params = MODELS["transformer"].init(config, init_rng)
    params, complete = stress.freeze(params, cell.arm, cell.noise, noise_rng)

    def sample(rng):
        batch = task.sample(task_config, rng, cell.batch_size)
        exact = task.posterior(task_config, batch)
        return batch._replace(targets=exact), cell_looks.entropy_nats(exact)

    def loss(params, sampled):
        batch, floor = sampled
        logits = MODELS["transformer"].logits(complete(params), config, inputs=batch.inputs)
        return cross_entropy(logits, targets=batch.targets, mask=batch.mask) - floor  # the KL

    looks, shots = [], []

    def look(params, step):
        looks.append({"step": step, **cell_looks.look(complete(params), subject)})
        shots.append((step, complete(params)))
        return {"kl_bits": looks[-1]["kl_bits"]}

    with np.errstate(all="ignore"):  # a network that blows up is a result
        trained = fit(
            loss,
            params,
            sample,
            AdamW(cell.rate, (0.9, 0.98), weight_decay=0.01),
            num_steps=cell.num_steps,
            rng=data_rng,
            schedule=SCHEDULES[cell.schedule](cell.num_steps),
            clip_norm=None,
            evaluate=look,
            eval_steps=range(0, cell.num_steps + 1, cell.look_every),
            record_every=1,
            on_divergence="stop",
            progress=False,
        )
        matched = cell_looks.nearest([row["kl_bits"] for row in looks])
        found = {
            "matched": None if matched is None else cell_looks.closer(shots[matched], subject),
            "final": cell_looks.closer((len(trained.history["step"]), complete(trained.params)), subject),
            "settled": cell_looks.settled(shots, subject),
        }
    columns = {name: [row[name] for row in looks] for name in looks[0]}
    return {
        "cell": cell.described(),
        "params": sum(leaf.size for leaf in flatten(trained.params).values()),
        "train": _course(trained),
        "looks": without_nan(results.plain(columns, DIGITS)),
        **without_nan(results.plain(found, DIGITS)),
        "made": {"seconds": round(time.process_time() - started, 2), **results.provenance()},
    }


def _course(trained):
    """Sum up the steps of training."""
    losses, norms = trained.history["loss_nats"], trained.history["grad_norm"][events.SPIKE_FROM :]
    starts, worst = events.spikes(losses)
    course = {
        "kl_nats": losses[::THIN],
        "spikes": starts,
        "worst_spike": worst,
        "grad_ratio": float(norms.max() / np.median(norms)) if len(norms) and np.median(norms) > 0 else None,
        "diverged_at": trained.diverged_at,
    }
    return without_nan(results.plain(course, 4))
