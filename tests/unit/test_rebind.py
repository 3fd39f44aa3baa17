"""Kernels are reached in every nesting, and the judge's `interpret` is the one that counts."""

from __future__ import annotations

import functools

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tutor.jaxpr.compat import position, target
from tutor.jaxpr.rebind import Rebinding, kernels

SHAPE = (8, 128)
X = np.arange(8 * 128, dtype=np.float32).reshape(SHAPE) / 64


def plus_one(x, interpret=False, **params):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] + 1

    return pl.pallas_call(
        kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), interpret=interpret,
        compiler_params=pltpu.CompilerParams(**params) if params else None,
    )(x)  # fmt: skip


@jax.custom_vjp
def with_vjp(x):
    return plus_one(x) * 2


with_vjp.defvjp(lambda x: (with_vjp(x), None), lambda _, g: (plus_one(g),))


@jax.custom_jvp
def with_jvp(x):
    return plus_one(x)


with_jvp.defjvp(lambda p, t: (with_jvp(*p), t[0]))


def double_kernel(x):
    mesh = pltpu.TensorCoreMesh(axis_name="core", num_cores=1)

    @pl.kernel(
        out_type=jax.ShapeDtypeStruct(x.shape, x.dtype), mesh=mesh, scratch_types={"v": pltpu.VMEM(SHAPE, jnp.float32)}
    )
    def k(x_hbm, o_hbm, v):
        pltpu.sync_copy(x_hbm, v)
        v[...] = v[...] * 2
        pltpu.sync_copy(v, o_hbm)

    return k(x)


def sharded(x):
    mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    spec = jax.sharding.PartitionSpec("i")
    return jax.shard_map(plus_one, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)(x)


PROGRAMS = {
    "plain": plus_one,
    "jit": jax.jit(plus_one),
    "jit in jit": jax.jit(lambda x: jax.jit(plus_one)(x) * 3),
    "interpret=True": functools.partial(plus_one, interpret=True),
    "cond": lambda x: lax.cond(x[0, 1] > 0, plus_one, lambda x: x, x),
    "cond, constant out": lambda x: lax.cond(x[0, 1] > 0, plus_one, jnp.zeros_like, x),
    "switch": lambda x: lax.switch(jnp.int32(x[0, 0]) + 2, [lambda x: x, plus_one, lambda x: plus_one(plus_one(x))], x),
    "fori_loop": lambda x: lax.fori_loop(0, 3, lambda i, c: plus_one(c) * (i + 1), x),
    "scan": lambda x: lax.scan(lambda c, row: (c + 1, plus_one(row) + c), 1.0, jnp.stack([x, x * 2])),
    "reverse scan": lambda x: lax.scan(
        lambda c, row: (plus_one(c) * 2 - row, c), x, jnp.stack([x, x * 2]), reverse=True
    ),
    "while": lambda x: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, plus_one(s[1])), (0, x))[1],
    "while condition": lambda x: lax.while_loop(lambda s: plus_one(s)[0, 0] < 5, lambda s: s + 1, x),
    "remat": jax.checkpoint(lambda x: jnp.sin(plus_one(x))),
    "custom_vjp": with_vjp,
    "custom_jvp": with_jvp,
    "gradient": jax.grad(lambda x: with_vjp(x).sum()),
    "vmap": lambda x: jax.vmap(plus_one)(jnp.stack([x, x + 1])),
    "shard_map": sharded,
    "jit in shard_map in scan": lambda x: lax.scan(lambda c, _: (jax.jit(sharded)(c), None), x, None, length=2)[0],
    "pl.kernel": double_kernel,
    "pl.kernel in a loop": lambda x: lax.fori_loop(0, 2, lambda i, c: double_kernel(c), x),
    "closed over": lambda x: plus_one(x + jnp.asarray(X)),
    "literal out": lambda x: (plus_one(x), 3),
    "input out": lambda x: (x, plus_one(x)),
}


def traced(function, *args):
    with target():
        return jax.make_jaxpr(function)(*args)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("interpret", [True, pltpu.InterpretParams()], ids=["interpret", "simulator"])
def test_same_numbers_in_every_nesting(name, interpret):
    with pltpu.force_tpu_interpret_mode():
        want = jax.tree.leaves(PROGRAMS[name](X))
    jaxpr = traced(PROGRAMS[name], X)
    with target():
        got = jax.jit(Rebinding(interpret).as_function(jaxpr))(X)
    assert len(want) == len(got)
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype if hasattr(b, "dtype") else True
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("name", PROGRAMS)
def test_lowering_always_meets_the_kernel(name):
    """With `interpret=False` every kernel becomes a TPU custom call, whatever the attempt asked for."""
    jaxpr = traced(PROGRAMS[name], X)
    with target():
        exported = jax.export.export(jax.jit(Rebinding(False).as_function(jaxpr)), platforms=["tpu"])(X)
        simulated = jax.export.export(jax.jit(Rebinding(True).as_function(jaxpr)), platforms=["cpu"])(X)
    assert "tpu_custom_call" in exported.mlir_module()
    assert "tpu_custom_call" not in simulated.mlir_module()


def test_kernels_in_program_order_with_their_path():
    def program(x):
        x = plus_one(x, interpret=True)
        x = lax.fori_loop(0, 2, lambda i, c: lax.cond(i > 0, plus_one, lambda c: c, c), x)

        @jax.jit
        def last(x):
            return double_kernel(x)

        return last(x)

    found = list(kernels(traced(program, X)))
    assert [k.eqn.primitive.name for k in found] == ["pallas_call", "pallas_call", "mpmd_map"]
    assert [k.path for k in found] == [(), ("scan", "cond branch 1"), ("jit last",)]
    assert [(k.repeated, k.branch) for k in found] == [(False, False), (True, True), (False, False)]
    assert [k.interpret for k in found] == [True, False, False]


def test_what_holds_no_kernel_is_bound_as_it_stands():
    def program(x):
        y = lax.fori_loop(0, 3, lambda i, c: c + 1, x)
        return plus_one(jax.jit(jnp.sin)(y))

    before = traced(program, X)
    with target():
        after = jax.make_jaxpr(Rebinding(False).as_function(before))(X)
    assert [e.primitive.name for e in after.eqns] == [e.primitive.name for e in before.eqns]
    assert after.eqns[0].params["jaxpr"] is before.eqns[0].params["jaxpr"]


def test_dimension_semantics_are_dropped_on_request():
    jaxpr = traced(functools.partial(plus_one, vmem_limit_bytes=1 << 20, dimension_semantics=()), X)
    with target():
        kept = jax.make_jaxpr(Rebinding(False).as_function(jaxpr))(X).eqns[0].params["compiler_params"]
        dropped = jax.make_jaxpr(Rebinding(False, semantics=False).as_function(jaxpr))(X)
    assert kept.dimension_semantics == ()
    params = dropped.eqns[0].params["compiler_params"]
    assert params.dimension_semantics is None
    assert params.vmem_limit_bytes == 1 << 20


def test_the_attempts_line_survives():
    """A refusal of the lowering names this file, not the evaluator."""
    jaxpr = traced(lambda x: plus_one(x), X)
    with target():
        again = jax.make_jaxpr(Rebinding(False).as_function(jaxpr))(X)
    assert position(again.eqns[0], __file__) == position(jaxpr.eqns[0], __file__) is not None


def test_prints_outside_kernels_are_dropped_on_request(capfd):
    def program(x):
        jax.debug.print("outer {}", x[0, 0])

        def body(i, c):
            jax.debug.print("loop {}", i)
            return c + 1

        return plus_one(lax.fori_loop(0, 2, body, x))

    jaxpr = traced(program, X)
    with target():
        jax.export.export(jax.jit(Rebinding(True, debug=False).as_function(jaxpr)), platforms=["cpu"])(X)
        jax.block_until_ready(jax.jit(Rebinding(True).as_function(jaxpr))(X))
        jax.effects_barrier()
    assert capfd.readouterr().out.count("loop") == 2
