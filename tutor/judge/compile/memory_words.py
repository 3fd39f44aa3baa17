"""Memory that does not suffice: what each operand and scratch takes, the sum, and what the chip has."""

from __future__ import annotations

import re

from tutor.judge.compile.allocations import Piece, buffers, operand_bytes, operand_of, owners_of, peak, short_tag
from tutor.judge.compile.refusal import Refusal
from tutor.judge.compile.words import Words, number, size
from tutor.protocol import Operand

MOST_NAMED = 6
WHY_TWICE = " because its index map moves and the next block is fetched meanwhile"


def vmem_sum(r: Refusal, m: re.Match[str]) -> Words:
    """The sum of all windows and scratch is over the kernel's limit, or over the chip."""
    over_chip = m[0].startswith("memory space")
    need = peak(r.pieces) or int(number(m["need"]))
    have = r.memory.vmem if over_chip else int(number(m["have"]))
    if need <= have:  # what the compiler adds of its own, such as spill slots
        need = int(number(m["need"]))
    parts = _parts(r)
    listed = f"{'; '.join(parts)}. " if parts else ""
    total = f"Together {size(need, have)}, and " if parts else f"The kernel needs {size(need, have)} of VMEM, and "
    if over_chip:
        message = f"{listed}{total}the chip has {size(have, need)} of VMEM."
        return Words("KT603", message, _smaller(r), _largest(r))
    raised = bool(r.call and r.call.vmem_limit_bytes)
    whose = "`vmem_limit_bytes` of this kernel allows" if raised else "a kernel may use"
    message = f"{listed}{total}{whose} {size(have, need)} of VMEM."
    hint = _smaller(r)
    if need < r.memory.vmem:
        has = size(r.memory.vmem)
        hint += f" {r.chip} has {has}: `pltpu.CompilerParams(vmem_limit_bytes=…)` lets this kernel use more."
    return Words("KT602", message, hint, _largest(r))


def one_allocation(r: Refusal, m: re.Match[str]) -> Words:
    """One window or scratch alone is larger than the memory it is to lie in."""
    need, have, space = int(m["size"]), int(m["have"]), m["space"]
    tag = re.search(r"tag = '([^']*)", m["what"])
    operand = _operand(r, tag[1] if tag else "", need, space)
    name = f"`{operand.name}`" if operand else short_tag(tag[1]) if tag else "one allocation"
    figures = f" ({_figures(operand, need)})" if operand else f" needs {size(need)}"
    if space == "sflag":
        message = (
            f"{name} asks for {need // 4:,} semaphores of 4 bytes, and there are {have // 4:,} in all; the compiler "
            "needs some for the pipeline."
        )
        return Words(
            "KT610", message, "Use one semaphore for each copy that is under way at the same time.", _ref(operand)
        )
    if space == "smem":
        message = (
            f"{name}{figures} would lie in SMEM, which holds {size(have)}. SMEM is the small memory of the scalar "
            "unit, for indices and lengths."
        )
        hint = "Keep the table in HBM (`pl.ANY`) and copy the part that a step needs, or put it into VMEM blocks."
        return Words("KT604", message, hint, _ref(operand))
    message = f"{name}{figures} alone is larger than the VMEM of the chip, {size(have)}."
    return Words("KT603", message, _smaller(r, operand), _ref(operand))


def hbm(r: Refusal, m: re.Match[str]) -> Words:
    """Arrays do not fit the memory of the whole chip."""
    need, have = number(m["need"]), number(m["have"])
    message = (
        f"The arrays of this program need {size(need, have)} of HBM, and the chip has {size(have, need)} for them."
    )
    return Words("KT611", message, "Use smaller arrays, or spread them over several chips with `jax.shard_map`.")


def for_cores(r: Refusal, m: re.Match[str]) -> Words:
    """A grid axis is spread over more cores than there are."""
    axis, steps, cores = m["axis"], m["steps"], int(m["cores"])
    has = "one core" if cores == 1 else f"{cores} cores"
    message = f"Grid axis {axis} is `core_parallel` with {steps} steps, one for each core, but this chip has {has}."
    hint = (
        'Use "parallel": it shares the steps among the cores where there are several, and does nothing where there is '
        "one."
    )
    return Words("KT607", message, hint)


def _parts(r: Refusal) -> list[str]:
    """One clause for each large piece: its name, shape, size, and why it counts twice."""
    used = sorted((p for p in r.pieces if p.used and p.space == "vmem"), key=lambda p: -p.bytes)
    owners = owners_of(r.pieces, r.kernel)
    clauses = [_clause(piece, owners.get(piece.number)) for piece in used[:MOST_NAMED]]
    for i, clause in enumerate(clauses):
        if i != next((j for j, c in enumerate(clauses) if WHY_TWICE in c), i):
            clauses[i] = clause.replace(WHY_TWICE, "")
    if len(used) > MOST_NAMED:
        clauses.append(f"{len(used) - MOST_NAMED} more with {size(sum(p.bytes for p in used[MOST_NAMED:]))}")
    return clauses


def _clause(piece: Piece, operand: Operand | None) -> str:
    if operand is None:
        return f"{short_tag(piece.tag)}: {size(piece.bytes)}"
    count = buffers(piece)
    text = f"`{operand.name}`: {_figures(operand, piece.bytes // count)}"
    if count > 1:
        times = "twice" if count == 2 else f"{count} times"
        text += f", {times}{WHY_TWICE} = {size(piece.bytes)}"
    return text


def _figures(operand: Operand, actual: int) -> str:
    """`128 x 8192 float32 = 4 MiB`, and what padding to whole tiles makes of it."""
    shape = operand.block_shape if operand.block_shape is not None else operand.shape
    plain = operand_bytes(operand)
    text = f"{' x '.join(str(n or 1) for n in shape) or 'one'} {operand.dtype} = {size(plain)}"
    if actual > plain and actual % max(plain, 1):
        text += f", padded to whole tiles {size(actual)}"
    return text


def _operand(r: Refusal, tag: str, need: int, space: str) -> Operand | None:
    if r.kernel is None:
        return None
    where = "semaphore" if space == "sflag" else space
    largest = [o for o in _scratch(r) if o.space == where]
    fitting = [o for o in largest if operand_bytes(o) == need]
    return operand_of(tag, r.kernel) or next(iter(fitting or (largest if len(largest) == 1 else [])), None)


def _scratch(r: Refusal) -> list[Operand]:
    return [o for o in r.kernel.operands if o.role == "scratch"] if r.kernel else []


def _largest(r: Refusal) -> str | None:
    used = [p for p in r.pieces if p.used and p.space == "vmem"]
    largest = max(used, key=lambda p: p.bytes, default=None)
    operand = owners_of(r.pieces, r.kernel).get(largest.number) if largest else None
    return operand.name if operand else None


def _smaller(r: Refusal, operand: Operand | None = None) -> str:
    ref = operand.name if operand else _largest(r)
    operand = operand or next((o for o in r.kernel.operands if o.name == ref), None) if r.kernel else None
    if operand is not None and operand.role == "scratch":
        return f"Make `{ref}` smaller: keep one block on the chip and let the grid walk over the rest."
    which = f" of `{ref}`" if ref else ""
    return f"Make the blocks smaller: halve the longest axis{which} and add a grid axis for it."


def _ref(operand: Operand | None) -> str | None:
    return operand.name if operand else None
