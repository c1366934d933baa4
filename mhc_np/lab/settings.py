"""Find a named run, change it as ``--set section.key=value`` says, and know it again.

Chapter: chapters/04_training.md      Tests: tests/test_cli.py
"""

import ast
import difflib
from dataclasses import fields, replace

from mhc_np.lab import results
from mhc_np.lab.em_runs import EM_RUNS
from mhc_np.lab.experiment import UsageError
from mhc_np.lab.runs import RUNS


def find_run(name):
    """Return the run of that name, or name the nearest ones."""
    if name not in RUNS:
        raise UsageError(f"no run {name!r}; {_nearest(name, [*RUNS, *EM_RUNS])}")
    return RUNS[name]


def _nearest(word, known):
    return f"did you mean {', '.join(difflib.get_close_matches(word, known, n=3, cutoff=0))}?"


def with_settings(run, assignments):
    """Apply ``section.key=value`` to a run; values are Python literals, or words."""
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        section, _, name = key.partition(".")
        known = _keys(run)
        if not equals or key not in known:
            raise UsageError(f"--set wants KEY=VALUE, got {assignment!r}; {_nearest(key, known)}")
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            value = text
        attribute = section if section == "training" else f"{section}_settings"
        old, settled = getattr(run, attribute), getattr(_configs(run)[section], name)
        if not _is_like(value, settled):
            raise UsageError(f"--set {assignment}: want a value like {settled!r}")
        try:
            new = replace(old, **{name: value}) if section == "training" else {**old, name: value}
            run = replace(run, **{attribute: new})
            _configs(run)  # refuse what cannot be built before anything is written
        except (TypeError, ValueError) as error:
            raise UsageError(f"--set {assignment}: {error}") from error
    return run


def folder_of(name, seed, assignments):
    """Return where a run is kept if nobody says: runs/NAME/seed-SEED, and what was set."""
    return results.OWN / name / ",".join([f"seed-{seed}", *sorted(assignments)]).replace("/", "_")


def _is_like(value, settled):
    """Say whether a value is of the kind that stands there now; a whole number may stand for any number."""
    kind = type(settled)
    return type(value) is kind or (kind is float and type(value) is int)


def _configs(run):
    return {"task": run.task_config(), "model": run.model_config(), "training": run.training}


def is_as_named(result):
    """Say whether a saved result is of the run that its name stands for today."""
    run = RUNS.get(result["run"])
    named = run and {"name": result["run"], "seed": result["seed"], **run.described()}
    return result["config"] == results.plain(named)


def _keys(run):
    """Name what can be set: all but the sizes that a model takes over from its task."""
    keys = [f"{section}.{field.name}" for section, config in _configs(run).items() for field in fields(config)]
    return [key for key in keys if key not in {f"model.{name}" for name in run.sizes()}]
