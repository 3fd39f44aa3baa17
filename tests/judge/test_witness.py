"""Ablation and the second witness: artifacts of real kernels, honest and not."""

import jax
import jax.export
import jax.numpy as jnp
import msgspec
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tutor.jaxpr import compat
from tutor.jaxpr.facts import case_facts
from tutor.jaxpr.lowered import read_lowered
from tutor.jaxpr.normalise import CPU_ARTIFACT, TPU_ARTIFACT
from tutor.judge.ablation import ablate
from tutor.judge.mosaic.program import Program
from tutor.judge.witness import compare_programs, compare_witnesses
from tutor.protocol import ArraySpec, CaseSpec

SHAPE = (16, 128)
CASE = CaseSpec(
    name="c",
    inputs=[ArraySpec("x", list(SHAPE), "float32")],
    outputs=[ArraySpec("out", list(SHAPE), "float32")],
    static={},
    sizes={},
)
SPEC = pl.BlockSpec((8, 128), lambda i: (i, 0))
STRUCT = jax.ShapeDtypeStruct(SHAPE, jnp.float32)
ONE, TWO = (np.random.default_rng(seed).standard_normal(SHAPE).astype(np.float32) for seed in (1, 2))


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2


def call(kernel, *args, **options):
    options = {"grid": (2,), "in_specs": [SPEC] * len(args), "out_specs": SPEC} | options
    return pl.pallas_call(kernel, out_shape=STRUCT, **options)(*args)


def doubled(x):
    return call(double, x)


def made(entry):
    with compat.target():
        jaxpr = jax.make_jaxpr(entry)(STRUCT)
        run = jax.jit(TPU_ARTIFACT.as_function(jaxpr))
        artifact = bytes(jax.export.export(run, platforms=["tpu"])(STRUCT).serialize())
        return artifact, case_facts(jaxpr, CASE, {}, __file__)


def program(artifact):
    return Program(jax.export.deserialize(bytearray(artifact)))


def ablated(entry, **options):
    return [found.code for found in ablate(program(made(entry)[0]), CASE, [ONE], [TWO], **options)]


@pytest.mark.parametrize(
    ("name", "entry", "codes"),
    [
        ("honest", doubled, []),
        ("layout outside", lambda x: doubled(x.T.T).reshape(16, 128), []),
        ("onto empty memory", lambda x: onto_empty(x), []),
        ("chained kernels", lambda x: doubled(doubled(x)), []),
        ("dead kernel", lambda x: (doubled(x), x * 2)[1], ["KT380", "KT381"]),
        ("times zero", lambda x: x * 2 + 0 * doubled(x), ["KT380", "KT381"]),
        ("selected away", lambda x: jnp.where(jnp.abs(x) > -1, x * 2, doubled(x)), ["KT380", "KT381"]),
        ("half outside", lambda x: doubled(x) + x, ["KT381"]),
        ("constant answer", lambda x: jnp.zeros_like(x) + 0 * doubled(x), ["KT380"]),
        ("min with its own", lambda x: jnp.minimum(doubled(x), x * 2), ["KT381"]),
    ],
)
def test_what_is_left_without_the_kernel(name, entry, codes):
    assert ablated(entry) == codes


def test_an_exercise_may_let_something_compute_outside():
    assert ablated(lambda x: doubled(x) + x, outside=True) == []
    assert ablated(lambda x: x * 2 + 0 * doubled(x), outside=True) == ["KT380"]


def matmul(x):
    def kernel(x_ref, o_ref, acc_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            acc_ref[...] = jnp.zeros_like(acc_ref)

        acc_ref[...] += jnp.dot(x_ref[...], jnp.ones((128, 128), jnp.float32), preferred_element_type=jnp.float32)
        o_ref[...] = acc_ref[...]

    return call(kernel, x, scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32)])


def copied(x):
    def kernel(x_ref, o_ref):
        pltpu.sync_copy(x_ref, o_ref)

    anywhere = pl.BlockSpec(memory_space=pl.ANY)
    return call(kernel, x, in_specs=[anywhere], out_specs=anywhere, grid=())


def looped(x):
    def kernel(x_ref, o_ref):
        def body(i, carry):
            o_ref[pl.ds(8 * i, 8), :] = x_ref[pl.ds(8 * i, 8), :] * 2
            return carry

        jax.lax.fori_loop(0, 2, body, 0)

    return call(kernel, x, grid=(), in_specs=[pl.BlockSpec()], out_specs=pl.BlockSpec())


def unrolled(x):
    def kernel(x_ref, o_ref):
        def body(i, carry):
            o_ref[pl.ds(8 * i, 8), :] = x_ref[pl.ds(8 * i, 8), :] * 2
            return carry

        jax.lax.fori_loop(0, 2, body, 0, unroll=True)

    return call(kernel, x, grid=(), in_specs=[pl.BlockSpec()], out_specs=pl.BlockSpec())


def aliased(x):
    def kernel(z_ref, x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    return call(kernel, jnp.zeros(SHAPE, jnp.float32), x, input_output_aliases={0: 0})


def masked(x):
    def kernel(x_ref, o_ref):
        mask = jax.lax.broadcasted_iota(jnp.int32, (8, 128), 0) < 4
        o_ref[...] = x_ref[...]
        pltpu.store(o_ref, x_ref[...] * 2, mask=mask)

    return call(kernel, x)


def scalar(x):
    def kernel(x_ref, o_ref, s_ref):
        s_ref[0] = 2.0
        o_ref[...] = x_ref[...] * s_ref[0]

    return call(kernel, x, scratch_shapes=[pltpu.SMEM((1,), jnp.float32)])


def strided(x):
    """Every other row at a time; where the second half starts is known at run time only."""

    def kernel(x_ref, o_ref):
        o_ref[::2, :] = x_ref[::2, :] * 2
        at = pl.ds(pl.program_id(0) + 1, 4, stride=2)
        o_ref[at, :] = x_ref[at, :] * 2

    return call(kernel, x, grid=(1,), in_specs=[BLOCK], out_specs=BLOCK)


BLOCK = pl.BlockSpec((16, 128), lambda i: (0, 0))


def onto_empty(x):
    def kernel(x_ref, memory_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    anywhere = pl.BlockSpec(memory_space=pl.ANY)
    return call(kernel, x, jnp.empty(SHAPE, x.dtype), in_specs=[SPEC, anywhere], input_output_aliases={1: 0})


def rounded(x):
    return doubled(jax.lax.reduce_precision(x, 8, 7))


PIECES = [rounded, doubled, matmul, copied, looped, unrolled, aliased, masked, scalar, lambda x: doubled(aliased(x))]
PIECES += [strided, onto_empty]


@pytest.mark.parametrize("entry", PIECES)
def test_both_witnesses_agree_on_honest_kernels(entry):
    artifact, facts = made(entry)
    assert [found.message for found in compare_witnesses(artifact, facts, CASE)] == []


@pytest.mark.parametrize(
    ("told", "made_of"),
    [
        (doubled, lambda x: x * 2),
        (doubled, lambda x: doubled(x) + 1),
        (doubled, copied),
        (doubled, aliased),
        (doubled, matmul),
        (matmul, doubled),
        (copied, doubled),
        (aliased, doubled),
        (lambda x: call(lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...] + x_ref[...]), x), doubled),
        (doubled, lambda x: doubled(copied(x))),
    ],
)
def test_facts_of_one_kernel_and_an_artifact_of_another(told, made_of):
    assert {found.code for found in compare_witnesses(made(made_of)[0], made(told)[1], CASE)} == {"KT390"}


def test_a_foreign_custom_call_is_named():
    def foreign(x):
        return jax.ffi.ffi_call("do_something", STRUCT)(doubled(x))

    let_pass = [jax.export.DisabledSafetyCheck.custom_call("do_something")]
    exported = jax.export.export(jax.jit(foreign), platforms=["tpu"], disabled_checks=let_pass)
    with compat.target():
        artifact = bytes(exported(STRUCT).serialize())
    facts = made(doubled)[1]
    assert any("do_something" in found.message for found in compare_witnesses(artifact, facts, CASE))


def test_counts_are_read_from_the_module():
    lowered = read_lowered(jax.export.deserialize(bytearray(made(matmul)[0])))
    kernel = lowered.kernels[0]
    kinds = [touch.kind for touch in kernel.touches]
    assert (kinds.count("load"), kinds.count("store"), kernel.copies) == (6, 3, 0)
    assert {(touch.shape, touch.dtype, touch.times) for touch in kernel.touches} == {((8, 128), "f32", 1)}
    assert dict(kernel.products) == {"f32": 1}
    assert [ref.type.space for ref in kernel.refs] == ["vmem"] * 3


def test_a_fact_that_was_changed_is_noticed():
    artifact, facts = made(matmul)
    kernel = facts.kernels[0]
    fewer = msgspec.structs.replace(kernel.kernel, accesses=kernel.kernel.accesses[:-1])
    forged = msgspec.structs.replace(facts, kernels=[msgspec.structs.replace(kernel, kernel=fewer)])
    assert [found.code for found in compare_witnesses(artifact, forged, CASE)][:1] == ["KT390"]


# ---------------------------------------------------------------- two programs


def on_cpu(entry):
    with compat.target():
        jaxpr = jax.make_jaxpr(entry)(STRUCT)
        exported = jax.export.export(jax.jit(CPU_ARTIFACT.as_function(jaxpr)), platforms=["cpu"])
        return bytes(exported(STRUCT).serialize())


def of(compute):
    """A program whose kernel computes this of its block."""

    def kernel(x_ref, o_ref):
        o_ref[...] = jnp.broadcast_to(compute(x_ref[...]), o_ref.shape)

    return lambda x: call(kernel, x)


def whole(x):
    return x.astype(jnp.int32)


COMPUTED = {
    "exp2": jnp.exp2, "log2": jnp.log2, "erf": jax.lax.erf, "sign": jnp.sign, "gelu": jax.nn.gelu, "mish": jax.nn.mish,
    "softmax": lambda x: jax.nn.softmax(x, -1), "logsumexp": lambda x: jax.nn.logsumexp(x, -1, keepdims=True),
    "any": lambda x: jnp.where(jnp.any(x > 0), x, 0.0), "standardise": jax.nn.standardize, "round": jnp.round,
    "power": lambda x: x**2.5, "fifth": lambda x: x**5, "remainder": lambda x: jnp.mod(x, 3.0),
    "atan2": lambda x: jnp.arctan2(x, x),
    "constants": lambda x: (x.astype(jnp.bfloat16) * 0.1).astype(jnp.float32) * 0.1 + jnp.full_like(x, 1e-7) - jnp.inf,
    "bf16": lambda x: (x.astype(jnp.bfloat16) * 2 + 1).astype(jnp.float32),
    "loop": lambda x: jax.lax.fori_loop(0, 3, lambda i, c: c * 2 + i.astype(jnp.float32), x),
    "unrolled": lambda x: jax.lax.fori_loop(0, 3, lambda i, c: c * 2, x, unroll=True),
    "branch": lambda x: jax.lax.cond(x[0, 0] > 0, lambda x: x * 2, lambda x: x + 1, x),
    "row times matrix": lambda x: jnp.dot(x[:1], jnp.ones((128, 128), jnp.float32)),
    "matrix times column": lambda x: jnp.dot(x, jnp.ones((128, 1), jnp.float32)),
    "integers": lambda x: ((whole(x) << 2) // 3 % 7 + jnp.maximum(whole(x), 3)).astype(jnp.float32),
    "sum of integers": lambda x: jnp.sum(whole(x), -1, keepdims=True).astype(jnp.float32),
    "argmax": lambda x: jnp.argmax(x, -1, keepdims=True).astype(jnp.float32) + x,
}  # fmt: skip


@pytest.mark.parametrize(
    "entry", [*PIECES, *map(of, COMPUTED.values())], ids=[*map(str, range(len(PIECES))), *COMPUTED]
)
def test_one_kernel_makes_programs_of_the_same_arithmetic(entry):
    assert [found.message for found in compare_programs(on_cpu(entry), made(entry)[0], "c")] == []


@pytest.mark.parametrize(
    ("cpu", "tpu"),
    [
        (lambda x: x * 2, copied),
        (doubled, copied),
        (copied, doubled),
        (doubled, matmul),
        (doubled, of(lambda x: x * 3)),
        (of(lambda x: jnp.maximum(x, 0.25)), of(lambda x: jnp.maximum(x, 0.5))),
        (lambda x: doubled(doubled(x)), doubled),
        (lambda x: doubled(x) * (2 / 3), doubled),
        (of(jnp.exp), of(jnp.log)),
        (of(lambda x: jnp.sum(x, -1, keepdims=True)), of(lambda x: x[:, :1])),
        (of(lambda x: (whole(x) * 2).astype(jnp.float32)), of(lambda x: whole(x).astype(jnp.float32))),
        (of(lambda x: jnp.exp(x) * jax.lax.erf(x)), of(jax.lax.erf)),
        (strided, copied),
    ],
)
def test_two_programs_that_do_not_belong_together(cpu, tpu):
    assert {found.code for found in compare_programs(on_cpu(cpu), made(tpu)[0], "c")} == {"KT390"}


def test_a_kernel_that_is_thrown_away_is_no_deceit():
    """The lowering leaves it out; ablation says that nothing depends on it."""
    artifact, told = made(lambda x: (doubled(x), x.T.T)[1])
    assert compare_witnesses(artifact, told, CASE) == []
    assert [found.code for found in ablate(program(artifact), CASE, [ONE], [TWO])] == ["KT380", "KT381"]


def test_work_behind_an_operation_that_the_exercise_allows():
    honest, hiding = (lambda x: doubled(jnp.flip(x))), (lambda x: doubled(jnp.flip(x) * 3))
    assert compare_witnesses(made(honest)[0], made(honest)[1], CASE) == []
    assert {found.code for found in compare_witnesses(made(hiding)[0], made(honest)[1], CASE)} == {"KT390"}
