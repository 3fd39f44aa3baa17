"""A set can name the compiler as the judge of a wrong answer: the whole ladder, on an exercise of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.judge.compiling import needs_libtpu
from tests.tiny_set import SET
from tests.warm import Warm
from tutor.ladder.check import Ladder
from tutor.ladder.proof import Program, Proved, prove
from tutor.sets import load_set

EXERCISE = """\
format = 1
kind = "kernel"
slug = "scale"
title = "Scale"
summary = "Multiply by two."
entry = "scale"
hints = ["first", "second", "third"]
starter = "interpret KT201"

[[input]]
name = "x"
shape = ["m", "n"]
dtype = "float32"

[[output]]
name = "out"
shape = ["m", "n"]
dtype = "float32"

[[case]]
name = "small"
sizes = { m = 16, n = 128 }
hazard = true

[[case]]
name = "tall"
sizes = { m = 4096, n = 128 }
seeds = 1

[[case]]
name = "large"
sizes = { m = 8192, n = 1024 }
role = "time"
"""

KERNEL = """\
import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def scale(x):
    def kernel(x_ref, o_ref{scratch}):
        o_ref[...] = x_ref[...] * {factor}{more}

    rows = {rows}
    block = pl.BlockSpec((rows, x.shape[1]), lambda i: (i, 0))
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return pl.pallas_call(
        kernel, grid=(x.shape[0] // rows,), in_specs=[block], out_specs=block, out_shape=shape{arguments}
    )(x)
"""

ORACLE = """\
def make_inputs(rng, case):
    return {"x": rng.standard_normal(case.inputs[0].shape).astype("float32")}


def expected(inputs, case):
    return inputs["x"] * 2
"""


def kernel(*, factor: int = 2, rows: str = "min(x.shape[0], 512)", scratch: bool = False) -> str:
    text = KERNEL.replace("{factor}", str(factor)).replace("{rows}", rows)
    declared = ", scratch_shapes=[pltpu.VMEM((65536, 128), 'float32')]" if scratch else ""
    body = "\n        big_ref[:8] = x_ref[:8, :128]\n        o_ref[:8, :128] = big_ref[:8] * 2" if scratch else ""
    return (
        text.replace("{scratch}", ", big_ref" if scratch else "")
        .replace("{more}", body)
        .replace("{arguments}", declared)
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    here, there = tmp_path / "exercises", tmp_path / "solutions" / "01_refs" / "01_scale"
    files = {
        here / "set.toml": SET.replace(', "02_blocks"', "").replace('["v5e"]', '["v5e", "v4"]'),
        here / "01_refs/01_scale/exercise.toml": EXERCISE,
        here / "01_refs/01_scale/lesson.md": "# Scale\n",
        here / "01_refs/01_scale/starter.py": kernel(factor=3),
        here / "01_refs/01_scale/oracle.py": ORACLE,
        there / "reference.py": kernel(),
        there / "right_rows.py": kernel(rows="8"),
        there / "wrong_large.py": f"# expect: compile KT603 only\n# a scratch of 32 MiB\n{kernel(scratch=True)}",
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


@needs_libtpu
def test_every_program_is_as_it_promises(root: Path, warm: Warm) -> None:
    exercise = load_set(root).exercise("scale")

    async def work(ladder: Ladder) -> list[Proved]:
        return [one async for one in prove(ladder, exercise)]

    proved = warm.do(work)
    assert {one.program.name: one.problem for one in proved if one.problem} == {}
    verdicts = {one.program.name: one.verdict for one in proved}
    source = exercise.reference.read_bytes() if exercise.reference else b""
    asked = warm.check(exercise, source, "attempt.py", target="compile", chips=("v6e",))
    right, wrong = verdicts["right_rows.py"], verdicts["wrong_large.py"]
    assert right.passed and not wrong.passed
    found = {(one.chip, one.case): one for one in right.compile}
    assert set(found) == {(chip, case) for chip in ("v5e", "v4") for case in ("small", "tall", "large")}
    assert found["v5e", "small"].schedule is None
    mine, reference = found["v5e", "large"].schedule, found["v5e", "large"].reference
    assert mine is not None and reference is not None
    assert mine.bytes_read == reference.bytes_read == 8192 * 1024 * 4
    assert mine.total_us > 1.5 * reference.total_us and mine.bound == "DMA overhead"
    compiled = next(stage for stage in wrong.stages if stage.name == "compile")
    assert [f.code for f in compiled.findings] == ["KT603"]
    assert {(one.chip, one.case) for one in asked.compile} == {("v6e", case) for case in ("small", "tall", "large")}


def test_the_programs_are_found(root: Path) -> None:
    from tutor.ladder.proof import programs

    found = {program.name: program for program in programs(load_set(root).exercise("scale"))}
    wrong = found["wrong_large.py"]
    assert isinstance(wrong, Program) and (wrong.stage, wrong.code, wrong.only) == ("compile", "KT603", True)
