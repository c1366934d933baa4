"""Wind tunnels: tasks whose exact posterior is known, each a sampler and a posterior.

Chapter: chapters/03_tasks.md      Tests: tests/test_tasks_bijection.py
"""

from mhc_np.tasks import bijection, hmm, khop, marked_token, recall, regression, sticky_chain
from mhc_np.tasks.base import Batch

TASKS = {
    "bijection": bijection,
    "hmm": hmm,
    "recall": recall,
    "khop": khop,
    "regression": regression,
    "sticky_chain": sticky_chain,
    "marked_token": marked_token,
}

__all__ = ["TASKS", "Batch", "bijection", "hmm", "khop", "marked_token", "recall", "regression", "sticky_chain"]
