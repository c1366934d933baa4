"""The list of figures: every figure of the chapters, once, in plain words, with the command that its caption names."""

import re

from mhc_np.lab import figure_list


def test_every_figure_of_a_cell_is_listed_once():
    found = figure_list.figures()
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(figure_list.CHAPTERS.glob("*.md")))
    labels = re.findall(r"^ +name: (fig-[\w-]+)$", text, re.M)
    assert [figure.label for figure in found] == labels
    assert len(labels) > 50


def test_what_a_figure_shows_is_plain_words():
    for figure in figure_list.figures():
        assert len(figure.shows) > 5
        assert not re.search(r"\$|\{\w+\}`|\\[a-z]", figure.shows), figure
        assert "|" not in figure.shows


def test_commands_are_those_of_the_captions():
    commands = {figure.label: figure.commands for figure in figure_list.figures()}
    assert commands["fig-no-skips"][0] == "python -m mhc_np run depth --seed 0 --keep"
    assert commands["fig-steps"] == []


def test_a_chapter_that_reads_results_is_told_from_one_that_computes_all():
    assert figure_list.reads_results("05_who_does_what")
    assert figure_list.reads_results("15_the_question")
    assert not figure_list.reads_results("01_gradients")
