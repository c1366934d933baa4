"""The training loop: sample, differentiate, clip, step; stop at any moment and go on to the same bits.

Chapter: chapters/04_training.md      Tests: tests/test_learn_loop.py
Symbols: theta -> params, average of theta -> averaged, t -> step (updates done: 0 … num_steps)
"""

from math import isfinite
from time import perf_counter

import numpy as np
from tqdm import tqdm

from mhc_np.autodiff import keep_heap, tree_map, value_and_grad
from mhc_np.learn.clipping import clip_by_global_norm
from mhc_np.learn.run import begin
from mhc_np.learn.schedules import constant
from mhc_np.learn.shards import sharded


def fit(
    loss,
    params,
    sample,
    optimizer,
    *,
    num_steps,
    rng,
    schedule=constant,
    clip_norm=1.0,
    average=0.0,
    evaluate=None,
    eval_steps=(),
    snapshot=None,
    snapshot_steps=(),
    checkpoint=None,
    checkpoint_every=200,
    identity=None,
    record_every=None,
    num_shards=1,
    num_workers=None,
    on_divergence="raise",
    progress=True,
):
    """Train.

    Parameters
    ----------
    loss : callable
        ``loss(params, batch) -> scalar`` in nats, a mean over supervised positions.
    params : nested dict of arrays
        Where to start. Left as they are.
    sample : callable
        ``sample(rng) -> batch``. All its randomness must come from ``rng``, else a resumed run sees other batches.
    optimizer : AdamW, Muon, …
        Anything with ``init`` and ``update``.
    num_steps : int
        Number of updates.
    rng : np.random.Generator
        Feeds ``sample``; a resumed run sets it to where the interrupted one was.
    schedule : callable
        ``schedule(step) -> factor`` on the peak rates.
    clip_norm : float or None
        Largest global norm of a gradient.
    average : float
        Decay of the running average of the parameters; 0 turns it off. It is a true weighted mean from the first
        step on, with weights ``average**age``, so early averages are not pulled towards the start.
    evaluate, snapshot : callable, optional
        ``evaluate(params, step) -> {name: number}`` and ``snapshot(params, step)``, called when ``step`` updates are
        done and ``step`` is in ``eval_steps`` or ``snapshot_steps``. They see the averaged parameters if there are any.
        They must not draw from ``rng``, and a resumed run may call them a second time with the same arguments.
        A snapshot writer is one line: ``lambda params, step: save(f"{folder}/{step}.npz", params, {"step": step})``.
    checkpoint : str or Path, optional
        File to write every ``checkpoint_every`` steps and at the end, and to go on from if it is there.
    identity : dict, optional
        What else tells this run from others (task, model, seed), as JSON holds it. Optimiser, lengths, schedule,
        starting parameters and generator are compared in any case.
    record_every : int, optional
        Thins the history of losses; by default to at most a thousand entries. 1 keeps them all.
    num_shards, num_workers : int, optional
        Parts of a batch, and how many are worked on at once; see `sharded`. Another number of parts rounds otherwise;
        another number of workers changes no bit.
    on_divergence : {"raise", "stop"}
        When the loss or its gradient is not finite: raise, or return what there is, with ``diverged_at`` set.
    progress : bool
        Show a bar with the loss and the time left.

    Returns
    -------
    Fit
        Last and averaged parameters, optimiser state, history, seconds; see there.

    Raises
    ------
    FloatingPointError
        If training diverges and ``on_divergence`` is "raise".
    CheckpointError
        If the checkpoint is damaged, or belongs to another run.

    Examples
    --------
    Pull one number to 3 by the square of its distance:

    >>> from mhc_np.learn import AdamW
    >>> result = fit(
    ...     lambda params, batch: (params["gain"] - batch) ** 2, {"gain": np.array(0.0)}, lambda rng: 3.0,
    ...     AdamW(learning_rate=0.1), num_steps=200, rng=np.random.default_rng(0), progress=False,
    ... )
    >>> round(float(result.params["gain"]), 2), float(result.history["loss_nats"][0])
    (3.0, 9.0)
    """
    if on_divergence not in ("raise", "stop"):
        raise ValueError(f'fit: want on_divergence "raise" or "stop", got {on_divergence!r}')
    keep_heap()  # what one step frees, the next one takes
    record_every = record_every or -(-num_steps // 1000) or 1
    compute = value_and_grad(loss)
    compute = sharded(compute, num_shards, num_workers) if num_shards > 1 else compute
    looked_at = {"eval_steps": sorted(eval_steps), "snapshot_steps": sorted(snapshot_steps)}
    for name, steps in looked_at.items():
        if steps and not 0 <= steps[0] <= steps[-1] <= num_steps:
            raise ValueError(f"fit: want {name} in 0 … {num_steps}, got {steps[0]} … {steps[-1]}")
    run = begin(
        params,
        optimizer,
        rng,
        given=identity,
        num_steps=num_steps,
        schedule=schedule,
        clip_norm=clip_norm,
        average=average,
        record_every=record_every,
        num_shards=num_shards,
        **looked_at,
    )
    resumed = checkpoint is not None and run.resume(checkpoint)
    if run.diverged_at is not None and on_divergence == "raise":
        raise FloatingPointError(f"fit: the run in {checkpoint} diverged after {run.diverged_at} updates")
    started = perf_counter() - run.seconds

    def look():
        """Call evaluate and snapshot if it is their time, on arrays that nothing will change later."""
        shown = tree_map(np.array, run.averaged) if run.averaged else run.params
        if evaluate is not None and run.step in looked_at["eval_steps"]:
            run.record("evaluations", step=run.step, **evaluate(shown, run.step))
        if snapshot is not None and run.step in looked_at["snapshot_steps"]:
            snapshot(shown, run.step)

    def write():
        run.seconds = perf_counter() - started
        if checkpoint is not None:
            run.save(checkpoint)

    if not resumed:
        look()
    with tqdm(total=num_steps, initial=run.step, disable=not progress, unit="step") as bar:
        while run.step < num_steps and run.diverged_at is None:
            batch = sample(rng)
            try:
                # Overflow on the way is no news: what counts is whether loss and gradient came out finite.
                with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                    value, grads = compute(run.params, batch)
                if not isfinite(value):
                    raise FloatingPointError(
                        f"fit: want a finite loss, got {value} after {run.step} updates; "
                        "lower the learning rate or lengthen the warm-up"
                    )
                grads, norm = clip_by_global_norm(grads, clip_norm)
            except FloatingPointError:
                if on_divergence == "raise":
                    raise
                run.diverged_at = run.step
                write()
                break
            factor = schedule(run.step)
            if run.step % record_every == 0:
                run.record("steps", step=run.step, loss_nats=float(value), grad_norm=norm, factor=factor)
            run.advance(*optimizer.update(run.params, grads, run.state, factor), average)
            look()
            if run.step % checkpoint_every == 0 or run.step == num_steps:
                write()
            bar.set_postfix_str(f"loss {value:.4f}", refresh=False)
            bar.update()
    return run.result()
