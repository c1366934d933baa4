"""The exercises: every kind in every chapter, one folded solution each, and checkers that answer as they should.

A chapter's build runs every solution, and each asserts what its text says. What no build would notice is a stub that
passes, or a checker that helps nobody. So the exercises "Code, checked in words" are run here: the cells of each stub
and solution, after those earlier cells of the chapter that they need and no others, in this process. That takes seconds
for the whole book, needs no finished build, and cannot be out of date as the outputs of a build can.

The rule for a checker: its first line begins with "right" when all is right, and never otherwise.
"""

import ast
import contextlib
import io
import re
import symtable
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book"))

import course  # noqa: E402

CHAPTERS = course.chapters()
FEWEST, LONGEST = 6, 60  # exercises a chapter; minutes an exercise
CODE = "Code, checked in words"
SHORT = 5  # words of an answer that helps


def by_name(items):
    return pytest.mark.parametrize("chapter", items, ids=lambda chapter: chapter.name)


# Which earlier cells a cell needs


INNER = ast.FunctionDef | ast.ClassDef | ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def names(source):
    """Names that a cell binds, and those that it uses, also inside of its functions."""
    binds, uses, nodes = set(), set(), [ast.parse(source)]
    while nodes:  # what is bound inside of a function or a comprehension stays there
        node = nodes.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            binds.add(node.id)
        elif isinstance(node, ast.alias):
            binds.add(node.asname or node.name.split(".")[0])
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            binds.add(node.name)
        if not isinstance(node, INNER):
            nodes += ast.iter_child_nodes(node)
    top = symtable.symtable(source, "cell", "exec")
    tables = [top]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        uses |= {s.get_name() for s in table.get_symbols() if s.is_referenced() and (table is top or s.is_global())}
    for node in ast.walk(ast.parse(source)):  # x[0] = 1 changes x: whoever needs x needs this cell, and what made x
        while isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Load):
            stored, node = isinstance(node.ctx, ast.Store), node.value
            if stored and isinstance(node, ast.Name):
                binds.add(node.id)
                uses.add(node.id)
    return binds, uses


def needed(cells, targets):
    """Numbers of the cells that these need, themselves included."""
    known = [names(cell) for cell in cells]
    found, waiting = set(targets), list(targets)
    while waiting:
        at = waiting.pop()
        for name in known[at][1]:
            for before in range(at - 1, -1, -1):
                if name in known[before][0]:
                    if before not in found:
                        found.add(before)
                        waiting.append(before)
                    if name not in known[before][1]:
                        break
    return sorted(found)


def answers(chapter):
    """Run the stubs and solutions of the code exercises; return what each cell prints, by its number."""
    targets = [at for e in chapter.exercises if e.kind == CODE for at in (*e.stubs, *e.solutions)]
    space, printed = {"__name__": "chapter"}, {}
    for at in needed(chapter.cells, targets):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(chapter.cells[at], f"{chapter.name}, cell {at}", "exec"), space)
        printed[at] = out.getvalue().strip()
    return printed


def faults(exercise, printed):
    """Say what is wrong with the answers to a stub and to a solution."""
    found = []
    stub, solved = ("\n".join(printed[at] for at in cells) for cells in (exercise.stubs, exercise.solutions))
    if not exercise.stubs or not exercise.solutions:
        return ["want a stub and a solution with code"]
    if stub.startswith("right"):
        found.append("the stub passes")
    elif len(re.findall(r"[A-Za-z]{2,}", stub)) < SHORT:
        found.append(f"the stub's answer does not help: {stub!r}")
    if not solved.startswith("right"):
        found.append(f"the solution fails: {solved!r}")
    return found


# The exercises of the book


@by_name(CHAPTERS)
def test_a_chapter_has_enough_exercises_of_every_kind(chapter):
    assert len(chapter.exercises) >= FEWEST
    assert set().union(*(exercise.kinds for exercise in chapter.exercises)) == set(course.KINDS)
    assert all(5 <= exercise.minutes <= LONGEST for exercise in chapter.exercises)
    assert min(exercise.stars for exercise in chapter.exercises) == 1, "want one to begin with"


@by_name(CHAPTERS)
def test_the_head_of_a_chapter_says_how_long_its_exercises_take(chapter):
    head = " ".join((course.CHAPTERS / f"{chapter.name}.md").read_text(encoding="utf-8").split("\n## ")[0].split())
    said = re.search(r"to read, (an hour and a half|two hours|two and a half hours) for the exercises", head)
    assert said, "want '..., two hours for the exercises' after the time to read"
    minutes = {"an hour and a half": 90, "two hours": 120, "two and a half hours": 150}[said[1]]
    assert abs(minutes - chapter.working) <= 20, f"the exercises' own headers add up to {chapter.working} minutes"


@by_name(CHAPTERS)
def test_every_exercise_has_exactly_one_folded_solution(chapter):
    assert [exercise.label for exercise in chapter.exercises if exercise.folds != (True,)] == []


@by_name(CHAPTERS)
def test_every_solution_with_code_asserts_something(chapter):
    silent = [e.label for e in chapter.exercises for at in e.solutions if "assert" not in chapter.cells[at]]
    assert silent == []


@pytest.mark.slow
@by_name(CHAPTERS)
def test_stubs_fail_with_words_and_solutions_pass(chapter):
    printed = answers(chapter)
    found = {e.label: faults(e, printed) for e in chapter.exercises if e.kind == CODE}
    assert found
    assert {label: wrong for label, wrong in found.items() if wrong} == {}


# The test of the test: made chapters

HEAD = """# A made chapter

**You will be able to**

- count to two;
- say so
  in words.

**You need** fingers. **Time:** half an hour to read.

```{code-cell} ipython3
---
mystnb:
  figure:
    name: f
---
two, other = 2, print("not needed")
```

```{code-cell} ipython3
:tags: [hide-input]
raise RuntimeError("nobody needs this cell")
```

```{code-cell} ipython3
assert seconds < 40
```

"""
MADE = (
    HEAD
    + """````{exercise-start} Count
:label: ex-count-two
````

*Code, checked in words · ★ · 10 minutes*

```{code-cell} ipython3
def count():
    return STUB


def check(counted):
    return "right: two" if counted() == two else WORDS


print(check(count))
```

````{exercise-end}
````

```{solution-start} ex-count-two
:class: dropdown
```

```{code-cell} ipython3
def count():
    return SOLUTION


print(check(count))
assert True
```

```{solution-end}
```
"""
)


def made(stub="1", solution="2", words='"wrong: one finger was left out here"', text=MADE):
    for name, value in (("STUB", stub), ("SOLUTION", solution), ("WORDS", words)):
        text = text.replace(name, value)
    return course.read(text)


@pytest.mark.parametrize(
    ("planted", "fault"),
    [
        ({}, None),
        ({"stub": "2"}, "the stub passes"),
        ({"solution": "1"}, "the solution fails"),
        ({"words": '"wrong"'}, "the stub's answer does not help"),
        ({"words": '""'}, "the stub's answer does not help"),
        ({"words": '"right or not, who knows at all?"'}, "the stub passes"),
    ],
)
def test_planted_faults_are_found(planted, fault):
    chapter = made(**planted)
    found = faults(chapter.exercises[0], answers(chapter))
    assert [fault in one for one in found] == ([True] if fault else [])


def test_the_head_of_a_made_chapter_is_read():
    chapter = made()
    assert chapter[1:7] == (1, "A made chapter", ["count to two;", "say so in words."], "fingers", 30, 40)
    assert chapter.working == 10
    assert (chapter.exercises[0].stubs, chapter.exercises[0].solutions) == ((3,), (4,))


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("*Code, checked in words · ★", "*With code · ★", "ex-count-two: want '\\*Kind"),
        (" · 10 minutes", "", "ex-count-two: want '\\*Kind"),
        ("half an hour to read", "a while to read", "want the time to read to be one of"),
        ("**You will be able to**", "Goals:", "want a list of goals"),
    ],
)
def test_a_chapter_that_cannot_be_read_is_refused_in_words(old, new, complaint):
    with pytest.raises(ValueError, match=complaint):
        made(text=MADE.replace(old, new))


def test_solutions_that_are_open_missing_or_doubled_are_seen():
    fold = ":class: dropdown\n"
    assert made(text=MADE.replace(fold, "")).exercises[0].folds == (False,)
    assert made(text=MADE.replace("solution-start} ex-count-two", "solution-start} ex-other")).exercises[0].folds == ()
    again = "\n```{solution} ex-count-two\nYes.\n```\n"
    assert made(text=MADE + again).exercises[0].folds == (True, False)


def test_a_cell_that_changes_what_another_made_is_needed():
    cells = ["a = {}", "b = 1", "a['x'] = 2", "def f(n):\n    b = n\n    return a[b]", "b = 3", "f('x')"]
    assert needed(cells, [5]) == [0, 2, 3, 5]
    assert needed(cells, [3]) == [0, 2, 3]


def test_a_name_inside_of_a_function_or_a_comprehension_is_its_own():
    function = "def f(x):\n    z = x\n    return z"
    cells = ["x = 1", "y = [x for x in range(3)]", function, "import numpy as np", "x + np.pi"]
    assert names(cells[1])[0] == {"y"}
    assert names(cells[2]) == ({"f"}, set())
    assert needed(cells, [4]) == [0, 3, 4]
