"""`scf`, `func` and what only marks a place: which block runs, how often, and with what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tutor.judge.mosaic.machine import Machine
from tutor.judge.mosaic.reading import Op
from tutor.judge.mosaic.table import operation, pure
from tutor.judge.mosaic.types import Unknown


def _handed(op: Op, values: list[Any]) -> Any:
    return values[0] if len(op.results) == 1 else values


@operation("scf.if")
def _if(op: Op, machine: Machine) -> Callable[..., Any]:
    def run(condition: Any) -> Any:
        if condition:
            return _handed(op, machine.run(op.regions[0], ()))
        return _handed(op, machine.run(op.regions[1], ())) if len(op.regions) > 1 else []

    return run


@operation("scf.index_switch", knows=("cases",))
def _switch(op: Op, machine: Machine) -> Callable[..., Any]:
    cases = op.attributes["cases"]

    def run(choice: Any) -> Any:
        number = cases.index(int(choice)) + 1 if int(choice) in cases else 0
        return _handed(op, machine.run(op.regions[number], ()))

    return run


@operation("scf.for", knows=("unsignedCmp",))
def _for(op: Op, machine: Machine) -> Callable[..., Any]:
    def run(first: Any, end: Any, step: Any, *carried: Any) -> Any:
        number, values = first.dtype.type, list(carried)
        if int(step) <= 0 or op.attributes.get("unsignedCmp"):
            raise Unknown("scf.for that does not count upwards")
        for i in range(int(first), int(end), int(step)):
            machine.spend(1)
            values = machine.run(op.regions[0], [number(i), *values])
        return _handed(op, values)

    return run


@operation("scf.while")
def _while(op: Op, machine: Machine) -> Callable[..., Any]:
    before, after = op.regions

    def run(*carried: Any) -> Any:
        values = list(carried)
        while True:
            machine.spend(1)
            goes_on, *values = machine.run(before, values)
            if not goes_on:
                return _handed(op, values)
            values = machine.run(after, values)

    return run


@operation("func.call", knows=("callee",))
def _call(op: Op, machine: Machine) -> Callable[..., Any]:
    return lambda *arguments: _handed(op, machine.call(op.attributes["callee"], arguments))


@operation("tpu.region")
def _region(op: Op, machine: Machine) -> Callable[..., Any]:
    def run() -> Any:
        with machine.scope():
            return _handed(op, machine.run(op.regions[0], ()))

    return run


@operation("tpu.iteration_bound", knows=("dim",))
def _bound(op: Op, machine: Machine) -> Callable[..., Any]:
    return lambda: np.int32(machine.bounds[op.attributes["dim"]])


@operation(
    "tpu.trace_start", "tpu.trace_stop", "tpu.trace_value", "tpu.delay", "tpu.annotate", "cf.assert",
    knows=("level", "message", "msg", "label"),
)  # fmt: skip
def _nothing(op: Op, machine: Machine) -> Callable[..., Any]:
    """Marks for tools, and time."""
    return lambda *values: None


@operation("tpu.assume_multiple", knows=("multiple",))
def _promise(op: Op, machine: Machine) -> Callable[..., Any]:
    """A promise that is false is found by the compile for a chip, or by the trace; the number stays what it is."""
    return lambda value: value


pure("tpu.device_id", lambda: np.int32(0))
