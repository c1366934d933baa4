"""Carry out a cell: train it, look at it on the way and at its end, and write down what its file holds.

Chapter: chapters/15_the_question.md      Tests: tests/test_cells.py
"""

import time

import numpy as np

from mhc_np.autodiff import flatten
from mhc_np.lab import cell_looks, results, stress
from mhc_np.lab.cells import SCHEDULES
from mhc_np.lab.geometry import without_nan
from mhc_np.lab.mixing_recipes import RECIPES, Apart
from mhc_np.learn import AdamW, fit
from mhc_np.measure import events
from mhc_np.models import MODELS
from mhc_np.ops import cross_entropy
from mhc_np.tasks import TASKS

THIN = 4  # every fourth entry of a curve is kept
DIGITS = 5


def train(cell, look=None):
    """Train a cell.

    Parameters
    ----------
    cell : mhc_np.lab.cells.Cell
    look : callable, optional
        ``look(params, step)``, every ``look_every`` steps, from 0 to the last.

    Returns
    -------
    (Fit, params)
        As from `mhc_np.learn.fit`, its losses being the KL in nats; and the last parameters, frozen ones included.
    """
    task, task_config, config = TASKS[cell.task], cell.task_config(), cell.model_config()
    init_rng, data_rng, _, noise_rng = _generators(cell)
    params = MODELS["transformer"].init(config, init_rng)
    params, complete = stress.freeze(params, cell.arm, cell.noise, noise_rng)
    optimizer = AdamW(cell.rate, (0.9, 0.98), weight_decay=0.01)
    if cell.mixing:
        optimizer = Apart(optimizer, RECIPES[cell.mixing])

    def sample(rng):
        batch = task.sample(task_config, rng, cell.batch_size)
        exact = task.posterior(task_config, batch)
        return batch._replace(targets=exact), cell_looks.entropy_nats(exact)

    def loss(params, sampled):
        batch, floor = sampled
        logits = MODELS["transformer"].logits(complete(params), config, inputs=batch.inputs)
        return cross_entropy(logits, targets=batch.targets, mask=batch.mask) - floor  # the KL

    def tell(params, step):
        if look is not None:
            look(complete(params), step)
        return {}

    with np.errstate(all="ignore"):  # a network that blows up is a result
        trained = fit(
            loss,
            params,
            sample,
            optimizer,
            num_steps=cell.num_steps,
            rng=data_rng,
            schedule=SCHEDULES[cell.schedule](cell.num_steps),
            clip_norm=None,
            evaluate=tell,
            eval_steps=range(0, cell.num_steps + 1, cell.look_every),
            record_every=1,
            on_divergence="stop",
            progress=False,
        )
    return trained, complete(trained.params)


def subject_of(cell):
    """Draw the cell's held-out sequences."""
    return cell_looks.subject(cell, _generators(cell)[2])


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
    subject, looks, shots = subject_of(cell), [], []

    def look(params, step):
        looks.append({"step": step, **cell_looks.look(params, subject)})
        shots.append((step, params))

    trained, params = train(cell, look)
    with np.errstate(all="ignore"):
        matched = cell_looks.nearest([row["kl_bits"] for row in looks])
        found = {
            "matched": None if matched is None else cell_looks.closer(shots[matched], subject),
            "final": cell_looks.closer((len(trained.history["step"]), params), subject),
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


def _generators(cell):
    """Return the generators of a seed: of parameters, training, held-out sequences and frozen noise."""
    return [np.random.default_rng(seed) for seed in np.random.SeedSequence(cell.seed).spawn(4)]


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
