"""Wind tunnels: tasks whose exact posterior is known, each a sampler and a posterior.

Chapter: chapters/03_tasks.md      Tests: tests/test_tasks_bijection.py
"""

from mhc_np.tasks import bijection, hmm, recall, regression
from mhc_np.tasks.base import Batch

TASKS = {"bijection": bijection, "hmm": hmm, "recall": recall, "regression": regression}

__all__ = ["TASKS", "Batch", "bijection", "hmm", "recall", "regression"]
