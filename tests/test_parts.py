"""Operations with several outputs: all cotangents at once, None where there is none, and no zeros in between."""

import autograd.numpy as anp
import numpy as np
import pytest

from mhc_np.autodiff import define_vjp, grad
from mhc_np.autodiff.parts import Parts, unpack

SEEN = []


def wave_fwd(x, y):
    return Parts((np.sin(x) * y, np.cos(x), x)), (x, y)


def wave_bwd(d_parts, cache):
    SEEN.append(d_parts)
    x, y = cache
    d_wave, d_other, d_x = (0.0 if d_part is None else d_part for d_part in d_parts)
    return d_wave * np.cos(x) * y - d_other * np.sin(x) + d_x, d_wave * np.sin(x) + 0 * y


wave = define_vjp(wave_fwd, wave_bwd, reference="np.sin")
X, Y = np.random.default_rng(0).standard_normal((2, 3, 4))


def test_values_come_out_as_they_are():
    parts = unpack(wave(X, Y))
    assert len(parts) == 3
    assert parts[2] is X
    np.testing.assert_array_equal(parts[1], np.cos(X))


@pytest.mark.parametrize(
    ("combine", "reference"),
    [
        (lambda a, b, c: a * b + c * c, lambda x, y: anp.sin(x) * y * anp.cos(x) + x * x),
        (lambda a, b, c: a * a + a, lambda x, y: (anp.sin(x) * y) ** 2 + anp.sin(x) * y),  # one part, twice
        (lambda a, b, c: b, lambda x, y: anp.cos(x)),
    ],
)
def test_gradients_are_those_of_the_definition(combine, reference):
    weights = np.random.default_rng(1).standard_normal(X.shape)
    for argnum in (0, 1):

        def loss(z, function, argnum=argnum):
            return anp.sum(function(*((z, Y) if argnum == 0 else (X, z))) * weights)

        got = grad(lambda z, at=loss: at(z, lambda x, y: combine(*unpack(wave(x, y)))))((X, Y)[argnum])
        want = grad(lambda z, at=loss: at(z, reference))((X, Y)[argnum])
        np.testing.assert_allclose(got, want, atol=1e-14)


def test_the_backward_runs_once_and_sees_none_for_what_nobody_used():
    SEEN.clear()
    grad(lambda x: anp.sum(unpack(wave(x, Y))[0] * unpack(wave(X, Y))[1]))(X)
    assert len(SEEN) == 1
    assert SEEN[0][1] is None
    assert SEEN[0][2] is None


def test_a_second_derivative_raises():
    def first(x):
        return anp.sum(grad(lambda y: anp.sum(unpack(wave(y, Y))[0]))(x) ** 2)

    with pytest.raises(NotImplementedError, match="differentiate np.sin to go further"):
        grad(first)(X)
