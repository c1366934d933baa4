"""mhc_np: a small Transformer in NumPy with gradients written by hand.

The floors, lowest first: ``autodiff`` -> ``ops`` -> ``connections`` -> ``models``; ``learn`` and ``dynamics``
stand on ``autodiff`` and ``ops``; ``tasks`` and ``measure`` import NumPy alone; ``lab`` stands on everything.
Data flows one way, down the floors.
"""

__version__ = "0.1.0"
