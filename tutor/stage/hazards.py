"""One run of the attempt in the simulator of TPU memory.

Plain interpret mode builds no memory spaces. This one does: memory that nothing wrote holds NaN, accesses are checked
against bounds, copies move their bytes when they are waited for, and two accesses that nothing orders are a race.
Runs in a child that does one run only; wall limits are enforced from outside, because a kernel that waits for what
never comes cannot be interrupted from Python.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.experimental.pallas import tpu as pltpu

from tutor.findings import finding
from tutor.jaxpr.compat import space, target_chip
from tutor.jaxpr.kernels import KernelParts, kernel_parts
from tutor.jaxpr.normalise import for_simulator
from tutor.jaxpr.rebind import CannotRebind, Rebinding, kernels
from tutor.protocol import Finding, Kernel, Operand, Role
from tutor.stage.explain.buffers import names_of
from tutor.stage.explain.safely import readable
from tutor.stage.explain.simulator import explain_simulator, is_its_own_fault, is_refusal, own_fault
from tutor.stage.listening import Heard, listening
from tutor.stage.refusals import simulator_refused
from tutor.wire import HazardMode

WORK_LIMIT = 512
"""Grid steps times ref accesses that `inspect` simulates. An access costs about 4 ms."""
STEP_LIMIT = 64
"""Grid steps of an exercise's hazard case."""
BYTES_LIMIT = 1 << 30
"""Bytes of operands, blocks and scratch that the simulator may allocate."""

_SEED = 0


@dataclass(frozen=True)
class Simulation:
    """What one run gave: `outputs` in order, unless it stopped. `unavailable`: the simulator cannot run this kernel."""

    outputs: list[np.ndarray[Any, Any]] | None
    findings: list[Finding]
    printed: str
    unavailable: str | None = None


def parameters(mode: HazardMode) -> pltpu.InterpretParams:
    """The simulator's settings for a mode. Memory starts as NaN in all of them: with zeros, forgotten stores pass."""
    match mode:
        case "on_wait":
            return pltpu.InterpretParams(dma_execution_mode="on_wait", out_of_bounds_reads="raise", random_seed=_SEED)
        case "eager":
            return pltpu.InterpretParams(
                dma_execution_mode="eager", detect_races=True, out_of_bounds_reads="raise", random_seed=_SEED
            )
        case "two_cores":
            return pltpu.InterpretParams(
                num_cores_or_threads=2, detect_races=True, out_of_bounds_reads="raise", random_seed=_SEED
            )


def simulate(
    jaxpr: Any,
    arrays: Sequence[Any],
    mode: HazardMode,
    text: str,
    path: str,
    *,
    chip: str = "v5e",
    own: bool = False,
    heard: Heard | None = None,
) -> Simulation:
    """Evaluate a traced attempt with every kernel in the simulator.

    `arrays` are the jaxpr's inputs, flat and in order; `text` is the attempt's source and `path` its file name; `chip`
    is the one that was traced for. `own`: it is a file of the user's own, with which the simulator's faults are not
    held against the kernel (an attempt at an exercise could provoke them). `heard`
    is what `listening()` hears around this call and around the trace, where copies that are never started are told;
    without it only this call is listened to. What the program did wrong never raises; errors of ours do."""
    if heard is None:
        with listening() as heard:
            return simulate(jaxpr, arrays, mode, text, path, chip=chip, own=own, heard=heard)
    # Only two cores need to know which axes are parallel; otherwise the simulator refuses orders that are fine.
    rebinding = Rebinding(parameters(mode), semantics=mode == "two_cores", kernel=for_simulator)
    names = names_of([_operands(part) for kernel in kernels(jaxpr) for part in kernel_parts(kernel.eqn)])
    outputs: list[np.ndarray[Any, Any]] | None = None
    raised: BaseException | None = None
    try:
        with target_chip(chip):
            results = jax.jit(rebinding.as_function(jaxpr))(*arrays)
            outputs = [np.asarray(r) for r in jax.block_until_ready(results)]
    except MemoryError:
        raise
    except Exception as error:
        raised = error
    finally:
        pltpu.reset_tpu_interpret_mode_state()
    # The callback's own exception has the kernel's frames; what comes out of XLA has only its text.
    first = readable(heard.first_exception() or raised)
    if raised is not None and first is not None and (isinstance(raised, CannotRebind) or is_refusal(first)):
        why = f"The simulator cannot run this kernel: {_last_line(first)}"
        return Simulation(None, [], heard.printed(), unavailable=why)
    if raised is not None and first is not None and (cannot := simulator_refused(first, jaxpr)):
        return Simulation(None, [], heard.printed(), unavailable=cannot)
    if own and raised is not None and first is not None and is_its_own_fault(first):
        return Simulation(None, [], heard.printed(), unavailable=own_fault(first))
    findings = explain_simulator(first if raised is not None else None, heard.records(), text, path, names)
    return Simulation(outputs, findings, heard.printed())


def _operands(parts: KernelParts) -> list[Operand]:
    """The refs of a kernel in order, as far as the simulator's numbering needs them."""
    found = []
    roles: tuple[tuple[Role, Sequence[Any]], ...] = (
        ("prefetch", parts.prefetch),
        ("input", parts.inputs),
        ("output", parts.outputs),
        ("scratch", parts.scratch),
    )
    for role, refs in roles:
        for i, ref in enumerate(refs):
            alias = parts.aliases.get(len(parts.prefetch) + i) if role == "input" else None
            mapping = parts.mapping(ref)
            where = mapping.space if mapping is not None else space(ref.aval)
            shape, dtype = list(ref.aval.shape), str(ref.aval.dtype)
            found.append(Operand(parts.names[ref], None, role, where, None, shape, dtype, alias))
    return found


def too_big(
    called: Sequence[Kernel],
    *,
    steps: int | None = None,
    work: int | None = WORK_LIMIT,
    nbytes: int = BYTES_LIMIT,
) -> str | None:
    """Why simulating these kernels would take too long or too much memory, or None.

    `steps` bounds the grid of one kernel, `work` its grid steps times its ref accesses, `nbytes` what it allocates. A
    dynamic grid or loop counts once."""
    for kernel in called:
        count = math.prod(g if g is not None else 1 for g in kernel.grid)
        accesses = sum(a.per_step if a.per_step is not None else 1 for a in kernel.accesses) or 1
        if steps is not None and count > steps:
            return (
                f"The grid of `{kernel.name}` has {count:,} steps here, and the simulator is asked for at most {steps} "
                "(it takes some milliseconds for each access). Use larger blocks."
            )
        if work is not None and count * accesses > work:
            return (
                f"`{kernel.name}` makes {count:,} grid steps x {accesses:,} accesses = {count * accesses:,}, and the "
                f"simulator runs at most {work:,}. Give it smaller arguments."
            )
        needed = _allocated(kernel)
        if needed > nbytes:
            return (
                f"`{kernel.name}` needs {_size(needed)} for its arrays, blocks and scratch, and the simulator "
                f"allocates at most {_size(nbytes)}. Give it smaller arguments, or less scratch."
            )
    return None


def too_big_finding(reason: str) -> Finding:
    """A note with the reason of `too_big`: KT413 if it is about memory, else KT412."""
    code = "KT413" if "allocates at most" in reason else "KT412"
    return finding(code, reason, severity="note", hint="The other judges have run all the same.")


def _allocated(kernel: Kernel) -> int:
    total = 0
    for operand in kernel.operands:
        if operand.space == "semaphore":
            continue
        item = _item_bytes(operand.dtype)
        total += math.prod(operand.shape) * item
        if operand.block_shape is not None:
            total += math.prod(n if n is not None else 1 for n in operand.block_shape) * item
    return total


def _item_bytes(dtype: str) -> int:
    try:
        return max(1, int(jax.numpy.dtype(dtype).itemsize))
    except TypeError:
        return 4


def _size(count: float) -> str:
    unit, *larger = ("bytes", "KiB", "MiB", "GiB")
    while count >= 1024 and larger:
        count, unit = count / 1024, larger.pop(0)
    return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"


def _last_line(exc: BaseException) -> str:
    lines = str(exc).strip().splitlines()
    return lines[-1][:200] if lines else type(exc).__name__
