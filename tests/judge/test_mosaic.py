"""The interpreter of Mosaic kernels: operations, memory, budgets, and modules that no JAX would write."""

import re

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tests.judge.mosaic_modules import as_it_is, edited, exported, on_cpu, ran
from tests.judge.test_witness import COMPUTED, of
from tutor.judge.mosaic.machine import Stopped, TooMuch
from tutor.judge.mosaic.program import Program
from tutor.judge.mosaic.types import Unknown, garbage, type_of
from tutor.judge.tpu_run import TpuRuns
from tutor.protocol import ArraySpec, CaseSpec, ToleranceSpec

SHAPE = (16, 128)
X = np.random.default_rng(0).standard_normal(SHAPE).astype(np.float32)
SPEC = pl.BlockSpec((8, 128), lambda i: (i, 0))
ANYWHERE = pl.BlockSpec(memory_space=pl.ANY)
CASE = CaseSpec(
    name="c",
    inputs=[ArraySpec("x", list(SHAPE), "float32")],
    outputs=[ArraySpec("out", list(SHAPE), "float32")],
    static={},
    sizes={},
)


def call(kernel, *args, out=SHAPE, dtype=jnp.float32, **options):
    options = {"grid": (2,), "in_specs": [SPEC] * len(args), "out_specs": SPEC} | options
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(out, dtype), **options)(*args)


def whole(kernel, *args, **options):
    """A kernel without a grid, all of whose arrays stand in VMEM."""
    return call(
        kernel, *args, **{"grid": (), "in_specs": [pl.BlockSpec()] * len(args), "out_specs": pl.BlockSpec()} | options
    )


def doubled(x):
    return call(lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...] * 2), x)


def agree(entry, *inputs, tolerance=2e-5):
    """Both ways of memory give what interpret mode gives."""
    want = on_cpu(entry, *inputs)
    for as_interpret in (False, True):
        for made, wanted in zip(
            ran(exported(entry, *inputs), inputs, as_interpret=as_interpret).outputs, want, strict=True
        ):
            assert made.dtype == wanted.dtype
            wide = made.astype(np.float64), wanted.astype(np.float64)
            np.testing.assert_allclose(*wide, rtol=tolerance, atol=tolerance)


# ---------------------------------------------------------------- operations


ROUNDED = ("bf16", "constants")


@pytest.mark.parametrize("name", COMPUTED)
def test_what_kernels_compute(name):
    agree(of(COMPUTED[name]), X, tolerance=2e-2 if name in ROUNDED else 2e-5)


def of_whole(compute, *inputs, dtype=None):
    """A function whose kernel computes this of whole arrays, and its inputs."""
    out = jax.eval_shape(compute, *inputs)

    def kernel(*refs):
        refs[-1][...] = compute(*(ref[...] for ref in refs[:-1]))

    return lambda *xs: whole(kernel, *xs, out=out.shape, dtype=out.dtype)


WORDS = np.random.default_rng(1).integers(-(2**31), 2**31 - 1, SHAPE, dtype=np.int32)
HALVES = X.astype(ml_dtypes.bfloat16)
BYTES = np.random.default_rng(2).integers(-128, 127, (128, 128), dtype=np.int8)
SMALL = np.abs(WORDS) % 13


@pytest.mark.parametrize(
    ("compute", "inputs"),
    [
        (lambda a, b: jnp.dot(a, b, preferred_element_type=jnp.int32), (BYTES, BYTES)),
        (lambda a: jax.lax.dot_general(a, a, (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32), (HALVES,)),
        (lambda a: jnp.einsum("bij,bkj->bik", a, a), (X.reshape(2, 8, 128),)),
        (lambda a: a.T, (X,)),
        (lambda a: a.reshape(8, 2, 128), (X,)),
        (lambda a: jnp.concatenate([a, a + 1], axis=0), (X,)),
        (lambda a: pltpu.roll(a, 3, 0), (X,)),
        (lambda a: pltpu.roll(a, 5, 1), (X,)),
        (lambda a: pltpu.bitcast(a, jnp.int32), (X,)),
        (lambda a: pltpu.bitcast(a, jnp.uint32), (HALVES,)),
        (lambda a: pltpu.bitcast(a, jnp.bfloat16), (WORDS & 0x3FFF3FFF,)),
        (lambda a: a.astype(jnp.uint32) // 7 + a.astype(jnp.uint32) % 5 >> 3, (WORDS,)),
        (lambda a: (a >> 3) ^ (a << 2) & ~a | 5, (WORDS,)),
        (lambda a: jax.lax.shift_right_logical(a, jnp.full_like(a, 4)), (WORDS,)),
        (lambda a: jax.lax.div(a, jnp.full_like(a, -7)) + jax.lax.rem(a, jnp.full_like(a, 7)), (WORDS,)),
        (lambda a: jnp.where(a.astype(jnp.uint32) > 2**31 - 1, a, -a), (WORDS,)),
        (lambda a: a.astype(jnp.int32).astype(jnp.float32), (X * 100,)),
        (lambda a: a.astype(jnp.int8).astype(jnp.int32), (SMALL,)),
        (lambda a: jnp.minimum(jnp.maximum(a, -3), 3) + jax.lax.population_count(a), (WORDS,)),
        (lambda a: jnp.sum(a, axis=0, keepdims=True) + jnp.max(a) - jnp.min(a, axis=1, keepdims=True), (X,)),
        (lambda a: jnp.argmin(a, axis=0, keepdims=True), (X,)),
        (lambda a: jnp.isnan(a).astype(jnp.float32) + (a != a), (np.where(X > 1, np.nan, X),)),
        (lambda a: jax.nn.sigmoid(a) + jax.lax.rsqrt(jnp.abs(a) + 1) + jnp.cos(a) + jnp.log1p(jnp.abs(a)), (X,)),
        (lambda a: jnp.broadcast_to(jax.lax.broadcasted_iota(jnp.int32, (1, 128), 1), a.shape) + a, (WORDS,)),
    ],
)  # fmt: skip
def test_more_operations(compute, inputs):
    agree(of_whole(compute, *inputs), *inputs)


def test_loads_and_stores_of_parts():
    def kernel(x_ref, o_ref):
        o_ref[...] = jnp.zeros_like(o_ref)
        o_ref[pl.ds(0, 4, 2), :] = x_ref[pl.ds(1, 4, 2), :]
        o_ref[9, :] = x_ref[3, :]

    agree(lambda x: whole(kernel, x), X)


def test_a_masked_store():
    def kernel(x_ref, o_ref):
        mask = jax.lax.broadcasted_iota(jnp.int32, (8, 128), 1) < 5
        o_ref[...] = jnp.zeros_like(o_ref)
        pltpu.store(o_ref, x_ref[...], mask=mask)

    stored = ran(exported(lambda x: call(kernel, x), X), [X]).outputs[0]
    assert np.array_equal(stored[:, :5], X[:, :5]) and not stored[:, 5:].any()


def test_a_product_is_rounded_after_every_operation():
    """XLA on a CPU does not, so a kernel in bfloat16 may be right there: a warning, and no other program."""

    def entry(x):
        def kernel(x_ref, o_ref):
            x = x_ref[...].astype(jnp.bfloat16)
            o_ref[...] = (x * x * x).astype(jnp.float32)

        return call(kernel, x)

    x = HALVES.astype(np.float32)
    made = ran(exported(entry, x), [x]).outputs[0]
    assert np.array_equal(made, (HALVES * HALVES * HALVES).astype(np.float32))
    assert checked(entry, x * x * x, x) == ["KT396"]
    assert checked(entry, x * x, x) == ["KT393"]


def test_scalars_branches_and_loops():
    def kernel(n_ref, x_ref, o_ref, s_ref):
        s_ref[0] = jnp.int32(0)

        def body(i, total):
            s_ref[0] += i
            return total + x_ref[pl.ds(i, 1), :]

        total = jax.lax.fori_loop(0, n_ref[0], body, jnp.zeros((1, 128), jnp.float32))
        choice = jax.lax.switch(n_ref[0] % 3, [lambda: 1.0, lambda: 2.0, lambda: 3.0])
        o_ref[...] = jnp.broadcast_to(total * choice + s_ref[0].astype(jnp.float32), o_ref.shape)

    specs = [pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec()]

    def entry(n, x):
        return whole(kernel, n, x, in_specs=specs, scratch_shapes=[pltpu.SMEM((1,), jnp.int32)])

    for n in (0, 4, 7, 11):
        agree(entry, np.array([n], np.int32), X)


def test_windows_of_elements_and_of_single_buffers():
    def kernel(a_ref, b_ref, o_ref):
        o_ref[...] = a_ref[...] + b_ref[...]

    def entry(x):
        moved = pl.BlockSpec((pl.Element(8), pl.Element(128)), lambda i: (8 - 8 * i, 0))
        once = pl.BlockSpec((8, 128), lambda i: (0, 0), pipeline_mode=pl.Buffered(1))
        return call(kernel, x, x, in_specs=[moved, once])

    want = np.concatenate([X[8:], X[:8]]) + np.concatenate([X[:8], X[:8]])
    assert np.array_equal(ran(exported(entry, X), [X]).outputs[0], want)


def test_a_block_over_the_edge_is_garbage_there_and_not_written():
    def entry(x):
        return call(lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...] + jnp.sum(x_ref[...])), x, out=(12, 128))

    made = ran(exported(entry, X[:12]), [X[:12]]).outputs[0]
    np.testing.assert_allclose(made[:8], X[:8] + X[:8].sum(), rtol=1e-4)
    assert np.isnan(made[8:]).all()


def test_integers_of_a_smaller_kind_come_back_with_their_sign():
    x = np.arange(16 * 128, dtype=np.uint32).reshape(SHAPE) + np.uint32(2**31)
    agree(lambda x: call(lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...] // 3), x, dtype=jnp.uint32), x)


# ---------------------------------------------------------------- around the kernels


@jax.jit
def doubled_in_a_function(x):
    return doubled(x) + 1


def test_kernels_one_after_the_other_and_in_functions():
    def chained(x):
        return doubled(doubled_in_a_function(doubled(x).T.T) - 3)

    program = Program(as_it_is(chained, X))
    assert len(program.kernels) == 3
    np.testing.assert_allclose(program.run([X]).outputs[0], 8 * X - 4, rtol=1e-5, atol=1e-5)


def test_a_function_that_is_called_twice():
    program = Program(as_it_is(lambda x: doubled_in_a_function(doubled_in_a_function(x)), X))
    np.testing.assert_allclose(program.run([X]).outputs[0], 4 * X + 3, rtol=1e-5, atol=1e-5)


def test_a_kernel_in_a_loop_is_not_run_and_can_be_taken_out_all_the_same():
    program = Program(as_it_is(lambda x: jax.lax.fori_loop(0, 3, lambda i, y: doubled(y), x), X))
    with pytest.raises(Unknown, match="inside a loop"):
        program.run([X])
    ones, twos = (program.with_results([X], program.filled(value))[0][0] for value in (1, 2))
    assert (ones == 1).all() and (twos == 2).all()


def test_what_really_happened():
    def kernel(x_ref, o_ref):
        def body(i, c):
            o_ref[pl.ds(i, 1), :] = x_ref[pl.ds(i, 1), :] * 2
            return c

        jax.lax.fori_loop(0, 8, body, 0)

    [happened] = ran(exported(lambda x: call(kernel, x), X), [X]).happened
    assert (happened["loads"], happened["stores"], happened["copies"]) == (32, 16, 0)  # a store is a load as well
    assert happened["bytes in"] == happened["bytes out"] == X.nbytes


# ---------------------------------------------------------------- memory


def checked(entry, want, *inputs, tpu=None):
    """The codes of a run of the TPU artifact."""
    program = Program(tpu or exported(entry, *inputs))
    return [found.code for found in TpuRuns(ToleranceSpec()).check(program, CASE, inputs, [want])]


def copies(x, *, wait):
    def kernel(x_ref, o_ref, sem):
        copy = pltpu.make_async_copy(x_ref, o_ref, sem)
        copy.start()
        if wait:
            copy.wait()

    scratch = [pltpu.SemaphoreType.DMA]
    return call(kernel, x, grid=(), in_specs=[ANYWHERE], out_specs=ANYWHERE, scratch_shapes=scratch)


def test_a_copy_that_nobody_waits_for_has_not_happened():
    assert checked(lambda x: copies(x, wait=True), X, X) == []
    assert checked(lambda x: copies(x, wait=False), X, X) == ["KT395"]


def test_an_output_that_aliases_is_not_loaded_on_a_tpu():
    """Interpret mode takes the aliased input for what was there; a TPU gives the window of an output nothing."""

    def entry(x):
        def kernel(x_ref, o_ref):
            @pl.when(pl.program_id(0) > 0)
            def _():
                o_ref[...] = x_ref[...] + 0

        return call(kernel, x, input_output_aliases={0: 0})

    assert checked(entry, X, X) == ["KT395"]
    assert np.isnan(ran(exported(entry, X), [X]).outputs[0][:8]).all()


def test_blocks_that_no_step_visits_keep_what_the_alias_brings():
    def entry(x):
        def kernel(z_ref, x_ref, o_ref):
            o_ref[...] = x_ref[...]

        once = pl.BlockSpec((8, 128), lambda i: (1, 0))
        return call(
            kernel, jnp.zeros(SHAPE, jnp.float32), x, grid=(1,), in_specs=[ANYWHERE, once], out_specs=once,
            input_output_aliases={0: 0},
        )  # fmt: skip

    want = np.concatenate([np.zeros((8, 128), np.float32), X[8:]])
    assert checked(entry, want, X) == []


def test_an_index_outside_is_found():
    def entry(x):
        def kernel(n_ref, x_ref, o_ref):
            o_ref[...] = jnp.broadcast_to(x_ref[pl.ds(n_ref[0], 8), :][7:8], (8, 128))

        specs = [pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec((16, 128), lambda i: (0, 0))]
        return call(kernel, jnp.array([12], jnp.int32), x, in_specs=specs)

    want = np.broadcast_to(X[15:16], SHAPE)
    assert checked(entry, want, X) == ["KT395"]
    with pytest.raises(Stopped, match="elements 12 to 19 of 16"):
        ran(exported(entry, X), [X])


def test_unwritten_memory():
    assert np.isnan(garbage(np.dtype(np.float32), as_interpret=False))
    assert garbage(np.dtype(np.int32), as_interpret=False) == 2**31 - 1
    assert garbage(np.dtype(np.int32), as_interpret=True) == -(2**31)
    assert garbage(np.dtype(np.bool_), as_interpret=False) and not garbage(np.dtype(np.bool_), as_interpret=True)


# ---------------------------------------------------------------- two programs, and none


def test_another_index_map_operand_or_order_is_another_program():
    def with_maps(read, write):
        def entry(x):
            specs = {"in_specs": [pl.BlockSpec((8, 128), read)], "out_specs": pl.BlockSpec((8, 128), write)}
            return call(lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...] * 2), x, **specs)

        return entry

    straight, turned, still = (lambda i: (i, 0)), (lambda i: (1 - i, 0)), (lambda i: (0, 0))
    assert checked(with_maps(straight, straight), 2 * X, X) == []
    assert checked(with_maps(turned, turned), 2 * X, X) == []
    for read, write in ((turned, straight), (straight, turned), (still, straight), (straight, still)):
        assert checked(with_maps(read, write), 2 * X, X) == ["KT393"]


def test_rounding_alone_is_no_other_program():
    """Sums in another order may be a little further off than interpret mode's, which were just right."""
    assert checked(doubled, 2 * X * (1 + 1.5e-5), X) == []
    assert checked(doubled, 2 * X * (1 + 4e-5), X) == ["KT393"]


def test_what_is_not_known_is_named():
    def entry(x):
        def kernel(x_ref, o_ref):
            pltpu.prng_seed(0)
            bits = pltpu.bitcast(pltpu.prng_random_bits((8, 128)), jnp.int32)
            o_ref[...] = x_ref[...] * 2 + jnp.where(bits > 0, 0.0, 0.0)

        return call(kernel, x)

    program = Program(exported(entry, X))
    [found] = TpuRuns(ToleranceSpec()).check(program, CASE, [X], [2 * X])
    assert (found.code, found.severity) == ("KT394", "note")
    assert "tpu.prng_set_seed_32" in found.message


def test_all_cases_share_one_budget():
    runs, program = TpuRuns(ToleranceSpec(), work=200), Program(exported(doubled, X))
    said = [[found.code for found in runs.check(program, CASE, [X], [2 * X])] for _ in range(20)]
    assert said[0] == [] and said[-1] == ["KT394"]


# ---------------------------------------------------------------- hostile modules


def looping(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = jax.lax.fori_loop(0, 3, lambda i, c: c + x_ref[...], x_ref[...])

    return call(kernel, x)


@pytest.mark.parametrize(
    ("entry", "change", "error", "words"),
    [
        (doubled, ("stable_mosaic.version = 15", "stable_mosaic.version = 3"), Unknown, "version 3"),
        (doubled, ('"stable_mosaic.arith.mulf"', '"stable_mosaic.arith.mulx"'), Unknown, "arith.mulx"),
        (doubled, ('"stable_mosaic.arith.mulf"', '"other.mulf"'), Unknown, "other.mulf"),
        (doubled, ("fastmath = ", "reversed = true, fastmath = "), Unknown, "arith.mulf with reversed"),
        (doubled, ("add = false", 'add = false, where = "elsewhere"'), Unknown, "vector_store with where"),
        (doubled, ("scratch_operands = 0", "more = 1 : i64, scratch_operands = 0"), Unknown, "a kernel with more"),
        (doubled, ("window_bounds = array<i64: 8, 128>", "window_bounds = array<i64: 16, 64>"), Unknown, "a window of"),
        (doubled, ("scalar_prefetch = 0", "scalar_prefetch = 1"), Exception, " "),
        (doubled, ("bounds = array<i64: 2>", "bounds = array<i64: 9000000000000>"), TooMuch, "operations"),
        (doubled, ("iteration_bounds = array<i64: 2>", "iteration_bounds = array<i64: -1>"), Unknown, "grid"),
        (doubled, ("transform_indices = @transform_0", "transform_indices = @nobody"), Unknown, "a call of nobody"),
        (doubled, ("transform_indices = @transform_0", "transform_indices = @_lambda_"), Exception, " "),
        (doubled, ("transform_indices", "revisit_mode = 1 : i64, transform_indices"), Unknown, "a window with revisit"),
        (looping, ("value = 3 : i32", "value = 2000000000 : i32"), TooMuch, "operations"),
        (looping, ("value = 1 : i32", "value = 0 : i32"), Unknown, "count upwards"),
        (doubled, ("vector<8x128xf32>", "vector<800000x128000xf32>"), Unknown, "as large as"),
    ],
)  # fmt: skip
def test_a_module_that_no_jax_writes(entry, change, error, words):
    artifact = edited(exported(entry, X), change)
    with pytest.raises(error, match=re.escape(words)):
        ran(artifact, [X])
    [found] = TpuRuns(ToleranceSpec()).check(Program(artifact), CASE, [X], [2 * X])
    assert (found.code, found.severity) == ("KT394", "note")


def test_a_call_that_says_more_than_a_plain_one_is_not_run():
    """A layout of the operands turns the array around, and no operation of the kernel shows it."""
    program = Program(exported(doubled, X))
    program.kernels[0] = program.kernels[0]._replace(strange=("operand_layouts",))
    with pytest.raises(Unknown, match="operand_layouts"):
        program.run([X])


@pytest.mark.parametrize(
    "text", ["vector<4294967296x4294967296xf32>", "memref<8x128xi3>", "tuple<i32>", "vector<?xf32>"]
)
def test_types_that_are_not_run(text):
    with pytest.raises(Unknown):
        type_of(text)
