"""The speed estimate: known structures give exact counts, and published device times are met."""

from __future__ import annotations

import asyncio
from itertools import combinations
from pathlib import Path
from unittest.mock import patch

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.judge.compiling import CHIPS, job, needs_libtpu
from tests.judge.published import published
from tutor.judge.compile.schedule.dump import Unreadable, read_program
from tutor.judge.compile.schedule.estimate import Dumped, NoEstimate, estimate
from tutor.judge.compile.schedule.model import CORES
from tutor.judge.compile.schedule.replay import replay
from tutor.ladder.compiler import Compiler
from tutor.ladder.worker import Worker
from tutor.protocol import Kernel, Schedule
from tutor.wire import Compiled, CompileJob
from tutor.workers.arrays import pack

POINTS = {(p.kernel, *p.blocks): p.us for p in published()}
SCALE = {b: POINTS["scale", *b] for b in ((128, 128), (256, 256), (1024, 128), (512, 512), (1024, 1024))}
MATMUL = {b: POINTS["matmul", *b] for b in ((128, 128, 128), (256, 256, 256), (512, 1024, 128), (1024, 512, 512))}

Asked = tuple[str, str, tuple[tuple[str, int], ...]]


def asked(function: str, chip: str = "v5e", **static: int) -> Asked:
    return function, chip, tuple(static.items())


def scale(bm: int, bn: int) -> Asked:
    return asked("scale", bm=bm, bn=bn)


def matmul(bm: int, bn: int, bk: int) -> Asked:
    return asked("matmul", bm=bm, bn=bn, bk=bk)


async def schedules() -> dict[Asked, Schedule | None]:
    wanted: list[tuple[Asked, bytes]] = [(scale(*blocks), b"") for blocks in SCALE]
    wanted += [(matmul(*blocks), b"") for blocks in MATMUL]
    wanted += [(asked("causal", chip), b"") for chip in CHIPS]
    wanted += [(asked("looped", trips=n), b"") for n in (64, 640)]
    wanted += [(asked(name), b"") for name in ("manual_copies", "pipelined", "two_kernels", "ragged")]
    wanted += [(asked("ragged", busy=n), pack({"a0": np.full(4, n, np.int32)})) for n in (100, 1000)]
    stage, compiler = Worker("tutor.stage"), Compiler(wall_seconds=60)
    found: dict[Asked, Schedule | None] = {}
    try:
        for what, values in wanted:
            function, chip, static = what
            keywords = {} if function == "ragged" else dict(static)
            (one,) = await job(stage, function, [chip], estimate=True, values=values, **keywords)
            answer = await compiler.compile(one)
            assert isinstance(answer, Compiled)
            found[what] = answer.compilation.schedule
    finally:
        await stage.aclose()
        await compiler.aclose()
    return found


@pytest.fixture(scope="module")
def found() -> dict[Asked, Schedule]:
    known = asyncio.run(schedules())
    missing = [what for what, schedule in known.items() if schedule is None]
    assert not missing
    return {what: schedule for what, schedule in known.items() if schedule is not None}


@needs_libtpu
@pytest.mark.parametrize("blocks", SCALE)
def test_published_times_of_a_memory_bound_kernel(found: dict[Asked, Schedule], blocks: tuple[int, int]) -> None:
    assert found[scale(*blocks)].total_us / SCALE[blocks] == pytest.approx(1.0, abs=0.15)


@needs_libtpu
@pytest.mark.parametrize("blocks", MATMUL)
def test_published_times_of_a_matmul(found: dict[Asked, Schedule], blocks: tuple[int, int, int]) -> None:
    assert found[matmul(*blocks)].total_us / MATMUL[blocks] == pytest.approx(1.0, abs=0.15)


@needs_libtpu
def test_variants_are_in_the_right_order(found: dict[Asked, Schedule]) -> None:
    """Every pair whose measured times differ by 5 % or more."""
    times = (
        [(found[scale(*b)].total_us, t) for b, t in SCALE.items()],
        [(found[matmul(*b)].total_us, t) for b, t in MATMUL.items()],
    )
    for group in times:
        for (mine, measured), (other, other_measured) in combinations(group, 2):
            if max(measured, other_measured) >= 1.05 * min(measured, other_measured):
                assert (mine < other) == (measured < other_measured)


@needs_libtpu
def test_blocks_that_stay_are_not_fetched_again(found: dict[Asked, Schedule]) -> None:
    """Row i fetches blocks 0 to i; block 0 of row 1 is still there from row 0: 35 fetches of 64 KiB in 64 steps."""
    for chip in ("v4", "v5e", "v5p", "v6e"):
        assert found[asked("causal", chip)].bytes_read == 35 * 128 * 128 * 4


@needs_libtpu
def test_a_loop_in_the_body_is_run(found: dict[Asked, Schedule]) -> None:
    short, long = found[asked("looped", trips=64)], found[asked("looped", trips=640)]
    assert long.total_us > 5 * short.total_us - 2 and long.bound == "compute"
    assert short.bytes_read == long.bytes_read == 8 * 128 * 4


@needs_libtpu
def test_copies_by_hand_are_counted(found: dict[Asked, Schedule]) -> None:
    manual = found[asked("manual_copies")]
    assert manual.bytes_read == 64 * 1024 * 4
    assert manual.bound == "DMA overhead" and manual.wait_share > 0.5
    assert found[asked("pipelined")].bytes_read == 64 * 128 * 4


@needs_libtpu
def test_scalars_steer_the_replay(found: dict[Asked, Schedule]) -> None:
    """Ten times the rounds that the prefetched operand asks for; without its values there is a note instead."""
    few, many = found[asked("ragged", busy=100)], found[asked("ragged", busy=1000)]
    assert not any("SMEM" in note for note in (*few.notes, *many.notes))
    assert 5 < many.total_us / few.total_us < 15
    assert any("SMEM data that is not known" in note for note in found[asked("ragged")].notes)


@needs_libtpu
def test_what_lies_outside_is_counted_and_said(found: dict[Asked, Schedule]) -> None:
    """XLA first copies the operand into VMEM: these 16 KiB are read, and the copy takes its time."""
    assert found[asked("two_kernels")].bytes_read >= 32 * 128 * 4
    assert any("spent outside the kernel, by XLA" in note for note in found[asked("two_kernels")].notes)


# ---------------------------------------------------------------- without libtpu

PROGRAM = """
     0   :  { %s1_s0 = smov 0  ;;  %s2_s1 = smov 7 }
   0x1 LB: > { %s3_s0 = sphi %s1_s0, %s4_s0  ;;  %s4_s0 = sadd.s32 1, %s3_s0 }
   0x2   : > { %p5_p0 = scmp.ge.s32.totalorder %s4_s0, 5 /* loop exit test
     over two lines */  ;;  %v9 = vadd.f32 %v1, %v2 }
   0x3   : > { %6 = sbr.rel (!%p5_p0) target bundleno = 1 (0x1) }
   0x4   : > { %7 = vnop }
   0x5   :  { %8 = shalt.err }
"""
KERNEL = Kernel("k", "pallas_call", "small", [5], [], [], 0, 0, 0, 0, 0, 0)
USAGE = "unit slots\nMATMUL, MATPUSH, XLU, VALU, VPOP, EUP, VLOAD, VSTORE\n1 1 1 4 1 1 2 1\n" + "0 0 0 4 0 0 1 0\n" * 6


def test_a_loop_costs_a_cycle_a_bundle() -> None:
    """Five rounds of four bundles, with one bundle in the branch's delay slot on v4, then the rest."""
    program = read_program(PROGRAM, USAGE)
    assert program.units[3] == "VALU" and len(program.bundles) == 6
    done = replay(program, [5], CORES["v4"])
    assert done.total_us * 1.05e3 == pytest.approx(1 + 5 * 4 + 1)
    assert done.bound == "compute" and done.copies == 0 and done.units["VALU"] == 1.0


@pytest.mark.parametrize(
    ("schedule", "usage"),
    [("", USAGE), ("nothing of ours", USAGE), (PROGRAM, ""), (PROGRAM, "A,B,C,D,E,F,G\n1 2\n"), (PROGRAM[40:], USAGE)],
)
def test_another_text_is_refused(schedule: str, usage: str) -> None:
    with pytest.raises(Unreadable):
        read_program(schedule, usage)
    with pytest.raises(NoEstimate, match="the schedule of k could not be read"):
        estimate([Dumped(schedule, usage)], [KERNEL], "v5e", {})


def test_a_missing_dump_says_why() -> None:
    with pytest.raises(NoEstimate, match="wrote no schedule of k"):
        estimate([None], [KERNEL], "v5e", {})
    with pytest.raises(NoEstimate, match="only known when it runs"):
        estimate([Dumped("", "")], [msgspec.structs.replace(KERNEL, grid=[5, None])], "v5e", {})
    with pytest.raises(NoEstimate, match="no kernel is called"):
        estimate([], [], "v5e", {})
    with pytest.raises(NoEstimate, match="1 calls of kernels, the trace 2"):
        estimate([Dumped(PROGRAM, USAGE)], [KERNEL, KERNEL], "v5e", {})


def test_columns_of_another_version_are_read_by_name() -> None:
    """libtpu 0.0.50 has one column MXU; a newer one may have columns that nobody knows yet, in another order."""
    other = USAGE.replace("MATMUL, MATPUSH, XLU", "NEWUNIT, MXU, XLU")
    known, renamed = (estimate([Dumped(PROGRAM, text)], [KERNEL], "v4", {}) for text in (USAGE, other))
    assert renamed.total_us == known.total_us and renamed.units == known.units


@pytest.mark.parametrize("cut", range(40, len(PROGRAM) - 1, 23))
def test_a_text_that_ends_anywhere_never_gives_a_figure(cut: int) -> None:
    """Half a schedule would look like a fast kernel."""
    with pytest.raises(NoEstimate):
        estimate([Dumped(PROGRAM[:cut], USAGE)], [KERNEL], "v4", {})


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_garbage_is_never_more_than_no_estimate(data: st.DataObject) -> None:
    """Pieces of the text taken out, doubled, or replaced by anything: an estimate or `NoEstimate`, nothing else."""
    text, usage = PROGRAM, USAGE
    for _ in range(data.draw(st.integers(1, 4))):
        first = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(first, min(len(text), first + 40)))
        text = (
            text[:first]
            + data.draw(st.sampled_from(["", text[first:end] * 2, "%s9_s0", ";;", "{", "\0\x1b", "(!%p5_p0)"]))
            + text[end:]
        )
    if data.draw(st.booleans()):
        usage = usage.replace(data.draw(st.sampled_from("0148,\nMV ")), data.draw(st.sampled_from(["", "x", "9", ","])))
    try:
        with patch("tutor.judge.compile.schedule.replay.SECONDS", 0.02):
            found = estimate([Dumped(text, usage)], [KERNEL], "v4", {})
    except NoEstimate:
        return
    assert found.total_us > 0 and found.bound in ("compute", "memory", "DMA overhead")


def test_the_compiler_says_in_a_note_why_there_is_no_estimate(tmp_path: Path) -> None:
    from tutor.jaxpr.compat import TpuCall
    from tutor.judge.compile import compiler
    from tutor.judge.compile.settings import SCHEDULE, UNITS

    asked = CompileJob(b"", "large", "v5e", "a.py", [KERNEL], estimate=True)
    call = TpuCall("kt0", "", None, False)
    for text in (None, PROGRAM[:200], "garbage"):
        if text is not None:
            (tmp_path / f"17-kt0.1-70-{SCHEDULE}.txt").write_text(text)
            (tmp_path / f"18-kt0.1-71-{UNITS}.txt").write_text(USAGE)
        schedule, (note,) = compiler._schedule(asked, tmp_path, [call], "9.9.9")
        assert schedule is None and note.code == "KT612" and note.severity == "note"
        assert "no speed estimate for v5e (libtpu 9.9.9)" in note.message and "\n" not in note.message


def test_unsigned_minimum() -> None:
    """The smaller of -7 and 7 as unsigned numbers is 7: how the compiler takes an absolute value."""
    absolute = PROGRAM.replace("%s2_s1 = smov 7", "%s2_s1 = smin.u32 4294967289, 7").replace(
        "%s4_s0, 5", "%s4_s0, %s2_s1"
    )
    assert replay(read_program(absolute, USAGE), [5], CORES["v4"]).total_us * 1.05e3 == pytest.approx(1 + 7 * 4 + 1)


def test_a_program_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tutor.judge.compile.schedule.replay.SECONDS", 0.05)
    endless = PROGRAM.replace("scmp.ge.s32.totalorder %s4_s0, 5", "scmp.eq.s32.totalorder %s2_s1, 0")
    with pytest.raises(Unreadable):
        replay(read_program(endless, USAGE), [5], CORES["v4"])


def test_text_of_the_program_is_never_run() -> None:
    """Only names and numbers of the known forms reach the generated function."""
    wicked = PROGRAM.replace("smov 7", "smov __import__('os').abort()")
    assert replay(read_program(wicked, USAGE), [5], CORES["v4"]).total_us > 0
