"""Told to pytest before it collects: without PyTorch, leave the twin's doctests alone."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["mhc_np/torch_twin/*"]
