"""Which operations make index vectors only: what a gather or scatter is told, and nothing else."""

import re
from collections import Counter

import jax
import jax.export
import jax.numpy as jnp
import pytest
from jax import lax

from tutor.jaxpr.arithmetic import arithmetic

X = jax.ShapeDtypeStruct((8, 128), jnp.float32)
N = jax.ShapeDtypeStruct((4,), jnp.int32)
S = jax.ShapeDtypeStruct((), jnp.int32)
DIMENSIONS = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))


def rows(x, at):
    return lax.gather(x, at[:, None], DIMENSIONS, (1, 128), mode="promise_in_bounds")


def stored(x, at):
    numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    return lax.scatter(x, at[:, None], jnp.ones((4, 128)), numbers, mode="promise_in_bounds")


def every_second(start=0):
    return lax.iota(jnp.int32, 4) * 2 + start


def whole(function, *structs) -> Counter:
    counted = arithmetic(jax.export.export(jax.jit(function), platforms=["cpu"])(*structs))
    return Counter({kind: n for kind, n in counted.items() if re.match("integer", kind)})


@pytest.mark.parametrize("access", [rows, stored])
def test_positions_that_are_counted_out_are_no_arithmetic(access):
    assert whole(lambda x: access(x, every_second()), X) == {}
    assert whole(lambda x, s: access(x, every_second(s)), X, S) == {}


@pytest.mark.parametrize("access", [rows, stored])
def test_positions_that_are_wrapped_are_none_either(access):
    def wrapped(x, s):
        at = every_second(s)
        return access(x, lax.select(at < 0, at + 8, at))

    assert whole(wrapped, X, S) == {}


def test_positions_inside_a_loop():
    assert whole(lambda x: lax.fori_loop(0, 2, lambda i, c: stored(c, every_second(i)), x), X) == {}


@pytest.mark.parametrize("access", [rows, stored])
def test_positions_made_of_an_array_are_arithmetic(access):
    assert whole(lambda x, n: access(x, n * 2 + 1), X, N) == {"integer mul": 1, "integer add": 1}


def test_positions_that_are_also_a_result_are_arithmetic():
    assert whole(lambda x: (rows(x, every_second(1)), every_second(1) + 3), X)["integer add"]
    both = lambda x: (lambda at: (rows(x, at), at))(every_second(1))  # noqa: E731
    assert whole(both, X) == {"integer mul": 1, "integer add": 1}


def test_what_is_gathered_from_or_stored_is_arithmetic():
    table = lambda at: lax.broadcast_in_dim(at * 3, (4, 128), (0,))  # noqa: E731
    assert whole(lambda: rows(table(lax.iota(jnp.int32, 4)), every_second())) == {"integer mul": 1}


def test_nothing_but_counting_is_arithmetic_where_nobody_gathers():
    assert whole(every_second) == {"integer mul": 1, "integer add": 1}
