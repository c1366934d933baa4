"""The instructors' pages: in step with the chapters, and the plans that they make can be kept."""

import re
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book"))

import course  # noqa: E402
import syllabus  # noqa: E402

CHAPTERS = course.chapters()
PAGE = syllabus.PAGE.read_text(encoding="utf-8")


def test_the_page_is_in_step_with_the_chapters():
    assert syllabus.page(PAGE, CHAPTERS) == PAGE, "make twins"


def test_a_changed_goal_a_moved_minute_and_a_lost_place_are_seen():
    first = CHAPTERS[0]
    for changed in (first._replace(goals=["something else"]), first._replace(reading=45), first._replace(seconds=7)):
        assert syllabus.page(PAGE, [changed, *CHAPTERS[1:]]) != PAGE
    with pytest.raises(ValueError, match="want one place for the table 'weeks', got 0"):
        syllabus.page(PAGE.replace("syllabus.py: weeks", "hand"), CHAPTERS)


def test_parts_are_those_of_the_contents():
    parts = yaml.safe_load((ROOT / "book" / "_toc.yml").read_text(encoding="utf-8"))["parts"]
    numbered = {part["caption"]: part["chapters"] for part in parts if part.get("numbered")}
    number = re.compile(r"/(\d+)_")
    files = {name: tuple(int(number.search(c["file"])[1]) for c in some) for name, some in numbered.items()}
    assert files == syllabus.PARTS


def test_six_weeks_take_every_chapter_and_every_assignment_once():
    assert [number for week in syllabus.WEEKS for number in week.chapters] == list(range(1, len(CHAPTERS) + 1))
    given = [int(number) for week in syllabus.WEEKS for number in re.findall(r"\d", week.assignment)]
    assert given == list(range(1, 7))


def test_a_chapter_that_may_be_left_out_is_needed_by_none_that_is_kept():
    left_out = set(map(int, re.findall(r"\d+", re.search(r"leave out chapters (.*?):", PAGE)[1])))
    assert left_out == {6, 9, 14}
    for chapter in CHAPTERS:
        if chapter.number not in left_out:
            assert left_out.isdisjoint(map(int, re.findall(r"\b(\d\d)_\w+", chapter.needs)))


@pytest.mark.parametrize("day", syllabus.DAYS)
def test_a_day_can_be_kept(day):
    sessions = syllabus.DAYS[day]
    assert sum(minutes for minutes, *_ in sessions) + 15 * (len(sessions) - 1) + 60 <= 9 * 60  # a lunch
    for minutes, _, number, labels in sessions:
        found = {exercise.label: exercise.minutes for exercise in CHAPTERS[number - 1].exercises}
        assert sum(found[label] for label in labels) <= 0.67 * minutes


def test_links_of_a_head_lead_from_the_page_to_the_chapter():
    text = "{doc}`05_who_does_what`, {doc}`the law <07_advantage>` and [one](01_gradients.md)"
    five, law, one = (f"](../chapters/{name}.md)" for name in ("05_who_does_what", "07_advantage", "01_gradients"))
    assert syllabus.from_book(text) == f"[chapter 5{five}, [the law{law} and [one{one}"


@pytest.mark.parametrize(("minutes", "said"), [(0, "0"), (15, "¼"), (60, "1"), (100, "1¾"), (150, "2½")])
def test_hours_are_written_to_the_quarter(minutes, said):
    assert syllabus.hours(minutes) == said


def test_there_are_twenty_questions_and_each_has_a_folded_solution():
    text = (ROOT / "book" / "questions.md").read_text(encoding="utf-8")
    asked, folded = text.split("## Solutions")
    assert [int(number) for number in re.findall(r"^(\d+)\. ", asked, re.M)] == list(range(1, 21))
    assert folded.count(":class: dropdown") == 1
    fold = folded.split("```")[1]
    assert [int(number) for number in re.findall(r"^\*\*(\d+)\.\*\*", fold, re.M)] == list(range(1, 21))


def test_what_the_page_of_assignments_names_exists():
    text = (ROOT / "book" / "assignments.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| \d `(\w+)`", text, re.M)
    assert named == sorted(path.name for path in (ROOT / "book" / "assignments").glob("[0-9]_*"))
    assert all((ROOT / path).exists() for path in re.findall(r"(?:book/assignments|tests)/[\w./]*\w", text))
