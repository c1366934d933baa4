"""The README: what it names exists, and the numbers that it prints are those of the saved runs."""

import re
from pathlib import Path

from mhc_np.lab import results
from mhc_np.lab.runs import RUNS

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_link_and_picture_is_there():
    targets = [target for target in re.findall(r"\]\(([^)]+)\)", README) if "://" not in target]
    assert len(targets) >= 4
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_every_run_that_is_named_exists():
    named = set(re.findall(r"bijection-v\d+-\w+|hmm-\w+", README))
    assert {"bijection-v5-soft", "bijection-v20-hard"} <= named
    assert named <= set(RUNS)


def test_the_numbers_shown_are_those_of_the_saved_runs():
    shown = results.load_kept("bijection-v5-soft")[0]
    line = next(line for line in README.splitlines() if line.lstrip().startswith("0   13,312"))
    seed, params, steps, _, mae, kl, _ = line.split()
    assert (int(seed), params, steps) == (shown["seed"], f"{shown['params']:,}", f"{shown['steps']:,}")
    assert mae == f"{shown['metrics']['entropy_mae_bits']:.2g}"
    assert kl == f"{shown['metrics']['kl_bits']:.2g}"
    hard = results.load_kept("bijection-v20-hard")
    assert f"{hard[0]['params']:,} parameters" in README
    assert {2: "two", 3: "three", 5: "five"}[len(hard)] + " seeds" in README


def test_every_file_and_folder_of_the_tree_exists():
    tree = README.split("```")[3]
    folders = re.findall(r"^ *(\w+)/ ", tree, flags=re.MULTILINE)
    for name in folders:
        assert (ROOT / name).is_dir() or (ROOT / "mhc_np" / name).is_dir(), name
    assert len(folders) >= 12


def test_it_tells_the_story_of_the_introduction():
    found = (ROOT / "book" / "intro.md").read_text(encoding="utf-8").split("## What was found")[1].split("\n## ")[0]
    findings = re.findall(r"^\*\*(.+?)\.?\*\*", re.sub(r"(?<=\w)\n(?=\w)", " ", found), re.M)
    assert len(findings) >= 7
    assert [finding for finding in findings if f"**{finding}" not in README] == []
