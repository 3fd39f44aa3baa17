"""What tracing refuses, in plain words: the code, the learner's line, the ref and the facts that matter."""

import pytest

from tests.stage.attempts import PROLOGUE, case_source, line_with, trace_finding

# case, code, text of the line it must point at, ref, words that must be said
CASES = [
    ("01", "KT112", "x_ref[...] + TABLE", "TABLE", ["`TABLE`", "f32[8,128]"]),
    ("03", "KT113", "astype(jnp.float32)", "o_ref", ["`o_ref`", "bfloat16", "float32"]),
    ("06", "KT114", "in_specs=[pl.BlockSpec", None, ["takes 1", "passes 2", "scalar-prefetch"]),
    ("08", "KT115", "input_output_aliases={0: 0}", None, ["int32[2]", "float32[32,128]", "scalar-prefetch"]),
    ("40", "KT116", "pltpu.async_copy", "sem", ["DMA", "regular"]),
    ("49", "KT117", "o_ref[...] = x_ref + 1", "x_ref", ["`x_ref` is a Ref"]),
    ("50", "KT118", "if pl.program_id", None, ["`if`", "traced"]),
]


@pytest.mark.parametrize(("number", "code", "line", "ref", "words"), CASES, ids=[c[0] for c in CASES])
def test_cases_of_the_bank(number, code, line, ref, words):
    source, path = case_source(number)
    found = trace_finding(source, path)
    assert (found.code, found.ref) == (code, ref)
    assert found.line == line_with(source, line)
    for word in words:
        assert word in found.message
    assert found.raw
    assert found.hint


def attempt(body, call="", kernel="def kernel(x_ref, o_ref):"):
    """A kernel with this body, called with these options."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return f"{PROLOGUE}{kernel}\n{lines}\ndef run(x):\n    return pl.pallas_call(kernel, out_shape=F32{call})(x)\n"


BODIES = [
    ("o_ref[0:8, :] = x_ref[...]", "", "KT120", "o_ref", ["(8, 256)", "(32, 256)"]),
    ("o_ref[...] = x_ref", "", "KT117", "x_ref", ["Load its value"]),
    ("o_ref[...] = jnp.exp(x_ref)", "", "KT117", "x_ref", ["`x_ref` is a Ref"]),
    ("o_ref[...] = x_ref.astype(jnp.float32)", "", "KT117", "x_ref", ["`x_ref` is a Ref"]),
    ("o_ref += x_ref[...]", "", "KT117", "o_ref", ["`o_ref` is a Ref"]),
    ("o_ref[...] = np.exp(x_ref)", "", "KT117", "x_ref", ["`x_ref` is a Ref"]),
    ("for row in x_ref: o_ref[...] = row", "", "KT117", "x_ref", ["looped over"]),
    ("pltpu.sync_copy(x_ref[...], o_ref)", "", "KT117", None, ["must both be refs"]),
    ("jax.ref.addupdate(o_ref, ..., x_ref[...].astype(jnp.bfloat16))", "", "KT113", "o_ref", ["bfloat16"]),
    ("o_ref[0:8] = x_ref[pl.ds(28, 8), :]", "", "KT123", "x_ref", ["length 32", "8 elements from 28", "35"]),
    ("o_ref[...] = x_ref[0, 0, 0]", "", "KT123", "x_ref", ["(32, 256)", "2 axes"]),
    ("o_ref[...] = np.maximum(x_ref[...], 0)", "", "KT118", None, ["NumPy"]),
    ("for i in range(pl.program_id(0)): o_ref[...] = x_ref[...]", ", grid=(2,)", "KT118", None, ["`range`"]),
    ("o_ref[...] = x_ref[pl.program_id(0) * 8 : 8]", ", grid=(2,)", "KT118", None, ["slice"]),
    ("o_ref[...] = jnp.where(x_ref[0, 0] > 0 and x_ref[0, 1] > 0, 1., 0.)", "", "KT118", None, ["`and`"]),
    ("o_ref[...] = x_ref[...] * float(x_ref[0, 0])", "", "KT118", None, ["Python number"]),
    ("o_ref[...] = jnp.zeros((pl.program_id(0), 8))", ", grid=(2,)", "KT118", None, ["shape"]),
    ("o_ref[...] = x_ref[0:8] + x_ref[0:16]", "", "KT125", None, ["`add`", "(8, 256)", "(16, 256)"]),
    ("o_ref[...] = jnp.dot(x_ref[...], x_ref[...])", "", "KT125", None, ["256", "32", "sums over one axis"]),
    ("o_ref[...] = x_ref[...].reshape(31, 256)", "", "KT125", None, ["(31, 256)"]),
    ("o_ref[...] = jnp.broadcast_to(x_ref[0:8], (32, 256))", "", "KT125", None, ["float32[8,256]"]),
    ("o_ref[...] = x_ref[...] + pl.program_id(1)", ", grid=(2,)", "KT110", None, ["axis 1", "(2,)"]),
    ("o_ref[...] = x_ref[...] + pl.program_id(0)", "", "KT110", None, ["no `grid`"]),
    ("o_ref[...] = x_reff[...]", "", "KT110", "x_reff", ["`x_reff`"]),
    ("o_ref[...] = pl.load(x_ref, (0,))", "", "KT110", None, ["`load`"]),
    ("return x_ref[...]", "", "KT110", None, ["returns a value"]),
    ("x = x_ref[...]\nx[0] = 1.0", "", "KT110", None, ["in place"]),
    ("o_ref[...] = x_ref[...] * jnp.array([1.0] * 256)", "", "KT112", None, ["f32[256]"]),
]


@pytest.mark.parametrize(("body", "call", "code", "ref", "words"), BODIES, ids=[b[0][:40] for b in BODIES])
def test_mistakes_inside_the_kernel(body, call, code, ref, words):
    source = attempt(body, call)
    found = trace_finding(source)
    assert (found.code, found.ref) == (code, ref)
    assert found.line == line_with(source, body.splitlines()[-1])
    for word in words:
        assert word in found.message


ONE = "pl.BlockSpec((8, 256), lambda i: (i, 0))"
CALLS = [
    (f", grid=(4,), in_specs=[{ONE}] * 2, out_specs={ONE}", "KT126", ["2 specs", "1 inputs"]),
    (f", grid=(4,), in_specs={ONE}, out_specs={ONE}", "KT126", ["single spec"]),
    (f", grid=(4,), in_specs=[{ONE}], out_specs=[{ONE}] * 2", "KT126", ["single array"]),
    (f", grid=(4,), in_specs=[pl.BlockSpec((8,), lambda i: (i,))], out_specs={ONE}", "KT121", ["(8,)", "`x_ref`"]),
    (f", grid=(4,), in_specs=[pl.BlockSpec((8, 256), lambda i: i)], out_specs={ONE}", "KT121", ["returns 1 value"]),
    (f", grid=(4,), in_specs=[pl.BlockSpec((8, 256), lambda i: (i / 2, 0))], out_specs={ONE}", "KT121", ["float32"]),
    (
        f", grid=(4,), in_specs=[pl.BlockSpec(lambda i: (i, 0), (8, 256))], out_specs={ONE}",
        "KT121",
        ["other way round"],
    ),
    (f", grid=(2, 2), in_specs=[{ONE}], out_specs={ONE}", "KT114", ["takes 1", "passes 2"]),
    (f", grid=(32 / 8,), in_specs=[{ONE}], out_specs={ONE}", "KT110", ["integers"]),
    (", input_output_aliases={1: 0}", "KT115", ["input 1", "1 input"]),
    (", input_output_aliases={0: 1}", "KT115", ["output 1"]),
    (", scratch_shapes=[(8, 128)]", "KT110", ["`scratch_shapes`"]),
    (", scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32)]", "KT122", ["takes 2 refs", "given 3"]),
    (", outshape=1", "KT110", ["`outshape`"]),
]


@pytest.mark.parametrize(("call", "code", "words"), CALLS, ids=[c[0][:60] for c in CALLS])
def test_mistakes_in_the_call(call, code, words):
    found = trace_finding(attempt("o_ref[...] = x_ref[...]", call))
    assert found.code == code
    assert found.line is not None
    for word in words:
        assert word in found.message


def test_semaphores_of_the_wrong_kind():
    kernel = "def kernel(x_ref, o_ref, sem):"
    wait = attempt("pl.semaphore_wait(sem, 1)", ", scratch_shapes=[pltpu.SemaphoreType.DMA]", kernel)
    found = trace_finding(wait)
    assert (found.code, found.ref) == ("KT116", "sem")
    array = "copy = pltpu.make_async_copy(x_ref, o_ref, sem)\ncopy.start()"
    found = trace_finding(attempt(array, ", scratch_shapes=[pltpu.SemaphoreType.DMA((2,))]", kernel))
    assert (found.code, found.ref) == ("KT116", "sem")
    assert "(2,)" in found.message


def test_an_unknown_error_keeps_its_words_and_its_line():
    source = attempt("raise LookupError('\\x1b[31mno \\x07such thing')")
    found = trace_finding(source)
    assert found.code == "KT110"
    assert found.line == line_with(source, "raise LookupError")
    assert "no such thing" in found.message
    assert "\x1b" not in found.raw + found.message
    assert "\x07" not in found.raw


def test_a_long_message_is_trimmed():
    found = trace_finding(attempt("raise ValueError('x' * 100_000)"))
    assert len(found.raw) <= 4000
    assert len(found.message) < 1000


def test_right_kernels_give_no_finding():
    for number in ("82", "85", "86", "87", "61"):
        source, path = case_source(number)
        assert trace_finding(source, path) is None
