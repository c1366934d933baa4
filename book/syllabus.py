"""Write the tables of the instructors' page: ``python book/syllabus.py`` (``--check``: only compare).

What is read from the chapters (goals, needs, minutes) is never typed; what is decided here is which
chapters and exercises a week or a session takes. ``make twins`` runs this too.
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

import course

BOOK = Path(__file__).resolve().parent
PAGE = BOOK / "instructors.md"
PARTS = {
    "I. Tools": (1, 2),
    "II. Bayes in a wind tunnel": (3, 4, 5, 6),
    "III. Gradient descent as EM": (7, 8, 9),
    "IV. Wide streams": (10, 11, 12, 13, 14),
    "V. The question": (15, 16, 17),
}
HAND_IN = 150  # minutes that an assignment takes, the paper included


class Week(NamedTuple):
    """What a week is about, its chapters, and the assignment handed out; its exercises follow from a rule."""

    about: str
    chapters: tuple
    assignment: str


WEEKS = (
    Week("Gradients that can be trusted, and a Transformer made of them", (1, 2), "1 a gradient by hand"),
    Week("Tasks with an exact answer; training until the answer is reached", (3, 4), "2 an exact filter"),
    Week("Looking inside: parts, shapes, and what a picture proves", (5, 6), "–"),
    Week("What gradient descent tells attention; where that is EM", (7, 8, 9), "3 the advantage law"),
    Week("Wide streams: gains, Hyper-Connections, Sinkhorn, mHC", (10, 11, 12, 13), "4 Sinkhorn's gradient"),
    Week("Exact relatives; the question, and how to judge it", (14, 15, 16, 17), "5 a mixing, 6 a rule"),
)
DAYS = {
    "First day": (
        (75, "A gradient in three moves; three ways to fool a check", 1, ("ex-silu", "ex-softmax-two")),
        (60, "Attention, and a network whose parameters are written by hand", 2, ("ex-means",)),
        (75, "A wind tunnel and its exact posterior", 3, ("ex-filter", "ex-with-replacement")),
        (60, "Trained to the posterior; what an error in bits means", 4, ("ex-split",)),
        (60, "The advantage law", 7, ("ex-one-row", "ex-slope")),
    ),
    "Second day": (
        (60, "The identity path and the gain of a product", 10, ("ex-gains-hand", "ex-two-signs")),
        (60, "Hyper-Connections", 11, ("ex-trace-streams",)),
        (75, "Sinkhorn and the polytope", 12, ("ex-decompose", "ex-last-only")),
        (60, "mHC: what is guaranteed and what is not", 13, ("ex-start-two",)),
        (60, "The question, and rules that can say no", 15, ("ex-question-best-rate",)),
        (45, "The ledger; a rule of your own", 17, ("ex-ledger-broken",)),
    ),
}


def core(chapter):
    """Return the exercises for a class: the shortest of each kind, the paper left for a seminar."""
    found = []
    for kind in course.KINDS[:3]:
        found.append(min((e for e in chapter.exercises if kind in e.kinds), key=lambda e: e.minutes))
    return list(dict.fromkeys(found))


def hours(minutes):
    """Write minutes as hours, to the quarter."""
    whole, quarter = divmod(round(minutes / 15), 4)
    return f"{whole or ''}{('', '¼', '½', '¾')[quarter]}" or "0"


def link(chapter):
    """Return a link to a chapter, seen from book/."""
    return f"[{chapter.number}](../chapters/{chapter.name}.md)"


def from_book(text):
    """Turn the links of a chapter's head into links from book/."""

    def role(found):
        words, target = found[1] or f"chapter {int(found[2][:2])}", found[2]
        return f"[{words}](../chapters/{target}.md)"

    text = re.sub(r"\{doc\}`(?:([^`<]+) <)?(\d\d_\w+)>?`", role, text)
    return re.sub(r"\]\((\d\d_\w+\.md)\)", r"](../chapters/\1)", text)


def timing(chapters):
    """Return the table of chapters: needs, minutes to read, exercises, seconds to run."""
    heads = "chapter", "needs", "to read (min)", "exercises", "all of them (min)", "the class's (min)", "runs in (s)"
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for c in chapters:
        chosen = sum(e.minutes for e in core(c))
        row = f"{link(c)} {c.title} | {from_book(c.needs)} | {c.reading} | {len(c.exercises)} | {c.working}"
        lines.append(f"| {row} | {chosen} | < {c.seconds} |")
    reading, working = (sum(getattr(c, name) for c in chapters) for name in ("reading", "working"))
    chosen = sum(e.minutes for c in chapters for e in core(c))
    count = sum(len(c.exercises) for c in chapters)
    lines.append(f"| all | | {hours(reading)} h | {count} | {hours(working)} h | {hours(chosen)} h | |")
    return "\n".join(lines)


def goals(chapters):
    """Return the learning goals, by part and chapter."""
    lines = []
    for part, numbers in PARTS.items():
        lines += [f"**{part}**", ""]
        for c in (chapters[number - 1] for number in numbers):
            lines += [f"- {link(c)} {c.title}", *(f"  - {from_book(goal).rstrip(';.')}" for goal in c.goals)]
        lines.append("")
    return "\n".join(lines).rstrip()


def weeks(chapters):
    """Return the syllabus of six weeks, with the hours that it asks of a student outside the class."""
    lines = ["| week | about | chapters | to read | exercises | assignment | at home |", "|" + "---|" * 7]
    for number, week in enumerate(WEEKS, start=1):
        some = [chapters[k - 1] for k in week.chapters]
        reading, working = sum(c.reading for c in some), sum(e.minutes for c in some for e in core(c))
        home = reading + working + HAND_IN * len(re.findall(r"\d", week.assignment))
        row = f"{number} | {week.about} | {', '.join(map(link, some))} | {hours(reading)} h | {hours(working)} h"
        lines.append(f"| {row} | {week.assignment} | {hours(home)} h |")
    return "\n".join(lines)


def two_days(chapters):
    """Return the syllabus of two days: sessions, with the exercises that are done in them."""
    lines = ["| | session | chapter | minutes | of these, exercises |", "|" + "---|" * 5]
    for day, sessions in DAYS.items():
        for at, (minutes, about, number, labels) in enumerate(sessions):
            c = chapters[number - 1]
            found = {e.label: e for e in c.exercises}
            done = ", ".join(f"{found[label].title} ({found[label].minutes})" for label in labels)
            lines.append(f"| {'' if at else day} | {about} | {link(c)} | {minutes} | {done} |")
        lines.append(f"| | together | | {hours(sum(session[0] for session in sessions))} h | |")
    return "\n".join(lines)


def page(text, chapters):
    """Return the page with its tables made anew."""
    for table in (timing, goals, weeks, two_days):
        name, made = table.__name__, table(chapters)
        pattern = re.compile(rf"(% made by book/syllabus.py: {name}\n\n).*?(\n\n% end of {name}\n)", re.S)
        pieces = pattern.split(text)
        if len(pieces) != 4:
            raise ValueError(f"{PAGE.name}: want one place for the table {name!r}, got {(len(pieces) - 1) // 3}")
        text = "".join((*pieces[:2], made, *pieces[2:]))
    return text


def main():
    """Write the page if it is out of step; with ``--check`` only say so, exit code 1."""
    text = PAGE.read_text(encoding="utf-8")
    made = page(text, course.chapters())
    if made == text:
        return 0
    if "--check" in sys.argv:
        print(f"{PAGE.name} is out of step with the chapters: make twins")
        return 1
    PAGE.write_text(made, encoding="utf-8")
    print(f"{PAGE.name} written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
