"""The header of an HMM sequence: a model's parameters written as real-valued tokens.

Chapter: chapters/03_tasks.md      Tests: tests/test_tasks_hmm_header.py
Symbols: A -> transition (B, S, S), E -> emission (B, S, V), x_1 .. x_K -> observations (B, K),
         what a model reads -> inputs (B, T, F)

What a header token holds decides how hard the task is to learn, more than the size of the network:
a filter step multiplies the belief by *columns* of E and adds *logarithms*, and a network that is
given rows of probabilities must first learn to gather and to convert them. So the variants are
data, one line each in `HEADERS`, from the plain rows to tokens that are ready to use.

Layout of the F features. Three blocks of columns, one per kind of token, and a token is zero
outside its own block:

    [ transition part | emission part | observation, one-hot ]

Hence ONE linear map from F features to the width of the model acts as a separate map for each kind
of token, bias included: a block's name columns (or its one-hot) carry it. (A joined header token
fills the first two blocks at once.)
"""

from typing import NamedTuple

import numpy as np

from mhc_np.tasks.base import require


class Header(NamedTuple):
    """How the parameters are laid out in header tokens.

    Parameters
    ----------
    emission_by : {"row", "column"}
        Token i holds ``E[i, :]``, what state i emits, or ``E[:, i]``, how well each state explains
        symbol i.
    logs : bool
        Give `soft_log` of each probability beside it.
    names : bool
        Say which row or column it is, one-hot. Without it a token's position must tell, and a model
        with relative positions alone can only count the tokens before it.
    joined : bool
        Put row i of A and part i of E in one token.
    """

    emission_by: str
    logs: bool
    names: bool
    joined: bool


# Each line but the first changes one thing in the line above it.
HEADERS = {
    "rows": Header("row", logs=False, names=False, joined=False),
    "named_rows": Header("row", logs=False, names=True, joined=False),
    "columns": Header("column", logs=False, names=True, joined=False),
    "log_columns": Header("column", logs=True, names=True, joined=False),
    "mix": Header("column", logs=True, names=True, joined=True),
}


class Blocks(NamedTuple):
    """Sizes of a layout: tokens in the header, and where each block of features starts and ends."""

    num_header: int
    transition: slice
    emission: slice
    observation: slice


def blocks(header, num_states, num_symbols):
    """Return the `Blocks` of a header for S states and V symbols.

    >>> blocks(HEADERS["rows"], num_states=2, num_symbols=3)  # 2 + 1, 3 + 1 and 3 columns
    Blocks(num_header=4, transition=slice(0, 3, None), emission=slice(3, 7, None),
           observation=slice(7, 10, None))
    """
    S, V = num_states, num_symbols
    by_row = header.emission_by == "row"
    parts, length = (S, V) if by_row else (V, S)
    repeats = 2 if header.logs else 1
    first = repeats * S + (S if header.names else 1)
    second = first + repeats * length
    if not header.joined:
        second += parts if header.names else 1
    num_header = S if header.joined else S + parts
    return Blocks(num_header, slice(0, first), slice(first, second), slice(second, second + V))


def soft_log(p):
    """Return ``(ln p + 2) / 2`` with p at least 1e-6: about zero on average, and no -inf.

    For S = 5 the mean of ln p over Dirichlet(1) rows is -2.08.

    >>> soft_log(np.array([1.0, np.exp(-2), 0.0])).round(2)
    array([ 1.  ,  0.  , -5.91])
    """
    return 0.5 * (np.log(np.maximum(p, 1e-6)) + 2.0)


def write(header, transition, emission, observations):
    """Return the tokens of a batch of sequences, header first, (B, num_header + K, F) in float32."""
    (B, S, V), K = emission.shape, observations.shape[1]
    require(
        V == S or not (header.joined and header.emission_by == "column"),
        f"hmm: a header that joins rows of A with columns of E wants num_symbols = num_states, "
        f"got {V} and {S}; take one that is not joined, such as 'log_columns'",
    )
    layout = blocks(header, S, V)
    inputs = np.zeros((B, layout.num_header + K, layout.observation.stop), dtype=np.float32)
    parts = emission if header.emission_by == "row" else emission.swapaxes(1, 2)
    inputs[:, :S, layout.transition] = _tokens(header, transition, named=True)
    start = 0 if header.joined else S
    inputs[:, start : layout.num_header, layout.emission] = _tokens(header, parts, named=not header.joined)
    inputs[:, layout.num_header :, layout.observation] = np.eye(V)[observations]
    return inputs


def read(header, num_states, num_symbols, inputs):
    """Return (transition, emission, observations) from the tokens: the inverse of `write`.

    The probabilities come back in float64 from what the float32 tokens say, and each row is divided
    by its sum. So "the exact posterior" means: exact for the very numbers that a model is shown.
    """
    S, V = num_states, num_symbols
    layout = blocks(header, S, V)
    inputs = np.asarray(inputs)
    start, length = (0 if header.joined else S), (V if header.emission_by == "row" else S)
    first = layout.emission.start
    transition = inputs[:, :S, :S].astype(np.float64)
    emission = inputs[:, start : layout.num_header, first : first + length].astype(np.float64)
    if header.emission_by == "column":
        emission = emission.swapaxes(1, 2)
    observations = inputs[:, layout.num_header :, layout.observation].argmax(axis=-1)
    transition /= transition.sum(axis=-1, keepdims=True)
    return transition, emission / emission.sum(axis=-1, keepdims=True), observations


def _tokens(header, rows, named):
    """Return each row of (B, R, C) as [probabilities, their logs, the row's name], as asked."""
    pieces = [rows, soft_log(rows)] if header.logs else [rows]
    if named:
        R = rows.shape[1]
        name = np.eye(R) if header.names else np.ones((R, 1))
        pieces.append(np.broadcast_to(name, (len(rows), *name.shape)))
    return np.concatenate(pieces, axis=-1)
