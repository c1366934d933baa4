"""The schemes as data: what each of a connection's three maps starts from, and what it is confined to.

Chapter: chapters/14_relatives.md      Tests: tests/test_connections.py
Symbols: H_pre -> pre, H_post -> post, H_res -> res; raw coefficients b + α·(…) -> raw (B, T, *start.shape)

Every scheme starts as the plain residual network: reads that sum to one, writes of one, rows of H_res that sum to one.
`None` in a map's place is the plain network's own choice: read the mean, write to all streams, keep each as it is.
"""

from collections.abc import Callable
from math import factorial
from typing import NamedTuple

import numpy as np

from mhc_np import ops
from mhc_np.ops.sinkhorn import sinkhorn_unchecked

SOFT = 0.01  # what a sigmoid read takes from each stream but its own, at the start (less for more than 50 streams)
SHARP = 8.0  # logit gap between staying and moving, at the start: 8I - 8 leaves .999 on the diagonal for n = 4


class Map(NamedTuple):
    """One of the three maps."""

    start: Callable  # (n, sublayer) -> the bias b, in the shape of the raw coefficients; None: nothing to choose
    constrain: Callable  # raw -> H
    definition: Callable  # the same in plain autograd.numpy


class Scheme(NamedTuple):
    """How a connection finds H_pre, H_post and H_res."""

    about: str
    features: str | None  # coefficients look at: "flat" all streams at once, "streams" each alone, None nothing
    pre: Map | None
    post: Map | None
    res: Map | None
    fits: Callable = lambda n: None  # n -> why n streams will not do, or None


def own_stream(n, sublayer):
    """Read one stream, another one for each sub-layer: 1 on stream ``sublayer mod n``."""
    return np.eye(n)[sublayer % n]


def own_stream_logits(n, sublayer):
    """Give the logits of a soft one-hot: 1 - .01 (n - 1) on the own stream, .01 on each other.

    Equal logits would be as good a start for the values, and a trap: no parameter could then tell the streams apart,
    so neither could any gradient, and they would stay copies of one another for ever. One stream is read as it is.
    """
    if n == 1:
        return None
    soft = min(SOFT, 0.5 / n)  # the own stream keeps more than half
    share = np.where(own_stream(n, sublayer) > 0, 1 - soft * (n - 1), soft)
    return np.log(share / (1 - share))


def plain(raw):
    """Leave the raw coefficients as they are."""
    return raw


def doubled(function):
    """Return twice a function: 2σ starts at one."""
    return lambda raw: 2 * function(raw)


def birkhoff(num_iters=20):
    """Return the map to (almost) doubly stochastic matrices by Sinkhorn.

    It leaves out `sinkhorn`'s check for finite logits: a network that has blown up should show it in its loss.
    """
    return Map(
        lambda n, sublayer: SHARP * (np.eye(n) - 1),
        lambda raw: sinkhorn_unchecked(raw, num_iters=num_iters),
        lambda raw: ops.sinkhorn_ref(raw, num_iters),
    )


def at_most(largest, reason):
    """Return a rule that refuses more than ``largest`` streams."""
    return lambda n: None if n <= largest else f"at most {largest} ({reason(n)})"


def count_permutations(n):
    """Say how many permutations n streams have."""
    return f"{n} streams have {factorial(n):,} permutations, each with its own logit"


def power_of_two(n):
    """Refuse a number of streams that is not 2, 4, 8, ..."""
    return None if n > 1 and n & (n - 1) == 0 else "a power of two, at least 2"


ONES = Map(lambda n, sublayer: np.ones(n), plain, plain)
ONE_HOT = Map(own_stream, plain, plain)
EYE = Map(lambda n, sublayer: np.eye(n), plain, plain)
GATED_READ = Map(own_stream_logits, ops.sigmoid, ops.sigmoid_ref)
GATED_WRITE = Map(lambda n, sublayer: np.zeros(n), doubled(ops.sigmoid), doubled(ops.sigmoid_ref))
PERMUTATIONS = Map(
    lambda n, sublayer: np.where(np.arange(factorial(n)) == 0, 0.0, -SHARP),
    *(ops.birkhoff_mixture, ops.birkhoff_mixture_ref),
)
KRONECKER = Map(
    lambda n, sublayer: np.full(n.bit_length() - 1, SHARP),
    *(ops.kronecker_mixture, ops.kronecker_mixture_ref),
)
ROTATION = Map(lambda n, sublayer: np.zeros((n, n)), ops.cayley, ops.cayley_ref)

SCHEMES = {
    "residual": Scheme("the plain network: read the mean, add to all", None, None, None, None),
    "scaled": Scheme(
        "one stream, a learned scale on the skip and one on the branch",
        *(None, None, ONES, EYE),
        fits=at_most(1, lambda n: "its two scalars belong to one stream"),
    ),
    "identity": Scheme("mHC without mixing: H_res = I", "flat", GATED_READ, GATED_WRITE, None),
    "hc_static": Scheme("Hyper-Connections with constant coefficients", None, ONE_HOT, ONES, EYE),
    "hc": Scheme("Hyper-Connections: H = b + α tanh(θ x̃), unconstrained", "streams", ONE_HOT, ONES, EYE),
    "free": Scheme("mHC without its projection and nothing else", "flat", GATED_READ, GATED_WRITE, EYE),
    "mhc": Scheme("manifold-constrained: H_res by Sinkhorn", "flat", GATED_READ, GATED_WRITE, birkhoff()),
    "mhc_lite": Scheme(
        "H_res a mixture of all n! permutations",
        *("flat", GATED_READ, GATED_WRITE, PERMUTATIONS),
        fits=at_most(4, count_permutations),
    ),
    "krom": Scheme(
        "H_res a Kronecker product of 2 x 2 mixings",
        *("flat", GATED_READ, GATED_WRITE, KRONECKER),
        fits=power_of_two,
    ),
    "cayley": Scheme("H_res a rotation", "flat", GATED_READ, GATED_WRITE, ROTATION),
}


def lookup(who, scheme, n):
    """Return the scheme of that name, or say why there is none for n streams."""
    if scheme not in SCHEMES:
        raise ValueError(f"{who}: want a scheme among {sorted(SCHEMES)}, got {scheme!r}")
    trouble = SCHEMES[scheme].fits(n) if n >= 1 else "at least 1"
    if trouble:
        raise ValueError(f"{who}: {scheme!r} wants a number of streams that is {trouble}, got n = {n}")
    return SCHEMES[scheme]
