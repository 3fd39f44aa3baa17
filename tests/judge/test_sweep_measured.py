"""Times beside the estimates: measured on the CPU device, by the path that a TPU takes."""

from __future__ import annotations

import msgspec
import pytest

from tests.judge.compiling import needs_libtpu
from tests.warm import Warm
from tutor.ladder.bench import bench_exercise
from tutor.ladder.check import Ladder
from tutor.ladder.measured import Here, Measured, measure_on
from tutor.ladder.runs import Runs
from tutor.ladder.subject import Subject, subject
from tutor.ladder.sweep_picture import best
from tutor.ladder.sweep_plan import Wanted
from tutor.ladder.tune import tune
from tutor.protocol import Benched, Sweep
from tutor.sets import Exercise, builtin_root, load_set


@pytest.fixture(scope="module")
def exercise() -> Exercise:
    return load_set(builtin_root()).exercise("tile_copy")


def small(exercise: Exercise) -> Subject:
    """The reference, timed on a case that the CPU can do."""
    assert exercise.reference is not None
    judged = subject(exercise, exercise.reference.read_bytes(), str(exercise.reference), chips=("v5e",))
    return msgspec.structs.replace(judged, time_case=judged.case("many_tiles"))


@needs_libtpu
def test_what_is_measured_decides(exercise: Exercise, warm: Warm) -> None:
    """The estimate finds larger blocks faster; a machine that says otherwise is believed. One choice is not timed."""
    asked: list[dict[str, object]] = []

    async def measure(runs: Runs) -> Measured:
        static = dict(runs.subject.time_case.static)
        asked.append(static)
        if static["bn"] == 512:
            return Measured(reason="the numbers are wrong")
        return Measured(float(static["bm"]), 1.0)  # type: ignore[arg-type]

    async def work(ladder: Ladder) -> list[Sweep]:
        wanted = Wanted({"bm": [32, 64, 192], "bn": [128, 512]})
        return [picture async for picture in tune(ladder.runs(small(exercise)), wanted, Here(measure))]

    last = warm.do(work)[-1]
    assert last.complete
    assert asked[0] == {"bm": 64, "bn": 128}, "the attempt as it is called comes first"
    first = best(last, "v5e")
    assert first is not None and first.values == {"bm": 32, "bn": 128} and first.device_us == 32.0
    assert last.notes == ["the numbers are wrong"]


@needs_libtpu
def test_on_a_device(exercise: Exercise, warm: Warm) -> None:
    here = Here(measure_on("cpu"))
    (row,) = warm.do(lambda ladder: bench_exercise(ladder.runs(small(exercise)), exercise, here))
    assert row.reference is not None and row.xla is not None
    assert row.reference_us and row.xla_us and row.reference_us > 0


async def never(runs: Runs) -> Measured:
    raise AssertionError("nothing may be measured")


@needs_libtpu
def test_times_of_another_chip_stand_in_no_table(exercise: Exercise, warm: Warm) -> None:
    """`--chip v5e` on a machine with a v6e: estimates as asked for, and why there are no times."""

    async def work(ladder: Ladder) -> tuple[list[Sweep], list[Benched]]:
        there = Here(never, "v6e")
        pictures = [one async for one in tune(ladder.runs(small(exercise)), Wanted({"bm": [64]}), there)]
        return pictures, await bench_exercise(ladder.runs(small(exercise)), exercise, there)

    (*_, last), (row,) = warm.do(work)
    assert last.complete and len(last.tried) >= 1
    assert last.notes == ["the chip of this machine is v6e, and the table is about v5e"]
    assert row.measured_reason == last.notes[0] and row.reference is not None and row.reference_us is None


def test_times_stand_in_the_row_of_their_chip() -> None:
    assert Here(never, "v6e").row(["v5e", "v6e"]) == "v6e"
    assert Here(never, "v6e").row(["v5e"]) is None
    assert Here(never).row(["v5e", "v6e"]) == "v5e", "the runner refuses if that is another one"
