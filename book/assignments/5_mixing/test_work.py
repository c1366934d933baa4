"""The checks of assignment 5."""

import autograd.numpy as anp
import numpy as np
from autograd import jacobian

from book.assignments.grading import want

RNG = np.random.default_rng(5)
N, LIVE = 4, 1e-4
BRANCHES = RNG.standard_normal((6, 3, 3)) / 3


def run(maps_of_layers, x):
    """Return the mean of the streams after all layers; the branch of each is a tanh layer."""
    streams = np.repeat(x[None], N, axis=0)
    for (H_pre, H_post, H_res), branch in zip(maps_of_layers, BRANCHES, strict=True):
        streams = H_res @ streams + H_post[:, None] * np.tanh(H_pre @ streams @ branch)
    return streams.mean(axis=0)


def moved(work, draws=50, size=3.0):
    """Return maps after training has gone anywhere."""
    start = np.asarray(work.init(N))
    return [work.maps(start + size * RNG.standard_normal(start.shape), N) for _ in range(draws)]


def test_at_the_start_it_is_the_plain_network(work):
    H_pre, H_post, H_res = (np.asarray(part) for part in work.maps(work.init(N), N))
    want((H_pre.shape, H_post.shape, H_res.shape) == ((N,), (N,), (N, N)), "maps: want shapes (n,), (n,) and (n, n)")
    want(abs(H_pre.sum() - 1) < 1e-9, f"H_pre sums to {H_pre.sum():.3g}: from copies the branch must read x, so 1")
    want(abs(H_post.mean() - 1) < 1e-9, f"H_post has the mean {H_post.mean():.3g}: their mean must get F once, so 1")
    want(np.abs(H_res.sum(axis=1) - 1).max() < 1e-9, "rows of H_res must sum to one: copies must stay copies")
    x = RNG.standard_normal(3)
    plain = x
    for branch in BRANCHES:
        plain = plain + np.tanh(plain @ branch)
    far = np.abs(run([(H_pre, H_post, H_res)] * 6, x) - plain).max()
    words = "the maps are right one by one, yet six layers differ from the plain network"
    want(far < 1e-9, f"{words} by {far:.2g}: the streams part, and the next branch must still read the mean of them")


def test_gains_stay_wherever_training_goes(work):
    drawn = [np.asarray(H_res) for _, _, H_res in moved(work)]
    want(min(H.min() for H in drawn) >= 0, "some raw numbers make an entry of H_res negative: gains can grow")
    far = max(np.abs(H.sum(axis=1) - 1).max() for H in drawn)
    want(far < 1e-9, f"for some raw numbers rows are {far:.2g} off one: the constraint is not built in")
    gain = np.abs(np.linalg.multi_dot(drawn)).sum(axis=1).max()
    want(gain < 1 + 1e-6, f"fifty mixings have the forward gain {gain:.3g}")


def test_the_mixing_is_alive_and_can_move(work):
    raw = np.asarray(work.init(N), float)
    slopes = jacobian(lambda raw: anp.reshape(work.maps(raw, N)[2], -1))(raw)
    want(np.abs(slopes).max() > 0, "H_res does not depend on the raw numbers: training cannot move it")
    words = f"the largest slope of H_res at the start is {np.abs(slopes).max():.1g}"
    want(np.abs(slopes).max() > LIVE, f"{words}: too far out in a sigmoid or softmax to come back from")


def test_the_streams_are_told_apart(work):
    H_pre, H_post, _ = (np.asarray(part) for part in work.maps(work.init(N), N))
    words = "every stream is read and written alike, so copies stay copies and H_res never matters:"
    want(np.ptp(H_pre) > 1e-6 or np.ptp(H_post) > 1e-6, f"{words} let H_pre or H_post prefer one stream")
