"""What the TPU lowering refuses, in plain words."""

import pytest

from tests.stage.attempts import PROLOGUE, case_source, line_with, lowering_finding

CASES = [
    ("10", "KT502", "pl.BlockSpec((4, 64)", "x_ref", ["(4, 64)", "(16, 256)", "8", "128"]),
    ("12", "KT503", "pl.pallas_call(", "o_ref", ["rank 0", "VMEM"]),
    ("23", "KT509", "x_hbm[...] + 1", "x_hbm", ["`x_hbm`", "HBM"]),
    ("25", "KT508", "in_specs=[pl.BlockSpec((8, 128)", "x_hbm", ["(8, 128)", "ANY"]),
    ("26", "KT504", "s_ref[...]", "s_ref", ["`s_ref`", "SMEM", "one scalar at a time"]),
    ("27", "KT505", "o_ref[0, 0] =", "o_ref", ["scalar", "`o_ref`", "VMEM"]),
    ("28", "KT505", "o_ref[i] = i", "o_ref", ["scalar"]),
    ("54", "KT510", "jnp.dot(", None, ["bf16", "32 bits"]),
    ("64", "KT506", "x[t]", None, ["`dynamic_slice`"]),
    ("66", "KT506", "cumsum", None, ["`cumsum`"]),
    ("70", "KT507", "jnp.int64", None, ["64 bits"]),
    ("89", "KT506", "cumsum", None, ["`cumsum`"]),
    ("95", "KT512", "make_async_remote_copy", None, ["shard_map"]),
]


@pytest.mark.parametrize(("number", "code", "line", "ref", "words"), CASES, ids=[c[0] for c in CASES])
def test_cases_of_the_bank(number, code, line, ref, words):
    source, path = case_source(number)
    found = lowering_finding(source, path)
    assert (found.code, found.ref) == (code, ref)
    assert found.line in [i for i, text in enumerate(source.splitlines(), 1) if line in text]
    for word in words:
        assert word in found.message
    assert found.raw


def attempt(body, call="", kernel="def kernel(x_ref, o_ref):"):
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return f"{PROLOGUE}{kernel}\n{lines}\ndef run(x):\n    return pl.pallas_call(kernel, out_shape=F32{call})(x)\n"


BODIES = [
    ("o_ref[...] = x_ref[...]", ", out_specs=pl.BlockSpec(memory_space=pl.ANY)", "KT509", "o_ref"),
    ("o_ref[...] = x_ref[...]", ", in_specs=[pl.BlockSpec(memory_space=pltpu.HBM)]", "KT509", "x_ref"),
    ("o_ref[...] = jnp.sort(x_ref[...], axis=0)", "", "KT506", None),
    ("o_ref[...] = jnp.take(x_ref[...], jnp.arange(32), axis=0)", "", "KT506", None),
    ("o_ref[...] = jax.pure_callback(np.sin, F32, x_ref[...])", "", "KT506", None),
    ("o_ref[...] = (x_ref[...] * 1j).real", "", "KT506", None),
    ("o_ref[0] = x_ref[1.5]", "", "KT501", "x_ref"),
    ("pltpu.sync_copy(x_ref.at[0:8], o_ref)", "", "KT511", None),
]


@pytest.mark.parametrize(("body", "call", "code", "ref"), BODIES, ids=[b[0][:40] + b[1][:20] for b in BODIES])
def test_more_of_the_same_kinds(body, call, code, ref):
    source = attempt(body, call)
    found = lowering_finding(source)
    assert (found.code, found.ref) == (code, ref)
    assert found.line == line_with(source, body)


BOUND = """
class Twice:
    def kernel(self, factor, x_ref, o_ref):
        o_ref[...] = x_ref[:, :100] * factor
    def __call__(self, x):
        wide, narrow = pl.BlockSpec((8, 128), lambda i: (i, 0)), pl.BlockSpec((8, 100), lambda i: (i, 0))
        return pl.pallas_call(functools.partial(self.kernel, 2.0), grid=(4,), in_specs=[wide], out_specs=narrow,
            out_shape=F32)(x)
def run(x): return Twice()(x)
"""


def test_what_partial_and_the_object_give_is_no_ref():
    found = lowering_finding(f"import functools\n{PROLOGUE}{BOUND}")
    assert (found.code, found.ref) == ("KT502", "o_ref")


def test_the_source_alone_is_enough_for_most_lines():
    for number in ("23", "27", "54", "66"):
        source, path = case_source(number)
        found = lowering_finding(source, path, with_facts=False)
        assert found.code in ("KT509", "KT505", "KT510", "KT506")


def test_a_vector_stored_to_smem():
    call = ", scratch_shapes=[pltpu.SMEM((8,), jnp.float32)]"
    source = attempt("s_ref[...] = x_ref[0, 0:8]\no_ref[...] = x_ref[...]", call, "def kernel(x_ref, o_ref, s_ref):")
    found = lowering_finding(source)
    assert (found.code, found.ref, found.line) == ("KT513", "s_ref", line_with(source, "s_ref[...] ="))


def test_prefetch_operands_are_counted_when_an_output_block_is_named():
    source = f"""{PROLOGUE}
def kernel(i_ref, x_ref, o_ref):
    o_ref[...] = x_ref[0:4, 0:64]
def run(x):
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1, grid=(4,), in_specs=[pl.BlockSpec((8, 128), lambda i, s: (i, 0))],
        out_specs=pl.BlockSpec((4, 64), lambda i, s: (i, 0)))
    return pl.pallas_call(kernel, out_shape=F32, grid_spec=spec)(jnp.arange(4), x)
"""
    found = lowering_finding(source)
    assert (found.code, found.ref) == ("KT502", "o_ref")
    assert found.line == line_with(source, "out_specs=")


def test_a_misspelt_dimension_semantic():
    source = attempt(
        "o_ref[...] = x_ref[...]", ", grid=(2,), compiler_params=pltpu.CompilerParams(dimension_semantics=('paralel',))"
    )
    found = lowering_finding(source)
    assert found.code == "KT501"
    assert "`paralel`" in found.message


@pytest.mark.parametrize("number", ["69", "73", "75", "82", "85", "86", "87", "94", "97"])
def test_right_kernels_give_no_finding(number):
    source, path = case_source(number)
    assert lowering_finding(source, path) is None
