"""Loads, stores, views, copies and semaphores.

On a TPU a copy that was started may not have moved anything before it is waited for; so nothing is moved before, and
who does not wait finds memory that nobody wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tutor.judge.mosaic.machine import Copy, Machine, Stopped
from tutor.judge.mosaic.reading import Op
from tutor.judge.mosaic.table import operation, segments
from tutor.judge.mosaic.types import Array, Type, Unknown

_NO_OTHER = ("priority", "strict_ordering", "wait_target")


def _inside(machine: Machine, start: int, length: int, extent: int) -> int:
    """The start of `length` elements within `extent`; interpret mode moves what reaches outside."""
    if 0 <= start <= extent - length:
        return start
    if machine.as_interpret and length <= extent:
        return min(max(start, 0), extent - length)
    raise Stopped(f"elements {start} to {start + length - 1} of {extent} are used")


def _part(
    machine: Machine, memory: Array, starts: Sequence[Any], lengths: Sequence[int], strides: Sequence[int] = ()
) -> Array:
    """A view of a part of memory."""
    parts = []
    for axis, (start, length) in enumerate(zip(starts, lengths, strict=True)):
        stride = strides[axis] if strides else 1
        if stride < 1:
            raise Unknown(f"a stride of {stride}")
        reach = (length - 1) * stride + 1
        first = _inside(machine, int(start), reach, memory.shape[axis])
        parts.append(slice(first, first + reach, stride))
    return memory[tuple(parts)]


def _load(machine: Machine, view: Array) -> Array:
    machine.happened["loads"] += 1
    machine.happened["loaded bytes"] += view.nbytes
    return view.copy()


def _store(machine: Machine, view: Array, value: Any) -> None:
    machine.spend_elements(view.size)
    machine.happened["stores"] += 1
    machine.happened["stored bytes"] += view.nbytes
    if value.dtype != view.dtype or (value.ndim and value.shape != view.shape):
        raise Unknown(f"a store of {value.dtype}{list(value.shape)} to {view.dtype}{list(view.shape)}")
    view[...] = value


# ---------------------------------------------------------------- loads and stores


@operation("memref.load", knows=("nontemporal",))
def _load_scalar(op: Op, machine: Machine) -> Callable[..., Any]:
    def run(memory: Array, *place: Any) -> Any:
        return _load(machine, _part(machine, memory, place, (1,) * len(place))).reshape(())[()]

    return run


@operation("memref.store", knows=("nontemporal",))
def _store_scalar(op: Op, machine: Machine) -> Callable[..., Any]:
    def run(value: Any, memory: Array, *place: Any) -> None:
        _store(machine, _part(machine, memory, place, (1,) * len(place)), value)

    return run


@operation("vector.load", "tpu.strided_load", knows=("strides", "nontemporal"))
def _load_vector(op: Op, machine: Machine) -> Callable[..., Any]:
    (type_,), strides = op.types, op.attributes.get("strides", ())
    return lambda memory, *starts: _load(machine, _part(machine, memory, starts, type_.shape, strides))


@operation("vector.store", "tpu.strided_store", knows=("strides", "nontemporal"))
def _store_vector(op: Op, machine: Machine) -> Callable[..., Any]:
    strides = op.attributes.get("strides", ())
    return lambda value, memory, *starts: _store(machine, _part(machine, memory, starts, value.shape, strides), value)


@operation("tpu.vector_load", knows=("strides",))
def _load_masked(op: Op, machine: Machine) -> Callable[..., Any]:
    """What the mask leaves out is whatever it is: here what memory holds that nobody wrote."""
    (type_,) = op.types

    def run(*values: Any) -> Any:
        (memory,), starts, masks = segments(op, values)
        loaded = _load(machine, _part(machine, memory, starts, type_.shape, op.attributes["strides"]))
        return np.where(masks[0], loaded, machine.allocate(type_)) if masks else loaded

    return run


@operation("tpu.vector_store", knows=("strides", "add"))
def _store_masked(op: Op, machine: Machine) -> Callable[..., Any]:
    strides, adds = op.attributes["strides"], op.attributes["add"]

    def run(*values: Any) -> None:
        (value,), (memory,), starts, masks = segments(op, values)
        view = _part(machine, memory, starts, value.shape, strides)
        value = view + value if adds else value
        _store(machine, view, np.where(masks[0], value, view) if masks else value)

    return run


# ---------------------------------------------------------------- views


@operation("tpu.memref_slice")
def _slice(op: Op, machine: Machine) -> Callable[..., Any]:
    (type_,) = op.types

    def run(*values: Any) -> Any:
        (memory,), starts, sizes = segments(op, values)
        if sizes:
            raise Unknown("tpu.memref_slice of a size that is computed")
        return _part(machine, memory, starts, type_.shape)

    return run


@operation(
    "tpu.memref_squeeze", "tpu.memref_reshape", "tpu.reinterpret_cast", "memref.cast", "memref.memory_space_cast",
    "tpu.erase_memref_layout",
)  # fmt: skip
def _reshaped(op: Op, machine: Machine) -> Callable[..., Any]:
    shape = op.types[0].shape
    return lambda memory: memory.reshape(shape, copy=False)


@operation("tpu.memref_bitcast")
def _bitcast(op: Op, machine: Machine) -> Callable[..., Any]:
    dtype = op.types[0].dtype

    def run(memory: Array) -> Array:
        if memory.dtype.itemsize != dtype.itemsize:
            raise Unknown("tpu.memref_bitcast between widths")
        return memory.view(dtype)

    return run


@operation("memref.alloca", "memref.alloc", knows=("alignment",))
def _allocate(op: Op, machine: Machine) -> Callable[..., Any]:
    (type_,) = op.types
    return lambda: machine.allocate(type_)


@operation("tpu.sem_alloc")
def _allocate_semaphores(op: Op, machine: Machine) -> Callable[..., Any]:
    (type_,) = op.types
    return lambda: machine.allocate(_of_semaphores(type_))


def _of_semaphores(type_: Type) -> Type:
    if type_.semaphore is None:
        raise Unknown("semaphores of their own kind")
    return type_


# ---------------------------------------------------------------- copies and semaphores


def _copied(op: Op, values: Sequence[Any]) -> tuple[Array, Array, Array]:
    source, remote, target, semaphore, *devices = segments(op, values)
    if remote or any(devices) or not (len(source) == len(target) == len(semaphore) == 1):
        raise Unknown("copies to other devices or cores")
    return source[0], target[0], semaphore[0]


@operation("tpu.enqueue_dma", knows=_NO_OTHER)
def _start_copy(op: Op, machine: Machine) -> Callable[..., Any]:
    def run(*values: Any) -> None:
        source, target, semaphore = _copied(op, values)
        if source.shape != target.shape or source.dtype != target.dtype:
            raise Unknown("a copy between shapes or dtypes")
        machine.happened["copies"] += 1
        machine.happened["copied bytes"] += target.nbytes
        machine.spend_elements(target.size)
        if machine.as_interpret:
            target[...] = source
        else:
            machine.semaphore(semaphore).pending.append(Copy(source, target))

    return run


@operation("tpu.wait_dma", "tpu.wait_dma2", knows=_NO_OTHER)
def _wait_for_copy(op: Op, machine: Machine) -> Callable[..., Any]:
    def run(*values: Any) -> None:
        _, target, semaphore = _copied(op, values)
        machine.happened["waits"] += 1
        if machine.as_interpret:
            return
        one, awaited = machine.semaphore(semaphore), target.nbytes
        while awaited > 0:
            if one.count > 0:
                had = min(one.count, awaited)
                one.count, awaited = one.count - had, awaited - had
            elif one.pending:
                copy = one.pending.popleft()
                copy.target[...] = copy.source
                one.count += copy.target.nbytes
            else:
                raise Stopped("it waits for a copy that nobody started")

    return run


@operation("tpu.sem_signal")
def _signal(op: Op, machine: Machine) -> Callable[..., Any]:
    def run(*values: Any) -> None:
        semaphore, amount, *devices = segments(op, values)
        if any(devices):
            raise Unknown("signals to other devices or cores")
        machine.semaphore(semaphore[0]).count += int(amount[0])

    return run


@operation("tpu.sem_wait")
def _wait(op: Op, machine: Machine) -> Callable[..., Any]:
    def run(memory: Array, amount: Any) -> None:
        semaphore = machine.semaphore(memory)
        if machine.as_interpret:
            return
        if semaphore.count < int(amount):
            raise Stopped("it waits for a signal that nobody gives")
        semaphore.count -= int(amount)

    return run


@operation("tpu.sem_read")
def _read(op: Op, machine: Machine) -> Callable[..., Any]:
    return lambda memory: np.int32(machine.semaphore(memory).count)
