"""Checkpoints: everything comes back bit for bit, or the file is refused and nothing is lost."""

import json
import os
import time
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mhc_np.learn import CheckpointError, checkpoint, load, save

ARRAYS = {
    "params": {"blocks": {"0": {"W_q": np.arange(6.0).reshape(2, 3), "connection": {}}}},
    "state": {"step": np.array(7), "m": np.array([np.nan, -0.0, np.inf], np.float32)},
    "names": np.array(["ä", "bcd"]),
    "nothing": {},
    "no_rows": np.zeros((0, 3)),
}


def assert_identical(got, wanted):
    """The same tree, and in every leaf the same dtype, shape and bytes."""
    assert got.keys() == wanted.keys()
    for key, leaf in wanted.items():
        if isinstance(leaf, dict):
            assert_identical(got[key], leaf)
        else:
            assert (got[key].dtype, got[key].shape) == (leaf.dtype, leaf.shape)
            assert got[key].tobytes() == leaf.tobytes()


def test_arrays_and_meta_come_back(tmp_path):
    meta = {"step": 7, "big": 2**128 - 1, "nested": {"list": [1.5, None, "ü"]}}
    save(tmp_path / "deep" / "run.npz", ARRAYS, meta)
    arrays, got = load(tmp_path / "deep" / "run.npz")
    assert_identical(arrays, ARRAYS)
    assert got == meta
    assert [file.name for file in (tmp_path / "deep").iterdir()] == ["run.npz"]


keys = st.text(alphabet="abcXYZ_019 äß-", min_size=1, max_size=5)
leaves = hnp.arrays(
    dtype=st.sampled_from(["<f4", "<f8", ">f8", "<i8", "|b1", "<c16"]),
    shape=hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
)
trees = st.dictionaries(keys, st.recursive(leaves, lambda inner: st.dictionaries(keys, inner, max_size=3)), max_size=3)


@given(tree=trees)
@settings(max_examples=60, deadline=None)
def test_any_tree_comes_back(tree, tmp_path_factory):
    path = tmp_path_factory.mktemp("any") / "run.npz"
    save(path, tree, {})
    assert_identical(load(path)[0], tree)


@pytest.mark.parametrize("name", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_generators_go_on_where_they_were(tmp_path, name):
    rng = np.random.Generator(getattr(np.random, name)(5))
    rng.standard_normal(7)
    rng.integers(0, 10, 3, dtype=np.int32)  # leaves half of a 64-bit draw in the state
    save(tmp_path / "run.npz", {}, {"generator": rng.bit_generator.state})
    other = np.random.Generator(getattr(np.random, name)(6))
    other.bit_generator.state = load(tmp_path / "run.npz")[1]["generator"]
    for draw in (lambda g: g.integers(0, 10, 5, dtype=np.int32), lambda g: g.standard_normal(5)):
        np.testing.assert_array_equal(draw(other), draw(rng))


def test_fortran_order_is_the_same_array(tmp_path):
    array = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    save(tmp_path / "run.npz", {"W": array}, {})
    np.testing.assert_array_equal(load(tmp_path / "run.npz")[0]["W"], array)


def test_what_needs_a_pickle_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match="want numbers or text in 'arrays/a/b', got dtype object"):
        save(tmp_path / "run.npz", {"a": {"b": np.array([None])}}, {})
    with pytest.raises(TypeError, match="want what JSON holds, got Generator"):
        save(tmp_path / "run.npz", {}, {"rng": np.random.default_rng(0)})
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def good(tmp_path):
    path = tmp_path / "run.npz"
    save(path, ARRAYS, {"step": 7})
    return path


def test_every_truncation_is_refused(good):
    whole = good.read_bytes()
    for length in [0, 1, 30, *np.linspace(31, len(whole) - 1, 40).astype(int)]:
        good.write_bytes(whole[:length])
        with pytest.raises(CheckpointError, match="run.npz: cut short, or not a checkpoint at all .*move it away"):
            load(good)


def test_every_flipped_byte_is_refused_or_harmless(good):
    """A flip in the zip's own bookkeeping may change nothing; then the content must be the same to the bit."""
    whole = good.read_bytes()
    refused = 0
    for position in np.random.default_rng(0).choice(len(whole), 300, replace=False):
        broken = bytearray(whole)
        broken[position] ^= 0xFF
        good.write_bytes(broken)
        try:
            arrays, meta = load(good)
        except CheckpointError:
            refused += 1
        else:
            assert_identical(arrays, ARRAYS)
            assert meta == {"step": 7}
    assert refused > 150


def rewrite(path, change):
    """Let ``change`` edit the members, with valid checksums of the zip itself."""
    with np.load(path) as archive:
        members = {name: archive[name] for name in archive.files}
    change(members)
    np.savez(path, **members)


@pytest.mark.parametrize(
    "change",
    [
        lambda members: members["arrays/state/m"].__setitem__(1, 0.0),  # -0.0 becomes 0.0: one bit
        lambda members: members.update({"arrays/state/m": members["arrays/state/m"].astype(float)}),
        lambda members: members.update({"arrays/no_rows": np.zeros((0, 4))}),
        lambda members: members.update({"arrays/state/n": members.pop("arrays/state/m")}),
        lambda members: members.update({"arrays/extra": np.zeros(1)}),
        lambda members: members.pop("arrays/state/step"),
        lambda members: members.update(header=np.array(members["header"].item().replace('"step": 7', '"step": 8'))),
    ],
    ids=["one bit", "dtype", "shape", "name", "added", "removed", "meta"],
)
def test_tampering_is_noticed(good, change):
    rewrite(good, lambda members: None)
    load(good)  # rewriting alone is harmless
    rewrite(good, change)
    with pytest.raises(CheckpointError, match="run.npz: changed since it was written"):
        load(good)


def test_foreign_files_are_refused(tmp_path):
    path = tmp_path / "foreign"
    np.savez(path.with_suffix(".npz"), a=np.zeros(3))
    np.save(path.with_suffix(".npy"), np.zeros(3))
    np.savez(tmp_path / "pickled.npz", sha256=np.array([{}], dtype=object))
    path.with_suffix(".json").write_text(json.dumps({"step": 3}))
    with zipfile.ZipFile(path.with_suffix(".zip"), "w") as archive:
        archive.writestr("hello.txt", "hello")
    for file in tmp_path.iterdir():
        with pytest.raises(CheckpointError, match=f"{file.name}: cut short, or not a checkpoint at all"):
            load(file)


def test_another_version_is_named(good, monkeypatch):
    monkeypatch.setattr(checkpoint, "FORMAT", "mhc_np checkpoint 2")
    with pytest.raises(CheckpointError, match="want format 'mhc_np checkpoint 2', got 'mhc_np checkpoint 1'"):
        load(good)


def test_a_missing_file_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="none.npz"):
        load(tmp_path / "none.npz")


@pytest.mark.parametrize("stage", ["savez", "fsync", "replace"])
def test_a_failed_save_leaves_the_good_file(good, monkeypatch, stage):
    def fail(target, *_, **__):
        if stage == "savez":
            target.write(b"half a fi")
        raise OSError(28, "No space left on device")

    before = good.read_bytes()
    monkeypatch.setattr(np if stage == "savez" else os, stage, fail)
    with pytest.raises(OSError, match="No space left"):
        save(good, {"other": np.zeros(3)}, {})
    assert good.read_bytes() == before
    assert [file.name for file in good.parent.iterdir()] == ["run.npz"]


def test_leftovers_are_ignored_and_the_old_ones_swept(good):
    old, young = good.with_name(".run.npz.1.tmp"), good.with_name(".run.npz.2.tmp")
    other = good.with_name(".other.npz.1.tmp")
    for file in (old, young, other):
        file.write_bytes(b"half a fi")
    for file in (old, other):
        os.utime(file, (time.time() - 3600,) * 2)
    assert load(good)[1] == {"step": 7}
    save(good, ARRAYS, {"step": 8})
    assert load(good)[1] == {"step": 8}
    assert not old.exists()
    assert young.exists()  # may belong to a save under way
    assert other.exists()
