"""Learning: optimisers, schedules, clipping, checkpoints, the loop, and the batch split over cores.

Chapter: chapters/04_training.md      Tests: tests/test_learn_loop.py
"""

from mhc_np.learn.adamw import AdamW, decays
from mhc_np.learn.checkpoint import CheckpointError, load, save
from mhc_np.learn.clipping import clip_by_global_norm
from mhc_np.learn.loop import fit
from mhc_np.learn.muon import Muon, orthogonalize
from mhc_np.learn.run import Fit
from mhc_np.learn.schedules import constant, log_spaced_steps, warmup_cosine
from mhc_np.learn.shards import sharded

__all__ = [
    "AdamW",
    "CheckpointError",
    "Fit",
    "Muon",
    "clip_by_global_norm",
    "constant",
    "decays",
    "fit",
    "load",
    "log_spaced_steps",
    "orthogonalize",
    "save",
    "sharded",
    "warmup_cosine",
]
