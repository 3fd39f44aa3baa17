"""Two clocks for one call: the wall time seen from the host, and what the profiler says that the device took."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tutor.judge.device.profile import Called, read_calls

type Program = Callable[..., Any]
type WallClock = Callable[[Program, Sequence[Any]], tuple[Any, float]]
"""Calls a program, and says what it gave and how many microseconds that took."""
TICK_US = 1e-3
"""No call is said to take less than a nanosecond: a ratio needs times above zero."""


def wall_us(
    program: Program, inputs: Sequence[Any], *, now: Callable[[], float] = time.perf_counter
) -> tuple[Any, float]:
    """One call: what it gave, and the microseconds until every output of it was there."""
    began = now()
    outputs = jax.block_until_ready(program(*inputs))
    return outputs, max(TICK_US, (now() - began) * 1e6)


def empty_program(inputs: Sequence[Any], outputs: Sequence[Any]) -> Program:
    """A program that takes as many arrays and gives as many as a timed one, and does nothing: its outputs are of one
    element. What a call of it takes is the cost of calling."""
    kinds = [out.dtype for out in outputs]
    program: Program = jax.jit(lambda *_: [jax.numpy.zeros((1,), kind) for kind in kinds], keep_unused=True)
    return program


def dispatch_us(program: Program, inputs: Sequence[Any], calls: int = 50) -> float:
    """The median time of a call, in microseconds."""
    wall_us(program, inputs)
    return float(np.median([wall_us(program, inputs)[1] for _ in range(calls)]))


@contextmanager
def profiled() -> Iterator[list[Called]]:
    """Records what the device runs meanwhile. The list is filled at the end; it stays empty where the profiler does not
    work or says nothing of the device."""
    found: list[Called] = []
    with tempfile.TemporaryDirectory(prefix="kerneltutor-profile-") as folder:
        try:
            options = jax.profiler.ProfileOptions()
            options.python_tracer_level = 0  # it would slow down what is measured, and is not read
            jax.profiler.start_trace(folder, profiler_options=options)
        except Exception:  # the profiler is a convenience: without it there is the wall clock
            yield found
            return
        try:
            yield found
        finally:
            try:
                jax.profiler.stop_trace()
                for path in sorted(Path(folder).rglob("*.xplane.pb")):
                    found += read_calls(path.read_bytes())
            except Exception:
                found.clear()
