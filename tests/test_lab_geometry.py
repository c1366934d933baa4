"""From a run's folder to its diagnostics, at a tiny size: all there, all finite JSON, the same again, and refusals."""

import json
from dataclasses import replace

import pytest
from tiny_looks import BIJECTION, HMM, RUNS

from mhc_np.lab.experiment import carry_out
from mhc_np.lab.geometry import geometry_of, without_nan
from mhc_np.lab.verdicts_geometry import RULES


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Each tiny run, carried out once: {name: (run, folder)}."""
    found = {}
    for name, run in {"bijection": BIJECTION, "hmm": HMM, "lstm": RUNS["geometry-hmm-lstm"]}.items():
        out = tmp_path_factory.mktemp(name)
        carry_out(name, run, 0, out, progress=False)
        found[name] = run, out
    return found


@pytest.mark.parametrize("name", ["bijection", "hmm"])
def test_a_transformers_folder_becomes_one_small_result(made, name):
    run, out = made[name]
    found = geometry_of(run, 0, out, num_sequences=40)
    assert {"ablation", "depth", "keys", "manifold", "manifold_at_start", "drift"} <= set(found)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found == geometry_of(run, 0, out, num_sequences=40)
    assert found["prior_bits"] > 0
    assert found["depth"]["lens"]["kl_bits"][-1] == pytest.approx(found["kl_bits"], rel=1e-3)
    curves = found["drift"]["curves"]
    assert curves["step"] == [0, 1, 2, 5, 13, 30]
    assert curves["map_drift"][-1] == 0
    assert found["config"]["name"] == name
    assert len(found["drift"]["unrolling"]["frames"]) == 6
    assert "unrolling" not in geometry_of(run, 0, out, num_sequences=40, frames=False)["drift"]


def test_an_lstms_folder_gives_its_manifold(made):
    run, out = made["lstm"]
    found = geometry_of(run, 0, out, num_sequences=40)
    assert set(found["manifold"]["axes"]) == {"stream"}
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert "ablation" not in found


def test_the_rules_read_what_is_made(made):
    """Five copies of untrained networks: every rule gives a verdict, and the first networks earn no claim in full."""
    bijection, hmm, lstm = (geometry_of(*(made[n][0], 0, made[n][1]), num_sequences=40) for n in made)
    results = {"geometry-bijection": [bijection] * 5, "geometry-hmm": [hmm] * 5}
    results |= {f"{name}-lstm": [lstm] * 5 for name in results}
    for claim in ("C3", "C4", "C6", "C7"):
        assert RULES[claim](results).verdict != "holds", claim
    assert RULES["C8"](results).numbers


def test_another_run_another_seed_and_an_unfinished_run_are_refused(made, tmp_path):
    run, out = made["bijection"]
    with pytest.raises(ValueError, match="holds another run, or another seed than 1"):
        geometry_of(run, 1, out)
    with pytest.raises(ValueError, match="holds another run"):
        geometry_of(replace(run, training=replace(run.training, num_steps=31)), 0, out)
    with pytest.raises(FileNotFoundError):
        geometry_of(run, 0, tmp_path)


def test_what_json_cannot_hold_becomes_none():
    found = without_nan({"a": [float("nan"), 1.0, float("-inf")], "b": "word", "c": None})
    assert found == {"a": [None, 1.0, None], "b": "word", "c": None}
