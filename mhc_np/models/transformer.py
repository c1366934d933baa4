"""A decoder-only Transformer on n residual streams: embed, L times (attention, feed-forward), read out.

Chapter: chapters/02_transformer.md      Tests: tests/test_transformer.py
Symbols: x_l -> streams (B, T, n, D), h = what a sub-layer reads -> hidden (B, T, D), z -> logits (B, T, num_outputs)

Parameters are nested dicts: ``params["blocks"]["0"]["attention"]["W_q"]``. Each sub-layer normalises its own input, and
`mhc_np.connections.connect` decides how it reads from the streams and writes back; the plain network is the scheme
"residual" with one stream. The model knows no task: it maps ids or features to logits.
"""

import autograd.numpy as anp
import numpy as np

from mhc_np import connections, ops
from mhc_np.models.sizes import require_params

EMBEDDING_STD = 0.5
HEAD_STD = 0.02


def init(config, rng, dtype=np.float32):
    """Draw the parameters.

    Matrices are normal with variance 1 / fan-in; those that write to the stream are smaller by sqrt(2 L), since 2 L of
    them add up. Gains are one, biases and relative-bias tables zero, the head small: the first prediction is nearly
    uniform.

    Parameters
    ----------
    config : ModelConfig
    rng : np.random.Generator
    dtype : floating dtype
        float32 to train, float64 to check gradients.

    Returns
    -------
    nested dict of arrays
    """
    D, hidden = config.width, config.mlp_ratio * config.width
    shrink = 1 / np.sqrt(2 * config.num_applied)

    def normal(*shape, std):
        return (std * rng.standard_normal(shape)).astype(dtype)

    def matrix(rows, columns, scale=1.0):
        return normal(rows, columns, std=scale / np.sqrt(rows))

    def constant(value, *shape):
        return np.full(shape, value, dtype)

    def attention():
        part = {"gain": constant(1, D), **{name: matrix(D, D) for name in ("W_q", "W_k", "W_v")}}
        part["W_o"] = matrix(D, D, shrink)
        if config.positions == "relative":
            part["bias_table"] = constant(0, config.num_offsets, config.num_heads)
        return part

    def mlp():
        into = {"gain": constant(1, D), "W_in": matrix(D, hidden), "b_in": constant(0, hidden)}
        return {**into, "W_out": matrix(hidden, D, shrink), "b_out": constant(0, D)}

    def connection(sublayer):
        drawn = connections.init(config.scheme, config.num_streams, D, rng, sublayer=sublayer)
        return {"connection": {name: leaf.astype(dtype) for name, leaf in drawn.items()}} if drawn else {}

    params = {"embed": {"table": normal(config.num_inputs, D, std=EMBEDDING_STD)}}
    if config.positions == "absolute":
        params["positions"] = {"table": normal(config.num_positions, D, std=EMBEDDING_STD)}
    params["blocks"] = {}
    for layer in range(config.num_layers):
        params["blocks"][str(layer)] = {
            "attention": {**attention(), **connection(2 * layer)},
            "mlp": {**mlp(), **connection(2 * layer + 1)},
        }
    if config.final_norm:
        params["final_norm"] = {"gain": constant(1, D)}
    if config.head == "untied":
        params["head"] = {"W_head": normal(D, config.num_outputs, std=HEAD_STD)}
    return params


def logits(params, config, *, inputs, hook=None):
    """Predict at every position from what stands at or before it.

    Parameters
    ----------
    params : nested dict of arrays
        As drawn by `init`.
    config : ModelConfig
    inputs : (B, T) ints, or (B, T, num_inputs) floats
        What the config's embedder reads.
    hook : callable, optional
        ``hook(site, layer, value) -> value`` sees every intermediate and may replace it; see `mhc_np.models.trace`.

    Returns
    -------
    (B, T, num_outputs) floats
        Logits: natural-log scores, softmax over the last axis.

    Raises
    ------
    ValueError
        If the parameters or inputs do not fit the config, or the inputs are longer than an absolute position table.
    """
    require_params(init, params, config)
    inputs = np.asarray(inputs)
    wanted = 2 if config.embedder == "ids" else 3
    if inputs.ndim != wanted or (wanted == 3 and inputs.shape[2] != config.num_inputs):
        shape = "(B, T) ids" if wanted == 2 else f"(B, T, {config.num_inputs}) features"
        raise ValueError(f"logits: want inputs {shape}, got shape {inputs.shape}")
    watch = hook or _pass
    streams = connections.expand(_embed(params, config, inputs), config.num_streams)
    streams = watch("embedding", 0, streams)
    offsets = _offsets(config, inputs.shape[1]) if config.positions == "relative" else None
    for layer in range(config.num_applied):
        block = params["blocks"][str(layer % config.num_layers)]

        def attend(hidden, part=block["attention"], layer=layer):
            return _attention(part, config, hidden, offsets, watch, layer)

        def feed_forward(hidden, part=block["mlp"], layer=layer):
            return _mlp(part, config, hidden, watch, layer)

        for name, branch in (("attention", attend), ("mlp", feed_forward)):
            streams = connections.connect(block[name].get("connection", {}), config.scheme, streams, branch)
            streams = watch(f"after {name}", layer, streams)
    return _read_out(params, config, connections.reduce(streams))


def _embed(params, config, inputs):
    table = params["embed"]["table"]
    if config.embedder == "features":
        hidden = ops.linear(inputs.astype(_dtype(table), copy=False), table)
    else:
        hidden = ops.embed(table, ids=inputs)
    if config.positions != "absolute":
        return hidden
    length = inputs.shape[1]
    if length > config.num_positions:
        raise ValueError(f"logits: want at most {config.num_positions} positions, got {length}; use relative or rotary")
    return hidden + ops.embed(params["positions"]["table"], ids=np.arange(length))


def _attention(part, config, hidden, offsets, watch, layer):
    """Normalise, attend, project: the branch of an attention sub-layer."""
    hidden = ops.rmsnorm(hidden, part["gain"])
    queries, keys, values = (ops.linear(hidden, part[name]) for name in ("W_q", "W_k", "W_v"))
    if config.positions == "rotary":
        queries, keys = (ops.rotary(x, num_heads=config.num_heads) for x in (queries, keys))
    bias = None if offsets is None else ops.relative_bias(part["bias_table"], offsets=offsets)
    queries, keys = watch("queries", layer, queries), watch("keys", layer, keys)
    values = watch("values", layer, values)
    if watch is not _pass:
        watch("weights", layer, ops.attention_weights(queries, keys, bias, num_heads=config.num_heads))
    heads = ops.attention(queries, keys, values, bias, num_heads=config.num_heads)
    return watch("attention", layer, ops.linear(watch("heads", layer, heads), part["W_o"]))


def _mlp(part, config, hidden, watch, layer):
    """Normalise, widen, bend, narrow: the branch of a feed-forward sub-layer."""
    hidden = ops.rmsnorm(hidden, part["gain"])
    bend = ops.relu if config.activation == "relu" else ops.gelu
    inner = bend(ops.linear(hidden, part["W_in"], part["b_in"]))
    return watch("mlp", layer, ops.linear(inner, part["W_out"], part["b_out"]))


def _read_out(params, config, hidden):
    if config.final_norm:
        hidden = ops.rmsnorm(hidden, params["final_norm"]["gain"])
    if config.head == "untied":
        return ops.linear(hidden, params["head"]["W_head"])
    last_rows = np.arange(config.num_inputs - config.num_outputs, config.num_inputs)
    return ops.linear(hidden, anp.transpose(ops.embed(params["embed"]["table"], ids=last_rows)))


def _offsets(config, length):
    """Row of the relative-bias table for every pair: distance, cut off; then header seen, then header to header."""
    position = np.arange(length)
    offsets = np.clip(position[:, None] - position, 0, config.max_distance)
    header = position < config.num_header
    offsets[:, header] = config.max_distance + 1
    offsets[np.ix_(header, header)] = config.max_distance + 2
    return offsets


def _pass(site, layer, value):
    """Look at nothing, change nothing."""
    return value


def _dtype(array):
    return getattr(array, "_value", array).dtype  # a traced array keeps its values in a box
