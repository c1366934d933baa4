"""The baselines without attention: one that sees a single token, and a fair one that sees the whole context.

Chapter: chapters/04_training.md      Tests: tests/test_baselines.py
Symbols: D -> width, L -> num_layers, E -> token_width, e_s -> the token at position s (B, T, E), z -> logits

The *position-wise* MLP is the Transformer with its attention taken out: a position sees its own token and its own
number, so no evidence can reach it. It shows what the task needs, not what an MLP can do.

The *context* MLP sees all tokens up to its position, written side by side and padded with zeros to the full length. Its
first layer has rows W_s of its own for every place s. With zeros behind position t, that layer gives

    sum over s <= t of  e_s W_s,

a running sum: so the padded prefixes, T² tokens for a sequence of T, need not be written down at all.
"""

from dataclasses import dataclass

import autograd.numpy as anp
import numpy as np

from mhc_np import ops
from mhc_np.models.sizes import require_params, require_sizes
from mhc_np.models.tokens import EMBEDDING_STD, embed_tokens, init_tokens

HEAD_STD = 0.02


@dataclass(frozen=True)
class MLPConfig:
    """A residual MLP at every position.

    Parameters
    ----------
    num_inputs, num_outputs, num_positions : int
        As for the Transformer.
    width : int
        D, of the residual stream.
    num_layers : int
        L blocks, each: normalise, widen, bend, narrow, add.
    mlp_ratio : int
        Width of a block's hidden layer, in units of D.
    embedder : {"ids", "features"}
    context : bool
        Whether a position sees the tokens before it too.
    token_width : int
        E, how wide a token is before the context's first layer; the position-wise MLP embeds to D at once.
    """

    num_inputs: int
    num_outputs: int
    num_positions: int
    width: int = 48
    num_layers: int = 2
    mlp_ratio: int = 4
    embedder: str = "ids"
    context: bool = False
    token_width: int = 8

    reads_on = False

    def __post_init__(self):
        """Refuse what cannot be built."""
        require_sizes("MLPConfig", self, "width", "num_layers", "mlp_ratio", "token_width")


@dataclass(frozen=True)
class ContextMLPConfig(MLPConfig):
    """An `MLPConfig` that sees the whole context unless told otherwise."""

    context: bool = True


def init(config, rng, dtype=np.float32):
    """Draw the parameters, on the Transformer's rules; the first layer's sum over T tokens has variance one."""
    D, T, hidden = config.width, config.num_positions, config.mlp_ratio * config.width

    def normal(*shape, std):
        return (std * rng.standard_normal(shape)).astype(dtype)

    def constant(value, size):
        return np.full(size, value, dtype)

    if config.context:
        E = config.token_width
        params = {"embed": init_tokens(config, rng, dtype, E)}
        params["context"] = {"W_context": normal(T, E, D, std=1 / np.sqrt(E * T) / EMBEDDING_STD)}
        params["positions"] = {"table": normal(T, D, std=EMBEDDING_STD)}
    else:
        params = {"embed": init_tokens(config, rng, dtype), "positions": {"table": normal(T, D, std=EMBEDDING_STD)}}
    params["blocks"] = {}
    for layer in range(config.num_layers):
        into = {"gain": constant(1, D), "W_in": normal(D, hidden, std=1 / np.sqrt(D)), "b_in": constant(0, hidden)}
        std = 1 / np.sqrt(hidden * config.num_layers)
        back = {"W_out": normal(hidden, D, std=std), "b_out": constant(0, D)}
        params["blocks"][str(layer)] = {"mlp": {**into, **back}}
    params["final_norm"] = {"gain": constant(1, D)}
    params["head"] = {"W_head": normal(D, config.num_outputs, std=HEAD_STD)}
    return params


def logits(params, config, *, inputs):
    """Predict at every position from its token, or from all up to it; arguments as for the Transformer."""
    require_params(init, params, config)
    hidden = embed_tokens(params["embed"], config, inputs)
    length = hidden.shape[1]
    if length > config.num_positions:
        raise ValueError(f"logits: want at most {config.num_positions} positions, got {length}; an MLP cannot read on")
    if config.context:
        hidden = running_sum(hidden, params["context"]["W_context"][:length])
    hidden = hidden + ops.embed(params["positions"]["table"], ids=np.arange(length))
    for block in params["blocks"].values():
        part = block["mlp"]
        inner = ops.linear(ops.rmsnorm(hidden, part["gain"]), part["W_in"], part["b_in"])
        hidden = hidden + ops.linear(ops.relu(inner), part["W_out"], part["b_out"])
    return ops.linear(ops.rmsnorm(hidden, params["final_norm"]["gain"]), params["head"]["W_head"])


def running_sum(tokens, W_context):
    """Return the sum over s <= t of tokens[:, s] @ W_context[s], shape (B, T, D).

    >>> tokens, W_context = np.array([[[1.0], [2.0]]]), np.array([[[10.0]], [[100.0]]])
    >>> running_sum(tokens, W_context)  # 1 * 10, then 1 * 10 + 2 * 100
    array([[[ 10.],
            [210.]]])
    """
    by_place = anp.matmul(anp.swapaxes(tokens, 0, 1), W_context)
    return anp.swapaxes(anp.cumsum(by_place, axis=0), 0, 1)
