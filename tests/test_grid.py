"""The grid runner: nothing run twice, nothing lost, damage found, failures told, workers that die replaced."""

import json
import os
import signal
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

import pytest

from mhc_np.lab import executors, grid
from mhc_np.lab.cell_runs import carry_out
from mhc_np.lab.cells import Cell
from mhc_np.lab.cli import main
from mhc_np.lab.experiment import UsageError

TINY = {"width": 8, "depth": 1, "num_steps": 3, "batch_size": 2, "look_every": 1, "task_settings": {"num_symbols": 3}}


@dataclass(frozen=True)
class Toy:
    number: int

    @property
    def name(self):
        return f"toy-{self.number}"

    def described(self):
        return {"number": self.number}


class Counted:
    """A computation that counts how often each cell was run."""

    def __init__(self, wrong=()):
        self.runs, self.wrong = [], wrong

    def __call__(self, cell):
        self.runs.append(cell.number)
        if cell.number in self.wrong:
            raise RuntimeError("no such number")
        return {"cell": cell.described(), "square": cell.number**2, "made": {"seconds": 1.0}}


def run(cells, compute, folder, **options):
    lines = []
    options = {"at_once": 2, "progress": False, "say": lines.append, **options}
    failed = grid.run(cells, compute, folder, options.pop("make", lambda: ThreadPoolExecutor(2)), **options)
    return failed, lines


def test_every_cell_is_run_once_and_saved(tmp_path):
    cells, compute = [Toy(number) for number in range(7)], Counted()
    assert run(cells, compute, tmp_path) == ([], [])
    assert sorted(compute.runs) == list(range(7))
    found, damaged = grid.load(tmp_path, cells)
    assert [found[cell.name]["square"] for cell in cells] == [0, 1, 4, 9, 16, 25, 36]
    assert damaged == []
    assert run(cells, compute, tmp_path) == ([], [])
    assert len(compute.runs) == 7


def test_a_damaged_file_is_told_of_and_made_again(tmp_path):
    cells, compute = [Toy(number) for number in range(3)], Counted()
    run(cells, compute, tmp_path)
    path = grid.path_of(tmp_path, cells[1])
    path.write_text(path.read_text()[:20])
    failed, lines = run(cells, compute, tmp_path)
    assert failed == []
    assert len(lines) == 1
    assert "toy-1.json: not a saved result" in lines[0]
    assert "the cell is run again" in lines[0]
    assert compute.runs.count(1) == 2
    assert json.loads(path.read_text())["square"] == 1


def test_another_cell_of_that_name_is_refused(tmp_path):
    run([Toy(3)], Counted(), tmp_path)
    path = grid.path_of(tmp_path, Toy(3))
    path.write_text(path.read_text().replace('"number": 3', '"number": 4'))
    with pytest.raises(UsageError, match=r"toy-3.json: holds a cell with other settings; move it away"):
        run([Toy(3)], Counted(), tmp_path)


def test_a_cell_s_own_error_stops_no_other_and_can_be_tried_again(tmp_path):
    cells = [Toy(number) for number in range(5)]
    failed, lines = run(cells, Counted(wrong=[2]), tmp_path)
    assert failed == lines == ["toy-2: RuntimeError: no such number"]
    assert len(list(tmp_path.glob("*.json"))) == 4
    again = Counted()
    assert run(cells, again, tmp_path)[0] == []
    assert again.runs == [2]


class Breaking(ThreadPoolExecutor):
    """A pool that does some cells and then has lost a worker: all that is pending fails."""

    def __init__(self, survives):
        super().__init__(1)
        self.survives = survives

    def submit(self, function, *arguments):
        if self.survives == 0:
            future = Future()
            future.set_exception(BrokenProcessPool("a process was terminated abruptly"))
            return future
        self.survives -= 1
        return super().submit(function, *arguments)


def test_a_broken_pool_is_set_up_again_and_loses_nothing(tmp_path):
    cells, compute, pools = [Toy(number) for number in range(6)], Counted(), [Breaking(2), Breaking(3), Breaking(9)]
    failed, lines = run(cells, compute, tmp_path, make=lambda: pools.pop(0))
    assert failed == []
    assert lines == ["a worker died; its cells are run again"] * 2
    assert sorted(compute.runs) == list(range(6))
    assert len(list(tmp_path.glob("*.json"))) == 6


def test_a_pool_that_breaks_for_ever_is_given_up(tmp_path):
    with pytest.raises(UsageError, match="workers died 4 times; is there enough memory"):
        run([Toy(0)], Counted(), tmp_path, make=lambda: Breaking(0))


def test_two_grids_do_not_share_a_folder(tmp_path):
    pytest.importorskip("fcntl")
    entered, leave = threading.Event(), threading.Event()

    def slow(cell):
        entered.set()
        leave.wait(10)
        return Counted()(cell)

    first = threading.Thread(target=run, args=([Toy(0)], slow, tmp_path))
    first.start()
    entered.wait(10)
    with pytest.raises(UsageError, match="another grid is running here"):
        run([Toy(0)], Counted(), tmp_path)
    leave.set()
    first.join()
    assert grid.path_of(tmp_path, Toy(0)).exists()


def test_half_a_file_is_never_there(tmp_path, monkeypatch):
    def stopped(*paths):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", stopped)
    with pytest.raises(KeyboardInterrupt):
        run([Toy(0)], Counted(), tmp_path)
    assert list(tmp_path.glob("*.json")) == []


@pytest.mark.slow
def test_real_cells_on_processes(tmp_path):
    cells = [Cell(arm=arm, **TINY) for arm in ("residual", "mhc")]
    assert run(cells, carry_out, tmp_path, make=executors.processes(2))[0] == []
    found, _ = grid.load(tmp_path, cells)
    here = carry_out(cells[1])
    assert {**found[cells[1].name], "made": 0} == {**json.loads(json.dumps(here)), "made": 0}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_goes_on_when_a_worker_is_killed(tmp_path):
    distributed = pytest.importorskip("distributed")
    cells = [Cell(seed=seed, **{**TINY, "num_steps": 60, "look_every": 20}) for seed in range(6)]
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address=None,
        worker_dashboard_address=None,
    ) as cluster:
        make, num_workers, close = executors.cluster(cluster.scheduler_address)
        assert num_workers == 2
        victims = [nanny.pid for nanny in cluster.workers.values()]

        def kill_one():
            while not list(tmp_path.glob("*.json")):
                time.sleep(0.02)
            os.kill(victims[0], signal.SIGKILL)

        killer = threading.Thread(target=kill_one)
        killer.start()
        failed, _ = run(cells, carry_out, tmp_path, make=make, at_once=4)
        killer.join()
        close()
    assert failed == []
    found, damaged = grid.load(tmp_path, cells)
    assert (len(found), damaged) == (6, [])


def test_a_missing_scheduler_is_one_line():
    pytest.importorskip("distributed")
    with pytest.raises(UsageError, match="no Dask scheduler answers at nonsense"):
        executors.cluster("nonsense")


def test_no_workers():
    with pytest.raises(UsageError, match="want at least one worker, got 0"):
        executors.processes(0)


def test_unknown_grids_are_refused(capsys):
    assert main(["grid", "bijektion"]) == 2
    assert "no grid 'bijektion'; there are bijection, " in capsys.readouterr().err
