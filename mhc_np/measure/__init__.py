"""Measures: arrays in, numbers out; on NumPy alone, so that no diagnostic leans on autodiff.

Chapter: chapters/04_training.md      Tests: tests/test_calibration.py
"""

from mhc_np.measure import (
    calibration,
    drift,
    events,
    gains,
    geometry,
    labels,
    manifold,
    memory,
    power_law,
    probes,
    refinement,
    reliability,
    streams,
)
from mhc_np.measure.calibration import (
    entropy_bits,
    entropy_mae_bits,
    entropy_mae_of_means_bits,
    kl_bits,
    total_variation,
)

__all__ = [
    "calibration",
    "drift",
    "events",
    "entropy_bits",
    "entropy_mae_bits",
    "entropy_mae_of_means_bits",
    "gains",
    "geometry",
    "kl_bits",
    "labels",
    "manifold",
    "memory",
    "power_law",
    "probes",
    "refinement",
    "reliability",
    "streams",
    "total_variation",
]
