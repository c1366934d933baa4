"""The still of the unrolling: moments from the first to the last, colours by entropy, each frame at its own scale."""

import re

import numpy as np
import pytest
from tiny_looks import looks

from mhc_np.lab import plots_unrolling as unrolling

RESULT = looks()["geometry-bijection"][0]
KEPT = RESULT["drift"]["unrolling"]


def test_a_frame_fills_its_picture():
    frame = KEPT["frames"][-1]
    points = unrolling.scaled(frame)
    assert np.abs(points).max() == 1
    coordinates = np.array(frame["coordinates"])
    np.testing.assert_allclose(points * np.abs(coordinates).max(), coordinates)


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


@pytest.mark.parametrize("run", ["geometry-bijection-lstm"])
def test_a_run_without_frames_has_no_still(run):
    with pytest.raises(KeyError):
        unrolling.still(looks(), run)
