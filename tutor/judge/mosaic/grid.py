"""The grid of one kernel: which window of which array stands in VMEM at each step, and what is written back.

An input's window is filled when its block index changes, an output's is written back then; what of a window lies
outside the array is garbage and is never written. A window of an output is never filled: it holds what nobody wrote.
Interpret mode fills all windows at every step and writes all back, and there an aliased input is a copy."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import tutor.judge.mosaic.arithmetic
import tutor.judge.mosaic.control
import tutor.judge.mosaic.memory
import tutor.judge.mosaic.vectors  # noqa: F401 (these four fill the table)
from tutor.judge.mosaic.machine import MOST_WORK, Machine
from tutor.judge.mosaic.reading import Function
from tutor.judge.mosaic.table import MEANINGS
from tutor.judge.mosaic.types import Array, Type, Unknown, garbage, unwritten

_KNOWN = frozenset(
    {"dimension_semantics", "function_type", "iteration_bounds", "scalar_prefetch", "scratch_operands", "sym_name"}
    | {"tpu.core_type", "window_params"}
)
_OF_A_WINDOW = frozenset({"transform_indices", "window_bounds", "pipeline_mode", "window_kind"})
_OFF_CHIP = ("any", "hbm")


@dataclass(frozen=True)
class Kernel:
    """One kernel: the functions of its module, the kernel's own first, and its aliases from output to input."""

    functions: dict[str, Function]
    aliases: Mapping[int, int]
    outputs: tuple[Type, ...]


@dataclass
class _Window:
    """One argument that goes through VMEM (or SMEM) in blocks: `home` is the whole array."""

    home: Array
    bounds: tuple[int, ...]
    transform: str | None
    lows: tuple[int, ...] | None
    output: bool
    block: Array
    place: tuple[int, ...] | None = None


def run_kernel(
    kernel: Kernel, operands: Sequence[Array], *, work: float = MOST_WORK, as_interpret: bool = False
) -> tuple[list[Array], Machine]:
    """The results of one kernel, given its operands, and the machine that ran it.

    Raises Unknown, TooMuch or Stopped."""
    machine = Machine(kernel.functions, MEANINGS, work=work, as_interpret=as_interpret)
    function = next(iter(kernel.functions.values()))
    with np.errstate(all="ignore"):
        return _Grid(kernel, function, operands, machine).run(), machine


class _Grid:
    def __init__(self, kernel: Kernel, function: Function, operands: Sequence[Array], machine: Machine) -> None:
        self._machine = machine
        self._function = function
        attributes = function.attributes
        if strange := sorted(set(attributes) - _KNOWN):
            raise Unknown(f"a kernel with {strange[0][:60]}")
        if attributes.get("tpu.core_type", "#tpu.core_type<tc>") != "#tpu.core_type<tc>":
            raise Unknown("kernels for another core than the TensorCore")
        self._bounds = tuple(attributes.get("iteration_bounds", ()))
        if any(bound < 0 for bound in self._bounds):
            raise Unknown("a grid whose size is only known when it runs")
        machine.bounds = self._bounds
        first, prefetched = len(self._bounds), attributes["scalar_prefetch"]
        windows, scratch = len(operands) - prefetched + len(kernel.outputs), attributes["scratch_operands"]
        types = function.block.types
        if len(types) != first + prefetched + windows + scratch:
            raise Unknown("a kernel with other arguments than its call")
        self._inputs = [np.array(operand) for operand in operands]
        self._outputs = [self._output(number, type_, kernel.aliases) for number, type_ in enumerate(kernel.outputs)]
        self._prefetched = self._inputs[:prefetched]
        arrays = [*self._inputs[prefetched:], *self._outputs]
        wanted = types[first + prefetched : first + prefetched + windows]
        params = attributes.get("window_params", [{}] * windows)
        self._windows = [
            self._window(type_, array, param, number >= windows - len(kernel.outputs))
            for number, (type_, array, param) in enumerate(zip(wanted, arrays, params, strict=True))
        ]
        self._pairs = self._aliased(kernel.aliases, prefetched)
        self._scratch = [machine.allocate(type_) for type_ in types[len(types) - scratch :]]
        for memory, type_ in zip(self._prefetched, types[first:], strict=False):
            _must_be(memory, type_)

    def _output(self, number: int, type_: Type, aliases: Mapping[int, int]) -> Array:
        """An output in HBM; an aliased one begins as its input, and is one array with it."""
        source = aliases.get(number)
        if source is None:
            return unwritten(type_.shape, type_.dtype, as_interpret=self._machine.as_interpret)
        return self._inputs[source]

    def _window(self, type_: Type, home: Array, param: Mapping[str, Any], output: bool) -> _Window | Array:
        """An argument's window, or the array itself where the kernel gets a Ref into HBM."""
        if strange := sorted(set(param) - _OF_A_WINDOW):
            raise Unknown(f"a window with {strange[0][:60]}")
        if "transform_indices" not in param and type_.space in _OFF_CHIP:
            _must_be(home, type_)
            return home
        if not output and self._machine.as_interpret and any(home is array for array in self._outputs):
            home = home.copy()
        bounds = tuple(param.get("window_bounds", home.shape))
        if len(bounds) != home.ndim:
            raise Unknown("a window of another rank than its array")
        if type_.shape != bounds:
            raise Unknown("a window of another shape than its Ref")
        block = self._machine.allocate(type_)
        lows = None
        if "window_kind" in param:
            padded = re.match(r"#tpu\.element_window<\[([\d, ]*)\], ?\[([\d, ]*)\]>", str(param["window_kind"]))
            if padded is None:
                raise Unknown("a window of its own kind")
            lows = tuple(int(n) for n in padded[1].split(","))
        return _Window(home, bounds, param.get("transform_indices"), lows, output, block)

    def _aliased(self, aliases: Mapping[int, int], prefetched: int) -> list[tuple[_Window, _Window]]:
        """The windows of every input that is aliased, and of the output that it is aliased to."""
        outputs = self._windows[len(self._windows) - len(self._outputs) :]
        pairs = [(self._windows[source - prefetched], outputs[number]) for number, source in aliases.items()]
        return [(into, out) for into, out in pairs if isinstance(into, _Window) and isinstance(out, _Window)]

    def run(self) -> list[Array]:
        """Every step, in order."""
        machine, block = self._machine, self._function.block
        windows = [window for window in self._windows if isinstance(window, _Window)]
        for number in range(math.prod(self._bounds)):
            indices = _indices(number, self._bounds)
            machine.spend(1)
            for window in windows:
                self._move(window, self._place(window, indices))
            given = [window.block if isinstance(window, _Window) else window for window in self._windows]
            before = [(into, out, into.block.copy()) for into, out in self._pairs] if machine.as_interpret else []
            tables = [table.copy() for table in self._prefetched] if machine.as_interpret else self._prefetched
            machine.run(block, [*indices, *tables, *given, *self._scratch])
            if machine.as_interpret:
                for window in windows:
                    self._write_back(window)
                for into, out, held in before:
                    _made_alike(into, out, held)
        for window in windows if not machine.as_interpret else ():
            self._write_back(window)
        return self._outputs

    def _place(self, window: _Window, indices: Sequence[Any]) -> tuple[int, ...]:
        """Where in its array the window begins at this step."""
        if window.transform is None:
            return (0,) * len(window.bounds)
        found = [int(i) for i in self._machine.call(window.transform, [*indices, *self._prefetched])]
        if len(found) != len(window.bounds):
            raise Unknown("an index map of another rank than its array")
        if window.lows is not None:
            return tuple(i - low for i, low in zip(found, window.lows, strict=True))
        place = tuple(i * bound for i, bound in zip(found, window.bounds, strict=True))
        return _pulled_in(place, window.bounds, window.home.shape) if self._machine.as_interpret else place

    def _move(self, window: _Window, place: tuple[int, ...]) -> None:
        as_interpret = self._machine.as_interpret
        if place == window.place and not as_interpret:
            return
        if not as_interpret:
            self._write_back(window)
        window.place = place
        self._machine.spend_elements(window.block.size)
        inside, part = _overlap(place, window.bounds, window.home.shape)
        if (window.output and not as_interpret) or not _is_whole(part, window.bounds):
            window.block[...] = garbage(window.block.dtype, as_interpret=as_interpret)
        if not window.output or as_interpret:
            window.block[part] = window.home[inside]
            self._machine.happened["bytes in"] += window.home[inside].nbytes

    def _write_back(self, window: _Window) -> None:
        if window.place is None or not (window.output or self._machine.as_interpret):
            return
        inside, part = _overlap(window.place, window.bounds, window.home.shape)
        window.home[inside] = window.block[part]
        self._machine.happened["bytes out"] += window.home[inside].nbytes


def _pulled_in(place: Sequence[int], bounds: Sequence[int], shape: Sequence[int]) -> tuple[int, ...]:
    """Interpret mode takes the nearest block that there is for an index that is outside."""
    lasts = [(extent - 1) // max(bound, 1) * bound for bound, extent in zip(bounds, shape, strict=True)]
    return tuple(min(max(start, 0), max(last, 0)) for start, last in zip(place, lasts, strict=True))


def _indices(number: int, bounds: Sequence[int]) -> list[Any]:
    """The grid index of a step: the last axis counts fastest."""
    found: list[Any] = []
    for bound in reversed(bounds):
        number, here = divmod(number, bound)
        found.insert(0, np.int32(here))
    return found


def _made_alike(into: _Window, out: _Window, held: Array) -> None:
    """What interpret mode does with two aliased arrays after a step: the one that was written is copied to the other,
    and of two the input's."""
    if into.block.tobytes() != held.tobytes():
        out.home[...] = into.home
    else:
        into.home[...] = out.home


type _Slices = tuple[slice, ...]


def _overlap(place: Sequence[int], bounds: Sequence[int], shape: Sequence[int]) -> tuple[_Slices, _Slices]:
    """The part of the array that the window covers, and where in the window it lies."""
    inside, part = [], []
    for start, length, extent in zip(place, bounds, shape, strict=True):
        first, end = min(max(start, 0), extent), min(max(start + length, 0), extent)
        inside.append(slice(first, end))
        part.append(slice(first - start, end - start) if end > first else slice(0, 0))
    return tuple(inside), tuple(part)


def _is_whole(part: _Slices, bounds: Sequence[int]) -> bool:
    return all(one == slice(0, bound) for one, bound in zip(part, bounds, strict=True))


def _must_be(memory: Array, type_: Type) -> None:
    if memory.shape != type_.shape or memory.dtype != type_.dtype:
        raise Unknown(f"a Ref of {type_.dtype}{list(type_.shape)} for {memory.dtype}{list(memory.shape)}")
