"""Jupyter refuses to start as root, as in a container; Jupyter Book 2 would then skip execution."""

c.ServerApp.allow_root = True  # noqa: F821
