"""Timing two programs: inputs are made new for every repeat, and programs that cheat are found out."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tutor.judge.device.contest import Contest, NotThere, arrays_of, difference
from tutor.judge.device.fresh import FreshInputs, Poison
from tutor.judge.device.protocol import FIRST_LOOK, Repeat
from tutor.judge.device.runner import Bench, time_beside_reference
from tutor.judge.oracle import Oracle
from tutor.judge.timed import expected, repeated
from tutor.protocol import ArraySpec, CaseSpec, ToleranceSpec
from tutor.wire import DeviceJob, ExpectedJob, OracleFile, RepeatJob, Timed, Unopened
from tutor.workers.arrays import unpack

# ---------------------------------------------------------------- fresh inputs

CPU = jax.devices("cpu")[0]
CASE = CaseSpec(
    name="big",
    inputs=[ArraySpec("x", [64, 128], "float32"), ArraySpec("n", [4], "int32")],
    outputs=[ArraySpec("out", [64, 128], "float32")],
    static={},
    sizes={},
)


def sets(count=4, seed=0):
    rng = np.random.default_rng(seed)
    return [
        [rng.standard_normal((64, 128)).astype(np.float32), rng.integers(0, 9, 4).astype(np.int32)]
        for _ in range(count)
    ]


def test_no_two_repeats_have_the_same_floats_and_all_integers_are_the_oracles():
    pool = sets()
    fresh = FreshInputs(pool, CPU, 1)
    seen = [[np.asarray(array) for array in fresh.of(n)] for n in range(12)]
    floats = {x.tobytes() for x, _ in seen}
    assert len(floats) == 12
    assert {n.tobytes() for _, n in seen} <= {n.tobytes() for _, n in pool}
    again = np.asarray(fresh.of(5)[0])
    assert (again == seen[5][0]).all(), "what was timed can be made again, to be checked"
    assert (np.asarray(FreshInputs(pool, CPU, 2).of(5)[0]) != seen[5][0]).any()


def test_what_the_oracle_meant_stays():
    odd = np.asarray([0.0, -0.0, np.nan, np.inf, -np.inf, -3.0, 3.4e38, 1e-30], np.float32)
    for n in range(8):
        (made,) = FreshInputs([[odd]], CPU, 3).of(n)
        made = np.asarray(made)
        assert (np.isnan(made) == np.isnan(odd)).all()
        assert (made[:2] == 0).all() and (np.signbit(made) == np.signbit(odd))[[0, 1, 5]].all()
        assert (made[3:5] == odd[3:5]).all()
        assert np.isfinite(made[5:]).all()
        assert abs(made[5] / odd[5] - 1) < 0.2


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float8_e4m3fn, np.float16, np.float32])
def test_every_float_is_made_new(dtype):
    array = np.linspace(1, 2, 512).astype(dtype)
    (made,) = FreshInputs([[array]], CPU, 3).of(0)
    assert made.dtype == array.dtype
    assert (np.asarray(made) != array).mean() > 0.5


def test_a_sum_of_many_positive_numbers_changes_too():
    """There the elements' own factors average out; the factor of the whole array does not."""
    fresh = FreshInputs([[np.ones((1 << 14,), np.float32)]], CPU, 4)
    sums = [float(jnp.sum(fresh.of(n)[0])) for n in range(20)]
    assert np.std(sums) / np.mean(sums) > 0.02


def test_integers_only_come_from_the_pool():
    ints = [np.arange(4, dtype=np.int32)]
    words = FreshInputs([ints], CPU, 0).words
    assert "nothing to make new" in words
    assert "made new on the device" in FreshInputs(sets(), CPU, 0).words


def test_poison_is_no_answer():
    outputs = [jnp.zeros((4,), jnp.float32), jnp.zeros((4,), jnp.int32), jnp.zeros((4,), bool)]
    Poison(outputs).spread()


# ---------------------------------------------------------------- programs that cheat


def right(x, n):
    return [jnp.tanh(x) + n.sum()]


honest = jax.jit(right)


ORACLE = OracleFile(
    b"""
import numpy as np

def make_inputs(rng, case):
    return {"x": rng.standard_normal((64, 128)).astype(np.float32), "n": rng.integers(0, 9, 4).astype(np.int32)}

def expected(inputs, case):
    return np.tanh(inputs["x"].astype(np.float64)) + inputs["n"].sum()
""",
    "oracle.py",
)


def bench(attempt, reference=honest, budget=0.0, profiler=False):
    """One timing with all that is judged of it: in the runner, and then by the oracle."""
    spec = ToleranceSpec()
    pool = [list(Oracle(ORACLE).make_inputs(CASE, seed).values()) for seed in range(4)]
    right = list(unpack(expected(ExpectedJob(ORACLE, CASE, 0)).data).values())
    made = Bench(attempt, reference, FreshInputs(pool, CPU, 7), CPU, CASE, right, spec, spec)
    timed = made.run(budget, profiler=profiler)
    wrong = [found for repeat in made.repeats() for found in repeated(RepeatJob(ORACLE, CASE, repeat, spec)).findings]
    return timed if timed.timing is None or not wrong else Timed(None, wrong[:1])


def codes(timed):
    return [found.code for found in timed.findings]


def test_an_honest_program_is_timed():
    got = bench(jax.jit(lambda x, n: right(x, n)))
    assert codes(got) == []
    timing = got.timing
    assert timing is not None and timing.clock == "wall"
    assert timing.dispatch_us is not None and timing.dispatch_us > 0
    assert (timing.rechecked, timing.case) == (3, "big")
    assert len(timing.samples) == FIRST_LOOK and min(min(timing.samples)) > 0
    assert timing.attempt_spread is not None and timing.attempt_spread >= 0


def test_a_wrong_program_is_not_timed():
    assert codes(bench(jax.jit(lambda x, n: [x]))) == ["KT701"]


def test_a_wrong_reference_is_not_the_attempts_fault():
    assert codes(bench(honest, jax.jit(lambda x, n: [x]))) == ["KT904"]


class Cheat:
    """Does its work in the first `calls` calls, then gives what `after` says."""

    def __init__(self, calls, after):
        self.calls, self.after, self.made, self.count = calls, after, [], 0

    def __call__(self, x, n):
        self.count += 1
        if self.count <= self.calls:
            self.made.append(jax.block_until_ready(honest(x, n)))
            return self.made[-1]
        return self.after(self, x, n)


def replayed(cheat, x, n):
    return cheat.made[-1]


def by_integers(cheat, x, n):
    """Keeps answers by what it can tell inputs apart by without reading all of them: the table of integers."""
    key = np.asarray(n).tobytes()
    cheat.by_key = getattr(cheat, "by_key", {})
    if key not in cheat.by_key:
        cheat.by_key[key] = jax.block_until_ready(honest(x, n))
    return cheat.by_key[key]


def sometimes(cheat, x, n):
    return honest(x, n) if cheat.count % 20 else cheat.made[-1]


def unwritten(cheat, x, n):
    return [jnp.full((64, 128), jnp.nan)]


@pytest.mark.parametrize("calls", [1, 3, 5, 20])
def test_work_in_the_warm_up_only(calls):
    got = bench(Cheat(calls, replayed))
    assert got.timing is None
    assert codes(got) == ["KT706"]


@pytest.mark.parametrize("after", [by_integers, sometimes, unwritten], ids=lambda f: f.__name__)
def test_answers_that_are_kept_left_out_or_true_now_and_then(after):
    got = bench(Cheat(5, after))
    assert got.timing is None
    assert codes(got) == ["KT706"]


def test_an_answer_that_both_have_from_the_same_old_memory():
    """Attempt and reference agree in every repeat, and both are wrong: only the oracle can tell."""
    shared = Cheat(12, replayed)
    got = bench(shared, shared)
    assert got.timing is None
    assert codes(got) == ["KT706"]
    assert "The outputs of timed repeat" in got.findings[0].message


def test_the_first_check_is_on_what_the_oracle_made():
    """Its outputs are known before the chip is opened; all later inputs are others."""
    pool = sets()
    fresh = FreshInputs(pool, CPU, 1)
    plain = fresh.plain()
    assert all((np.asarray(a) == b).all() for a, b in zip(plain, pool[0], strict=True))
    jax.tree.map(lambda array: array.delete(), plain)
    assert (np.asarray(fresh.plain()[0]) == pool[0][0]).all(), "the pool has buffers of its own"


def test_answers_that_are_known_before_do_not_help():
    """The first set follows from the name of the case, so a program can hold its answer; the later ones do not."""
    x, n = Oracle(ORACLE).make_inputs(CASE, 0).values()
    known = jnp.tanh(x) + n.sum()

    def lookup(x_, n_):
        return [jnp.where((x_ == x).all(), known, known * 1.001)]

    assert codes(bench(jax.jit(lookup))) == ["KT706"]


def test_what_is_handed_over_is_bounded(monkeypatch):
    monkeypatch.setattr("tutor.judge.device.runner.KEPT_BYTES", 2 * 2 * 64 * 128 * 4 + 100)
    got = bench(jax.jit(lambda x, n: right(x, n)))
    assert got.timing is not None and got.timing.rechecked == 2


def test_a_kernel_that_fails_on_the_chip():
    def broken(x, n):
        raise jax.errors.JaxRuntimeError("INTERNAL: core halted")

    got = bench(broken)
    assert (codes(got), got.findings[0].raw) == (["KT705"], "INTERNAL: core halted")
    with pytest.raises(jax.errors.JaxRuntimeError):
        bench(honest, broken)  # a fault of ours: nobody's kernel is said to have failed


def test_the_runner_says_what_it_does_next():
    steps = []
    spec = ToleranceSpec()
    right_ones = list(unpack(expected(ExpectedJob(ORACLE, CASE, 0)).data).values())
    pool = [list(Oracle(ORACLE).make_inputs(CASE, 0).values())]
    made = Bench(honest, honest, FreshInputs(pool, CPU, 7), CPU, CASE, right_ones, spec, spec)
    made.run(0.0, profiler=False, doing=steps.append)
    assert steps == ["attempt", "reference", "time"]


def job_for(**more):
    return DeviceJob(CASE, b"", b"", 0, ToleranceSpec(), **{"platform": "cpu", **more})


def test_a_device_that_cannot_be_opened_is_nobodys_fault(monkeypatch):
    def taken(backend):
        raise RuntimeError(
            "Unable to initialize backend 'tpu': ABORTED: The TPU is already in use by process with pid 7."
        )

    monkeypatch.setattr(jax, "local_devices", taken)
    got = time_beside_reference(job_for(), [], b"", lambda _: None)
    assert isinstance(got, Unopened) and "pid 7" in got.message


def test_programs_for_another_chip_are_not_run():
    got = time_beside_reference(job_for(chip="v5e"), [], b"", lambda _: None)
    assert isinstance(got, Timed) and (got.timing, got.findings) == (None, [])
    assert got.reason == (
        "the programs were made for v5e, but the chip of this machine is one that is not known here (cpu)"
    )


class Later:
    """An array that is not there yet, and works itself out when it is looked at."""

    def __init__(self, make):
        self.make, self.shape, self.dtype = make, (64, 128), np.dtype(np.float32)

    def block_until_ready(self):
        return self

    def is_ready(self):
        return True

    def __array__(self, *args, **kwargs):
        return np.asarray(self.make())


@pytest.mark.parametrize("calls", [0, 6])
def test_lazy_output(calls):
    got = bench(Cheat(calls, lambda cheat, x, n: [Later(lambda: honest(x, n)[0])]))
    assert got.timing is None
    assert codes(got) == ["KT706"]


def test_what_is_no_array_is_not_there():
    with pytest.raises(NotThere):
        arrays_of([np.zeros(3)])
    assert len(arrays_of({"a": jnp.zeros(2), "b": [jnp.zeros(2)]})) == 2


def test_both_get_the_same_inputs_and_new_ones_each_time():
    seen = []

    def spy(x, n):
        seen.append(np.asarray(x).tobytes())
        return honest(x, n)

    fresh = FreshInputs(sets(), CPU, 7)
    contest = Contest(spy, spy, fresh, Poison(honest(*fresh.of(0))), np.random.default_rng(0))
    contest.measure([Repeat(n, bool(n % 2)) for n in range(6)])
    assert seen[::2] == seen[1::2]
    assert len(set(seen)) == 6
    assert contest.apart() == [0.0] * 6


def test_the_difference_of_outputs():
    a = jnp.asarray([3.0, 4.0])
    assert float(difference([a], [a])) == 0
    assert float(difference([a * 1.01], [a])) == pytest.approx(0.01, rel=1e-3)
    nan = jnp.asarray([jnp.nan, 4.0])
    assert float(difference([nan], [nan])) == 0
    assert float(difference([nan], [a])) == math.inf
    assert float(difference([jnp.asarray([1])], [jnp.asarray([2])])) == math.inf
    assert float(difference([a], [jnp.zeros(3)])) == math.inf
    assert float(difference([a], [a * 0])) == math.inf, "any error is endless beside zeros"


# ---------------------------------------------------------------- which clock


def test_the_profiler_times_programs_on_the_cpu():
    got = bench(jax.jit(named("kt_attempt")), jax.jit(named("kt_reference")), profiler=True)
    assert codes(got) == []
    assert got.timing is not None and got.timing.clock == "device"
    assert got.timing.dispatch_us is None
    assert all(0 < a < 1e6 and 0 < b < 1e6 for a, b in got.timing.samples)


def test_a_profile_without_the_programs_means_the_wall_clock():
    got = bench(jax.jit(named("other")), profiler=True)
    assert got.timing is not None and got.timing.clock == "wall"


def named(name):
    def program(x, n):
        return right(x, n)

    program.__name__ = name
    return program
