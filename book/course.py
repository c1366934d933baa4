"""Read the course out of the chapters: goals, needs, times and exercises, so that none of it is typed twice.

The pages for instructors, the slides and the tests of the exercises all ask this module. It reads the
sources only. What it cannot read it refuses, with the name of the chapter and what it wanted.
"""

import re
from pathlib import Path
from typing import NamedTuple

CHAPTERS = Path(__file__).resolve().parent.parent / "chapters"
KINDS = ("By hand", "Code, checked in words", "Experiment", "Read the paper")
BOTH = "By hand, then experiment"  # counts as both
MINUTES = {"half an hour": 30, "three quarters of an hour": 45, "an hour": 60, "an hour and a half": 90}

CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(?:---\n.*?^---\n)?(?::[\w-]+:[^\n]*\n)*(.*?)^```$", re.M | re.S)
EXERCISE = re.compile(r"^(`{3,})\{exercise(-start)?\}[ \t]*([^\n]*)\n:label: (\S+)\n", re.M)
SOLUTION = re.compile(r"^(`{3,})\{solution(-start)?\}[ \t]*(\S+)\n((?::[\w-]+:[^\n]*\n)*)", re.M)
HEADER = re.compile(r"^\*([^*\n]+) · (★{1,3}) · (\d+) minutes\*$", re.M)


class Exercise(NamedTuple):
    """One exercise: what its header line says, its text, the code cells before and inside its solutions."""

    label: str
    title: str
    kind: str
    stars: int
    minutes: int
    folds: tuple  # for each solution: is it folded?
    stubs: tuple  # numbers of code cells among all of the chapter
    solutions: tuple

    @property
    def kinds(self):
        """The kinds that it counts as: two for an exercise that begins by hand and ends as an experiment."""
        return {"By hand", "Experiment"} if self.kind == BOTH else {self.kind}


class Chapter(NamedTuple):
    """A chapter's head, its cells in order, and its exercises."""

    name: str
    number: int
    title: str
    goals: list
    needs: str
    reading: int  # minutes, as the chapter says
    seconds: int  # that its cells may take, as its last claim asserts
    cells: list
    exercises: list

    @property
    def working(self):
        """Minutes of all exercises together."""
        return sum(exercise.minutes for exercise in self.exercises)


def read(text, name="01_sample"):
    """Read one chapter from its text."""

    def wanted(pattern, what, flags=re.M | re.S):
        found = re.search(pattern, text, flags)
        if not found:
            raise ValueError(f"{name}: want {what}")
        return found[1]

    goals = wanted(r"^\*\*You will be able to\*\*\n+(.*?)(?=\n\n\S)", "a list of goals under '**You will be able to**'")
    needs = wanted(r"^\*\*You need\*\*\s+(.*?)\s*\*\*Time:\*\*", "'**You need** ... **Time:** ...'")
    time = " ".join(wanted(r"\*\*Time:\*\*\s+(?:about )?(.*?)\s+to\s+read", "'**Time:** an hour to read'").split())
    if time not in MINUTES:
        raise ValueError(f"{name}: want the time to read to be one of {', '.join(MINUTES)}, got {time!r}")
    cells = list(CELL.finditer(text))
    return Chapter(
        name,
        int(name[:2]),
        wanted(r"^# (.+?)$", "a title"),
        [" ".join(goal.split()) for goal in re.split(r"^- ", goals, flags=re.M)[1:]],
        " ".join(needs.split()).rstrip("."),
        MINUTES[time],
        int(wanted(r"^assert seconds < (\d+)", "'assert seconds < 40' among the claims")),
        [cell[1] for cell in cells],
        list(_exercises(text, name, [cell.start() for cell in cells])),
    )


def _exercises(text, name, starts):
    heads = list(EXERCISE.finditer(text))
    for head in heads:
        rest = re.compile(r"^`{3,}\{exercise(?:-start)?\}|^## ", re.M).search(text, head.end())
        end = rest.start() if rest else len(text)
        solutions = [found for found in SOLUTION.finditer(text, head.end(), end) if found[3] == head[4]]
        first = solutions[0].start() if solutions else end
        header = HEADER.search(text, head.end(), first)
        if not header or header[1] not in (*KINDS, BOTH):
            raise ValueError(f"{name}, {head[4]}: want '*Kind · ★★ · 15 minutes*', with a kind of {', '.join(KINDS)}")
        yield Exercise(
            head[4],
            head[3],
            header[1],
            len(header[2]),
            int(header[3]),
            tuple(":class: dropdown" in solution[4] for solution in solutions),
            tuple(at for at, start in enumerate(starts) if head.start() < start < first),
            tuple(at for at, start in enumerate(starts) if first < start < end),
        )


def chapters(folder=CHAPTERS):
    """Read every chapter, in order."""
    return [read(path.read_text(encoding="utf-8"), path.stem) for path in sorted(folder.glob("*.md"))]
