"""The tape, the trees, and the checker itself: a checker that passes everything would pass these ops too."""

import threading

import autograd
import autograd.numpy as anp
import numpy as np
import pytest

from mhc_np.autodiff import check_op, define_vjp, flatten, grad, tree_map, unflatten, value_and_grad


def rng():
    return np.random.default_rng(5)


def network(params, x):
    hidden = anp.tanh(anp.dot(x, params["layer"]["W"]) + params["layer"]["b"])
    return anp.sum(anp.dot(hidden, params["layer"]["W"].T) ** 2)  # W is used twice: its gradients must add


def test_one_root_a_leaf_equals_autograd_on_the_whole_dict():
    params = {"layer": {"W": rng().standard_normal((3, 4)), "b": rng().standard_normal(4)}}
    x = rng().standard_normal((2, 3))
    value, gradient = value_and_grad(network)(params, x)
    wanted = autograd.grad(network)(params, x)
    assert value == network(params, x)
    for path, leaf in flatten(gradient).items():
        np.testing.assert_allclose(leaf, flatten(wanted)[path], rtol=1e-13)


def test_unused_parameters_and_constant_functions_get_zeros_and_structure_is_kept():
    params = {"a": np.ones(2), "empty": {}, "b": {"c": np.ones((1, 3), np.float32)}}
    gradient = grad(lambda p: anp.sum(p["a"]))(params)
    assert gradient["empty"] == {}
    np.testing.assert_array_equal(gradient["a"], [1, 1])
    np.testing.assert_array_equal(gradient["b"]["c"], np.zeros((1, 3)))
    assert gradient["b"]["c"].dtype == np.float32
    np.testing.assert_array_equal(grad(lambda p: 3.0)(params)["a"], [0, 0])


def test_plain_functions_differentiate_twice():
    assert grad(grad(lambda x: x * x * x))(2.0) == 12.0


def test_a_value_used_twice_is_counted_once_per_use():
    def doubled(a):
        b = a + a
        return b + b

    assert grad(doubled)(1.0) == 4.0
    assert grad(doubled)(1.0) == 4.0  # nothing is left over from the first walk


@pytest.mark.parametrize("bad", [2, np.array([1, 2]), {"a": {"b": np.array([1])}}])
def test_integer_parameters_are_refused(bad):
    with pytest.raises(TypeError, match="want float arrays, got"):
        grad(lambda p: 0.0)(bad)


def test_non_scalar_functions_are_refused():
    with pytest.raises(ValueError, match=r"want a scalar function, got a value of shape \(2,\)"):
        grad(lambda x: x)(np.ones(2))


def test_threads_do_not_disturb_each_other():
    params = [{"layer": {"W": rng().standard_normal((3, 4)) + i, "b": np.zeros(4)}} for i in range(4)]
    x = rng().standard_normal((2, 3))
    wanted = [grad(network)(p, x)["layer"]["W"] for p in params]
    wrong = []

    def work(i):
        for _ in range(50):
            if not np.array_equal(grad(network)(params[i], x)["layer"]["W"], wanted[i]):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong


def test_the_cache_lives_and_dies_with_its_node():
    import gc
    import weakref

    class Cache:
        pass

    seen = []

    def forward(x):
        cache = Cache()
        seen.append(weakref.ref(cache))
        return x * 2, cache

    double = define_vjp(forward, lambda d_out, cache: (2 * d_out,))
    assert grad(lambda x: double(x))(1.0) == 2.0
    gc.collect()
    assert seen[0]() is None


def test_a_cache_dies_as_soon_as_its_backward_has_run():
    """So that a step needs little more memory than its forward pass, and uses it while it is warm."""
    import weakref

    class Cache:
        pass

    seen, alive = [], []

    def forward(x):
        cache = Cache()
        seen.append(weakref.ref(cache))
        return x * 2, cache

    def backward(d_out, cache):
        alive.append(sum(ref() is not None for ref in seen))
        return (2 * d_out,)

    double = define_vjp(forward, backward)
    assert grad(lambda x: double(double(double(x))))(1.0) == 8.0
    assert alive == [3, 2, 1]


def sine():
    return define_vjp(lambda x: (np.sin(x), x), lambda d_out, x: (d_out * np.cos(x),), reference="anp.sin")


def test_second_order_raises_even_when_only_the_cotangent_is_traced():
    with pytest.raises(NotImplementedError, match="differentiate anp.sin"):
        grad(grad(sine()))(1.0)
    with pytest.raises(NotImplementedError, match="first order"):  # outer variable enters through the cotangent only
        grad(lambda c: grad(lambda x: c * sine()(x))(1.0))(2.0)


def test_the_checker_catches_a_wrong_value_an_impure_forward_and_an_impure_backward():
    x = rng().standard_normal((2, 3))
    off = define_vjp(lambda x: (np.sin(x) + 1e-9, x), lambda d_out, x: (d_out * np.cos(x),))
    assert "the value is wrong" in str(check_op(off, anp.sin, x, rng=rng()))

    def grabbing(x):
        x += 1e-13
        return np.sin(x), x

    verdict = check_op(define_vjp(grabbing, lambda d, x: (d * np.cos(x),)), anp.sin, x.copy(), rng=rng())
    assert "changed in place" in str(verdict)


def test_the_checker_sees_what_a_cotangent_of_ones_cannot():
    """softmax backward without its sum term: d_out.sum() is constant in x, so ones would compare 0 with 0."""

    def softmax(x):
        exps = anp.exp(x - anp.max(x, axis=-1, keepdims=True))
        return exps / anp.sum(exps, axis=-1, keepdims=True)

    def forward(x):
        out = softmax(x)
        return out, out

    x = rng().standard_normal((2, 4))
    right = define_vjp(forward, lambda d, p: (p * (d - np.sum(p * d, -1, keepdims=True)),))
    wrong = define_vjp(forward, lambda d, p: (p * (1 - p) * d,))
    assert check_op(right, softmax, x, rng=rng())
    assert not check_op(wrong, softmax, x, rng=rng())
    np.testing.assert_allclose(grad(lambda x: anp.sum(right(x)))(x), 0, atol=1e-15)  # what ones would see


def test_the_checker_is_strict_at_small_scale():
    x = rng().standard_normal(3)
    small = lambda x: 1e-3 * x * x  # noqa: E731
    twice = define_vjp(lambda x: (1e-3 * x * x, x), lambda d, x: (4e-3 * x * d,))
    assert "2 times" in str(check_op(twice, small, x, rng=rng()))


def test_trees_round_trip_and_name_their_trouble():
    tree = {"a": 1, "b": {"c": 2, "d": {"e": 3}}}
    assert unflatten(flatten(tree)) == tree
    assert list(flatten(tree)) == ["a", "b/c", "b/d/e"]
    with pytest.raises(ValueError, match=r"want a tree with keys \['c', 'd'\], got \['c'\]"):
        tree_map(lambda a, b: a, tree, {"a": 1, "b": {"c": 2}})
    with pytest.raises(ValueError, match="without '/'"):
        flatten({"a/b": 1})


def test_the_checker_walks_the_same_tape_twice_and_watches_the_cotangent():
    def into_cache(d_out, x):
        gradient = 2 * x * d_out
        x *= 0
        return (gradient,)

    def into_cotangent(d_out, x):
        d_out *= 2
        return (x * d_out,)

    def square(x):
        return x * x

    x = rng().standard_normal(3)
    for backward, words in ((into_cache, "into its cache"), (into_cotangent, "into the cotangent")):
        impure = define_vjp(lambda x: (x * x, x.copy()), backward)
        assert words in str(check_op(impure, square, x, rng=rng()))


def test_the_checker_does_not_pass_what_it_has_not_tested():
    wrong = define_vjp(lambda x: (x * x, x), lambda d_out, x: (99 * x * d_out,))
    assert "nothing was tested" in str(check_op(wrong, lambda x: x * x, np.zeros(3), rng=rng()))
    assert check_op(lambda x: 0 * x + 1, lambda x: 0 * x + 1, np.ones(3), rng=rng())  # a constant has none to test
    with pytest.raises(ValueError, match="want at least one array"):
        check_op(lambda: np.ones(2), lambda: np.ones(2), rng=rng())
    for bad in (np.ones(3, np.float32), np.ones((0, 4)), [1.0], 1.0):
        with pytest.raises(ValueError, match="check_op: want argument 0 to be a float64 array with entries, got"):
            check_op(anp.sin, anp.sin, bad, rng=rng())


def test_a_large_entry_hides_no_small_one():
    scale = np.array([1e6, 1e-6, 1.0, 1.0])
    slip = np.array([2e6, 3e-6, 2.0, 2.0])
    op = define_vjp(lambda x: (scale * x * x, x), lambda d_out, x: (slip * x * d_out,))
    verdict = check_op(op, lambda x: scale * x * x, np.array([1.0, 2.0, 3.0, 4.0]), rng=rng())
    assert "wrong in its smaller entries: at (1,)" in str(verdict)
