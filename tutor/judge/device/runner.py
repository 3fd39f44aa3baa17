"""Check the attempt's numbers on the device, then time it beside the reference, interleaved."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.export
import numpy as np

from tutor.findings import finding
from tutor.judge.compare import compare
from tutor.judge.device.protocol import Sampler, interleave
from tutor.judge.oracle import Oracle
from tutor.protocol import Finding, Timing
from tutor.wire import DeviceJob, Timed
from tutor.workers.arrays import Array

INPUT_SETS = 4
WARM_UP = 3


def time_beside_reference(job: DeviceJob) -> Timed:
    """Numbers first: a wrong kernel is not timed. Times are wall times of one call, dispatch included."""
    device = jax.devices(job.platform)[0]
    oracle = Oracle(job.oracle)
    attempt, reference = _program(job.attempt), _program(job.reference)
    sets = [oracle.make_inputs(job.case, job.seed + number) for number in range(INPUT_SETS)]
    placed = [[jax.device_put(array, device) for array in inputs.values()] for inputs in sets]
    wrong = _check(job, oracle, sets[0], attempt(*placed[0]))
    if wrong:
        return Timed(None, wrong, reason="the numbers on the device are wrong")
    for _ in range(WARM_UP):
        jax.block_until_ready((attempt(*placed[0]), reference(*placed[0])))
    sampled = interleave(
        _sampler(attempt, placed), _sampler(reference, placed), seed=job.seed, budget_seconds=job.budget_seconds
    )
    wrong = _check(job, oracle, sets[-1], attempt(*placed[-1]))
    if wrong:
        return Timed(None, wrong, reason="the numbers on the device changed while it was timed")
    timing = Timing(
        device_kind=device.device_kind,
        attempt_us=sampled.attempt_us,
        reference_us=sampled.reference_us,
        ratio=sampled.ratio,
        ratio_low=sampled.low,
        ratio_high=sampled.high,
        clock="wall",
        samples=sampled.samples,
    )
    return Timed(timing, [])


def _program(artifact: bytes) -> Callable[..., Any]:
    return jax.jit(jax.export.deserialize(bytearray(artifact)).call)  # type: ignore[no-any-return]


def _sampler(program: Callable[..., Any], placed: list[list[Any]]) -> Sampler:
    """One timed call in microseconds, on the input set of that round; it waits for its own outputs."""

    def sample(number: int) -> float:
        inputs = placed[number % len(placed)]
        began = time.perf_counter()
        jax.block_until_ready(program(*inputs))
        return (time.perf_counter() - began) * 1e6

    return sample


def _check(job: DeviceJob, oracle: Oracle, inputs: dict[str, Array], outputs: Any) -> list[Finding]:
    got = [np.asarray(leaf) for leaf in jax.tree.leaves(outputs)]
    outcome = compare(got, oracle.expected(inputs, job.case), job.case, job.tolerance)
    if not any(found.severity == "error" for found in outcome.findings):
        return []
    first = outcome.findings[0]
    return [finding("KT701", first.message, raw=first.raw, case=job.case.name)]
