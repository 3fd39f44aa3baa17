"""Rules on semaphores: what is started must be waited for, and what is waited for must have been started."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from tutor.jaxpr.checks.kernel import KernelView, tuple_text
from tutor.jaxpr.checks.walk import Event
from tutor.jaxpr.compat import Var, space
from tutor.jaxpr.nest import view_bytes
from tutor.jaxpr.scalars import Array, Value
from tutor.protocol import Finding


@dataclass(frozen=True, eq=False)
class _Use:
    """One equation's effect on one semaphore: it gives or takes `amount` (bytes for copies, counts for signals).

    `index` is which semaphore of an array: one value for each dimension, None where unknown."""

    event: Event
    does: Literal["gives", "takes"]
    amount: Value
    index: tuple[Value, ...] | None
    copy: bool

    @property
    def exact(self) -> bool:
        """Whether it is known when this runs, on which semaphore, and with how much."""
        known = self.event.active is not None and not self.event.repeats and self.amount is not None
        return known and self.index is not None and all(i is not None for i in self.index)

    def slots(self, shape: tuple[int, ...], steps: int) -> Array | None:
        """The flat position in the semaphore array at each step."""
        index = [np.broadcast_to(i, (steps,)) for i in self.index or () if i is not None]
        if any(((i < 0) | (i >= n)).any() for i, n in zip(index, shape, strict=True)):
            return None
        return np.ravel_multi_index(tuple(index), shape) if shape else np.zeros(steps, np.int64)


@dataclass(eq=False)
class _Semaphore:
    ref: Var
    uses: list[_Use] = field(default_factory=list)

    def some(self, does: str) -> list[_Use]:
        """The uses that give, or that take."""
        return [u for u in self.uses if u.does == does]


def balance(kernel: KernelView) -> Iterator[Finding]:
    """KT322, KT323, KT324. Every wait needs a start that reaches its semaphore, and every start needs a wait.

    A semaphore counts: for copies in bytes, for signals in ones. A wait with nothing to wait for stops the chip for
    ever. A start that nobody waits for may still be copying when its data is used, or when the kernel has ended."""
    for semaphore in _semaphores(kernel).values():
        if semaphore.ref in kernel.walk.escaped or not _is_ours(kernel, semaphore.ref):
            continue
        gives, takes = semaphore.some("gives"), semaphore.some("takes")
        never_given = [u for u in takes if not any(_may_meet(u, g) for g in gives) and u.event.possible()]
        never_taken = [u for u in gives if not any(_may_meet(u, t) for t in takes) and u.event.possible()]
        if never_given:
            yield _nothing_to_wait_for(kernel, semaphore, never_given[0])
            continue
        if never_taken:
            yield _never_waited(kernel, semaphore, never_taken[0])
        if all(u.exact for u in semaphore.uses) and not any(_remote(u.event) for u in semaphore.uses):
            counted = _count(kernel, semaphore)
            yield from (f for f in counted if f.code == "KT322" or not never_taken)


def _semaphores(kernel: KernelView) -> dict[Var, _Semaphore]:
    found: dict[Var, _Semaphore] = {}
    for event in kernel.walk.events:
        for ref, use in _uses(event):
            found.setdefault(ref, _Semaphore(ref)).uses.append(use)
    return found


def _uses(event: Event) -> Iterator[tuple[Var, _Use]]:
    op = event.op
    if op is None:
        return
    if op.kind in ("signal", "wait") and event.ref is not None:
        value = event.operands[event.eqn.invars.index(op.value)] if op.value in event.eqn.invars else None
        does: Literal["gives", "takes"] = "gives" if op.kind == "signal" else "takes"
        yield event.ref, _Use(event, does, value, event.starts, copy=False)
    elif op.kind in ("copy_start", "copy_wait") and event.semaphore is not None:
        does = "gives" if op.kind == "copy_start" else "takes"
        amount = None if (size := view_bytes(op.view)) is None else np.asarray(size)
        yield event.semaphore, _Use(event, does, amount, event.semaphore_index, copy=True)
        if op.kind == "copy_start" and event.source_semaphore is not None:
            yield event.source_semaphore, _Use(event, "gives", None, None, copy=True)


def _remote(event: Event) -> bool:
    return event.op is not None and (event.op.remote or event.op.waits_for_send)


def _is_ours(kernel: KernelView, ref: Var) -> bool:
    """Only scratch semaphores: one that comes from outside may be signalled from outside."""
    given = kernel.parts.prefetch + kernel.parts.inputs + kernel.parts.outputs
    return (
        ref not in given
        and space(ref.aval) == "semaphore"
        and (ref in kernel.parts.scratch or ref in kernel.walk.scoped)
    )


def _may_meet(a: _Use, b: _Use) -> bool:
    """Whether the two can be about the same semaphore of an array at some step."""
    if not b.event.possible():
        return False
    if a.index is None or b.index is None:
        return True
    for i, j in zip(a.index, b.index, strict=False):
        if i is None or j is None:
            continue
        if not np.intersect1d(np.unique(i), np.unique(j)).size:
            return False
    return True


def _called(kernel: KernelView, semaphore: _Semaphore, use: _Use) -> str:
    name = kernel.walk.name(semaphore.ref)
    values = [None if i is None else np.unique(i) for i in use.index or ()]
    known = [int(v[0]) for v in values if v is not None and len(v) == 1]
    return f"{name}[{', '.join(map(str, known))}]" if known and len(known) == len(values) else name


def _nothing_to_wait_for(kernel: KernelView, semaphore: _Semaphore, use: _Use) -> Finding:
    what = "no copy is started on it" if use.copy else "nothing signals it"
    return kernel.say(
        "KT322",
        f"This waits for {_called(kernel, semaphore, use)}, but {what}. The wait never returns: the kernel hangs.",
        event=use.event,
        ref=semaphore.ref,
        hint="Start the copy before the wait, on the same semaphore: keep the descriptor and call .start(), "
        "then .wait()."
        if use.copy
        else "Signal the same semaphore before waiting for it.",
    )


def _never_waited(kernel: KernelView, semaphore: _Semaphore, use: _Use) -> Finding:
    called = _called(kernel, semaphore, use)
    if use.copy:
        return kernel.say(
            "KT323",
            f"A copy is started on {called} and nothing waits for it. Its data may not be there when it is "
            f"read, and it "
            "may still be running when the kernel ends.",
            event=use.event,
            ref=semaphore.ref,
            hint="Call .wait() on the copy before its data is used.",
        )
    return kernel.say(
        "KT324",
        f"{called} is signalled and nothing waits for it. It must be zero again when the kernel ends.",
        event=use.event,
        ref=semaphore.ref,
        hint="Wait for every signal, or leave the signal out.",
    )


def _count(kernel: KernelView, semaphore: _Semaphore) -> Iterator[Finding]:
    """Add up what is given and taken, in the order in which it happens: step by step, and in program order."""
    steps, shape = len(kernel.walk.steps), tuple(semaphore.ref.aval.shape)
    change = np.zeros((steps, len(semaphore.uses)), np.int64)
    slot = np.zeros_like(change)
    for column, use in enumerate(semaphore.uses):
        at = use.slots(shape, steps)
        if at is None or use.amount is None or use.event.active is None:
            return
        sign = 1 if use.does == "gives" else -1
        change[:, column] = np.where(use.event.active, sign * np.asarray(use.amount, np.int64), 0)
        slot[:, column] = at
    left_over: Finding | None = None
    for number in np.unique(slot):
        mine = np.where(slot == number, change, 0)
        level = mine.cumsum()
        if (level < 0).any():
            first = int(np.argmax(level < 0))
            row, column = divmod(first, len(semaphore.uses))
            taken = -int(mine.flat[first])
            yield _waits_too_often(kernel, semaphore, semaphore.uses[column], row, int(level[first]) + taken, taken)
            return
        if left_over is None and kernel.walk.complete and level.size and level[-1] > 0:
            given = int(np.flatnonzero(mine > 0)[-1]) % len(semaphore.uses)
            left_over = _left_over(kernel, semaphore, semaphore.uses[given], int(level[-1]), int(number), shape)
    if left_over is not None:
        yield left_over


def _waits_too_often(
    kernel: KernelView, semaphore: _Semaphore, use: _Use, row: int, there: int, amount: int
) -> Finding:
    unit = "bytes" if use.copy else "signals"
    return kernel.say(
        "KT322",
        f"At {kernel.step(row)} this waits for {amount} {unit} on {_called(kernel, semaphore, use)}, when only "
        f"{there} have "
        "been started and not yet waited for. The rest never comes: the kernel hangs.",
        event=use.event,
        ref=semaphore.ref,
        hint="Every wait needs a start of its own, before it, on the same semaphore and of the same size.",
    )


def _left_over(
    kernel: KernelView, semaphore: _Semaphore, use: _Use, left: int, at: int, shape: tuple[int, ...]
) -> Finding:
    name = kernel.walk.name(semaphore.ref)
    slot = tuple_text(np.array(np.unravel_index(at, shape))) if shape else ""
    where = f"{name}[{slot.strip('(),')}]" if shape else name
    what = f"{left} bytes of copies on {where} are" if use.copy else f"{left} signals of {where} are"
    return kernel.say(
        "KT324",
        f"When the kernel ends, {what} started and never waited for. Data from such a copy may not be there when it is "
        "read, and the next kernel finds the semaphore non-zero."
        if use.copy
        else f"When the kernel ends, {what} never waited for. The next kernel finds the semaphore non-zero.",
        event=use.event,
        ref=semaphore.ref,
        hint="Wait once for each start.",
    )


RULES = (balance,)
