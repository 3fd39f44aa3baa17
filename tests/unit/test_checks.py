"""The general rules as a whole: the lines they name, sources that do not parse, right kernels that raise nothing."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tests.unit.checking import ANY, BLOCK, F32, call, codes, copy_kernel, findings, rows, shape
from tutor.jaxpr.checks import RULES, SOURCE_RULES, suspects
from tutor.jaxpr.compat import target

# ---------------------------------------------------------------- the source

REBOUND = """
def kernel(x_ref, o_ref):
    y = x_ref[...] + 1
    {store}
"""


def from_source(text, args, name="attempt.py", **kwargs):
    space = {"jnp": jnp, "pl": pl, "jax": jax, "lax": lax, "pltpu": pltpu}
    exec(compile(text, name, "exec"), space)
    with target():
        jaxpr = jax.make_jaxpr(lambda *a: call(space["kernel"], **kwargs)(*a))(*args)
    return suspects(jaxpr, {}, name, source=text)


def test_a_ref_name_is_rebound():
    found = from_source(REBOUND.format(store="o_ref = y"), [shape(*BLOCK)])
    (rebound,) = [f for f in found if f.code == "KT344"]
    assert (rebound.line, rebound.column, rebound.ref) == (4, 4, "o_ref")
    assert not from_source(REBOUND.format(store="o_ref[...] = y"), [shape(*BLOCK)])


def test_rebinding_inside_when_and_of_inputs():
    inner = "@pl.when(pl.program_id(0) == 0)\n    def _():\n        o_ref = y"
    found = from_source(REBOUND.format(store=inner), [shape(*BLOCK)], grid=(1,))
    assert {f.code for f in found} >= {"KT344", "KT330"}
    fine = "x_ref = y\n    o_ref[...] = x_ref"
    assert not [f for f in from_source(REBOUND.format(store=fine), [shape(*BLOCK)]) if f.severity != "note"]


def test_a_read_that_is_never_used():
    found = from_source(REBOUND.format(store="o_ref[...] = x_ref[...] * 2"), [shape(*BLOCK)])
    assert [(f.code, f.line, f.ref, f.severity) for f in found] == [("KT345", 3, "x_ref", "note")]


def test_lines_are_those_of_the_attempt_only():
    """A helper in another file writes; the finding points at the attempt's line that called it."""
    helper = {"pl": pl}
    exec(compile("def take(ref):\n\n\n    return ref[50]", "helper.py", "exec"), helper)
    space = {"take": helper["take"], "jnp": jnp}
    text = "def kernel(x_ref, o_ref):\n    o_ref[...] = jnp.broadcast_to(take(x_ref), o_ref.shape)"
    exec(compile(text, "attempt.py", "exec"), space)
    with target():
        jaxpr = jax.make_jaxpr(lambda x: call(space["kernel"])(x))(shape(40, 128))
    (found,) = suspects(jaxpr, {}, "attempt.py")
    assert (found.code, found.line) == ("KT329", 2)


@pytest.mark.parametrize("source", ["def (", "\0", "", "x = 1", "# \udcff"])
def test_a_source_that_does_not_parse_says_nothing(source):
    assert not findings(lambda x: call(copy_kernel)(x), shape(*BLOCK), source=source)


def test_text_of_the_learner_is_data():
    text = REBOUND.format(store="o_ref[...] = y").replace("x_ref", "x")
    assert not from_source(text, [shape(*BLOCK)])


# ---------------------------------------------------------------- all of it


def test_right_kernels_of_many_kinds_raise_nothing():
    def pipelined(x_hbm, o_hbm):
        def body(x_ref, o_ref):
            o_ref[...] = x_ref[...] * 2

        spec = rows(lambda i: (i, 0))
        pltpu.emit_pipeline(body, grid=(4,), in_specs=[spec], out_specs=[spec])(x_hbm, o_hbm)

    def softmax(x_ref, o_ref):
        v = x_ref[...]
        e = jnp.exp(v - jnp.max(v, axis=1, keepdims=True))
        o_ref[...] = jax.nn.silu(e / jnp.sum(e, axis=1, keepdims=True))

    def swapped(x_ref, o_ref, acc):
        acc[...] = x_ref[...]
        o_ref[...] = acc[...]

    x = shape(32, 128)
    assert not codes(lambda x: call(pipelined, (32, 128), in_specs=[ANY], out_specs=ANY)(x), x)
    assert not codes(lambda x: call(softmax, (32, 128))(x), x)
    assert not codes(lambda x: call(swapped, (32, 128), scratch_shapes=[pltpu.VMEM((32, 128), F32)])(x), x)


def test_every_rule_has_words_for_the_learner():
    for rule in (*RULES, *SOURCE_RULES):
        assert rule.__doc__ and rule.__doc__.startswith("KT3"), rule.__name__


def test_no_backend_is_started():
    program = """
    import jax, jax.numpy as jnp, numpy as np
    from jax.experimental import pallas as pl
    from tutor.jaxpr.checks import suspects
    from tutor.jaxpr.compat import backends_started, target
    def kernel(x_ref, o_ref):
        @pl.when(pl.program_id(0) == 1)
        def _(): o_ref[...] = jnp.zeros_like(o_ref)
        o_ref[...] += x_ref[...]
    spec = pl.BlockSpec((8, 128), lambda i: (i // 2, 0))
    shape = jax.ShapeDtypeStruct((32, 128), np.float32)
    with target():
        call = pl.pallas_call(kernel, grid=(8,), in_specs=[spec], out_specs=spec, out_shape=shape)
        jaxpr = jax.make_jaxpr(call)(shape)
    assert [f.code for f in suspects(jaxpr, {}, "<string>")] == ["KT332"]
    assert not backends_started()
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, env={"JAX_PLATFORMS": "cpu"})
