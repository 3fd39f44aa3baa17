"""Index maps are evaluated with NumPy; JAX's own evaluation is the oracle."""

from __future__ import annotations

import itertools
import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tutor.jaxpr.compat import target
from tutor.jaxpr.index_maps import block_indices, block_starts, grid_steps
from tutor.jaxpr.kernels import KernelParts, kernel_parts


def traced(grid, block, index_map, shape, tables=()) -> KernelParts:
    """A kernel whose only input has this block and index map."""

    def kernel(*refs):
        refs[-1][...] = jnp.zeros_like(refs[-1])

    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=len(tables),
        grid=grid,
        in_specs=[pl.BlockSpec(block, index_map)],
        out_specs=pl.BlockSpec((8, 128), lambda *_: (0, 0)),
    )
    call = pl.pallas_call(kernel, grid_spec=spec, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
    with target():
        jaxpr = jax.make_jaxpr(call)(*tables, jax.ShapeDtypeStruct(shape, jnp.float32))
    return kernel_parts(jaxpr.eqns[0])[0]


def expected(index_map, grid, tables):
    points = itertools.product(*map(range, grid))
    tables = [jnp.asarray(t) for t in tables]
    return np.array([[int(i) for i in index_map(*map(np.int32, p), *tables)] for p in points])


TABLE = np.array([3, 0, 2, 2], np.int32)
PAIRS = np.array([[0, 1], [1, 1], [2, 0], [3, 1]], np.int32)


def _far(i, factor, dtype=jnp.int32):
    return ((i + 1).astype(jnp.float32) * jnp.float32(factor)).astype(dtype)


MAPS = {
    "identity": ((2, 3), lambda i, j: (i, j), ()),
    "constant": ((4,), lambda i: (0, 0), ()),
    "previous": ((6,), lambda i: (jnp.maximum(i - 2, 0), 0), ()),
    "floor": ((7,), lambda i: ((i - 3) // 2, i % 3), ()),
    "truncate": ((7,), lambda i: (jax.lax.div(i - 3, 2), jax.lax.rem(i - 3, 2)), ()),
    "where": ((5,), lambda i: (jnp.where(i < 2, i, 4 - i), 0), ()),
    "clip": ((5,), lambda i: (jnp.clip(i, 1, 3), 0), ()),
    "cond": ((4,), lambda i: (jax.lax.cond(i % 2 == 0, lambda: i, lambda: 0 * i), 0), ()),
    "remainder of a division by 0": ((4, 3), lambda i, j: (jax.lax.rem(j, 0 * i), jax.lax.div(j, 0 * i)), ()),
    "out of reach": ((4,), lambda i: (_far(i, 1e10), _far(i, -1e10)), ()),
    "no number": ((4,), lambda i: ((i.astype(jnp.float32) * jnp.float32(np.nan)).astype(jnp.int32), 0), ()),
    "unsigned": ((4,), lambda i: (_far(i, -3.7, jnp.uint32).astype(jnp.int32), _far(i, 2.9)), ()),
    "wide shift": ((4,), lambda i: (i << (i + 31), (i - 2) >> (i + 31)), ()),
    "shift": ((8,), lambda i: (i >> 1, (i & 1) << 1), ()),
    "loop": ((4,), lambda i: (jax.lax.fori_loop(0, 3, lambda t, c: c + t, i), 0), ()),
    "while": ((9,), lambda i: (jax.lax.while_loop(lambda c: c > 3, lambda c: c - 3, i), 0), ()),
    "table": ((4,), lambda i, t: (t[i], 0), (TABLE,)),
    "table behind where": ((2, 4), lambda i, j, t: (jnp.where(i == 0, 0, t[j]), i), (TABLE,)),
    "two tables": ((4,), lambda i, t, p: (t[p[i, 0]], p[i, 1]), (TABLE, PAIRS)),
    "three axes": ((2, 2, 3), lambda i, j, k: (i * 2 + j, k), ()),
}


@pytest.mark.parametrize("name", MAPS)
def test_agrees_with_jax(name):
    grid, index_map, tables = MAPS[name]
    kernel = traced(grid, (8, 128), index_map, (256, 2048), tables)
    got = block_indices(kernel.mappings[0], kernel.grid, tables)
    assert got is not None
    np.testing.assert_array_equal(got, expected(index_map, grid, tables))


def test_unknown_table_gives_nothing_and_known_part_is_not_invented():
    kernel = traced((4,), (8, 128), lambda i, t: (t[i], 0), (64, 128), (TABLE,))
    assert block_indices(kernel.mappings[0], kernel.grid, [None]) is None
    assert block_indices(kernel.mappings[0], kernel.grid) is None


def test_a_table_read_out_of_bounds_gives_nothing():
    kernel = traced((5,), (8, 128), lambda i, t: (t[i], 0), (64, 128), (TABLE,))
    assert block_indices(kernel.mappings[0], kernel.grid, (TABLE,)) is None


def test_an_unknown_primitive_gives_nothing():
    kernel = traced((4,), (8, 128), lambda i: (jax.lax.population_count(i), 0), (64, 128))
    assert block_indices(kernel.mappings[0], kernel.grid) is None


def test_too_many_steps_and_dynamic_bounds_give_nothing():
    kernel = traced((65, 64), (8, 128), lambda i, j: (i, j), (1024, 8192))
    assert block_indices(kernel.mappings[0], kernel.grid) is None
    assert block_indices(kernel.mappings[0], kernel.grid, max_steps=5000) is not None
    assert grid_steps((2, None)) is None
    assert grid_steps(()).shape == (1, 0)


def test_squeezed_and_element_dimensions():
    squeezed = traced((3, 2), (None, 8, 128), lambda i, j: (i, j, 0), (3, 16, 128)).mappings[0]
    assert squeezed.block_shape == (None, 8, 128)
    starts = block_starts(squeezed, block_indices(squeezed, (3, 2)))
    assert starts[3].tolist() == [1, 8, 0]
    element = traced((3,), (pl.Element(8), pl.Element(128)), lambda i: (i * 4, 0), (64, 128)).mappings[0]
    starts = block_starts(element, block_indices(element, (3,)))
    assert starts.tolist() == [[0, 0], [4, 0], [8, 0]]


def test_4096_steps_are_fast_and_start_no_backend():
    program = """
    import time, jax, jax.numpy as jnp, numpy as np
    from jax.experimental import pallas as pl
    from tutor.jaxpr.compat import backends_started, target
    from tutor.jaxpr.index_maps import block_indices
    from tutor.jaxpr.kernels import kernel_parts
    def kernel(x, o): o[...] = x[...]
    spec = pl.BlockSpec((8, 128), lambda i, j, k: (jnp.maximum(i * 16 + j - 1, 0) // 2, jnp.where(k > 3, k, 0)))
    shape = jax.ShapeDtypeStruct((4096, 4096), np.float32)
    with target():
        call = pl.pallas_call(kernel, grid=(16, 16, 16), in_specs=[spec], out_specs=spec, out_shape=shape)
        jaxpr = jax.make_jaxpr(call)(shape)
    parts = kernel_parts(jaxpr.eqns[0])[0]
    assert block_indices(parts.mappings[0], parts.grid).shape == (4096, 2)
    assert not backends_started()
    jnp.zeros(1)
    assert backends_started(), "the probe cannot fail"
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, env={"JAX_PLATFORMS": "cpu"})
