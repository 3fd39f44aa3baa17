"""The pure part of the screen: events into a run, lines that move, letters, the access table, words for numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tests.tui.fakes import BAD, KERNEL, NOTE, access, events, failing, marked, passing, stage
from tutor.ladder.events import StageStarted
from tutor.protocol import JaxprLine
from tutor.tui import text
from tutor.tui.access_model import notes, ref_rows, shareable, tiles_of, work
from tutor.tui.checks import source_lines
from tutor.tui.model import (
    Run,
    Rung,
    Shift,
    advance,
    answer,
    caused_by,
    counts,
    findings,
    flags,
    in_words,
    ladder,
    letters,
)


def played(results, **more) -> Run:
    run = Run(running=True)
    for event in events(results, **more):
        run = advance(run, event)
    return run


def test_a_run_is_the_sum_of_its_events() -> None:
    run = played(failing())
    assert not run.running and not run.passed and run.trace is not None
    assert {rung.name: rung.phase for _, rungs in ladder(run) for rung in rungs} == {
        "load": "passed", "trace": "passed", "interpret": "failed", "structure": "passed",
        "hazards": "passed", "lower": "passed", "compile": "passed", "device": "skipped",
    }  # fmt: skip
    assert [answer(question, rungs) for question, rungs in ladder(run)] == ["failed", "passed", "skipped"]
    assert played(passing()).passed


def test_an_older_run_is_not_changed_by_a_newer_event() -> None:
    before = Run(running=True)
    after = advance(before, StageStarted("load"))
    assert before.started == frozenset() and after.started == {"load"}


def test_a_stage_runs_only_while_the_check_does() -> None:
    run = advance(Run(running=True), StageStarted("load"))
    assert ladder(run)[0][1][0].phase == "running"
    assert ladder(Run(started=frozenset({"load"})))[0][1][0].phase == "waiting"


def test_remarks_say_counts_cases_and_reasons() -> None:
    remarks = {rung.name: rung.remark for _, rungs in ladder(played(failing())) for rung in rungs}
    assert remarks["trace"] == "4 loads 2 stores 1 acc"
    assert remarks["interpret"] == "2 of 3 cases"
    assert remarks["device"] == "interpret failed"


def test_findings_come_worst_first_and_once() -> None:
    run = played([stage("load", "passed", NOTE), stage("trace", "failed", BAD, BAD)])
    assert [(name, found.code) for name, found in findings(run)] == [("trace", "KT203"), ("load", "KT320")]
    assert flags(run) == {16: "error", 20: "note"}


LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), min_size=1, max_size=12)


@given(LINES, LINES)
def test_a_line_that_moved_still_reads_the_same_and_finds_back(old: list[str], new: list[str]) -> None:
    shift = Shift.between(old, new)
    for line in range(1, len(old) + 1):
        there = shift.now(line)
        if there is not None:
            assert new[there - 1] == old[line - 1] and shift.then(there) == line
    assert shift.now(0 - 1) is None or shift.now(-1) == -1
    assert shift.now(len(old) + 1) is None


@given(LINES, st.integers(0, 12))
def test_inserting_a_line_loses_none(old: list[str], at: int) -> None:
    at = min(at, len(old))
    shift = Shift.between(old, [*old[:at], "NEW", *old[at:]])
    assert [shift.now(line) for line in range(1, len(old) + 1)] == [
        line if line <= at else line + 1 for line in range(1, len(old) + 1)
    ]


def test_source_lines_are_those_of_python() -> None:
    assert source_lines(b"a\r\nb\rc\nd\x0ce\n") == ["a", "b", "c", "d\x0ce", ""]


def test_letters_stand_in_program_order_and_are_counted_when_they_are_many() -> None:
    assert letters([KERNEL]) == {14: "S", 16: "LLLA", 20: "LS"}
    assert letters([KERNEL, KERNEL]) == letters([KERNEL]), "a body that two kernels share is shown once"
    many = [access("x", "load", 3)] * 6 + [access("x", "accumulate", 3)]
    assert letters([_with(many)]) == {3: "6LA"}
    assert letters([_with([*many, *[access("y", kind, 3) for kind in ("store", "copy_start", "copy_wait")]])]) == {
        3: "6LA+"
    }


def _with(accesses):
    return type(KERNEL)(**{name: getattr(KERNEL, name) for name in KERNEL.__struct_fields__} | {"accesses": accesses})


def test_counts_leave_out_what_is_not_done_and_say_what_depends_on_data() -> None:
    assert counts([KERNEL]) == "4 loads 2 stores 1 acc"
    dynamic = type(KERNEL)(**{name: getattr(KERNEL, name) for name in KERNEL.__struct_fields__} | {"loads": None})
    assert counts([dynamic]) == "×? loads 2 stores 1 acc"
    assert counts([]) == ""


def test_the_access_table_counts_and_keeps_refs_made_inside() -> None:
    rows = {row.ref: row for row in ref_rows(_with([*KERNEL.accesses, access("inner", "load", 5)]))}
    assert rows["acc_ref"].counts == {"L": 2, "S": 1, "A": 1, "C": 0} and rows["acc_ref"].bytes_per_step == 262144
    assert list(rows)[-1] == "inner" and rows["inner"].role == "inner"


def test_the_access_table_names_the_unit_that_works() -> None:
    def of(space: str, *shapes: list[int], kind: str = "load", dtype: str = "float32") -> str:
        made = [structs.replace(access("r", kind, 1, dtype=dtype), shape=shape) for shape in shapes]
        return work(space, made)

    assert of("smem", []) == "scalar core"
    assert of("vmem", [1]) == "1 tile for 1 value", "one value costs a whole tile of vector work"
    assert of("vmem", [8, 128]) == "1 tile" and of("vmem", [8, 128], [16, 256]) == "5 tiles"
    assert of("any", [8, 128], kind="copy_start") == "DMA" and of("vmem") == ""
    assert work("vmem", [structs.replace(access("r", "load", 1), per_step=None)]) == "×? tiles"


def test_narrow_dtypes_are_packed_in_rows() -> None:
    shapes = {"float32": 2, "bfloat16": 1, "int8": 1, "float8_e4m3fn": 1}
    assert {dtype: tiles_of([16, 128], dtype) for dtype in shapes} == shapes
    assert tiles_of([33, 128], "int8") == 2 and tiles_of([3, 9, 130], "float32") == 12


def _load(ref: str, index: str, source: int, depth: int = 2, kind: str = "load"):
    text = f"v <- {ref}{index}" if kind == "load" else f"{ref}{index} <- v"
    return text, JaxprLine(kind=kind, ref=ref, source_line=source, depth=depth, kernel=0)


def test_two_loads_that_could_be_one_are_noted() -> None:
    twice = marked([_load("x", "[:]", 3), _load("y", "[:]", 3), _load("x", "[:]", 5)])
    assert [(pair.first, pair.again) for pair in shareable(twice)] == [(0, 2)]
    assert notes(twice) == [
        "x is loaded twice, the same elements (lines 3 and 5): one load, kept in a variable, is enough."
    ]


@pytest.mark.parametrize(
    "between",
    [
        _load("x", "[:]", 4, kind="store"),
        _load("x", "[0]", 4, kind="accumulate"),
        ("dma_wait", JaxprLine(kind="copy_wait", ref="y", depth=2, kernel=0)),
    ],
)
def test_what_may_have_changed_is_loaded_again_for_good_reason(between) -> None:
    assert not shareable(marked([_load("x", "[:]", 3), between, _load("x", "[:]", 5)]))


def test_loads_in_two_branches_or_of_two_slices_or_kernels_are_not_shared() -> None:
    other = ("  branch 1 {", JaxprLine(depth=3, kernel=0))
    assert not shareable(marked([_load("x", "[:]", 3, 4), other, _load("x", "[:]", 5, 4)]))
    assert not shareable(marked([_load("x", "[0]", 3), _load("x", "[1]", 3)]))
    assert not shareable(marked([_load("x", "[:]", 3), _load("x", "[:]", 5, 4)])), "a loop may store behind it"


def test_a_source_line_leads_to_its_access_before_anything_else() -> None:
    jaxpr = marked()
    assert caused_by(jaxpr, 14) == 6, "the store, not the broadcast that stands before it"
    assert caused_by(jaxpr, 12) == 2
    assert caused_by(jaxpr, 99) is None
    assert caused_by(marked([("a", JaxprLine())]), 1) is None


@pytest.mark.parametrize(
    ("count", "words"), [(None, "×?"), (0, "0 B"), (512, "512 B"), (65536, "64 KiB"), (1572864, "1.5 MiB")]
)
def test_sizes(count: int | None, words: str) -> None:
    assert text.size(count) == words


def test_shapes_and_dtypes() -> None:
    assert [text.dims(shape) for shape in ([128, 256], [None, 128], [], None)] == ["128×256", "·×128", "()", "-"]
    names = ["bfloat16", "float32", "int8", "uint32", "float8_e4m3fn", "bool"]
    assert [text.short_dtype(name) for name in names] == ["bf16", "f32", "i8", "u32", "f8_e4m3fn", "bool"]


@given(st.text())
def test_visible_text_has_the_same_length_and_nothing_that_drives_a_terminal(words: str) -> None:
    shown = text.visible(words)
    assert len(shown) == len(words)
    assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or c in "\u202e\u2066\u2028" for c in shown)


def test_a_newline_can_be_kept() -> None:
    assert text.visible("a\n\tb\x1b", keep="\n") == "a\n␉b␛"


def test_a_question_that_was_not_asked_of_every_stage_is_never_a_plain_yes() -> None:
    def words(*statuses: str) -> str:
        names = ("hazards", "lower", "compile")
        rungs = [Rung(name, status, 0.1, "") for name, status in zip(names, statuses, strict=False)]
        return in_words("Is the layout legal?", rungs)

    assert words("passed", "passed", "passed") == "yes"
    assert words("passed", "passed") == "not all asked", "no compiler was asked"
    assert words("passed", "failed", "unavailable") == words("passed", "failed") == "no"
    assert words("passed", "passed", "unavailable") == "not all asked"
    assert words("unavailable") == words("skipped", "skipped") == "not asked"
    assert words("error", "passed") == "not known"
    assert words("passed", "running") == words("waiting") == ""
