"""The inventory: every saved result has a command, rules are watched at work, and a run made again is compared."""

import json

import pytest

from mhc_np.lab import inventory, ledger, results
from mhc_np.lab.cli import main
from mhc_np.lab.em_runs import EM_RUNS
from mhc_np.lab.experiment import UsageError
from mhc_np.lab.geometry_runs import NAMES
from mhc_np.lab.grids import GRIDS
from mhc_np.lab.runs import RUNS


@pytest.fixture(scope="module")
def kept():
    return {one.name: one for one in inventory.inventory()}


def test_every_file_is_in_the_list_once(kept):
    files = [path for one in kept.values() for path in one.files]
    assert sorted(files) == sorted(results.KEPT.rglob("*.json"))
    assert len(files) > 200


def test_every_command_names_something_that_is_there(kept):
    for one in kept.values():
        words = one.command.split()
        assert words[:2] == ["python", "-m"]
        if words[2:4] == ["mhc_np", "run"]:
            assert words[4] in {*RUNS, *EM_RUNS, *NAMES}
            assert one.seeds
        elif words[2:4] == ["mhc_np", "grid"]:
            assert words[4] in GRIDS


def test_times_and_commits_are_those_of_the_files(kept):
    one = kept["bijection-v5-soft"]
    saved = results.load_kept("bijection-v5-soft")
    assert one.seeds == [result["seed"] for result in saved]
    assert one.seconds == [result["seconds"] for result in saved]
    assert set(one.commits) == {result["commit"] for result in saved}
    grid = kept["grid-bijection"]
    assert len(grid.seconds) == len(grid.files)
    assert min(grid.seconds) > 0


def test_an_unknown_result_asks_for_its_command(tmp_path):
    (tmp_path / "nobody-knows").mkdir()
    (tmp_path / "nobody-knows" / "seed-0.json").write_text("{}")
    with pytest.raises(ValueError, match="no command known for 'nobody-knows'; say in mhc_np/lab/inventory.py"):
        inventory.inventory(tmp_path)


def test_rules_are_watched_at_work():
    read = inventory.read_by_rules()
    assert list(ledger.CLAIMS) == sorted(read, key=lambda claim: int(claim[1:]))
    assert read["C5"] == ["depth"]
    assert read["C14"] == []
    assert "bijection" in read["C12"]
    watched = inventory.Reads({"a": 1})
    assert (watched["a"], watched.get("b", 2), watched.asked) == (1, 2, ["a", "b"])


def small(name, run, seed, scratch, progress):
    return json.loads((results.KEPT / name / f"seed-{seed}.json").read_text()) | {"seconds": 0.0, "commit": "now"}


def test_a_run_made_again_is_compared_but_for_how_it_was_made(monkeypatch, capsys):
    monkeypatch.setattr(inventory.experiment, "carry_out", small)
    assert inventory.again("bijection-v5-soft", 0) == []
    assert main(["kept", "bijection-v5-soft", "--seed", "1"]) == 0
    assert "the same to the last bit" in capsys.readouterr().out
    monkeypatch.setattr(inventory.experiment, "carry_out", lambda *a, **k: small(*a, **k) | {"params": 1})
    assert inventory.again("bijection-v5-soft", 0) == ["params"]
    assert main(["kept", "bijection-v5-soft"]) == 2
    assert "differs in params" in capsys.readouterr().err
    with pytest.raises(UsageError, match="the book keeps no run 'nothing' with seed 0"):
        inventory.again("nothing", 0)


def test_the_list_is_printed(capsys):
    assert main(["kept"]) == 0
    said = capsys.readouterr().out
    assert "python -m mhc_np run bijection-v5-soft --seed SEED --keep" in said
    assert "python -m mhc_np grid bijection --keep" in said
