"""Facts of a case: data flow, modes, fingerprints, and that none of it starts a backend."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from kernel_samples import (
    bf16,
    block_sparse,
    f32,
    facts_of,
    i32,
    line_of,
    matmul,
    on_a_mesh,
    ragged,
    the_kernel,
    traced,
    two_kernels,
)

from tutor.jaxpr.facts import case_facts
from tutor.jaxpr.fingerprint import fingerprint
from tutor.protocol import Alias, ArraySpec, CaseSpec, Dot, Primitive

SPARSE = {"rows": i32(5), "cols": i32(5), "blocks": f32(5, 32, 64), "dense": f32(128, 128)}
ROWS, COLS = np.array([1, 1, 2, 4, 4], np.int32), np.array([0, 1, 1, 0, 0], np.int32)


def test_matmul():
    facts = facts_of(matmul, {"a": bf16(256, 512), "b": bf16(512, 128)})
    kernel = the_kernel(facts)
    k = kernel.kernel
    assert (k.name, k.primitive, k.grid, k.facts_case, kernel.steps) == ("kernel", "pallas_call", [2, 1, 4], "case", 8)
    assert [(o.name, o.argument, o.role, o.space, o.block_shape, o.shape, o.dtype) for o in k.operands] == [
        ("a_ref", "a", "input", "vmem", [128, 128], [256, 512], "bfloat16"),
        ("b_ref", "b", "input", "vmem", [128, 128], [512, 128], "bfloat16"),
        ("o_ref", None, "output", "vmem", [128, 128], [256, 128], "bfloat16"),
        ("acc_ref", None, "scratch", "vmem", None, [128, 128], "float32"),
    ]
    assert kernel.dots == [Dot("bfloat16", "bfloat16", "float32", None, line_of("matmul dot"))]
    assert kernel.line == line_of("matmul call")
    # every step has another (i, k) and another (k, j); the output block changes with i only
    assert (k.bytes_in, k.bytes_out) == (8 * 2 * 128 * 128 * 2, 2 * 128 * 128 * 2)
    assert kernel.output_arguments == [0]
    assert (facts.outside, facts.modes, kernel.interpret) == ([], ["on_wait", "two_cores"], False)
    assert [(o.shape, o.dtype) for o in facts.outputs] == [([256, 128], "bfloat16")]


def test_the_precision_of_a_dot_is_named():
    def kernel(x_ref, o_ref):
        o_ref[...] = jnp.dot(x_ref[...], x_ref[...].T, precision=jax.lax.Precision.HIGHEST)

    facts = facts_of(pl.pallas_call(kernel, out_shape=f32(128, 128)), {"x": f32(128, 128)})
    assert [d.precision for d in the_kernel(facts).dots] == ["HIGHEST"]


def test_an_aliased_array_of_zeros_is_fresh_and_tables_come_from_inputs():
    facts = facts_of(block_sparse, SPARSE, {"rows": ROWS, "cols": COLS})
    kernel = the_kernel(facts)
    assert [(o.name, o.argument, o.role, o.alias) for o in kernel.kernel.operands] == [
        ("rows_ref", "rows", "prefetch", None),
        ("cols_ref", "cols", "prefetch", None),
        ("block_ref", "blocks", "input", None),
        ("dense_ref", "dense", "input", None),
        ("zeros_ref", "fresh", "input", 0),
        ("o_ref", None, "output", None),
    ]
    assert kernel.aliases == [Alias("fresh", "zeros_ref", 0)]
    assert facts.outside == []
    # 5 blocks; dense blocks 0 1 1 0 0: 3 fetches; zeros and output blocks 1 1 2 4 4: 3 each
    out = 3 * 32 * 128 * 4
    assert kernel.kernel.bytes_in == 5 * 32 * 64 * 4 + 3 * 64 * 128 * 4 + out
    assert kernel.kernel.bytes_out == out


def test_without_values_what_depends_on_a_table_is_unknown():
    k = the_kernel(facts_of(block_sparse, SPARSE)).kernel
    assert (k.bytes_in, k.bytes_out) == (None, None)
    assert (k.loads, k.stores, k.accumulates) == (5, 1, 1)  # rows twice, block, dense, output


def test_a_captured_table_is_fresh_and_known():
    def entry(x):
        def kernel(rows_ref, x_ref, o_ref):
            o_ref[...] = x_ref[...]

        spec = pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1, grid=(4,), in_specs=[pl.BlockSpec((8, 128), lambda i, r: (r[i], 0))],
            out_specs=pl.BlockSpec((8, 128), lambda i, r: (i, 0)),
        )  # fmt: skip
        table = np.array([2, 2, 0, 0], np.int32)
        return jax.jit(pl.pallas_call(kernel, grid_spec=spec, out_shape=f32(32, 128)))(table, x)

    facts = facts_of(entry, {"x": f32(24, 128)})
    kernel = the_kernel(facts)
    assert [o.argument for o in kernel.kernel.operands] == ["fresh", "x", None]
    assert kernel.kernel.bytes_in == 2 * 4096


def test_two_kernels():
    facts = facts_of(two_kernels, {"x": bf16(8, 128), "y": f32(1024)})
    total, scale = facts.kernels
    assert [k.kernel.name for k in facts.kernels] == ["total", "scale"]
    assert [o.argument for o in total.kernel.operands] == ["x", None]
    assert [o.argument for o in scale.kernel.operands] == [None, "y", None]
    assert (total.output_arguments, scale.output_arguments) == ([1], [0])
    assert facts.outside == [Primitive("add", line_of("two add"), 1)]
    assert [p.name for p in total.inside] == ["get", "reduce_sum", "broadcast_in_dim", "swap"]


def test_wrappers_are_transparent_and_arithmetic_is_not():
    @jax.custom_vjp
    def double(x):
        return pl.pallas_call(lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...]), out_shape=f32(8, 128))(x)

    double.defvjp(lambda x: (double(x), None), lambda _, g: (g,))

    def entry(x, y):
        inner = jax.jit(lambda a: double(a.reshape(128, 8).T))(x)
        return inner, jnp.where(y > 0, inner, 0.0)

    facts = facts_of(entry, {"x": f32(8, 128), "y": f32(8, 128)}, file_name=__file__)
    assert [o.argument for o in the_kernel(facts).kernel.operands] == ["x", None]
    assert the_kernel(facts).output_arguments == [0]
    assert [p.name for p in facts.outside] == ["gt", "select_n"]
    assert all(p.line is not None for p in facts.outside)


def test_a_kernel_inside_a_loop_is_found():
    def entry(x):
        call = pl.pallas_call(lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...] + 1.0), out_shape=f32(8, 128))
        return jax.lax.fori_loop(0, 3, lambda i, v: call(v), x)

    facts = facts_of(entry, {"x": f32(8, 128)})
    assert the_kernel(facts).kernel.operands[0].argument is None  # the input at the first turn only
    assert "scan" in [p.name for p in facts.outside]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_core_map_works_on_refs_of_the_program_around():
    def entry(x):
        def body(refs):
            x_ref, y_ref = refs

            @pl.core_map(pltpu.TensorCoreMesh(axis_name="core", num_cores=1))
            def _():
                def with_buffer(buf):
                    pltpu.sync_copy(x_ref, buf)
                    buf[...] = buf[...] * 2.0
                    pltpu.sync_copy(buf, y_ref)

                pl.run_scoped(with_buffer, pltpu.VMEM((8, 128), jnp.float32))

        return pl.run_state(body)((x, jnp.zeros_like(x)))[1]

    facts = facts_of(entry, {"x": f32(8, 128)})
    kernel = the_kernel(facts)
    assert [(o.argument, o.role, o.space) for o in kernel.kernel.operands] == [
        ("x", "input", "any"),
        ("fresh", "output", "any"),
        (None, "scratch", "vmem"),
    ]
    assert (kernel.kernel.copies, kernel.kernel.bytes_in, kernel.kernel.bytes_out) == (2, 4096, 4096)
    assert (kernel.output_arguments, facts.outside) == ([0], [])


@pytest.mark.parametrize(
    ("after", "moved"),
    [(lambda out: out, False), (lambda out: out.astype(jnp.bfloat16), False), (jnp.transpose, True),
     (lambda out: out.reshape(128, 8).reshape(8, 128), True)],
)  # fmt: skip
def test_an_output_that_is_moved_afterwards_says_so(after, moved):
    def entry(x):
        kernel = pl.pallas_call(lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...]), out_shape=f32(8, 128))
        return after(kernel(x))

    kernel = the_kernel(facts_of(entry, {"x": f32(8, 128)}))
    assert kernel.output_arguments == [0]
    assert [(w.operand, w.output, w.moved) for w in kernel.walks] == [("x_ref", None, False), ("o_ref", 0, moved)]


def test_shard_map_and_vmap_are_read_through():
    def entry(x):
        block = pl.BlockSpec((8, 128), lambda i: (i, 0))
        call = pl.pallas_call(
            lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...]), grid=(2,), in_specs=[block], out_specs=block,
            out_shape=f32(16, 128),
        )  # fmt: skip
        return jax.vmap(call)(x)

    kernel = the_kernel(facts_of(entry, {"x": f32(3, 16, 128)}))
    assert (kernel.kernel.grid, kernel.kernel.operands[0].block_shape) == ([3, 2], [None, 8, 128])

    mesh = jax.sharding.AbstractMesh((2,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
    spec = jax.sharding.PartitionSpec("d")

    def sharded(x):
        call = pl.pallas_call(lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...]), out_shape=f32(8, 128))
        return jax.shard_map(call, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)(x)

    with jax.sharding.use_abstract_mesh(mesh):
        jaxpr = jax.make_jaxpr(sharded)(f32(16, 128))
    case = CaseSpec(name="s", inputs=[ArraySpec("x", [16, 128], "float32")], outputs=[], static={}, sizes={})
    facts = case_facts(jaxpr, case, None, __file__)
    assert [o.argument for o in the_kernel(facts).kernel.operands] == ["x", None]
    assert (facts.outside, the_kernel(facts).output_arguments) == ([], [0])


def test_modes():
    def modes(semantics):
        block = pl.BlockSpec((8, 128), lambda i, j: (i, j))
        call = pl.pallas_call(
            lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...]), grid=(2, 2), out_shape=f32(16, 256),
            in_specs=[block], out_specs=block,
            compiler_params=pltpu.CompilerParams(dimension_semantics=semantics),
        )  # fmt: skip
        return facts_of(call, {"x": f32(16, 256)}).modes

    assert modes(("parallel", "arbitrary")) == ["on_wait", "two_cores"]
    assert modes(("parallel", "parallel")) == ["on_wait", "two_cores"]
    assert modes(("arbitrary", "parallel")) == ["on_wait"]
    assert modes(None) == ["on_wait"]
    assert facts_of(on_a_mesh, {"x": f32(8, 128)}).modes == ["on_wait", "eager"]


def test_a_dynamic_grid_is_unknown_and_says_so():
    def entry(n, x):
        spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
        call = pl.pallas_call(
            lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...]), grid=(n,), in_specs=[spec], out_specs=spec,
            out_shape=f32(32, 128),
        )  # fmt: skip
        return call(x)

    kernel = the_kernel(facts_of(entry, {"n": i32(), "x": f32(32, 128)}))
    assert (kernel.kernel.grid, kernel.steps, kernel.kernel.bytes_in) == ([None], None, None)
    assert kernel.kernel.operands[0].argument == "x"


def test_a_baked_in_interpret_is_told():
    def entry(x):
        return pl.pallas_call(lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...]), out_shape=f32(8, 128),
                              interpret=True)(x)  # fmt: skip

    assert the_kernel(facts_of(entry, {"x": f32(8, 128)})).interpret


def test_another_number_of_inputs_than_the_case_is_refused():
    case = CaseSpec(name="odd", inputs=[], outputs=[], static={}, sizes={})
    with pytest.raises(ValueError, match="case odd has 0 inputs, its trace has 1"):
        case_facts(traced(ragged, f32(100, 128)), case, None, __file__)


def blocks_of(index_map, scale=2.0):
    spec = pl.BlockSpec((8, 128), index_map)
    call = pl.pallas_call(
        lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...] * scale), grid=(2,), in_specs=[spec], out_specs=spec,
        out_shape=f32(16, 128),
    )  # fmt: skip
    return fingerprint(traced(call, f32(16, 128)))


def test_the_fingerprint_sees_index_maps_and_constants_and_not_names():
    same = blocks_of(lambda i: (i, 0))
    assert same == blocks_of(lambda step: (step, 0))
    assert same != blocks_of(lambda i: (1 - i, 0))
    assert same != blocks_of(lambda i: (i, 0), scale=3.0)
    assert len(same) == 64


def test_the_fingerprint_sees_captured_arrays():
    first, second = (
        fingerprint(traced(lambda x, c=c: jax.jit(lambda y: y + c)(x), f32(3))) for c in (np.ones(3), np.eye(3)[0])
    )
    assert first != second


def test_no_backend_is_started():
    """In a process of its own, since other tests start one here; the last line proves that the probe can fail."""
    program = """
import sys
sys.path.insert(0, "tests/unit")
from kernel_samples import *
from tutor.jaxpr.compat import backends_started
from tutor.jaxpr.printing import marked
sparse = {"rows": i32(5), "cols": i32(5), "blocks": f32(5, 32, 64), "dense": f32(128, 128)}
tables = {"rows": np.array([1, 1, 2, 4, 4]), "cols": np.array([0, 1, 1, 0, 0])}
facts_of(block_sparse, sparse, tables)
facts_of(pipelined, {"x": f32(32, 128)})
facts_of(on_a_mesh, {"x": f32(8, 128)})
facts_of(loops, {"n": i32(1), "x": f32(8, 128)})
marked(traced(block_sparse, *sparse.values()), HERE, whole=True)
assert not backends_started()
jnp.zeros(3) + 1
assert backends_started()
"""
    root = Path(__file__).parents[2]
    env = {"JAX_PLATFORMS": "cpu", "PATH": ""}
    done = subprocess.run([sys.executable, "-c", program], cwd=root, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
