"""The checks of assignment 1."""

import autograd.numpy as anp
import numpy as np

from book.assignments.grading import want
from mhc_np.autodiff import check_op, define_vjp

RNG = np.random.default_rng(1)
X, Y = RNG.standard_normal((2, 4, 3))
TOWARD = RNG.standard_normal(4)


def cosine_ref(x, y):
    """Return the definition, slowly."""
    return anp.sum(x * y, axis=-1) / anp.sqrt(anp.sum(x * x, axis=-1) * anp.sum(y * y, axis=-1))


def test_the_forward_gives_the_cosines(work):
    out, _ = work.cosine_fwd(X, Y)
    want(np.shape(out) == (4,), f"cosine_fwd: want one cosine a row, shape (4,), got {np.shape(out)}")
    far = np.abs(out - cosine_ref(X, Y)).max()
    want(far < 1e-12, f"cosine_fwd: off by up to {far:.2g}; did you divide by both lengths?")


def test_scaling_a_row_changes_nothing(work):
    d_x, d_y = work.cosine_bwd(TOWARD, work.cosine_fwd(X, Y)[1])
    for name, d, array in (("d_x", d_x, X), ("d_y", d_y, Y)):
        want(np.shape(d) == (4, 3), f"{name}: want the shape of the input, (4, 3), got {np.shape(d)}")
        along = np.abs((d * array).sum(axis=-1)).max()
        words = f"{name} has a part along its row ({along:.2g}): a cosine does not change when a row is scaled,"
        want(along < 1e-12, f"{words} so the gradient must be at right angles to it. Did you differentiate the length?")


def test_the_gradient_is_that_of_the_definition(work):
    verdict = check_op(define_vjp(work.cosine_fwd, work.cosine_bwd), cosine_ref, X, Y, rng=RNG)
    want(verdict, str(verdict))


def test_the_size_of_a_row_matters_as_it_should(work):
    """A row ten times as long gets a gradient ten times as small."""
    d_x = work.cosine_bwd(TOWARD, work.cosine_fwd(X, Y)[1])[0]
    d_long = work.cosine_bwd(TOWARD, work.cosine_fwd(10 * X, Y)[1])[0]
    words = "a row ten times as long must get a tenth of the gradient: which length do you divide by?"
    want(np.allclose(10 * d_long, d_x, rtol=1e-9, atol=0), words)
