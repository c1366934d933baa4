"""The laboratory: named runs, saved results, plots, verdicts, benchmarks.

Chapter: chapters/04_training.md      Tests: tests/test_lab.py
"""
