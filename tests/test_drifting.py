"""Drift over planted courses: what is moved first arrives first, whatever kind it is."""

import numpy as np
import pytest

from mhc_np.autodiff import flatten, unflatten
from mhc_np.lab.drifting import curves, settled, snapshots, unrolling
from mhc_np.learn import save
from mhc_np.models import ModelConfig, init
from mhc_np.tasks import bijection

TASK = bijection.Config(num_symbols=4)
CONFIG = ModelConfig(TASK.num_ids, TASK.num_outputs, TASK.num_positions, width=16, num_layers=2, num_heads=2)
BATCH = bijection.sample(TASK, np.random.default_rng(0), 24)
EXACT = bijection.posterior(TASK, BATCH)
STEPS = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
ROUTING, CONTENT = ("W_q", "W_k"), ("W_v", "W_o")


def course(times):
    """Snapshots in which the parameters of each name go to another network's at their own pace."""
    first, last = (flatten(init(CONFIG, np.random.default_rng(seed), np.float64)) for seed in (1, 2))
    shots = []
    for step in STEPS:
        left = {name: np.exp(-step / time) if step < STEPS[-1] else 0.0 for name, time in times.items()}
        tree = {
            path: end + left.get(path.split("/")[-1], 0.0) * (first[path] - end) if path.startswith("blocks") else end
            for path, end in last.items()
        }
        shots.append((step, unflatten(tree)))
    return shots


def arrivals(routing, content):
    times = {**dict.fromkeys(ROUTING, routing), **dict.fromkeys(CONTENT, content), "W_in": 30.0, "W_out": 30.0}
    found = curves(course(times), CONFIG, inputs=BATCH.inputs, exact=EXACT)
    return found, settled(found)


@pytest.mark.parametrize(("routing", "content"), [(3.0, 80.0), (80.0, 3.0)])
def test_what_is_moved_first_arrives_first(routing, content):
    _, done = arrivals(routing, content)
    assert (done["routing_distance"] < done["content_distance"]) == (routing < content)
    assert done["routing_distance"] == pytest.approx(routing * np.log(10), rel=0.2)
    assert done["content_distance"] == pytest.approx(content * np.log(10), rel=0.2)
    if routing > content:  # values hang on the content parameters of the layers below, maps on both
        assert done["value_drift"] < done["map_drift"]


def test_distances_end_at_zero_and_begin_at_one_for_parameters():
    found, _ = arrivals(10.0, 10.0)
    for name in ("map_drift", "value_drift", "output_drift", "subspace_drift", "routing_distance", "content_distance"):
        assert found[name][0] > 0.1, name
        assert found[name][-1] == pytest.approx(0, abs=1e-7), name
    assert found["routing_distance"][0] == found["content_distance"][0] == 1
    assert len(found["step"]) == len(found["kl_bits"]) == len(STEPS)


def test_in_step_the_divergence_runs_ahead_of_its_root():
    """All parameters at one pace: blocks arrive together, and the second-order curve would have said maps first."""
    found, done = arrivals(40.0, 40.0)
    assert done["routing_distance"] == pytest.approx(done["content_distance"])
    assert done["map_divergence"] < done["map_drift"]
    late = STEPS.index(128)
    left = {name: found[name][late] / found[name][0] for name in ("map_drift", "map_divergence_bits")}
    assert left["map_divergence_bits"] == pytest.approx(left["map_drift"] ** 2, rel=0.3)


def test_a_curve_that_never_moves_has_no_arrival():
    found, _ = arrivals(10.0, 10.0)
    assert np.isnan(settled({**found, "map_drift": [0.0] * len(STEPS)})["map_drift"])


def test_snapshots_are_read_in_the_order_of_steps(tmp_path):
    for step, params in course(dict.fromkeys(ROUTING, 3.0))[:5]:
        save(tmp_path / f"step-{10 * step}.npz", params, {"step": 10 * step})
    assert [step for step, _ in snapshots(tmp_path)] == [0, 10, 20, 40, 80]
    with pytest.raises(FileNotFoundError, match="want three snapshots or more, got 0; set training.num_snapshots"):
        snapshots(tmp_path / "elsewhere")


def test_the_animation_follows_the_same_points_and_ends_unturned():
    shots = course({**dict.fromkeys(ROUTING, 5.0), **dict.fromkeys(CONTENT, 50.0)})
    found = unrolling(shots, CONFIG, inputs=BATCH.inputs, exact=EXACT)
    assert [frame["step"] for frame in found["frames"]] == list(STEPS)
    assert all(frame["coordinates"].shape == (96, 2) for frame in found["frames"])
    last, before = found["frames"][-1]["coordinates"], found["frames"][-2]["coordinates"]
    assert np.linalg.norm(last - before) < 0.5 * np.linalg.norm(last)
    assert len(found["entropy_bits"]) == 96
