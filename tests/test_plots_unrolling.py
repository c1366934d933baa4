"""The element that unrolls: whole without scripts, self-contained, still until asked."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from tiny_looks import looks

from mhc_np.lab import plots_unrolling as unrolling

RESULT = looks()["geometry-bijection"][0]
KEPT = RESULT["drift"]["unrolling"]


def html():
    return unrolling.element(RESULT, "here", label="Points.", caption="To play.")


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))
        if tag not in ("circle", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert tag == "circle" or self.open.pop() == tag  # a circle closes itself


def parsed():
    tags = Tags()
    tags.feed(html())
    assert tags.open == []
    return tags.seen


def test_it_stands_on_the_last_frame_and_has_a_dot_a_point():
    dots = [attributes for tag, attributes in parsed() if tag == "circle"]
    last = np.array(KEPT["frames"][-1]["coordinates"])
    assert len(dots) == len(last)
    half = unrolling.SIZE / 2
    drawn = np.array([[float(dot["cx"]) - half, half - float(dot["cy"])] for dot in dots])
    np.testing.assert_allclose(drawn, 0.9 * half * last / np.abs(last).max(), atol=0.06)


def test_it_holds_every_frame_and_loads_nothing():
    text = html()
    data = json.loads(re.search(r"const data = (\[.*?\]), box", text)[1])
    assert [frame["words"] for frame in data] == [unrolling.words(frame) for frame in KEPT["frames"]]
    assert all(len(frame["points"]) == len(KEPT["entropy_bits"]) for frame in data)
    assert not re.search(r"https?:|src=|@import|url\(", text)


def test_it_can_be_used_and_read_without_seeing_it_and_does_not_move_by_itself():
    seen = parsed()
    assert {"role": "img", "aria-label": "Points."}.items() <= next(a for tag, a in seen if tag == "svg").items()
    assert all("aria-label" in a for tag, a in seen if tag in ("button", "input"))
    text = html()
    assert "prefers-reduced-motion" in text
    assert text.count("setInterval") == 1  # and that one stands in the handler of the button
    assert text.index("button.onclick") < text.index("setInterval") < text.index("slider.oninput")
    assert "@media print" in text


def test_colours_follow_the_entropy():
    shades = unrolling.shades([0.0, 1.0, 2.0, 2.0])
    assert len(set(shades)) == 3
    assert shades[2] == shades[3]
    assert all(re.fullmatch("#[0-9a-f]{6}", shade) for shade in shades)
    assert len(set(unrolling.shades([1.0, 1.0]))) == 1


def test_the_still_shows_four_moments_from_the_first_to_the_last():
    drawing = unrolling.still(looks(), "geometry-bijection")
    titles = [ax.get_title() for ax in drawing.axes]
    steps = [frame["step"] for frame in KEPT["frames"]]
    assert titles[0] == f"step {steps[0]}"
    assert titles[-1] == f"step {steps[-1]}"
    assert len(titles) == 4


def test_a_console_is_spared_the_page():
    assert repr(html()) == f"<Element of {len(html())} characters>"
    assert html()._repr_html_() == str.__str__(html())


@pytest.mark.parametrize("run", ["geometry-bijection-lstm"])
def test_a_run_without_frames_has_no_still(run):
    with pytest.raises(KeyError):
        unrolling.still(looks(), run)
