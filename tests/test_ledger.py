"""The ledger: a row a claim, nothing passes without results, and the README shows what the rules say."""

import json

import pytest

from mhc_np.lab import ledger, results, verdicts_birkhoff
from mhc_np.lab.cli import main
from mhc_np.lab.experiment import UsageError
from mhc_np.lab.verdicts import VERDICTS


@pytest.fixture(scope="module")
def made():
    return ledger.rows()


def test_every_claim_has_a_rule_and_a_row(made):
    assert list(ledger.CLAIMS) == [f"C{k}" for k in range(1, 18)]
    assert set(ledger.RULES) == set(ledger.CLAIMS)
    assert [row.claim for row in made] == list(ledger.CLAIMS)
    for row in made:
        assert row.verdict in VERDICTS
        assert row.words
        assert row.chapter[:2].isdigit()


def test_without_results_nothing_passes():
    """C14 alone needs none: it is computed."""
    nothing = {"bijection": [], "khop-depth": [], "khop-mixing": [], "stress": []}
    for row in ledger.rows(nothing):
        if row.claim != "C14":
            assert row.verdict == "not seen here", row.claim
            assert row.waits
            assert "missing" in row.words


def test_an_open_claim_says_for_which_results_it_waits(made):
    for row in made:
        if row.waits:
            assert row.verdict == "not seen here"
            assert "seeds" in row.words or "cells" in row.words


def test_what_is_open_is_told_by_the_field_and_not_by_a_word():
    judged = ledger.Row("C1", "says", "04_training", "not seen here", {}, "a third of the bits is missing")
    assert "| C1 | says | not seen here | 4 |" in ledger.markdown([judged])
    assert "| C1 | says | open: runs missing | 4 |" in ledger.markdown([judged._replace(waits=True)])


def test_the_readme_shows_the_ledger(made):
    readme = (results.ROOT / "README.md").read_text(encoding="utf-8")
    shown = readme.split(ledger.BEGIN)[1].split(ledger.END)[0].strip()
    assert shown == ledger.markdown(made), "results have changed: python -m mhc_np ledger --readme"


def test_the_readme_s_table_is_put_between_its_marks(made, tmp_path):
    path = tmp_path / "README.md"
    path.write_text(f"before\n{ledger.BEGIN}\nstale\n{ledger.END}\nafter\n")
    ledger.write_readme(made, path)
    ledger.write_readme(made, path)
    text = path.read_text()
    assert text.startswith("before\n")
    assert text.endswith(f"{ledger.END}\nafter\n")
    assert text.count("| C13 |") == 1
    assert "stale" not in text
    path.write_text("no marks")
    with pytest.raises(UsageError, match="put them where the table is to stand"):
        ledger.write_readme(made, path)


def test_the_command_prints_and_writes(made, tmp_path, capsys):
    path = tmp_path / "ledger.json"
    assert main(["ledger", "--json", str(path)]) == 0
    told = capsys.readouterr().out
    assert all(f"{row.claim:4} {ledger.word(row):14}" in told for row in made)
    saved = json.loads(path.read_text())
    assert list(saved) == list(ledger.CLAIMS)
    assert saved["C14"]["verdict"] == "holds in part"
    json.dumps(saved, allow_nan=False)


def test_the_identity_is_the_farthest_from_the_centre_not_the_nearest():
    numbers = verdicts_birkhoff.c14().numbers
    assert numbers["distance of the identity from the centre"] == pytest.approx(3**0.5)
    assert numbers["largest distance of a plan"] < 3**0.5
    assert numbers["column error of the hard pattern"] > 0.01
    assert numbers["row error"] < 1e-14
