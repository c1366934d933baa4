"""How a branch is connected to the streams around it: residual, Hyper-Connections and their relatives, as data.

Chapter: chapters/11_hyper_connections.md      Tests: tests/test_connections.py
"""

from mhc_np.connections.connect import SCHEMES, connect, init
from mhc_np.connections.streams import expand, reduce

__all__ = ["SCHEMES", "connect", "expand", "init", "reduce"]
