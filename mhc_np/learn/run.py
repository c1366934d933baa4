"""A run in progress: all that must be written down so that it can go on as if nothing had happened.

Chapter: chapters/04_training.md      Tests: tests/test_learn_loop.py
Symbols: theta -> params, its average -> averaged, t -> step (updates done)
"""

import json
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from mhc_np.autodiff import flatten, tree_map
from mhc_np.learn.checkpoint import CheckpointError, digest, load, save, to_json
from mhc_np.learn.resumable import require_same_run, require_whole


class Fit(NamedTuple):
    """What a run leaves behind.

    ``params`` are the last parameters and ``averaged`` their running average (the same as ``params`` when averaging is
    off). ``history`` holds arrays: ``step``, ``loss_nats``, ``grad_norm`` (before clipping) and ``factor``, each taken
    at the parameters *before* update ``step``; and in ``history["evaluations"]`` the numbers that ``evaluate``
    returned, with the ``step`` = number of updates done. ``seconds`` counts wall-clock time, restarts added up.
    ``diverged_at`` is None, or the number of updates after which the loss or its gradient was no longer finite.
    """

    params: dict
    averaged: dict
    state: dict
    history: dict
    seconds: float
    diverged_at: int | None = None


@dataclass
class Run:
    """Parameters, their average, optimiser state, generator, history and the number of updates done."""

    params: dict
    averaged: dict
    state: dict
    rng: np.random.Generator
    identity: dict
    history: dict = field(default_factory=lambda: {"steps": {}, "evaluations": {}})
    step: int = 0
    seconds: float = 0.0
    diverged_at: int | None = None

    def record(self, table, **row):
        """Add a row of numbers to one of the two tables of the history."""
        columns = self.history[table] = self.history[table] or {name: [] for name in row}
        if columns.keys() != row.keys():
            raise ValueError(f"evaluate: want the same names each time, {sorted(columns)}, got {sorted(row)}")
        for name, value in row.items():
            columns[name].append(int(value) if name == "step" else float(value))

    def advance(self, params, state, decay):
        """Take over an optimiser's step, and bring the running average up to date.

        With weights ``decay**age`` the newest of t entries has the share ``(1 - decay) / (1 - decay**t)``.
        """
        self.params, self.state, self.step = params, state, self.step + 1
        if self.averaged:
            share = (1 - decay) / (1 - decay**self.step)  # 1 at the first step: no trace of the start
            for mean, leaf in zip(flatten(self.averaged).values(), flatten(params).values(), strict=True):
                mean *= 1 - share
                mean += share * leaf

    def result(self):
        """Return what `fit` hands over."""
        history = self.arrays()["history"]
        return Fit(
            params=self.params,
            averaged=self.averaged or self.params,
            state=self.state,
            history={**history["steps"], "evaluations": history["evaluations"]},
            seconds=self.seconds,
            diverged_at=self.diverged_at,
        )

    def arrays(self):
        """Return the tree of arrays that a checkpoint holds."""
        history = {
            table: {name: np.asarray(column) for name, column in columns.items()}
            for table, columns in self.history.items()
        }
        return {"params": self.params, "averaged": self.averaged, "state": self.state, "history": history}

    def save(self, path):
        """Write the checkpoint."""
        meta = {name: getattr(self, name) for name in ("identity", "step", "seconds", "diverged_at")}
        meta |= {"generator": self.rng.bit_generator.state, "spawned": _num_spawned(self.rng)}
        save(path, self.arrays(), meta)

    def resume(self, path):
        """Go on from the checkpoint if there is one.

        Returns
        -------
        bool
            Whether there was one.

        Raises
        ------
        CheckpointError
            If it is damaged, incomplete, or was written by a run that differs in anything that changes the result.
            The run is then as it was.
        """
        try:
            arrays, meta = load(path)
        except FileNotFoundError:
            return False
        if not isinstance(meta, dict) or not isinstance(meta.get("identity"), dict):
            raise CheckpointError(f"{path}: a checkpoint, but not of a run; move it away to start over")
        require_same_run(path, meta["identity"], self.identity)
        require_whole(path, arrays, meta, self)
        self.params, self.averaged, self.state = arrays["params"], arrays["averaged"], arrays["state"]
        self.history = {
            table: {name: column.tolist() for name, column in columns.items()}
            for table, columns in arrays["history"].items()
        }
        self.step, self.seconds, self.diverged_at = meta["step"], meta["seconds"], meta["diverged_at"]
        self.rng.bit_generator.state = meta["generator"]
        if meta["spawned"] > _num_spawned(self.rng):  # the state does not count children; skip those already born
            self.rng.spawn(meta["spawned"] - _num_spawned(self.rng))
        return True


def begin(params, optimizer, rng, *, given, num_steps, schedule, average, **settings):
    """Return a run at its start, with an identity made of all that decides its outcome; see `mhc_np.learn.fit`."""
    probes = sorted({0, num_steps // 2, num_steps - 1}) if num_steps else []
    told = {"optimizer": repr(optimizer), "schedule": [round(schedule(step), 9) for step in probes]}
    told |= {"given": given or {}, "num_steps": num_steps, "average": average}
    return Run(
        params=params,
        averaged=tree_map(np.array, params) if average else {},
        state=optimizer.init(params),
        rng=rng,
        identity=identify(params, rng, **told, **settings),
    )


def identify(params, rng, **settings):
    """Describe a run by all that decides its outcome, as JSON would give it back.

    >>> identity = identify({"gain": np.ones(1)}, np.random.default_rng(0), num_steps=3)
    >>> sorted(identity), len(identity["params"])
    (['generator', 'num_steps', 'params'], 64)
    """
    return json.loads(to_json({**settings, "params": digest(flatten(params)), "generator": rng.bit_generator.state}))


def _num_spawned(rng):
    """Count the children that a generator has spawned so far."""
    return getattr(rng.bit_generator.seed_seq, "n_children_spawned", 0)
