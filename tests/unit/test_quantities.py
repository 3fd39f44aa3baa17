"""Quantities of predict exercises, worked out by hand for small kernels."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tests.unit.kernel_samples import f32, facts_of
from tutor.ladder.quantities import Unanswerable, read_quantity, value_of, where_to_look
from tutor.protocol import CaseFacts


def tiled(x, w, s):
    def kernel(x_ref, w_ref, s_ref, o_ref):
        @pl.when(pl.program_id(1) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        def turn(i, total):
            return total + x_ref[...] * s_ref[0]

        o_ref[...] += jax.lax.fori_loop(0, 3, turn, w_ref[...])

    return pl.pallas_call(
        kernel,
        grid=(2, 3),
        in_specs=[
            pl.BlockSpec((8, 128), lambda i, j: (i, j)),
            pl.BlockSpec((8, 128), lambda i, j: (0, j)),
            pl.BlockSpec(memory_space=pltpu.SMEM),
        ],
        out_specs=pl.BlockSpec((8, 128), lambda i, j: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((16, 128), x.dtype),
    )(x, w, s)


def copying(x):
    def kernel(x_ref, o_ref, buffer, sem):
        pltpu.make_async_copy(x_ref, buffer, sem).start()
        pltpu.make_async_copy(x_ref, buffer, sem).wait()
        o_ref[...] = buffer[...]

    return pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.VMEM(x.shape, x.dtype), pltpu.SemaphoreType.DMA],
    )(x)


@pytest.fixture(scope="module")
def blocks() -> CaseFacts:
    return facts_of(tiled, {"x": f32(16, 384), "w": f32(8, 384), "s": f32(1)})


@pytest.fixture(scope="module")
def copies() -> CaseFacts:
    return facts_of(copying, {"x": f32(8, 128)})


KIB = 1024


@pytest.mark.parametrize(
    ("quantity", "value"),
    [
        ("loads.x_ref", 3),
        ("loads.w_ref", 1),
        ("loads.o_ref", 1),
        ("stores.o_ref", 2),
        ("stores.x_ref", 0),
        ("vector_loads", 5),  # three of x, one of w, one of o; those of s are scalar
        ("copies", 0),
        ("bytes_in", (6 + 6) * 4 * KIB + 0),
        ("bytes_out", 2 * 4 * KIB),
        ("space.s_ref", "smem"),
        ("space.x_ref", "vmem"),
        ("block.x_ref@0", (0, 0)),
        ("block.x_ref@4", (1, 1)),
        ("block.o_ref@4", (1, 0)),
        ("refetched.x_ref@0", True),
        ("refetched.w_ref@3", True),
        ("refetched.o_ref@1", False),
        ("refetched.o_ref@3", True),
    ],
)
def test_values(blocks: CaseFacts, quantity: str, value: object):
    found = value_of(read_quantity(quantity), blocks)
    if quantity == "bytes_in":
        assert found - value in (0, 4)  # the scalar is fetched once
    else:
        assert found == value
        assert type(found) is type(value)


def test_copies(copies: CaseFacts):
    assert value_of(read_quantity("copies"), copies) == 1
    assert value_of(read_quantity("space.x_ref"), copies) == "any"


@pytest.mark.parametrize("races", [True, False])
def test_races_are_what_the_simulator_said(copies: CaseFacts, races: bool):
    assert value_of(read_quantity("races"), copies, races=races) is races


@pytest.mark.parametrize(
    "quantity",
    ["loads.y_ref", "space.y_ref", "block.x_ref@6", "block.s_ref@9", "refetched.x_ref@99", "line.copy_wait", "races"],
)
def test_what_has_no_answer_is_refused(blocks: CaseFacts, quantity: str):
    with pytest.raises(Unanswerable):
        value_of(read_quantity(quantity), blocks)


def test_a_count_that_data_decides_is_refused():
    def looping(x, n):
        def kernel(x_ref, n_ref, o_ref):
            o_ref[...] = jnp.zeros_like(o_ref)

            def turn(i, carry):
                o_ref[...] += x_ref[...]
                return carry

            jax.lax.fori_loop(0, n_ref[0], turn, 0)

        specs = [pl.BlockSpec(), pl.BlockSpec(memory_space=pltpu.SMEM)]
        return pl.pallas_call(kernel, in_specs=specs, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, n)

    facts = facts_of(looping, {"x": f32(8, 128), "n": jax.ShapeDtypeStruct((1,), jnp.int32)})
    with pytest.raises(Unanswerable):
        value_of(read_quantity("loads.x_ref"), facts)


@pytest.mark.parametrize("quantity", ["loads.x_ref", "bytes_in", "block.x_ref@4", "races", "vector_loads", "copies"])
def test_where_to_look_names_no_value(blocks: CaseFacts, quantity: str):
    words = where_to_look(read_quantity(quantity), blocks)
    assert words
    assert "(1, 1)" not in words and "49152" not in words
