"""How a branch is connected to the streams around it: residual, Hyper-Connections and their relatives, as data.

Chapter: chapters/11_hyper_connections.md      Tests: tests/test_connections.py
"""

from mhc_np.connections.coefficients import Coefficients, coefficients, coefficients_ref
from mhc_np.connections.connect import connect, connect_ref
from mhc_np.connections.gated_read import gated_read, gated_read_ref
from mhc_np.connections.mix_and_write import mix_and_write, mix_and_write_ref
from mhc_np.connections.mixing import mix, mix_ref, read, read_ref, write, write_ref
from mhc_np.connections.parameters import init
from mhc_np.connections.schemes import SCHEMES
from mhc_np.connections.streams import expand, reduce

__all__ = [
    "SCHEMES",
    "Coefficients",
    "coefficients",
    "coefficients_ref",
    "connect",
    "connect_ref",
    "expand",
    "gated_read",
    "gated_read_ref",
    "init",
    "mix",
    "mix_and_write",
    "mix_and_write_ref",
    "mix_ref",
    "read",
    "read_ref",
    "reduce",
    "write",
    "write_ref",
]
