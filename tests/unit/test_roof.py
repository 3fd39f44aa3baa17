"""The roof of each chip, and what is read of a program's work from its jaxpr."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tutor.jaxpr.compat import CHIPS as JAX_CHIPS
from tutor.jaxpr.facts import case_facts
from tutor.judge.compile.chips import VERSIONS
from tutor.judge.compile.schedule.model import CORES
from tutor.ladder.work import array_bytes, device_tolerance, reached, work_of
from tutor.protocol import ArraySpec, CaseSpec, ToleranceSpec, Work
from tutor.roof import CHIPS, F32_PASSES, RATES, chip_of, least_us, roof, share, unit_us


@pytest.mark.parametrize("chip", CHIPS)
def test_the_roof_is_that_of_tpu_info(chip):
    info, one = pltpu.get_tpu_info_for_chip(VERSIONS[chip], 1), CHIPS[chip]
    assert one.bytes_per_s == (2765e9 / 2 if chip == "v5p" else info.mem_bw_bytes_per_second)
    assert one.bf16 == info.bf16_ops_per_second
    assert one.int8 == info.int8_ops_per_second
    assert one.int4 == info.int4_ops_per_second
    assert one.fp8 == info.fp8_ops_per_second
    assert one.kind == JAX_CHIPS[chip].kind
    assert one.clock_ghz == CORES[chip].clock_ghz
    assert one.bytes_per_s == pytest.approx(CORES[chip].hbm_gb_per_s * 1e9, rel=0.005), "roof and estimate agree"
    assert chip_of(one.kind) == chip


def test_every_chip_of_the_tutor_has_a_roof():
    assert set(CHIPS) == set(JAX_CHIPS)
    assert chip_of("cpu") is None and chip_of("TPU v99") is None
    assert chip_of("TPU v5e") == "v5e" and chip_of("TPU v5p") == "v5p"


@pytest.mark.parametrize("chip", CHIPS)
def test_every_rate_is_known_on_every_chip(chip):
    top = roof(chip)
    assert set(top.rates) == set(RATES)
    assert all(rate > 0 for rate in top.rates.values())
    assert top.rates["f32"] == top.rates["bf16"] / F32_PASSES
    assert top.rates["vector"] < top.rates["bf16"]


def test_the_roof_is_a_slope_and_a_ceiling():
    top = roof("v5e")
    ridge = top.ridge("bf16")
    assert ridge == pytest.approx(240.2, abs=0.1)
    assert top.ceiling("bf16", ridge) == pytest.approx(1.97e14)
    assert top.ceiling("bf16", ridge / 10) == pytest.approx(1.97e13)
    assert top.ceiling("bf16", ridge * 10) == 1.97e14
    assert top.ceiling("bf16", 0) == 0
    two = roof("v5e", 2)
    assert (two.bytes_per_s, two.rates["bf16"]) == (2 * top.bytes_per_s, 2 * top.rates["bf16"])
    assert two.ridge("bf16") == ridge


def test_the_least_time():
    top = roof("v5e")
    assert least_us(top, {"bf16": 197_000_000}, 0) == pytest.approx(1.0)
    assert least_us(top, {}, 820_000) == pytest.approx(1.0)
    assert least_us(top, {"bf16": 197_000_000, "vector": 1}, 1_640_000) == pytest.approx(2.0)
    assert least_us(top, {"bf16": 197_000_000, "f32": 197_000_000}, 0) == pytest.approx(7.0), "one matrix unit"
    assert unit_us(top, {"bf16": 10**9, "f32": 10**9, "vector": 5})[0] == "f32"
    assert unit_us(top, {"bf16": 10, "vector": 10**9})[0] == "vector"
    assert unit_us(top, {}) == ("vector", 0.0)


@pytest.mark.parametrize("us", [0.0, -1.0, math.nan, math.inf])
def test_a_share_of_no_time(us):
    assert share(roof("v5e"), {"bf16": 10**9}, 10**6, us) is None


def test_a_share_of_nothing():
    assert share(roof("v5e"), {}, 0, 5.0) is None
    assert share(roof("v5e"), {}, 820_000, 2.0) == pytest.approx(0.5)


def test_what_was_reached():
    top = roof("v5e")
    work = Work(operations={"bf16": 197_000_000, "vector": 1000}, moved=820_000, least=410_000, exact=True)
    got = reached(work, top, 2.0)
    assert got.bytes_per_s == pytest.approx(4.1e11)
    assert got.flops_per_s == pytest.approx(197_001_000 / 2e-6)
    assert got.roof_share == pytest.approx(0.5)
    assert got.least_us == pytest.approx(1.0)
    unsure = Work(operations=work.operations, moved=None, least=410_000, exact=False)
    got = reached(unsure, top, 2.0)
    assert got.bytes_per_s is None and got.roof_share is None
    assert got.least_us == pytest.approx(0.5), "only what is certain counts for the floor"
    assert reached(work, None, 2.0).flops_per_s == pytest.approx(197_001_000 / 2e-6)
    assert reached(work, None, 2.0).least_us is None
    assert reached(None, top, 2.0) == reached(work, top, 0.0) == reached(work, top, math.nan)


def test_the_vector_unit_is_no_floor():
    """The compiler may leave out or join elementwise work."""
    work = Work(operations={"vector": 10**12}, moved=8, least=8, exact=True)
    assert (reached(work, roof("v5e"), 1.0).least_us or 0) < 1e-3


# ---------------------------------------------------------------- work, from the jaxpr


def facts_of(kernel, *shapes, grid=(4,), block=(128, 128), out=((512, 128), jnp.float32), scratch=(), **more):
    arrays = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in shapes]
    spec = pl.BlockSpec(block, lambda *at: (at[0], 0))

    def run(*args):
        return pl.pallas_call(
            kernel, grid=grid, in_specs=[spec] * len(args), out_specs=spec, scratch_shapes=list(scratch),
            out_shape=jax.ShapeDtypeStruct(*out), **more,
        )(*args)  # fmt: skip

    inputs = [ArraySpec(f"x{i}", list(a.shape), str(a.dtype)) for i, a in enumerate(arrays)]
    case = CaseSpec("one", inputs, [ArraySpec("out", list(out[0]), jnp.dtype(out[1]).name)], {}, {})
    return case_facts(jax.make_jaxpr(run)(*arrays), case, None, __file__), case


X = ((512, 128), jnp.float32)
B = ((512, 128), jnp.bfloat16)


def test_elementwise_work_is_counted_for_each_element_of_the_whole_grid():
    def kernel(x_ref, o_ref):
        o_ref[...] = jnp.exp(x_ref[...]) * 2.0 + x_ref[...]

    facts, case = facts_of(kernel, X)
    work = work_of(facts, case)
    assert work == Work(
        operations={"vector": 3 * 512 * 128}, moved=2 * 512 * 128 * 4, least=2 * 512 * 128 * 4, exact=True
    )


@pytest.mark.parametrize(
    ("shape", "precision", "rate"),
    [
        (B, None, "bf16"),
        (X, None, "bf16"),
        (X, jax.lax.Precision.HIGHEST, "f32"),
        (((512, 128), jnp.int8), None, "int8"),
    ],
)
def test_a_product_counts_by_its_unit(shape, precision, rate):
    def kernel(x_ref, y_ref, o_ref):
        wide = jnp.int32 if rate == "int8" else jnp.float32
        o_ref[...] = jnp.dot(x_ref[...], y_ref[...], precision=precision, preferred_element_type=wide)

    dtype = jnp.int32 if rate == "int8" else jnp.float32
    facts, case = facts_of(kernel, shape, shape, out=((512, 128), dtype))
    work = work_of(facts, case)
    assert work is not None and work.operations == {rate: 4 * 2 * 128**3}


def test_a_branch_counts_when_it_is_taken():
    def kernel(x_ref, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o_ref[...] = x_ref[...] * 2.0

    facts, case = facts_of(kernel, X)
    work = work_of(facts, case)
    assert work is not None and (work.operations, work.exact) == ({"vector": 128 * 128}, True)


def test_a_branch_that_data_decides_counts_in_full_and_is_said_to_be_unsure():
    def kernel(x_ref, o_ref):
        @pl.when(x_ref[0, 0] > 0)
        def _():
            o_ref[...] = x_ref[...] * 2.0

    facts, case = facts_of(kernel, X)
    work = work_of(facts, case)
    assert work is not None and not work.exact
    assert work.operations["vector"] == 512 * 128


def test_loops_count_by_their_trips_and_reductions_by_what_they_read():
    def kernel(x_ref, o_ref):
        def body(_, carry):
            return carry + x_ref[...]

        total = jax.lax.fori_loop(0, 3, body, jnp.zeros((128, 128)))
        o_ref[...] = jnp.broadcast_to(total.sum(axis=1, keepdims=True), (128, 128))

    facts, case = facts_of(kernel, X)
    work = work_of(facts, case)
    assert work is not None and work.operations == {"vector": 4 * 4 * 128 * 128}


def test_blocks_that_are_fetched_again_move_more_than_the_least():
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    facts, case = facts_of(kernel, X, grid=(4, 3))
    work = work_of(facts, case)
    assert work is not None and work.operations == {}
    assert work.moved is not None and work.least == 2 * 512 * 128 * 4 <= work.moved


def test_nothing_is_known_without_facts():
    assert work_of(None, CaseSpec("one", [], [], {}, {})) is None


@pytest.mark.parametrize(
    ("dtype", "size"), [("float32", 400), ("bfloat16", 200), ("bool", 100), ("float8_e4m3fn", 100), ("int4", 50)]
)
def test_the_size_of_an_array(dtype, size):
    assert array_bytes(ArraySpec("x", [10, 10], dtype)) == size


def test_a_float32_product_at_default_precision_is_held_to_bf16_on_a_chip():
    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] = jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)

    def precise(x_ref, y_ref, o_ref):
        o_ref[...] = jnp.dot(x_ref[...], y_ref[...], precision="highest")

    given = ToleranceSpec(rel_l2=1e-6)
    assert device_tolerance(facts_of(kernel, X, X)[0], given).rel_l2 == 2.0**-8
    assert device_tolerance(facts_of(precise, X, X)[0], given) == given
    assert device_tolerance(facts_of(kernel, B, B)[0], given) == given
    assert device_tolerance(None, given) == given
    loose = ToleranceSpec(rel_l2=0.5, elementwise=0.5)
    assert device_tolerance(facts_of(kernel, X, X)[0], loose) == loose
