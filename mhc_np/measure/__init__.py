"""Measures: arrays in, numbers out; on NumPy alone, so that no diagnostic leans on autodiff.

Chapter: chapters/04_training.md      Tests: tests/test_calibration.py
"""

from mhc_np.measure import calibration, gains, labels, memory, power_law, reliability
from mhc_np.measure.calibration import (
    entropy_bits,
    entropy_mae_bits,
    entropy_mae_of_means_bits,
    kl_bits,
    total_variation,
)

__all__ = [
    "calibration",
    "entropy_bits",
    "entropy_mae_bits",
    "entropy_mae_of_means_bits",
    "gains",
    "kl_bits",
    "labels",
    "memory",
    "power_law",
    "reliability",
    "total_variation",
]
