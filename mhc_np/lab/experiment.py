"""Carry out a named run: seed, train, look, write down.

Chapter: chapters/04_training.md      Tests: tests/test_lab.py

One seed makes everything: its three children draw the parameters, the training sequences and the sequences that the
model is held against. A run writes ``checkpoint.npz`` as it goes and ``result.json`` at its end. The same command after
a kill goes on to bitwise the same parameters; a finished run is not run again.
"""

import json
import shutil
import time
from functools import partial
from pathlib import Path

import numpy as np

from mhc_np.autodiff import flatten
from mhc_np.lab import extras, results
from mhc_np.lab.engine import Engine
from mhc_np.learn import AdamW, Muon, fit, log_spaced_steps, save, warmup_cosine
from mhc_np.measure import calibration, labels
from mhc_np.models import MODELS
from mhc_np.ops import cross_entropy
from mhc_np.tasks import TASKS, Batch

CHECKPOINT_EVERY = 200  # steps


class UsageError(ValueError):
    """A request that cannot be carried out; the message is one line and says the way out."""


def carry_out(name, run, seed, out, *, fresh=False, progress=True, engine=None):
    """Train, or go on training, the run in the folder ``out``.

    Parameters
    ----------
    name : str
        What to call it in the result.
    run : mhc_np.lab.runs.Run
    seed : int
    out : path
        Folder for ``checkpoint.npz`` and ``result.json``, and for ``snapshots/step-N.npz`` if the recipe keeps some.
    fresh : bool
        Start over: remove what the folder holds of this kind.
    engine : Engine, optional
        What computes instead of NumPy. Where its ``fit`` returns None, another process has the result, and so do we.

    Returns
    -------
    dict
        The result, as saved: ``run``, ``seed``, ``params`` (their number), ``steps``, ``seconds``, ``metrics``,
        ``config``, ``curves``, ``by_position``, what `mhc_np.lab.extras` adds for the task, ``versions``, ``commit``.

    Raises
    ------
    UsageError
        If the folder holds the result of another run, or task and model do not fit together.
    CheckpointError
        If the folder's checkpoint is damaged or another run's.
    """
    if problem := run.misfit():
        raise UsageError(f"{name}: {problem}")
    out = Path(out)
    config = results.plain({"name": name, "seed": seed, **run.described()})
    if fresh:
        for file in ("checkpoint.npz", "result.json"):
            (out / file).unlink(missing_ok=True)
        shutil.rmtree(out / "snapshots", ignore_errors=True)
    if (out / "result.json").exists():
        saved = results.load(out / "result.json", results.TRAINING)
        if saved["config"] != config:
            raise UsageError(f"{out / 'result.json'}: is of another run; give --out another folder, or --fresh")
        return saved

    task, task_config = TASKS[run.task], run.task_config()
    model, model_config, recipe = MODELS[run.model], run.model_config(), run.training
    engine = engine or Engine(model.logits, cross_entropy, model.logits, fit, {})
    init_seed, data_seed, look_seed = np.random.SeedSequence(seed).spawn(3)
    init_rng, data_rng, look_rng = (np.random.default_rng(s) for s in (init_seed, data_seed, look_seed))
    draw = source(run, data_rng)
    held_out = task.sample(task_config, look_rng, recipe.num_sequences)
    exact = task.posterior(task_config, held_out)

    def sample(rng):
        batch = draw(rng)
        return batch._replace(targets=task.posterior(task_config, batch)) if recipe.targets == "soft" else batch

    def loss(params, batch):
        logits = engine.logits(params, model_config, inputs=batch.inputs)
        return engine.cross_entropy(logits, targets=batch.targets, mask=batch.mask)

    def predict(params, batch, chunk=256):
        """Return probabilities (B, T, num_outputs), a slice of the batch at a time."""
        parts = [
            engine.forward(params, model_config, inputs=batch.inputs[start : start + chunk])
            for start in range(0, len(batch.inputs), chunk)
        ]
        return calibration.probabilities(np.concatenate(parts))

    def measures(predicted):
        found = calibration.summary(exact, predicted)._asdict()
        if run.task == "recall":  # the answer is certain, so how often it is right says more than bits
            found["accuracy"] = labels.accuracy(exact, predicted, held_out.targets)
        return found

    def look(params, step):
        return measures(predict(params, held_out))

    trained = engine.fit(
        loss,
        model.init(model_config, init_rng),
        sample,
        optimizer(recipe),
        num_steps=recipe.num_steps,
        rng=data_rng,
        schedule=partial(warmup_cosine, num_steps=recipe.num_steps, warmup=round(recipe.warmup * recipe.num_steps)),
        average=recipe.average,
        evaluate=look,
        eval_steps=log_spaced_steps(recipe.num_steps, recipe.num_evaluations),
        snapshot=lambda params, step: save(out / "snapshots" / f"step-{step}.npz", params, {"step": step}),
        snapshot_steps=log_spaced_steps(recipe.num_steps, recipe.num_snapshots) if recipe.num_snapshots else (),
        checkpoint=out / "checkpoint.npz",
        checkpoint_every=CHECKPOINT_EVERY,
        record_every=max(1, recipe.num_steps // 250),
        identity=config,
        progress=progress,
    )
    if trained is None:
        return None
    predicted = predict(trained.averaged, held_out)
    finished = extras.Finished(
        config=task_config,
        predict=partial(predict, trained.averaged),
        held_out=held_out,
        exact=exact,
        predicted=predicted,
        seen=first_seen(run, data_seed),
        reads_on=getattr(model_config, "reads_on", True),
    )
    result = {
        "run": name,
        "seed": seed,
        "params": sum(leaf.size for leaf in flatten(trained.params).values()),
        "steps": recipe.num_steps,
        "seconds": round(trained.seconds, 2),
        "metrics": {
            **measures(predicted),
            "expected_calibration_error": calibration.expected_calibration_error(
                predicted[held_out.mask], held_out.targets[held_out.mask]
            ),
        },
        "config": config,
        "curves": results.plain(trained.history),
        "by_position": _by_position(exact, predicted),
        **extras.of(run.task, finished, look_rng),
        **results.provenance(),
        **engine.about,
        "finished": time.strftime("%Y-%m-%d"),
    }
    results.save(out / "result.json", result)
    return json.loads(json.dumps(results.plain(result)))


def source(run, rng):
    """Return ``draw(rng) -> Batch`` for training: new sequences each time, or the recipe's few secrets again."""
    task, config, recipe = TASKS[run.task], run.task_config(), run.training
    if not recipe.num_reused:
        return lambda rng: task.sample(config, rng, recipe.batch_size)
    secrets = task.draw_bijections(config, rng, recipe.num_reused)
    return lambda rng: task.present(config, rng, secrets[rng.integers(len(secrets), size=recipe.batch_size)])


def first_seen(run, seed):
    """Draw the first sequences of training once more: as many as a look takes."""
    rng = np.random.default_rng(seed)
    draw = source(run, rng)
    batches = [draw(rng) for _ in range(-(-run.training.num_sequences // run.training.batch_size))]
    return Batch(*(np.concatenate(parts) for parts in zip(*batches, strict=True)))


def optimizer(recipe):
    """Build the optimiser that a recipe names."""
    adamw = AdamW(recipe.learning_rate, (0.9, recipe.beta_2), weight_decay=recipe.weight_decay)
    return adamw if recipe.optimizer == "adamw" else Muon(recipe.matrix_rate, rest=adamw)


def _by_position(exact, predicted):
    """Mean entropy and divergence at each supervised position, in bits."""
    supervised = ~np.isnan(exact[..., 0]).all(axis=0)
    exact, predicted = exact[:, supervised], predicted[:, supervised]
    p, q = calibration.entropy_bits(exact), calibration.entropy_bits(predicted)
    return {
        "position": np.flatnonzero(supervised),
        "exact_entropy_bits": np.nanmean(p, axis=0),
        "model_entropy_bits": np.nanmean(np.where(np.isnan(p), np.nan, q), axis=0),
        "entropy_mae_bits": np.nanmean(np.abs(q - p), axis=0),
        "kl_bits": np.nanmean(calibration.kl_bits(exact, predicted), axis=0),
    }
