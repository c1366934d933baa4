"""``python -m mhc_np.torch_twin train NAME``, alone or under torchrun: a named run in PyTorch; and ``verify``."""

import argparse
import os
import signal
import sys
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import torch  # noqa: E402
from torch import distributed  # noqa: E402

from mhc_np.lab import results  # noqa: E402
from mhc_np.lab.cli import print_table  # noqa: E402
from mhc_np.lab.experiment import UsageError, carry_out  # noqa: E402
from mhc_np.lab.settings import find_run, folder_of, with_settings  # noqa: E402
from mhc_np.learn import CheckpointError  # noqa: E402
from mhc_np.torch_twin import verify  # noqa: E402
from mhc_np.torch_twin.train import ProcessLost, Terminated, World, engine_for  # noqa: E402


def main(argv=None):
    """Train; return the exit code: 0, 2 for what cannot be carried out, or 3 if another process was lost."""
    arguments = _parser().parse_args(argv)
    try:
        world = enter(arguments.device)
        arguments.command(arguments, world)
    except ProcessLost as error:
        print(f"mhc_np.torch_twin: {error}", file=sys.stderr, flush=True)
        os._exit(3)  # threads of the lost connection may wait for ever
    except (UsageError, ValueError, CheckpointError, results.ResultError, FloatingPointError, OSError) as error:
        print(f"mhc_np.torch_twin: {error}", file=sys.stderr, flush=True)
        return 2
    if world.size > 1:
        distributed.destroy_process_group()
    return 0


def _parser():
    parser = argparse.ArgumentParser(prog="python -m mhc_np.torch_twin", description="Train a named run in PyTorch.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    sub = commands.add_parser("train", help="carry out a named run, or go on with it")
    sub.add_argument("name", help="see python -m mhc_np list")
    sub.add_argument("--steps", type=int, help="short for --set training.num_steps=STEPS")
    sub.add_argument("--seed", type=int, default=0)
    sub.add_argument("--out", type=Path, help="folder of the run (default: runs/NAME/seed-SEED)")
    sub.add_argument("--device", choices=["cpu", "cuda"], help="default: a GPU if there is one")
    sub.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="e.g. model.scheme=mhc")
    sub.add_argument("--fresh", action="store_true", help="start over")
    sub.add_argument("--checkpoint-every", type=int, default=200, metavar="STEPS")
    sub.set_defaults(command=train)
    check = commands.add_parser("verify", help="measure how far NumPy and PyTorch are apart")
    check.add_argument("--keep", action="store_true", help="save the table to chapters/results, for the book")
    check.set_defaults(command=measure_all, device="cpu")
    return parser


def enter(device=None):
    """Join the other processes of this run, if torchrun has started any."""
    told = {"RANK": 0, "WORLD_SIZE": 1, "LOCAL_RANK": 0} | os.environ
    rank, size, local = (int(told[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"))
    count = torch.cuda.device_count()
    device = device or ("cuda" if count else "cpu")
    if device == "cuda" and local >= count:
        raise UsageError(f"want a GPU for process {local}, got {count} in this machine; give --device cpu")
    if device == "cuda":
        device = f"cuda:{local}"
        torch.cuda.set_device(local)
    if size > 1:
        if size == int(os.environ.get("LOCAL_WORLD_SIZE", 0)) and sys.platform == "linux":
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # all are on this machine: talk to no other
        signal.signal(signal.SIGTERM, _stop)
        distributed.init_process_group("gloo" if device == "cpu" else "nccl")
    return World(rank, size, device)


def train(arguments, world):
    """Carry out the run, and print its line."""
    assignments = [*arguments.set, *([f"training.num_steps={arguments.steps}"] if arguments.steps is not None else [])]
    run = with_settings(find_run(arguments.name), assignments)
    if arguments.seed < 0 or arguments.checkpoint_every < 1:
        raise UsageError("want a seed that is not negative, and at least one step between checkpoints")
    if run.model != "transformer" or run.training.optimizer != "adamw":
        raise UsageError(f"{arguments.name}: the twin trains Transformers with AdamW; use python -m mhc_np run")
    if run.training.batch_size < world.size:
        raise UsageError(f"want a sequence for each of {world.size} processes, got {run.training.batch_size}")
    out = arguments.out or folder_of(arguments.name, arguments.seed, assignments)
    engine = engine_for(world, checkpoint_every=arguments.checkpoint_every)
    result = carry_out(arguments.name, run, arguments.seed, out, fresh=arguments.fresh, engine=engine)
    if result and world.rank == 0:
        print_table([(out / "result.json", result)])


def measure_all(arguments, world):
    """Print the worst difference of each kind, and keep all."""
    torch.set_num_threads(1)
    table = verify.measure()
    for kind, rows in table.items():
        for dtype in dict.fromkeys(row.get("dtype", "") for row in rows):
            worst = max(
                value
                for row in rows
                for value in row.values()
                if isinstance(value, float) and row.get("dtype", "") == dtype
            )
            print(f"{kind:10} {dtype:8} worst {worst:.1e}")
    if arguments.keep:
        packages = {name: version(name) for name in ("torch", "numpy")}
        results.save(
            results.KEPT / "twin" / "verify.json",
            {"run": "verify", **table, "packages": packages, **results.provenance()},
        )


def _stop(number, frame):
    raise Terminated


if __name__ == "__main__":
    sys.exit(main())
