"""Train a named run in PyTorch, on one process or several, and leave what the NumPy run leaves.

Chapter: chapters/04_training.md      Tests: tests/test_torch_twin_train.py
Symbols: theta, all parameters -> theta (N,), AdamW's sums -> m, v (N,)

Every process draws the whole batch from the same generator and takes its own part of it, so that their number changes
nothing but rounding. Checkpoints are those of `mhc_np.learn`: a run may begin here and go on in NumPy, or the reverse.
"""

from math import isfinite, sqrt
from time import perf_counter
from typing import NamedTuple

import numpy as np
import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel
from tqdm import tqdm

from mhc_np.autodiff import flatten
from mhc_np.lab.engine import Engine
from mhc_np.learn import AdamW, decays
from mhc_np.learn.run import begin
from mhc_np.learn.shards import num_supervised, split
from mhc_np.learn.vector import pack, rebuild, unpack
from mhc_np.torch_twin import model


class Terminated(BaseException):
    """The launcher asks this process to stop."""


class ProcessLost(RuntimeError):
    """Another process of the run is gone; the message says what is left."""


class World(NamedTuple):
    """A process among ``size``, and the device that it computes on."""

    rank: int = 0
    size: int = 1
    device: str = "cpu"


class Network(torch.nn.Module):
    """One parameter, the vector of all, in the order of `mhc_np.learn.AdamW`: what decays stands first."""

    def __init__(self, params, loss, device):
        super().__init__()
        self.like, self.loss, self.leaves = params, loss, flatten(params)
        self.paths = sorted(self.leaves, key=lambda path: (not decays(path), path))
        self.num_decayed = sum(self.leaves[path].size for path in self.paths if decays(path))
        self.theta = torch.nn.Parameter(torch.tensor(pack(self.leaves, self.paths), device=device))

    def forward(self, batch):
        """Return the mean loss of a part of the batch."""
        return self.loss(self.tree(self.theta), batch)

    def tree(self, vector):
        """Cut a vector, of either library, into the nested dict of parameters."""
        return rebuild(_cut(vector, self.leaves, self.paths), self.like)


def engine_for(world, **settings):
    """Return an `Engine` that trains in this world; only its first process has a result."""

    def forward(params, config, *, inputs):
        with torch.no_grad():
            tensors = model.to_torch(params, world.device)
            return model.logits(tensors, config, inputs=inputs).cpu().numpy()

    about = {"engine": {"torch": torch.__version__, "device": world.device, "processes": world.size}}

    def fit_here(*args, **kwargs):
        return fit(*args, **{**kwargs, **settings}, world=world)

    return Engine(model.logits, model.cross_entropy, forward, fit_here, about)


def fit(
    loss, params, sample, optimizer, *, num_steps, rng, schedule, average, evaluate, eval_steps, snapshot,
    snapshot_steps, checkpoint, checkpoint_every, record_every, identity, progress, world, clip_norm=1.0,
):  # fmt: skip
    """Train as `mhc_np.learn.fit` does, on tensors; return None on all processes but the first."""
    if not isinstance(optimizer, AdamW):
        raise ValueError(f"torch_twin: want AdamW, got {type(optimizer).__name__}; set training.optimizer=adamw")
    looked_at = {"eval_steps": sorted(eval_steps), "snapshot_steps": sorted(snapshot_steps)}
    told = {"clip_norm": clip_norm, "record_every": record_every, "num_shards": 1, **looked_at}
    run = begin(
        params, optimizer, rng, given=identity, num_steps=num_steps, schedule=schedule, average=average, **told
    )
    resumed, saved = run.resume(checkpoint), run.step
    network = Network(run.params, loss, world.device)
    m, v = (torch.tensor(run.state[name], device=world.device) for name in "mv")
    mean = torch.tensor(pack(flatten(run.averaged), network.paths), device=world.device) if average else None
    whole = network
    if world.size > 1:
        _require_same_step(run.step, world)
        whole = DistributedDataParallel(network, device_ids=[world.device] if world.device != "cpu" else None)
    started = perf_counter() - run.seconds

    def bring_home():
        """Make arrays of the tensors."""
        theta, *sums = (x.detach().cpu().numpy().copy() for x in (network.theta, m, v))
        run.params, run.state = network.tree(theta), {"step": np.array(run.step, np.int64), "m": sums[0], "v": sums[1]}
        run.averaged = network.tree(mean.cpu().numpy().copy()) if average else {}

    def look():
        due = {name: world.rank == 0 and run.step in steps for name, steps in looked_at.items()}
        if any(due.values()):
            bring_home()
        if due["eval_steps"]:
            run.record("evaluations", step=run.step, **evaluate(run.averaged or run.params, run.step))
        if due["snapshot_steps"]:
            snapshot(run.averaged or run.params, run.step)

    if not resumed:
        look()
    try:
        with tqdm(total=num_steps, initial=run.step, disable=not progress or world.rank > 0, unit="step") as bar:
            while run.step < num_steps:
                value, g = _gradient(whole, network.theta, sample(rng), world)
                norm = torch.linalg.vector_norm(g, dtype=torch.float64).item()
                if not isfinite(value) or not isfinite(norm):
                    raise FloatingPointError(
                        f"torch_twin: want a finite loss and gradient, got {value} and {norm} after {run.step} "
                        "updates; lower the learning rate or lengthen the warm-up"
                    )
                factor = schedule(run.step)
                if run.step % record_every == 0:
                    run.record("steps", step=run.step, loss_nats=value, grad_norm=norm, factor=factor)
                g *= min(1.0, clip_norm / norm) if norm > 0 else 1.0
                run.step += 1
                adamw_step(network, g, m, v, run.step, optimizer, factor)
                if average:
                    mean.lerp_(network.theta.detach(), (1 - average) / (1 - average**run.step))
                look()
                if run.step % checkpoint_every == 0 or run.step == num_steps:
                    if world.rank == 0:
                        bring_home()
                        run.seconds = perf_counter() - started
                        run.save(checkpoint)
                    saved = run.step
                bar.set_postfix_str(f"loss {value:.4f}", refresh=False)
                bar.update()
    except (RuntimeError, Terminated) as error:
        if world.size == 1 or isinstance(error, RuntimeError) and not _speaks_of_the_others(error):
            raise
        raise ProcessLost(
            f"process {world.rank} of {world.size}: another one is lost after {run.step} updates; {checkpoint} holds "
            f"{saved} of {num_steps}, and the same command goes on from there"
        ) from error
    return run.result() if world.rank == 0 else None


@torch.no_grad()
def adamw_step(network, g, m, v, step, settings, factor):
    """Move theta by the mean gradient over the root of the mean square, and shrink what decays; in place."""
    (beta_1, beta_2), rate, theta = settings.betas, settings.learning_rate * factor, network.theta
    m.mul_(beta_1).add_(g)
    v.mul_(beta_2).addcmul_(g, g)
    mean = m * ((1 - beta_1) / (1 - beta_1**step))
    size = v.sqrt() * sqrt((1 - beta_2) / (1 - beta_2**step)) + settings.eps
    theta[: network.num_decayed] *= 1 - rate * settings.weight_decay
    theta -= rate * mean / size


def _gradient(whole, theta, batch, world):
    """Return loss and gradient of the whole batch, of which every process computes its part."""
    theta.grad = None
    part = split(batch, world.size)[world.rank] if world.size > 1 else batch
    share = num_supervised(part) / num_supervised(batch)
    loss = whole(part) * share
    (loss * world.size).backward()  # the processes' gradients are averaged, and ours is their sum
    value = loss.detach()
    if world.size > 1:
        distributed.all_reduce(value)
    return value.item(), theta.grad


def _cut(vector, leaves, paths):
    if isinstance(vector, np.ndarray):
        return unpack(vector, leaves, paths)
    parts = vector.split([leaves[path].size for path in paths])
    return {path: part.view(leaves[path].shape) for path, part in zip(paths, parts, strict=True)}


def _require_same_step(step, world):
    """Refuse to go on where one process has found the checkpoint and another has not."""
    steps = torch.tensor([step, -step], device=world.device)
    distributed.all_reduce(steps, op=distributed.ReduceOp.MAX)
    if steps[0] != -steps[1]:
        raise ValueError("torch_twin: want all processes to see one folder, got different checkpoints in it")


def _speaks_of_the_others(error):
    return isinstance(error, distributed.DistError) or any(word in str(error).lower() for word in ("gloo", "nccl"))
