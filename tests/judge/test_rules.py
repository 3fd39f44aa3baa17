"""The exercise's rules, on facts that were traced from real kernels: what each lets through and what it refuses."""

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tutor.jaxpr import compat
from tutor.jaxpr.facts import case_facts
from tutor.judge import rules as judge
from tutor.protocol import AliasRule, ArraySpec, CaseSpec, Rules, ScratchRule

SHAPE = (16, 128)
SPEC = pl.BlockSpec((8, 128), lambda i: (i, 0))
X = ArraySpec(name="x", shape=list(SHAPE), dtype="float32")
OUT = ArraySpec(name="out", shape=list(SHAPE), dtype="float32")
CASE = CaseSpec(name="c", inputs=[X], outputs=[OUT], static={"bm": 8}, sizes={"m": 16})
STRUCT = jax.ShapeDtypeStruct(SHAPE, jnp.float32)


def call(kernel, *args, out=STRUCT, **options):
    options = {"grid": (2,), "in_specs": [SPEC] * len(args), "out_specs": SPEC} | options
    return pl.pallas_call(kernel, out_shape=out, **options)(*args)


def facts(entry, *specs):
    case = CASE if not specs else CaseSpec(name="c", inputs=list(specs), outputs=[OUT], static={}, sizes={})
    with compat.target():
        arguments = [jax.ShapeDtypeStruct(tuple(s.shape), s.dtype) for s in case.inputs]
        return case_facts(jax.make_jaxpr(entry)(*arguments), case, {}, __file__)


def codes(rules, entry, *specs, reference=None):
    found = facts(entry, *specs)
    return [f.code for rule in judge.RULES for f in rule(rules, found, CASE, reference)]


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2


def doubled(x):
    return call(double, x)


def with_scratch(dtype=jnp.float32, use=True):
    def kernel(x_ref, o_ref, acc_ref):
        if use:
            acc_ref[...] = x_ref[...].astype(dtype)
            o_ref[...] = acc_ref[...].astype(jnp.float32) * 2
        else:
            o_ref[...] = x_ref[...] * 2

    return lambda x: call(kernel, x, scratch_shapes=[pltpu.VMEM((8, 128), dtype)])


def test_one_clean_kernel_breaks_no_rule():
    assert codes(Rules(kernels=1), doubled) == []


def test_no_kernel_at_all():
    assert "KT111" in codes(Rules(), lambda x: x * 2)


def test_a_second_kernel():
    assert codes(Rules(kernels=1), lambda x: doubled(doubled(x))) == ["KT301"]
    assert codes(Rules(kernels=2), lambda x: doubled(doubled(x))) == []


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("after", lambda x: doubled(x) * 1.0),
        ("before", lambda x: doubled(x + 0.0)),
        ("instead", lambda x: x * 2 + 0 * doubled(x)),
        ("in a jit", lambda x: jax.jit(lambda y: jnp.sin(y))(doubled(x))),
        ("in a cond", lambda x: jax.lax.cond(x[0, 0] > 0, lambda y: y * 2, doubled, x)),
        ("in a loop", lambda x: jax.lax.fori_loop(0, 2, lambda i, y: y * 2, doubled(x))),
        ("a gather", lambda x: doubled(jnp.take(x, jnp.arange(16), axis=0))),
        ("a select", lambda x: jnp.where(x > 1e30, x, doubled(x))),
    ],
)
def test_work_outside_the_kernel_is_seen(name, entry):
    assert "KT302" in codes(Rules(kernels=1), entry)


@pytest.mark.parametrize(
    "entry",
    [
        lambda x: doubled(x.reshape(16, 128)),
        lambda x: doubled(x.T.T),
        lambda x: jnp.squeeze(doubled(x)[None], 0),
        lambda x: doubled(x.astype(jnp.bfloat16).astype(jnp.float32)),
        jax.jit(doubled),
    ],
)
def test_layout_and_dtype_changes_are_allowed(entry):
    assert codes(Rules(kernels=1), entry) == []


def test_an_exercise_may_allow_more_outside():
    assert codes(Rules(outside=("mul",)), lambda x: doubled(x) * 3) == []


def test_forbidden_and_required_primitives_in_nested_bodies():
    def nested(x_ref, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o_ref[...] = jnp.exp(x_ref[...])

    assert codes(Rules(forbid=("exp",)), lambda x: call(nested, x)) == ["KT303"]
    assert codes(Rules(require=("exp",)), lambda x: call(nested, x)) == []
    assert codes(Rules(require=("exp",)), doubled) == ["KT304"]


def test_space_follows_the_argument_and_not_the_parameter_name():
    def copied(pages_ref, o_ref):
        pltpu.sync_copy(pages_ref.at[pl.ds(0, 8)], o_ref)

    anywhere = pl.BlockSpec(memory_space=pl.ANY)
    rules = Rules(space={"x": "any"})
    assert codes(rules, lambda x: call(copied, x, in_specs=[anywhere])) == []
    assert codes(rules, lambda x: call(copied, x.reshape(16, 128), in_specs=[anywhere])) == []
    assert codes(rules, doubled) == ["KT305"]


def test_space_of_an_output():
    def stored(x_ref, o_ref):
        pltpu.sync_copy(x_ref, o_ref.at[pl.ds(8 * pl.program_id(0), 8)])

    out_in_any = Rules(space={"out": "any"})
    assert codes(out_in_any, lambda x: call(stored, x, out_specs=pl.BlockSpec(memory_space=pl.ANY))) == []
    assert codes(out_in_any, doubled) == ["KT305"]


def test_scratch_must_have_the_dtype_and_be_used():
    rules = Rules(scratch=(ScratchRule(space="vmem", dtype="float32"),))
    assert codes(rules, with_scratch()) == []
    assert codes(rules, with_scratch(jnp.bfloat16)) == ["KT306"]
    assert codes(rules, with_scratch(use=False)) == ["KT306"], "a scratch for show"
    assert codes(rules, doubled) == ["KT306"]


def test_scratch_of_run_scoped_counts():
    def kernel(x_ref, o_ref):
        def body(acc_ref):
            acc_ref[...] = x_ref[...]
            o_ref[...] = acc_ref[...] * 2

        pl.run_scoped(body, pltpu.VMEM((8, 128), jnp.float32))

    assert codes(Rules(scratch=(ScratchRule(space="vmem", dtype="float32"),)), lambda x: call(kernel, x)) == []


def test_alias_from_a_fresh_array_and_from_an_input():
    def kernel(z_ref, x_ref, o_ref):
        o_ref[...] = x_ref[...]

    def fresh(x):
        return call(kernel, jnp.zeros(SHAPE, jnp.float32), x, input_output_aliases={0: 0})

    def own(x):
        return call(kernel, x, x, input_output_aliases={1: 0})

    wanted = Rules(alias=(AliasRule(source="fresh", to="out"),))
    assert codes(wanted, fresh) == []
    assert codes(wanted, own) == ["KT307"]
    assert codes(wanted, doubled) == ["KT307"]
    assert codes(Rules(alias=(AliasRule(source="x", to="out"),)), own) == []


def test_loads_and_stores_in_a_step():
    def twice(x_ref, o_ref):
        o_ref[...] = x_ref[...] + x_ref[...]
        o_ref[...] = x_ref[...]

    def looped(x_ref, o_ref):
        def body(i, carry):
            return carry + x_ref[...]

        o_ref[...] = jax.lax.fori_loop(0, 4, body, jnp.zeros((8, 128), jnp.float32))

    assert codes(Rules(max_loads={"x": 1}), doubled) == []
    assert codes(Rules(max_loads={"x": 1}), lambda x: call(twice, x)) == ["KT308"]
    assert codes(Rules(max_loads={"x": 3}), lambda x: call(looped, x)) == ["KT308"]
    assert codes(Rules(max_stores={"out": 1}), lambda x: call(twice, x)) == ["KT309"]


def test_copies():
    def copied(x_ref, o_ref):
        pltpu.sync_copy(x_ref, o_ref)

    assert codes(Rules(min_copies=1), lambda x: call(copied, x)) == []
    assert codes(Rules(min_copies=2), lambda x: call(copied, x)) == ["KT310"]
    assert codes(Rules(min_copies=1), doubled) == ["KT310"]


def test_the_dtype_of_a_product():
    def dotted(dtype):
        def kernel(x_ref, o_ref):
            x = x_ref[...].astype(jnp.bfloat16)
            o_ref[...] = jnp.dot(x, x.T, preferred_element_type=dtype).astype(jnp.float32)[:, :1] + x_ref[...]

        return lambda x: call(kernel, x)

    assert codes(Rules(dot_dtype="float32"), dotted(jnp.float32)) == []
    assert codes(Rules(dot_dtype="float32"), dotted(jnp.bfloat16)) == ["KT311"]


def test_steps_and_bytes_beside_the_reference():
    def small(x):
        half = pl.BlockSpec((8, 64), lambda i, j: (i, j))
        return call(double, x, grid=(2, 2), in_specs=[half], out_specs=half)

    def greedy(x):
        everything = pl.BlockSpec((16, 128), lambda i: (0, 0))
        jitter = pl.BlockSpec((8, 128), lambda i: (1 - i, 0))

        def kernel(a_ref, b_ref, c_ref, o_ref):
            o_ref[...] = c_ref[...] * 2

        return call(kernel, x, x, x, in_specs=[everything, jitter, SPEC])

    def dynamic(x):
        return call(double, x, grid=(jax.lax.optimization_barrier(jnp.int32(2)),))

    reference = facts(doubled).figures
    assert codes(Rules(max_steps_ratio=1.5), dynamic, reference=reference) == ["KT312"]
    assert codes(Rules(max_steps_ratio=1.5), small, reference=reference) == ["KT312"]
    assert codes(Rules(max_steps_ratio=2), small, reference=reference) == []
    assert codes(Rules(max_bytes_ratio=1.5), greedy, reference=reference) == ["KT313"]
    assert codes(Rules(max_bytes_ratio=1.5), doubled, reference=reference) == []


def test_turns_of_a_pipeline_inside_the_kernel_are_steps():
    def piped(x, rows):
        block = pl.BlockSpec((rows, 128), lambda i: (i, 0))
        anywhere = pl.BlockSpec(memory_space=pl.ANY)
        pipeline = pltpu.emit_pipeline(double, grid=(16 // rows,), in_specs=[block], out_specs=[block])
        return call(lambda x_ref, o_ref: pipeline(x_ref, o_ref), x, grid=(), in_specs=[anywhere], out_specs=anywhere)

    reference = facts(doubled).figures
    assert reference.steps == 2
    assert facts(lambda x: piped(x, 4)).figures.steps == 4
    assert codes(Rules(max_steps_ratio=1), lambda x: piped(x, 4), reference=reference) == ["KT312"]
    assert codes(Rules(max_steps_ratio=1), lambda x: piped(x, 8), reference=reference) == []


def test_a_block_may_be_as_large_as_the_exercise_says():
    assert codes(Rules(max_block={"x": "bm*128"}), doubled) == []
    assert codes(Rules(max_block={"out": 1024}), doubled) == []
    assert codes(Rules(max_block={"x": "4*128"}), doubled) == ["KT315"]


def test_the_whole_array_is_a_block_too():
    def whole(x):
        return pl.pallas_call(double, out_shape=STRUCT)(x)

    assert codes(Rules(max_block={"x": "bm*128"}), whole) == ["KT315"]
    in_vmem = pl.BlockSpec(memory_space=pltpu.VMEM)
    assert codes(Rules(max_block={"x": 1024}), lambda x: call(first_half, x, in_specs=[in_vmem])) == ["KT315"]


def test_a_squeezed_axis_counts_as_one():
    spec = pl.BlockSpec((None, 128), lambda i: (i, 0))

    def entry(x):
        return call(double, x, grid=(16,), in_specs=[spec], out_specs=spec)

    assert codes(Rules(max_block={"x": 128}), entry) == []


def first_half(x_ref, o_ref):
    o_ref[...] = x_ref[:8, :]


def walked(x, order):
    """Two blocks of x, each needed in two of the four steps."""
    maps = {"stays": lambda i, j: (i, 0), "comes again": lambda i, j: (j, 0), "constant": lambda i, j: (0, 0)}
    out = pl.BlockSpec((8, 128), lambda i, j: (i, 0))
    return call(double, x, grid=(2, 2), in_specs=[pl.BlockSpec((8, 128), maps[order])], out_specs=out)


@pytest.mark.parametrize(("order", "found"), [("stays", []), ("constant", []), ("comes again", ["KT316"])])
def test_a_block_is_fetched_once(order, found):
    assert codes(Rules(fetch_once=("x",)), lambda x: walked(x, order)) == found
    assert codes(Rules(), lambda x: walked(x, order)) == []


def gathered(x, size):
    def kernel(x_ref, o_ref, held, sem):
        def take(step, carry):
            at = pl.ds(step * 8, size(step))
            copy = pltpu.make_async_copy(x_ref.at[at], held.at[at], sem)
            copy.start()
            copy.wait()
            return carry

        jax.lax.fori_loop(0, 2, take, 0)
        o_ref[...] = held[:16]

    scratch = [pltpu.VMEM((64, 128), jnp.float32), pltpu.SemaphoreType.DMA]
    return call(kernel, x, grid=(), in_specs=[pl.BlockSpec(memory_space=pl.ANY)], out_specs=pl.BlockSpec(),
                scratch_shapes=scratch)  # fmt: skip


@pytest.mark.parametrize("size", [lambda step: 8, lambda step: pl.multiple_of(step * 0 + 8, 8)])
def test_copies_may_not_gather_the_whole_array(size):
    assert codes(Rules(max_block={"x": 2048}), lambda x: gathered(x, size)) == []
    assert codes(Rules(max_block={"x": 1024}), lambda x: gathered(x, size)) == ["KT315"]


def beside_an_output(kernel, x, *, kept=False, space=pltpu.VMEM):
    """A kernel with a second output, which only `kept` hands on."""
    whole = pl.BlockSpec((16, 128), lambda i: (0, 0))
    made = call(kernel, x, out=[STRUCT, STRUCT], in_specs=[pl.BlockSpec(memory_space=space)], out_specs=[SPEC, whole])
    return tuple(made) if kept else made[0]


def through_the_output(x_ref, o_ref, held_ref):
    held_ref[:8] = x_ref[:8]
    o_ref[...] = held_ref[:8] * 2


def with_both(x_ref, o_ref, held_ref):
    held_ref[...] = x_ref[...]
    o_ref[...] = x_ref[:8] * 2


def test_loads_of_an_output_that_nobody_gets_are_loads_of_scratch():
    rules = Rules(max_loads={"scratch": 0})
    assert codes(rules, lambda x: beside_an_output(through_the_output, x)) == ["KT308"]
    assert codes(rules, lambda x: beside_an_output(through_the_output, x, kept=True)) == []
    assert codes(rules, lambda x: beside_an_output(with_both, x)) == []


def test_an_output_of_an_earlier_kernel_may_be_handed_on():
    def entry(x):
        first = call(through_the_output, x, out=[STRUCT, STRUCT], out_specs=[SPEC, SPEC])
        return call(lambda a, b, o: double(a, o), *first)

    assert codes(Rules(max_loads={"scratch": 0}), entry) == []


def test_an_output_that_nobody_gets_does_not_do_the_work_of_the_scratch():
    rules = Rules(scratch=(ScratchRule(space="vmem", dtype="float32"),))

    def kernel(x_ref, o_ref, held_ref, acc_ref):
        acc_ref[...] = jnp.zeros_like(acc_ref)
        held_ref[...] = x_ref[...] + acc_ref[0, 0]
        o_ref[...] = held_ref[...] * 2

    def entry(x, kept):
        shapes = {"out": [STRUCT, STRUCT], "out_specs": [SPEC, SPEC]}
        made = call(kernel, x, scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32)], **shapes)
        return tuple(made) if kept else made[0]

    assert codes(rules, lambda x: entry(x, False)) == ["KT306"]
    assert codes(rules, lambda x: entry(x, True)) == []


def test_copies_may_not_gather_in_an_output_that_nobody_gets():
    def kernel(x_ref, o_ref, held_ref):
        for start in (0, 8):
            pltpu.sync_copy(x_ref.at[pl.ds(start, 8)], held_ref.at[pl.ds(start, 8)])
        o_ref[...] = held_ref[:8]

    entry = lambda x: beside_an_output(kernel, x, space=pl.ANY)  # noqa: E731
    assert codes(Rules(max_block={"x": 1024}), entry) == []  # both pieces are fewer than four
    assert codes(Rules(max_block={"x": 2048 // 4 - 1}), entry).count("KT315") == 3  # each copy, and what they gather


def test_a_grid_too_long_to_list_fetches_once_too():
    def entry(x, order):
        index_map = {"stays": lambda i, j: (i, 0), "comes again": lambda i, j: (j, 0)}[order]
        steps = {"stays": (2, 4096), "comes again": (4096, 2)}[order]
        out = pl.BlockSpec((8, 128), lambda i, j: (0, 0))
        return call(double, x, grid=steps, in_specs=[pl.BlockSpec((8, 128), index_map)], out_specs=out)

    rules = Rules(fetch_once=("x",))
    assert codes(rules, lambda x: entry(x, "stays")) == []
    assert codes(rules, lambda x: entry(x, "comes again")) == ["KT316"]


@pytest.mark.parametrize(
    ("when", "found"),
    [
        (None, ["KT316"]),
        (lambda i, j: j == 0, []),
        (lambda i, j: j >= 0, ["KT316"]),
    ],
)
def test_copies_of_the_kernels_own_fetch_once(when, found):
    def kernel(x_ref, o_ref, held_ref):
        i, j = pl.program_id(0), pl.program_id(1)

        def take():
            pltpu.sync_copy(x_ref.at[pl.ds(pl.multiple_of(i * 8, 8), 8)], held_ref)

        take() if when is None else pl.when(when(i, j))(take)
        o_ref[...] = held_ref[...]

    def entry(x):
        anywhere, out = pl.BlockSpec(memory_space=pl.ANY), pl.BlockSpec((8, 128), lambda i, j: (i, 0))
        scratch = [pltpu.VMEM((8, 128), jnp.float32)]
        return call(kernel, x, grid=(2, 2), in_specs=[anywhere], out_specs=out, scratch_shapes=scratch)

    assert codes(Rules(fetch_once=("x",)), entry) == found
