"""Every case of the bank, through `inspect`: a wrong one is caught where its header says, and a right one is left alone.

Each file stands for a kind of mistake; the `ours_` files are more of the same kinds, in other shapes, dtypes, memory
spaces and nestings.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.warm import Warm, findings, stage
from tutor.protocol import Finding, StageName, Verdict

FOLDER = Path(__file__).parent
FILES = {path.stem: path for path in sorted(FOLDER.glob("*.py")) if re.match(r"\d\d_|ours_", path.stem)}

STAGES = {
    "trace": [["trace"]],
    "tpui": [["hazards"]],
    "hang": [["hazards"]],
    "2core": [["hazards"]],
    "export": [["lower"]],
    "tpui/export": [["hazards"], ["lower"]],
    "numeric": [["interpret", "hazards"]],
    "trace-free": [["interpret", "structure", "hazards", "lower"]],
    "none": [["structure"]],
    "structure": [["structure"]],
    "aot": [["compile"]],
}
"""From the header's word to the stages that must fail: one of each group."""
FIRST: tuple[StageName, ...] = ("load", "trace")
RUN: dict[str, tuple[StageName, ...]] = {
    "trace": (*FIRST, "interpret", "structure", "hazards", "lower"),
    "export": (*FIRST, "structure", "lower"),
    "none": (*FIRST, "structure", "lower"),
    "structure": (*FIRST, "structure", "lower"),
    "trace-free": (*FIRST, "interpret", "structure", "hazards", "lower"),
    "aot": (*FIRST, "structure", "lower", "compile"),
}
"""The stages to run for the header's word, where not all but `compile` are needed; right cases run all."""
NUMBERS: tuple[StageName, ...] = (*FIRST, "interpret", "structure", "hazards", "lower")
OVERRULED = {"89_interpret_baked_in": [["lower"]]}
"""The flag of this one is overruled, and what it hid is caught."""


class Said(NamedTuple):
    """What some finding of a wrong case must say: the cause by its code, the line, and words that name it."""

    code: str
    line: int | None
    words: str


def marked_line(text: str) -> int | None:
    """The line that is marked `# here`, in a file of ours."""
    return next((i for i, line in enumerate(text.splitlines(), 1) if line.endswith("# here")), None)


def header(text: str, key: str) -> str | None:
    match = re.search(rf"^# {key}: (.*)$", text, re.MULTILINE)
    return match[1].strip() if match else None


SAID: dict[str, Said] = {
    "01_captured_constant": Said("KT112", 10, "TABLE not one of its refs"),
    "03_store_dtype_mismatch": Said("KT113", 9, "o_ref holds bfloat16 value float32 astype"),
    "04_index_map_in_elements": Said("KT328", 14, "index map x_ref 128 blocks element offset"),
    "05_index_map_transposed": Said("KT351", 11, "product a_ref b_ref index maps"),
    "06_index_map_missing_prefetch_arg": Said("KT114", 14, "index map arguments prefetch"),
    "08_alias_index_ignores_prefetch": Said("KT115", 16, "input_output_aliases scalar-prefetch count"),
    "10_block_not_tile_multiple": Said("KT502", 12, "block (4, 64) tiles multiple of 8 128"),
    "12_zero_d_output_in_vmem": Said("KT503", 12, "o_ref rank 0 SMEM"),
    "13_grid_floor_div_drops_tail": Said("KT327", 13, "never visited o_ref cdiv"),
    "14_unvisited_block_sparse_output": Said("KT327", 15, "never visited o_ref alias"),
    "16_accumulate_into_uninitialised_output": Said("KT332", 9, "o_ref read before anything was written first value"),
    "17_scratch_reset_on_wrong_axis": Said("KT347", 11, "acc first value block of o_ref grid axis"),
    "18_reduction_axis_outermost": Said("KT326", 15, "o_ref left visited again last grid axis"),
    "19_reduction_axis_parallel": Said("KT325", 15, "parallel o_ref arbitrary"),
    "20_partial_block_contraction": Said("KT339", 11, "a_ref last block garbage mask"),
    "21_scratch_read_before_write": Said("KT332", 10, "m read before anything was written scratch"),
    "23_any_deref": Said("KT336", 9, "x_hbm ANY copy VMEM"),
    "25_any_with_block": Said("KT508", 13, "x_hbm ANY block shape"),
    "26_smem_vector_load": Said("KT504", 10, "s_ref SMEM scalar"),
    "27_vmem_scalar_store": Said("KT505", 10, "scalar o_ref VMEM SMEM"),
    "28_program_id_to_vmem_vector": Said("KT505", 10, "scalar o_ref VMEM SMEM"),
    "30_dma_start_without_wait": Said("KT323", 10, "copy sem waits wait()"),
    "31_dma_read_before_wait": Said("KT405", 12, "buf line 12 line 11 wait"),
    "32_dma_wait_without_start": Said("KT322", 11, "waits sem start"),
    "33_dma_never_started_or_waited": Said("KT414", 10, "make_async_copy start wait"),
    "34_dma_two_starts_one_wait": Said("KT324", 12, "sem never waited once for each start"),
    "36_dma_source_overwritten_in_flight": Said("KT405", 11, "buf line 11 line 14 wait source"),
    "39_dma_unaligned_lane_slice": Said("KT605", 10, "x_hbm tile 128 copy"),
    "40_semaphore_as_regular": Said("KT116", 10, "DMA semaphore regular"),
    "42_alias_read_after_write_hbm": Said("KT348", 14, "x_hbm o_hbm one buffer"),
    "43_alias_cross_block_hazard": Said("KT333", 9, "x_ref o_ref input_output_aliases"),
    "44_alias_noop_kernel": Said("KT330", 13, "nothing stores to ox_ref"),
    "46_missing_alias_partial_update": Said("KT327", 16, "never visited o_ref alias"),
    "47_write_to_input_ref": Said("KT331", 9, "y_ref input o_ref"),
    "48_forgot_ellipsis_rebind": Said("KT344", 9, "o_ref new value o_ref[...] = value"),
    "49_arith_on_ref": Said("KT117", 9, "x_ref is a Ref x_ref[...]"),
    "50_python_if_on_tracer": Said("KT118", 9, "if pl.when"),
    "53_bf16_accumulator": Said("KT334", 13, "acc bfloat16 sum float32"),
    "54_missing_preferred_element_type": Said("KT510", 13, "32-bit preferred_element_type"),
    "56_int8_matmul_chip_generation": Said("KT606", 9, "v4 int8"),
    "57_vmem_oom_double_buffering": Said("KT602", 14, "a_ref twice 16 MiB VMEM"),
    "58_vmem_oom_scratch": Said("KT603", 14, "big 160 MiB"),
    "60_unaligned_dynamic_lane_slice": Said("KT605", 10, "x_ref multiple of 128"),
    "61_false_multiple_of": Said("KT321", 10, "100 promised multiple of 128"),
    "62_pl_ds_out_of_bounds": Said("KT402", 10, "x_ref out of bounds 32 to 47 40"),
    "64_dynamic_slice_on_value": Said("KT506", 10, "dynamic_slice slice the ref"),
    "66_cumsum": Said("KT506", 9, "cumsum no TPU lowering"),
    "70_x64_enabled": Said("KT507", 10, "64 bits 32-bit"),
    "89_interpret_baked_in": Said("KT506", 9, "cumsum no TPU lowering"),
    "90_static_int_index_out_of_range": Said("KT402", 9, "x_ref out of bounds element 50 40"),
    "92_core_parallel_on_one_core_chip": Said("KT607", 14, "core_parallel parallel cores"),
    "95_collective_without_shard_map": Said("KT512", 11, "other devices shard_map mesh"),
    "96_reads_alias_input_after_write_blocks": Said("KT333", 9, "prev_ref o_ref input_output_aliases"),
}

NOTED = {
    "73_program_id_inside_when": "KT338",
    "75_bf16_sub_tile_block": "KT343",
    "94_dead_store_overwritten": "KT341",
    "97_f32_dot_default_precision": "KT340",
}
"""What is right, and worth a note all the same."""


def expectation(name: str, text: str) -> tuple[str, Said | None]:
    """The header's word (`PASS`, `trace`, `export`, …), and what must be said."""
    expected = header(text, "Expected")
    assert expected is not None, f"{name} has no line '# Expected: …'"
    word = re.match(r"PASS|FAIL (\S+)", expected)
    assert word is not None
    if word[1] is None:
        return "PASS", None
    said = SAID.get(name)
    if said is None:
        given = header(text, "Says")
        assert given is not None, f"{name} has no line '# Says: KT… words'"
        code, _, words = given.partition(" ")
        said = Said(code, marked_line(text), words)
    return word[1].rstrip("."), said


WRONG = [name for name, path in FILES.items() if expectation(name, path.read_text())[0] != "PASS"]
RIGHT = [name for name in FILES if name not in WRONG]


@pytest.mark.parametrize("name", WRONG)
def test_wrong_case(name: str, warm: Warm) -> None:
    text = FILES[name].read_text()
    where, said = expectation(name, text)
    assert said is not None
    groups = OVERRULED.get(name, STAGES[where])
    if ["compile"] in groups and importlib.util.find_spec("libtpu") is None:
        pytest.skip("libtpu is not installed")
    verdict = warm.inspect(FILES[name], chips=chips_of(text), only=RUN.get(where, NUMBERS))
    assert not verdict.passed
    assert all(result.status != "error" for result in verdict.stages)
    for group in groups:
        failed = [s for s in group if stage(verdict, s).status == "failed"]
        assert failed, f"none of {group} failed: {[(s.name, s.status) for s in verdict.stages]}"
        assert any(f.severity == "error" for s in failed for f in stage(verdict, s).findings)
    if where in ("export", "aot"):
        # Only what looks deeper may object: a right-looking kernel must get this far.
        assert stage(verdict, "trace").status == "passed"
    check_words(verdict, said)


def chips_of(text: str) -> tuple[str, ...]:
    """The chips that the header names, else one: `aot v5e,v7x` fails on these when they are asked for."""
    named = re.match(r"FAIL aot ([\w,]+)\.", header(text, "Expected") or "")
    return tuple(named[1].replace("v7x", "tpu7x").split(",")) if named else ("v5e",)


def check_words(verdict: Verdict, said: Said) -> None:
    """Some finding has the code, at the line, with the cause in plain words and what to do."""
    about = [f for f in findings(verdict) if f.code == said.code]
    assert about, f"no {said.code}: {[f.code for f in findings(verdict)]}"
    if said.line is not None:
        assert said.line in [f.line for f in about], f"lines {[f.line for f in about]}"
    missing = min((missing_words(f, said.words) for f in about), key=len)
    assert not missing, f"not said: {missing}"
    for found in findings(verdict):
        if found.severity == "error":
            assert is_plain(found.message), found.message
            assert found.hint, f"{found.code} says nothing about what to do"


def missing_words(found: Finding, words: str) -> list[str]:
    spoken = f"{found.message} {found.hint} {found.ref}".lower()
    return [word for word in words.split() if word.lower() not in spoken]


def is_plain(message: str) -> bool:
    """Words of our own, with nothing of a traceback or of JAX's insides in them."""
    return not re.search(r"Traceback|jax\._src|file a bug|CpuCallback|file an issue", message)


@pytest.mark.parametrize("name", RIGHT)
def test_right_case(name: str, warm: Warm) -> None:
    verdict = warm.inspect(FILES[name])
    said = [(f.code, f.severity, f.message) for f in findings(verdict) if f.severity != "note"]
    assert not said
    assert verdict.passed, [(s.name, s.status, s.reason) for s in verdict.stages]
    assert all(s.status in ("passed", "unavailable") for s in verdict.stages)
    if name in NOTED:
        assert NOTED[name] in [f.code for f in findings(verdict)]


def test_all_are_there() -> None:
    """Each wrong case of the bank is in the table, and the table names no other."""
    numbered = {name for name in WRONG if not name.startswith("ours_")}
    assert numbered == set(SAID)
    assert set(NOTED) <= set(RIGHT)


@pytest.mark.parametrize("code", ["KT320"])
def test_the_flag_alone_is_only_a_note(code: str, warm: Warm) -> None:
    """`interpret=True` in a right kernel is overruled, and everything passes."""
    right = FILES["86_valid_matmul"]
    text = right.read_text().replace("interpret=interpret", "interpret=True")
    verdict = warm.inspect(right, text.encode())
    assert verdict.passed
    assert [(f.code, f.severity) for f in findings(verdict)] == [(code, "note")]
