"""The simulator run itself, and what it finds in plain words."""

import numpy as np
import pytest

from tests.stage.attempts import PROLOGUE, case_source, line_with, simulation
from tutor.protocol import Access, Kernel, Operand
from tutor.stage.hazards import too_big

# case, mode, code, text of the line, ref, words
CASES = [
    ("04", "on_wait", "KT404", "spec = pl.BlockSpec", "x_ref", ["(0, 128)", "(1,)", "0 to 3", "128"]),
    ("18", "on_wait", "KT408", "out_specs=", "o_ref", ["`o_ref`", "(1, 0, 0)", "axis 0"]),
    ("19", "two_cores", "KT405", "dimension_semantics", "o_ref", ["`o_ref`", "two cores", "`parallel`"]),
    ("23", "on_wait", "KT409", "x_hbm[...] + 1", "x_hbm", ["`x_hbm`", "HBM"]),
    ("30", "eager", "KT405", "buf[...] + 1", "buf", ["`buf`", "line 10", "line 11"]),
    ("31", "eager", "KT405", "buf[...] + 1", "buf", ["`buf`", "line 11", "line 12"]),
    ("33", "on_wait", "KT414", "make_async_copy", None, ["neither `start` nor `wait`"]),
    ("34", "eager", "KT407", "make_async_copy", "sem", ["`sem`", "4096"]),
    ("36", "eager", "KT405", "buf[...] = ", "buf", ["`buf`", "line 14"]),
    ("62", "on_wait", "KT402", "x_ref[pl.ds(", "x_ref", ["[32:48, 0:128]", "(40, 128)"]),
    ("90", "on_wait", "KT402", "x_ref[50]", "x_ref", ["50", "(40, 128)"]),
    ("95", "on_wait", "KT411", "make_async_remote_copy", None, ["shard_map"]),
]


@pytest.mark.parametrize(
    ("number", "mode", "code", "line", "ref", "words"), CASES, ids=[f"{c[0]}-{c[1]}" for c in CASES]
)
def test_cases_of_the_bank(number, mode, code, line, ref, words):
    source, path = case_source(number)
    [found] = simulation(source, mode, path).findings
    assert (found.code, found.ref) == (code, ref)
    assert found.line in [i for i, text in enumerate(source.splitlines(), 1) if line in text]
    for word in words:
        assert word in found.message


@pytest.mark.parametrize("number", ["14", "16", "20", "21", "30", "31", "33", "34", "44", "46", "47", "48"])
def test_memory_that_nothing_wrote_comes_back_as_nan(number):
    source, path = case_source(number)
    outputs = simulation(source, "on_wait", path).outputs
    assert any(np.isnan(np.asarray(o, np.float64)).any() for o in outputs)


def test_aliased_memory_is_one_buffer():
    source, path = case_source("42")
    [out] = simulation(source, "on_wait", path).outputs
    assert 12 in out


@pytest.mark.parametrize("number", ["69", "73", "75", "82", "85", "86", "87", "88"])
@pytest.mark.parametrize("mode", ["on_wait", "eager"])
def test_right_kernels_pass(number, mode):
    source, path = case_source(number)
    outcome = simulation(source, mode, path)
    assert outcome.findings == []
    assert outcome.unavailable is None
    assert all(not np.isnan(np.asarray(o, np.float64)).any() for o in outcome.outputs)


def attempt(body, call="", kernel="def kernel(x_ref, o_ref):"):
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return f"{PROLOGUE}{kernel}\n{lines}\ndef run(x):\n    return pl.pallas_call(kernel, out_shape=F32{call})(x)\n"


def test_a_store_out_of_bounds_names_ref_line_and_span():
    source = attempt(
        "o_ref[...] = x_ref[...]\no_ref[pl.ds(pl.program_id(0) * 24, 16), :] = x_ref[0:16, :]", ", grid=(2,)"
    )
    [found] = simulation(source, "on_wait").findings
    assert (found.code, found.ref) == ("KT403", "o_ref")
    assert found.line == line_with(source, "* 24")
    assert "[24:40, 0:256]" in found.message


def test_an_output_block_out_of_bounds():
    call = ", grid=(4,), in_specs=[pl.BlockSpec((8, 256), lambda i: (i, 0))]"
    call += ", out_specs=pl.BlockSpec((8, 256), lambda i: (i + 1, 0))"
    [found] = simulation(attempt("o_ref[...] = x_ref[...]", call), "on_wait").findings
    assert (found.code, found.ref) == ("KT404", "o_ref")
    assert "(4, 0)" in found.message


def test_what_the_kernel_prints_comes_back_as_text():
    source = attempt("o_ref[...] = x_ref[...]\npl.debug_print('first \\x1b[31m{}', x_ref[0, 0])", ", grid=(2,)")
    outcome = simulation(source, "on_wait")
    assert outcome.printed.splitlines() == ["first 0.0", "first 0.0"]


def test_printing_is_cut_at_two_hundred_lines():
    source = (
        PROLOGUE
        + "def run(x):\n    for i in range(500): print('line', i)\n"
        + "    return pl.pallas_call(kernel, out_shape=F32)(x)\n"
    )
    source += "def kernel(x_ref, o_ref):\n    o_ref[...] = x_ref[...]\n"
    lines = simulation(source, "on_wait").printed.splitlines()
    assert len(lines) == 201
    assert "300 more lines" in lines[-1]


def test_what_the_simulator_cannot_run_is_unavailable():
    outcome = simulation(
        attempt("o_ref[...] = pltpu.load(x_ref.at[pl.ds(x_ref[0, 0].astype(int), 32)], mask=x_ref[...] > 2)"), "on_wait"
    )
    assert outcome.outputs is None
    assert outcome.findings == []
    assert "cannot run" in outcome.unavailable


def test_a_run_after_a_failed_one_starts_clean():
    bad, path = case_source("90")
    assert simulation(bad, "on_wait", path).findings
    good, path = case_source("86")
    assert simulation(good, "on_wait", path).findings == []


def kernel(grid, per_step=1, shape=(8, 128), scratch=(8, 128)):
    access = Access("x_ref", "vmem", "load", 1, 0, [8, 128], "float32", per_step, False, None)
    operands = [
        Operand("x_ref", None, "input", "vmem", [8, 128], list(shape), "float32"),
        Operand("s_ref", None, "scratch", "vmem", None, list(scratch), "float32"),
        Operand("sem", None, "scratch", "semaphore", None, [2], "dma_sem"),
    ]
    return Kernel("kernel", "pallas_call", "c", list(grid), operands, [access], 1, 0, 0, 0, None, None)


def test_too_big_counts_steps_accesses_and_bytes():
    assert too_big([kernel((8, 8), 8)]) is None
    assert "513" in too_big([kernel((513,))])
    assert "8,192" in too_big([kernel((1024,), 8)])
    assert too_big([kernel((1024,), 8)], work=None) is None
    assert "65 steps" in too_big([kernel((65,))], steps=64)
    assert "GiB" in too_big([kernel((1,), scratch=(2**20, 1024))])
    assert "needs" in too_big([kernel((1,), shape=(2**20, 2**20))])
    assert too_big([kernel((None,), None)]) is None
