"""Attention's gradient in closed form: the advantage law, responsibilities, EM and its arms.

Chapter: chapters/07_advantage.md      Tests: tests/test_head.py
"""
