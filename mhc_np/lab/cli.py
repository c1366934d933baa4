"""The commands of ``python -m mhc_np``: argument parsing and printing, nothing else.

Chapter: chapters/04_training.md      Tests: tests/test_cli.py
"""

import argparse
import json
import sys
from pathlib import Path

from mhc_np.lab import em_command, geometry_command, golden, inventory, ledger, results
from mhc_np.lab.cases import CASES
from mhc_np.lab.em_runs import EM_RUNS
from mhc_np.lab.experiment import UsageError, carry_out
from mhc_np.lab.geometry_runs import NAMES
from mhc_np.lab.grid_command import run_grid
from mhc_np.lab.grids import GRIDS
from mhc_np.lab.runs import RUNS
from mhc_np.lab.settings import find_run, folder_of, is_as_named, with_settings
from mhc_np.learn import CheckpointError


class CheckFailed(Exception):
    """Something that was checked is wrong."""


def main(argv=None):
    """Run one command; return the exit code: 0, 1 if a check failed, or 2 for what cannot be carried out."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    try:
        arguments.command(arguments)
    except CheckFailed:
        return 1  # what is wrong has been said
    except (UsageError, CheckpointError, results.ResultError, FloatingPointError, OSError) as error:
        print(f"mhc_np: {error}", file=sys.stderr)
        return 2
    return 0


def _parser():
    parser = argparse.ArgumentParser(prog="python -m mhc_np", description="Train, show and check the book's runs.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name, function, about):
        sub = commands.add_parser(name, help=about, description=about)
        sub.set_defaults(command=function)
        return sub

    command("list", list_runs, "name every run")
    run = command("run", run_one, "carry out a named run, or go on with it")
    run.add_argument("name", help="see the list")
    run.add_argument("--seed", type=int, default=0)
    run.add_argument("--out", type=Path, help="folder of the run (default: runs/NAME/seed-SEED)")
    run.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="e.g. training.num_steps=100")
    run.add_argument("--fresh", action="store_true", help="start over")
    run.add_argument("--keep", action="store_true", help="copy the result to chapters/results, for the book")
    run.add_argument("--json", action="store_true", help="end with one line of JSON")
    show = command("show", show_run, "print the saved results of a run")
    show.add_argument("name", help="a run, or the folder of one")
    show.add_argument("--figure", type=Path, help="draw the results into this file")
    check = command("check", check_all, "check every gradient three ways, or another implementation's numbers")
    check.add_argument("file", nargs="?", type=Path, help=".npz or .json, as mhc_np.lab.golden describes")
    check.add_argument("--write-golden", type=Path, metavar="FILE", help="write the golden vectors to a file, and stop")
    bench = command("bench", bench_one, "time ours beside eager PyTorch, where that is installed")
    bench.add_argument(
        "name",
        choices=["step", "rules", "sinkhorn", "connections", "arms"],
        help="one training step at three sizes; what makes it fast; Sinkhorn alone; a step on wide streams; the main "
        "grid's arms",
    )
    bench.add_argument("--keep", action="store_true", help="save the result to chapters/results, for the book")
    grid = command("grid", run_grid, "run a grid of cells, or go on with it")
    grid.add_argument("name", help=", ".join(GRIDS))
    grid.add_argument("--dry-run", action="store_true", help="say what it has, and what is left will take")
    grid.add_argument("--workers", type=int, default=1, help="processes on this machine")
    grid.add_argument("--scheduler", metavar="tcp://HOST:PORT", help="run on a Dask cluster instead")
    grid.add_argument("--out", type=Path, help="folder of the results (default: runs/grid-NAME)")
    grid.add_argument("--keep", action="store_true", help="results go to chapters/results, for the book")
    grid.add_argument("--figure", type=Path, metavar="FILE", help="when done, draw gain and error against the rate")
    grid.add_argument("--verify", type=int, metavar="N", help="run N kept cells again, aside, and compare to the bit")
    judge = command("ledger", ledger.command, "judge every claim of the book by its rule, from the saved results")
    judge.add_argument("--json", type=Path, metavar="FILE", help="write verdicts, words and numbers to a file")
    judge.add_argument("--readme", action="store_true", help="put the table into README.md")
    kept = command("kept", inventory.command, "list what the book keeps, each with its command; or make one run again")
    kept.add_argument("name", nargs="?", help="a named run: train it again, aside, and compare to the last bit kept")
    kept.add_argument("--seed", type=int, default=0)
    return parser


def list_runs(arguments):
    """Print every run with what it is."""
    about = {name: run.about for name, run in {**RUNS, **EM_RUNS}.items()}
    for name, words in (about | geometry_command.ABOUT).items():
        print(f"{name:24} {words}")


def run_one(arguments):
    """Carry out a run and print its numbers."""
    if arguments.name in EM_RUNS:
        em_command.run(arguments)
        return
    if arguments.name in NAMES and not (arguments.set and arguments.name in RUNS):  # with --set: training alone
        geometry_command.run(arguments)
        return
    run = with_settings(find_run(arguments.name), arguments.set)
    out = arguments.out or folder_of(arguments.name, arguments.seed, arguments.set)
    if arguments.seed < 0:
        raise UsageError(f"want a seed that is not negative, got {arguments.seed}")
    if arguments.keep and arguments.set:
        raise UsageError(
            "--keep is for runs as they are named: leave out --set, or give the variant a name in lab/runs"
        )
    result = carry_out(arguments.name, run, arguments.seed, out, fresh=arguments.fresh)
    if arguments.keep:
        results.save(results.KEPT / arguments.name / f"seed-{arguments.seed}.json", result)
    print_table([(out / "result.json", result)])
    if arguments.json:
        print(json.dumps({key: result[key] for key in ("run", "seed", "params", "steps", "seconds", "metrics")}))


def show_run(arguments):
    """Print a run's saved results, a line a seed; those of EM and of looks inside a column a seed."""
    for names, command in ((EM_RUNS, em_command), (NAMES, geometry_command)):
        if arguments.name in names:
            command.show(arguments)
            return
    folder = Path(arguments.name)
    if arguments.name not in RUNS and folder.is_dir():
        found = [results.of_folder(folder)]
    else:
        find_run(arguments.name)
        found = results.find(arguments.name)
    if not found:
        raise UsageError(f"no saved results of {arguments.name!r}; make one: python -m mhc_np run {arguments.name}")
    print_table(found)
    if arguments.figure:
        from mhc_np.lab.plots_runs import draw_results

        as_named = [result for _, result in found if folder.is_dir() or is_as_named(result)]
        if not as_named:
            raise UsageError(f"no saved results of {arguments.name!r} as it is named; all were made with --set")
        draw_results(as_named, arguments.figure)
        print(f"drawn: {arguments.figure}")


def check_all(arguments):
    """Check, and say in words what is right and what is not."""
    if arguments.write_golden:
        golden.write_golden(arguments.write_golden)
        print(f"written: {arguments.write_golden}")
        return
    if arguments.file:
        try:
            report = golden.check_file(arguments.file)
        except (OSError, ValueError) as error:
            raise UsageError(str(error)) from error
        print(report)
        passed = bool(report)
    else:
        verdicts = {case.name: case.check() for case in CASES}
        for name, verdict in verdicts.items():
            print(f"{name:26} {verdict}")
        passed = all(verdicts.values())
    if not passed:
        raise CheckFailed("not all is right")


def bench_one(arguments):
    """Time and print."""
    from mhc_np.lab import bench, bench_arms, bench_connections, bench_rules, bench_sinkhorn

    measure, report = {
        "step": (bench.bench_step, bench.report),
        "rules": (bench_rules.bench_rules, bench_rules.report),
        "sinkhorn": (bench_sinkhorn.bench, bench_sinkhorn.report),
        "connections": (bench_connections.bench_connections, bench_connections.report),
        "arms": (bench_arms.bench_arms, bench_arms.report),
    }[arguments.name]
    result = measure()
    print(report(result))
    if arguments.keep:
        results.save(results.KEPT / "bench" / f"{arguments.name}.json", result)


def print_table(found):
    """Print a line a result, of a list of (path, result)."""
    print(f"{'seed':>4} {'params':>8} {'steps':>7} {'seconds':>8} {'MAE bits':>9} {'KL bits':>9}  file")
    for path, result in found:
        metrics = result["metrics"]
        path = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
        print(
            f"{result['seed']:4} {result['params']:8,} {result['steps']:7,} {result['seconds']:8.1f} "
            f"{metrics['entropy_mae_bits']:9.2g} {metrics['kl_bits']:9.2g}  {path}"
        )
