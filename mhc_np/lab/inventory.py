"""What the book keeps: every saved result with the command that makes it again, and what that took.

Chapter: chapters/17_ledger.md      Tests: tests/test_inventory.py

``python -m mhc_np kept`` prints the list. ``python -m mhc_np kept NAME --seed 0`` trains a kept run once more, aside,
and says whether every number is the same to the last bit that is kept.
"""

import json
import re
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from mhc_np.lab import experiment, ledger, results
from mhc_np.lab.experiment import UsageError
from mhc_np.lab.runs import RUNS

SEED = re.compile(r"-?seed-(\d+)$")
NOT_COMPARED = ("seconds", "versions", "commit", "finished")  # how it was made, not what was made
MADE_ALONE = {
    "twin/verify": "mhc_np.torch_twin verify --keep",
    "grid-verified": "mhc_np grid bijection --verify 3 --keep",
}
FOLDERS = {  # of results that are not named runs: what makes one, given its name
    "em": "mhc_np run {0} --seed {1} --keep",
    "geometry": "mhc_np run {0} --seed {1} --keep",
    "bench": "mhc_np bench {0} --keep",
    "sweeps": "mhc_np.lab.sweeps {0}",
}


class Kept(NamedTuple):
    """The saved results of one name: of a run its seeds, of a grid its cells."""

    name: str
    command: str
    files: list
    seeds: list
    seconds: list  # of the files that say so
    commits: list
    versions: list


def inventory(folder=results.KEPT):
    """List what is kept, in the order of the alphabet.

    Parameters
    ----------
    folder : path

    Returns
    -------
    list of Kept
    """
    groups = {}
    for path in sorted(Path(folder).rglob("*.json")):
        parts = path.relative_to(folder).with_suffix("").parts
        alone = len(parts) == 1 or parts[0] in (*FOLDERS, "twin")
        groups.setdefault(SEED.sub("", "/".join(parts)) if alone else parts[0], []).append(path)
    return [_kept(name, paths) for name, paths in groups.items()]


def _kept(name, paths):
    found = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    made = [{**result, **result.get("made", {})} for result in found]
    seeds = sorted({int(match[1]) for path in paths if (match := SEED.search(path.stem))})
    return Kept(
        name,
        command_for(name, seeds),
        paths,
        seeds,
        [one["seconds"] for one in made if "seconds" in one],
        sorted({one["commit"] for one in made if one.get("commit")}),
        sorted({f"NumPy {one['versions']['numpy']}" for one in made if "versions" in one}),
    )


def command_for(name, seeds=()):
    """Return what makes a result again; for a run with several seeds, ``SEED`` stands for each.

    >>> command_for("bijection-v5-soft", [0, 1]), command_for("grid-stress"), command_for("em/loop", [0])
    ('python -m mhc_np run bijection-v5-soft --seed SEED --keep', 'python -m mhc_np grid stress --keep',
     'python -m mhc_np run loop --seed 0 --keep')
    """
    seed = seeds[0] if len(seeds) == 1 else "SEED"
    folder, _, last = name.rpartition("/")
    if name in MADE_ALONE:
        words = MADE_ALONE[name]
    elif folder in FOLDERS:
        words = FOLDERS[folder].format(last, seed)
    elif name in RUNS:
        words = f"mhc_np run {name} --seed {seed} --keep"
    elif name.startswith("grid-"):
        words = f"mhc_np grid {name.removeprefix('grid-')} --keep"
    elif name == "mixings":
        words = "mhc_np.lab.trained_mixings ARM --rate RATE"
    elif find_spec(module := f"mhc_np.lab.{name.replace('-', '_')}"):
        words = module
    else:
        raise ValueError(f"inventory: no command known for {name!r}; say in mhc_np/lab/inventory.py what makes it")
    return f"python -m {words}"


class Reads(dict):
    """Saved results that remember which of them a rule has asked for."""

    def __init__(self, found):
        super().__init__(found)
        self.asked = []

    def __getitem__(self, name):
        """Note the name, and return what is there."""
        self.asked.append(name)
        return super().__getitem__(name)

    def get(self, name, default=None):
        """Note the name, and return what is there, or the default."""
        self.asked.append(name)
        return super().get(name, default)


def read_by_rules(found=None):
    """Return {claim: names of the results that its rule reads}, found by watching the rules at work."""
    found = ledger.load() if found is None else found
    read = {}
    for claim, rule in ledger.RULES.items():
        watched = Reads(found)
        rule(watched)
        read[claim] = list(dict.fromkeys(watched.asked))
    return read


def again(name, seed):
    """Train a kept run once more, in a scratch folder, and return the names of the entries that differ.

    Raises
    ------
    UsageError
        If the book keeps no such run.
    """
    path = results.KEPT / name / f"seed-{seed}.json"
    if name not in RUNS or not path.exists():
        raise UsageError(f"inventory: the book keeps no run {name!r} with seed {seed}; see python -m mhc_np list")
    old = results.load(path, results.TRAINING)
    with tempfile.TemporaryDirectory() as scratch:
        new = experiment.carry_out(name, RUNS[name], seed, scratch, progress=False)
    names = (old.keys() | new.keys()) - set(NOT_COMPARED)
    return sorted(key for key in names if old.get(key) != new.get(key))


def command(arguments):
    """Carry out ``python -m mhc_np kept``."""
    if arguments.name:
        differ = again(arguments.name, arguments.seed)
        if differ:
            raise UsageError(f"differs in {', '.join(differ)}; other processors and BLAS builds round otherwise")
        print(f"{arguments.name}, seed {arguments.seed}: the same to the last bit that is kept")
        return
    for kept in inventory():
        print(f"{sum(kept.seconds) / 60:7.1f} min  {len(kept.files):4} files  {kept.command}")
