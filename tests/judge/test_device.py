"""The device runner, exercised on the CPU device through the same path as on a TPU."""

import os

import msgspec
import numpy as np
import pytest

from tests.tui.fakes import FACTS
from tests.unit.test_chip import make_devices, make_process
from tests.unit.test_speed_words import TIMING
from tutor.ladder import chip
from tutor.ladder.check import Ladder
from tutor.ladder.device import a_free_chip, any_device, device_stage, held, no_answer, time_on, with_roof
from tutor.ladder.device_process import Outcome, environment_for, run_on_device
from tutor.ladder.one_chip import Choice
from tutor.ladder.runs import Failed
from tutor.ladder.subject import subject
from tutor.ladder.timed_case import Lowered
from tutor.ladder.truth import Truth, too_large
from tutor.protocol import ArraySpec, CaseSpec, Operations, ToleranceSpec
from tutor.sets import builtin_root, load_set
from tutor.wire import Broken, DeviceJob, OracleFile, Repeated, Timed, Unopened
from tutor.workers.arrays import pack

SEED = 11


async def timed_on_cpu(program: str):
    exercise = load_set(builtin_root()).exercise("f32_accumulator")
    path = exercise.solutions / program
    judged = subject(exercise, path.read_bytes(), str(path))
    judged = msgspec.structs.replace(judged, time_case=judged.case("default_blocks"))
    ladder = Ladder()
    try:
        return await time_on(ladder.runs(judged), "cpu")
    finally:
        await ladder.aclose()


async def test_the_reference_is_as_fast_as_itself(monkeypatch):
    monkeypatch.setattr("tutor.ladder.device.BUDGET_SECONDS", 1.0)
    result, timing = await timed_on_cpu("reference.py")
    assert result.status == "passed", result.findings
    assert timing is not None
    assert (timing.device_kind, timing.chip, timing.case) == ("cpu", None, "default_blocks")
    assert timing.ratio_low <= timing.ratio <= timing.ratio_high
    assert 0.5 < timing.ratio < 2
    assert len(timing.samples) >= 32
    assert all(attempt > 0 and reference > 0 for attempt, reference in timing.samples)
    assert timing.rechecked == 3
    assert timing.work == timing.reference_work != None  # noqa: E711
    assert timing.attempt.roof_share is None, "the roof of this chip is not known"


async def test_wrong_numbers_are_never_timed():
    result, timing = await timed_on_cpu("wrong_flush_never.py")
    assert timing is None
    assert result.status == "failed"
    assert [found.code for found in result.findings] == ["KT701"]


async def stage_on(monkeypatch, dev, proc, timed=None):
    """The `device` stage on a made-up machine, of which nothing may be timed unless `timed` stands for that."""
    monkeypatch.setattr("tutor.ladder.device.find_device", lambda: chip.find_device(dev))
    monkeypatch.setattr("tutor.ladder.device.devices", lambda: chip.devices(dev, proc))
    monkeypatch.setattr("tutor.ladder.device.OURS_SECONDS", 0.1)
    monkeypatch.setattr("tutor.ladder.device.time_on", timed)
    return await device_stage(None)


async def test_without_a_tpu_nothing_is_claimed(monkeypatch, tmp_path):
    result, timing = await stage_on(monkeypatch, tmp_path, tmp_path)
    assert (result.status, result.reason, result.findings, timing) == (
        "unavailable", "no TPU on this machine", [], None,
    )  # fmt: skip


async def test_who_holds_the_tpu_is_named_and_fails_nobody(monkeypatch, tmp_path):
    dev, proc = make_devices(tmp_path / "dev"), tmp_path / "proc"
    make_process(proc, 20, "python3", [dev / "accel0"], ["/usr/bin/python3", "train.py"])
    result, timing = await stage_on(monkeypatch, dev, proc)
    assert result.status == "unavailable" and timing is None
    assert result.reason == "the TPU is held by process 20 (python3 train.py); nothing is timed until it lets go"
    (found,) = result.findings
    assert (found.code, found.severity) == ("KT704", "note")


async def test_a_timing_of_ours_is_waited_for(monkeypatch, tmp_path):
    """A newer save stops the older check, and its runner takes a moment to let the chip go."""
    dev, proc = make_devices(tmp_path / "dev"), tmp_path / "proc"
    make_process(proc, 20, "python3", [dev / "accel0"], ["/usr/bin/python3", "-P", "-m", "tutor.judge.device"])
    asked = []

    async def time_on(runs, platform, a_device):
        asked.append(a_device)
        return None, None

    await stage_on(monkeypatch, dev, proc, time_on)
    assert asked == [a_free_chip], "it is no reason to give up"
    assert held(await a_free_chip()).reason == (
        "the TPU is held by process 20 (another timing of the tutor's); nothing is timed until it lets go"
    )

    async def sleep(seconds):
        (proc / "20" / "fd" / "0").unlink()

    monkeypatch.setattr("tutor.ladder.device.OURS_SECONDS", 60.0)
    monkeypatch.setattr("tutor.ladder.device.asyncio.sleep", sleep)
    assert await a_free_chip() == Choice({}, [])


async def first_chip():
    return Choice({"TPU_VISIBLE_CHIPS": "0"}, [])


async def test_one_of_several_chips_is_asked_for_and_if_need_be_all(monkeypatch):
    """The runner of a made-up machine cannot be started with one chip, and can with all."""
    asked = []

    async def run(job, truth, environment):
        asked.append(environment.get("TPU_VISIBLE_CHIPS"))
        return Outcome(Unopened("no such chip") if asked[-1] else Timed(None, [], "it ran"), [])

    monkeypatch.setattr("tutor.ladder.device.run_on_device", run)
    result, _ = await timed_with("2", monkeypatch, first_chip)
    assert asked == ["0", None]
    assert (result.status, result.reason) == ("unavailable", "it ran")


async def test_a_chip_that_was_taken_meanwhile(monkeypatch):
    async def taken():
        return Choice({}, [chip.Holder(20, "python3 train.py", ["/dev/accel0"])])

    monkeypatch.setattr("tutor.ladder.device.run_on_device", None)
    result, timing = await timed_with("2", monkeypatch, taken)
    assert timing is None and result.status == "unavailable"
    assert [found.code for found in result.findings] == ["KT704"]


SPY = """
import sys
import numpy as np

assert "tutor.judge.device.runner" not in sys.modules and "tutor.judge.jobs" in sys.modules

def make_inputs(rng, case):
    return {"x": rng.standard_normal((8, 128)).astype(np.float32)}

def expected(inputs, case):
    return inputs["x"] * WRONG
"""
KERNEL = b"""
import jax.numpy as jnp
from jax.experimental import pallas as pl
import jax

def double(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
"""


async def timed_with(factor, monkeypatch, a_device=any_device):
    """A timing with an oracle of a stranger, which looks at the process that it runs in."""
    monkeypatch.setattr("tutor.ladder.device.BUDGET_SECONDS", 0.5)
    exercise = load_set(builtin_root()).exercise("tile_copy")
    case = CaseSpec(
        "small", [ArraySpec("x", [8, 128], "float32")], [ArraySpec("out", [8, 128], "float32")], {}, {}
    )  # fmt: skip
    judged = subject(exercise, KERNEL, "double.py")
    attempt = msgspec.structs.replace(judged.attempt, entry="double")
    oracle = OracleFile(SPY.replace("WRONG", factor).encode(), "oracle.py")
    judged = msgspec.structs.replace(judged, attempt=attempt, reference=attempt, oracle=oracle, time_case=case)
    ladder = Ladder()
    try:
        return await time_on(ladder.runs(judged), "cpu", a_device)
    finally:
        await ladder.aclose()


async def test_the_oracle_runs_in_the_judge_alone(monkeypatch):
    result, timing = await timed_with("2", monkeypatch)
    assert result.status == "passed", result.findings
    assert timing is not None and timing.rechecked == 3


async def test_the_oracles_word_on_the_first_numbers_counts(monkeypatch):
    result, timing = await timed_with("2.5", monkeypatch)
    assert timing is None and [found.code for found in result.findings] == ["KT701"]


async def test_the_oracles_word_on_the_timed_numbers_counts(monkeypatch):
    """Right for what `make_inputs` gives, and not for what was made new of it."""
    drawn = "(2 if abs(float(inputs['x'][0, 0]) - FIRST) < 1e-12 else 3)"
    first = float(np.random.default_rng(SEED).standard_normal((8, 128)).astype(np.float32)[0, 0])
    monkeypatch.setattr("tutor.ladder.subject.Subject.seed_of", lambda *_: SEED)
    result, timing = await timed_with(drawn.replace("FIRST", repr(first)), monkeypatch)
    assert timing is None and [found.code for found in result.findings] == ["KT706"]
    assert "The outputs of timed repeat" in result.findings[0].message


async def test_an_oracle_that_fails_is_nobodys_kernel(monkeypatch):
    with pytest.raises(Failed, match="ZeroDivisionError"):
        await timed_with("(1 / 0)", monkeypatch)


def test_arrays_too_large_for_a_frame_are_not_timed():
    large = ArraySpec("x", [1 << 15, 1 << 12], "float32")
    assert too_large(CaseSpec("big", [large], [], {}, {})) is not None
    assert too_large(CaseSpec("big", [], [large], {}, {})) is not None, "float64 outputs take twice as much"
    half = ArraySpec("x", [1 << 13, 1 << 12], "float32")
    assert too_large(CaseSpec("fine", [half], [half], {}, {})) is None


# ---------------------------------------------------------------- the process


def small_job(**more):
    case = CaseSpec("small", [], [], {}, {})
    return DeviceJob(case, b"no program", b"no program", 1, ToleranceSpec(), "cpu", **more)


TRUTH = Truth([pack({})], pack({}))


def fake_runner(monkeypatch, tmp_path, body):
    """A runner of our own in place of the real one: `say(record)` sends an answer."""
    package = tmp_path / "fake"
    package.mkdir()
    (package / "fake_runner.py").write_text(
        "import sys, time, os, msgspec\n"
        "from tutor.wire import *\n"
        "from tutor.workers.frames import write_frame\n"
        "def say(answer): write_frame(1, msgspec.msgpack.encode(answer))\n" + body
    )
    monkeypatch.setattr("tutor.ladder.device_process.RUNNER", "fake_runner")
    return {**os.environ, "PYTHONPATH": str(package)}


async def test_a_broken_program_is_a_fault_of_ours():
    outcome = await run_on_device(small_job(), TRUTH, environment_for(small_job(), os.environ))
    assert isinstance(outcome.answer, Broken)
    result = no_answer(outcome.answer, small_job().case, 0.0)
    assert (result.status, result.findings[0].code) == ("error", "KT901")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ("say(Doing('open')); os._exit(3)", "unavailable", "KT709"),
        ("say(Doing('open')); time.sleep(60)", "unavailable", "KT709"),
        ("say(Unopened('The TPU is already in use by process with pid 9.'))", "unavailable", "KT709"),
        ("say(Doing('open')); say(Doing('attempt')); time.sleep(60)", "failed", "KT705"),
        ("say(Doing('attempt')); os.abort()", "failed", "KT705"),
        ("say(Doing('attempt')); say(Doing('reference')); time.sleep(60)", "error", "KT901"),
        ("say(Doing('time')); os._exit(1)", "error", "KT901"),
        ("sys.stdout.write('no frame at all'); sys.stdout.flush(); time.sleep(60)", "unavailable", "KT709"),
    ],
)
async def test_where_a_runner_was_lost_decides_what_is_said(monkeypatch, tmp_path, body, status, code):
    monkeypatch.setattr("tutor.ladder.device_process.WALL_SECONDS", 6.0)
    outcome = await run_on_device(small_job(), TRUTH, fake_runner(monkeypatch, tmp_path, body))
    result = no_answer(outcome.answer, small_job().case, 0.0)
    assert (result.status, result.findings[0].code) == (status, code), result


async def test_timed_repeats_come_with_the_answer(monkeypatch, tmp_path):
    body = "say(Repeated(7, b'i', b'o')); say(Timed(None, [], 'why'))"
    outcome = await run_on_device(small_job(), TRUTH, fake_runner(monkeypatch, tmp_path, body))
    assert outcome.answer == Timed(None, [], "why")
    assert list(outcome.repeats) == [Repeated(7, b"i", b"o")]


async def test_no_python_of_the_users_folder_is_run(monkeypatch, tmp_path):
    """The front may stand in a folder of submissions."""
    (tmp_path / "msgspec.py").write_text("open('ran', 'w')")
    (tmp_path / "tutor.py").write_text("open('ran', 'w')")
    monkeypatch.chdir(tmp_path)
    await run_on_device(small_job(), TRUTH, environment_for(small_job(), os.environ))
    assert not (tmp_path / "ran").exists()


def test_the_runner_gets_the_users_environment_but_not_what_would_change_the_times():
    given = {
        "HOME": "/h",
        "TPU_NAME": "t",
        "JAX_DISABLE_JIT": "1",
        "LIBTPU_INIT_ARGS": "--dump",
        "JAX_PLATFORMS": "cuda",
    }
    made = environment_for(msgspec.structs.replace(small_job(), platform="tpu"), given)
    assert made == {"HOME": "/h", "TPU_NAME": "t", "JAX_PLATFORMS": "tpu"}


def test_a_timing_gets_the_roof_of_its_chip():
    work = Operations({"bf16": 197_000_000}, exact=True)
    kernel = msgspec.structs.replace(FACTS.kernels[0], operations=work)
    facts = msgspec.structs.replace(FACTS, kernels=[kernel])
    case = CaseSpec("square", [], list(FACTS.outputs), {}, {})
    program = Lowered({"v5e": b""}, facts, [])
    made = with_roof(TIMING, program, Lowered({}, None, []), case)
    assert (made.chip, made.work.operations) == ("v5e", {"bf16": 197_000_000})
    assert made.attempt.least_us == pytest.approx(1.0)
    assert made.attempt.roof_share == pytest.approx((8388608 + 524288) / 820e9 * 1e6 / TIMING.attempt_us)
    assert made.advice is not None
    assert made.reference_work is None and made.reference.roof_share is None
    unknown = with_roof(msgspec.structs.replace(TIMING, device_kind="cpu"), program, program, case)
    assert unknown.chip is None and unknown.work == made.work
    assert unknown.attempt.roof_share is None and unknown.attempt.flops_per_s == made.attempt.flops_per_s
