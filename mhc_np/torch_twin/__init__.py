"""The same networks on the same parameters in PyTorch: a second opinion, the speed to beat, and a way to larger runs.

Read from the equations and not from our kernels, and optional: nothing else in the package imports PyTorch.
"""

try:
    import torch  # noqa: F401
except ModuleNotFoundError as error:
    message = "mhc_np.torch_twin: wants PyTorch, which is not here; pip install 'mhc_np[torch]'"
    raise ModuleNotFoundError(message) from error

from mhc_np.torch_twin.model import (
    adamw,
    cross_entropy,
    logits,
    one_thread,
    to_numpy,
    to_torch,
    training_step,
    value_and_grad,
)

__all__ = [
    "adamw",
    "cross_entropy",
    "logits",
    "one_thread",
    "to_numpy",
    "to_torch",
    "training_step",
    "value_and_grad",
]
