"""The rules on numbers and hints: narrow sums, padding, promises to the compiler, and notes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tests.unit.checking import BF16, BLOCK, F32, alarms, call, codes, copy_kernel, line_of, only, rows, shape

# ---------------------------------------------------------------- numbers


def accumulate(dtype, *, n=4, update=lambda old, x: old + x, block=lambda k: (0, 0)):
    def run(x):
        def kernel(x_ref, o_ref, acc):
            @pl.when(pl.program_id(0) == 0)
            def _():
                acc[...] = jnp.zeros_like(acc)

            acc[...] = update(acc[...], x_ref[...]).astype(dtype)
            o_ref[...] = acc[...].astype(F32)

        return call(kernel, grid=(n,), in_specs=[rows(lambda i: (i, 0))], out_specs=rows(block),
                    scratch_shapes=[pltpu.VMEM(BLOCK, dtype)])(x)  # fmt: skip

    return run, shape(n * 8, 128)


def test_running_sum_is_narrow():
    for update in (lambda old, x: old + x, lambda old, x: (old.astype(F32) * 0.5 + x) * 2, lambda old, x: x - old):
        run, x = accumulate(BF16, update=update)
        found = only("KT334", run, x)
        assert found.severity == "warning" and found.ref == "acc"


def test_what_is_no_running_sum_in_bf16():
    assert not alarms(*accumulate(F32))
    assert not alarms(*accumulate(BF16, update=lambda old, x: jnp.maximum(old.astype(F32), x)))
    assert not alarms(*accumulate(BF16, n=1))
    assert not alarms(*accumulate(BF16, update=lambda old, x: x))

    def residual(x_ref, o_ref):
        o_ref[...] = x_ref[...]
        o_ref[...] += x_ref[...]

    def run(x):
        return call(residual, (32, 128), dtype=BF16, grid=(4,), in_specs=[rows(lambda i: (i, 0))],
                    out_specs=rows(lambda i: (i, 0)))(x)  # fmt: skip

    assert not alarms(run, shape(32, 128, dtype=BF16))


def test_running_sum_in_a_bf16_output_and_in_a_loop():
    def output(x_ref, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += x_ref[...]

    def loop(x_ref, o_ref):
        o_ref[...] = jnp.zeros_like(o_ref)

        def body(i, c):
            o_ref[...] += x_ref[pl.ds(i * 8, 8), :]
            return c

        lax.fori_loop(0, 4, body, 0)

    x = shape(32, 128, dtype=BF16)
    assert "KT334" in codes(
        lambda x: call(output, dtype=BF16, grid=(4,), in_specs=[rows(lambda i: (i, 0))],
                       out_specs=rows(lambda i: (0, 0)))(x), x)  # fmt: skip
    assert "KT334" in codes(lambda x: call(loop, dtype=BF16)(x), x)


@pytest.mark.parametrize(
    ("dtype", "result", "code"),
    [(BF16, BF16, "KT335"), (jnp.int8, jnp.int8, "KT335"), (BF16, F32, None), (jnp.int8, jnp.int32, None),
     (F32, F32, "KT340")],
)  # fmt: skip
def test_products(dtype, result, code):
    def kernel(a_ref, b_ref, o_ref):
        o_ref[...] = jnp.dot(a_ref[...], b_ref[...], preferred_element_type=result).astype(F32)

    a = shape(128, 128, dtype=dtype)
    assert codes(lambda a, b: call(kernel, (128, 128))(a, b), a, a) == ({code} if code else set())


def test_a_product_at_highest_precision_needs_no_note():
    def kernel(a_ref, b_ref, o_ref):
        o_ref[...] = jnp.dot(a_ref[...], b_ref[...], precision=lax.Precision.HIGHEST)

    a = shape(128, 128)
    assert not codes(lambda a, b: call(kernel, (128, 128))(a, b), a, a)


def padded(kernel, n=200, m=8):
    def run(a):
        return call(kernel, (8, 128), grid=(2,), in_specs=[pl.BlockSpec((8, 128), lambda k: (0, k))],
                    out_specs=rows(lambda k: (0, 0)))(a)  # fmt: skip

    return run, shape(m, n)


def test_partial_block_is_summed():
    def summed(a_ref, o_ref):
        o_ref[...] = jnp.broadcast_to(jnp.sum(a_ref[...] * 2, axis=1, keepdims=True), o_ref.shape)

    def other_axis(a_ref, o_ref):
        o_ref[...] = jnp.broadcast_to(jnp.sum(a_ref[...], axis=0, keepdims=True), o_ref.shape)

    def masked(a_ref, o_ref):
        column = pl.program_id(0) * 128 + lax.broadcasted_iota(jnp.int32, (8, 128), 1)
        v = jnp.where(column < 200, a_ref[...], 0)
        o_ref[...] = jnp.broadcast_to(jnp.sum(v, axis=1, keepdims=True), o_ref.shape)

    found = only("KT339", *padded(summed))
    assert found.severity == "note" and "72" in found.message and "56" in found.message
    assert "Dimension 1 of" in only("KT339", *padded(summed, m=12)).message  # the other one is ragged too
    assert "KT339" not in codes(*padded(summed, n=256))
    assert "KT339" not in codes(*padded(other_axis))
    assert "KT339" not in codes(*padded(masked))


# ---------------------------------------------------------------- promises and hints


def test_a_false_promise():
    def run(table, x):
        def kernel(table_ref, x_ref, o_ref):
            o_ref[...] = x_ref[:, pl.ds(pl.multiple_of(table_ref[pl.program_id(0)], 128), 128)]

        spec = pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1, grid=(2,), in_specs=[rows(lambda i, s: (0, 0), (8, 512))],
            out_specs=rows(lambda i, s: (i, 0)),
        )  # fmt: skip
        return pl.pallas_call(kernel, grid_spec=spec, out_shape=shape(16, 128))(table, x)

    bad, good = np.array([128, 100], np.int32), np.array([128, 256], np.int32)
    found = only("KT321", run, bad, shape(8, 512), known=[0])
    assert "100" in found.message and "(1,)" in found.message
    assert not alarms(run, good, shape(8, 512), known=[0])
    assert not alarms(run, bad, shape(8, 512))


def test_a_promise_about_a_loop_counter():
    def kernel(x_ref, o_ref):
        o_ref[...] = jnp.zeros_like(o_ref)

        def body(i, c):
            o_ref[...] += x_ref[:, pl.ds(pl.multiple_of(i * 64, 128), 128)]
            return c

        lax.fori_loop(0, 3, body, 0)

    assert "KT321" in codes(lambda x: call(kernel)(x), shape(8, 512))


def test_interpret_program_id_and_small_blocks_are_notes():
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]

        @pl.when(x_ref[0, 0] > 0)
        def _():
            o_ref[...] = x_ref[...] + pl.program_id(0).astype(BF16)

    def run(x):
        return call(kernel, (32, 128), dtype=BF16, grid=(4,), in_specs=[rows(lambda i: (i, 0))],
                    out_specs=rows(lambda i: (i, 0)), interpret=True)(x)  # fmt: skip

    x = shape(32, 128, dtype=BF16)
    assert codes(run, x) == {"KT320", "KT338", "KT343"}
    assert not alarms(run, x)


def test_host_callbacks():
    def run(x):
        y = jax.pure_callback(lambda v: np.sin(v), shape(*BLOCK), x)
        jax.debug.print("{}", y[0, 0])
        return call(copy_kernel)(y)

    found = only("KT342", run, shape(*BLOCK))
    assert found.line == line_of(test_host_callbacks, "pure_callback")
    assert "KT342" not in codes(lambda x: (jax.debug.print("{}", x[0, 0]), call(copy_kernel)(x))[1], shape(*BLOCK))
