"""What is known of one refusal of the compiler: its words, the place, the kernel and its memory."""

from __future__ import annotations

import re
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field

from tutor.jaxpr.compat import TpuCall
from tutor.judge.compile.allocations import Piece
from tutor.judge.compile.chips import Memory
from tutor.protocol import Access, Kernel, Operand

_HLO_NAME = re.compile(r"(?:HLO name `|%|:: )(kt\d+)\b")
_MEMREF = re.compile(r"memref<([\dx?]*x)?(\w+?)[,>].*?memory_space<(\w+)")
_ARGUMENT = re.compile(r"%arg(\d+)\b")
_SHORT = {
    "f32": "float32", "bf16": "bfloat16", "f16": "float16", "i32": "int32", "i16": "int16", "i8": "int8", "i4": "int4",
    "i1": "bool", "f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2", "f8E4M3B11FNUZ": "float8_e4m3b11fnuz",
}  # fmt: skip


@dataclass(frozen=True)
class Refusal:
    """One exception of the compiler. `frames` are places in the attempt (line, column), innermost last."""

    text: str
    chip: str
    case: str
    path: str
    libtpu: str
    memory: Memory
    calls: Sequence[TpuCall] = ()
    kernels: Sequence[Kernel] = ()
    pieces: Sequence[Piece] = ()
    frames: Sequence[tuple[int, int | None]] = field(default=())

    @property
    def call_number(self) -> int:
        """Which kernel, in program order, was refused; the first if the message does not say."""
        name = _HLO_NAME.search(self.text)
        return next((i for i, call in enumerate(self.calls) if name and call.name == name[1]), 0)

    @property
    def call(self) -> TpuCall | None:
        return self.calls[self.call_number] if self.calls else None

    @property
    def kernel(self) -> Kernel | None:
        """The facts of that kernel. They are only used where they fit what the artifact holds."""
        return self.kernels[self.call_number] if len(self.kernels) == len(self.calls) and self.kernels else None

    @property
    def limit(self) -> int:
        """VMEM that this kernel may use."""
        own = self.call.vmem_limit_bytes if self.call else None
        return min(own or self.memory.scoped_vmem, self.memory.vmem)

    @property
    def place(self) -> tuple[int | None, int | None]:
        """The line and column of the operation that was refused, as far as the compiler says."""
        found = place_in(self.text, self.path)
        if found is not None:
            return found
        return self.frames[-1] if self.frames else (None, None)

    @property
    def call_line(self) -> int | None:
        """Where the kernel is called."""
        found = place_in(self.call.location, self.path) if self.call else None
        return found[0] if found else None

    @property
    def operation(self) -> str:
        """The text of the MLIR operation that was refused; empty if there is none."""
        _, found, rest = self.text.partition("The MLIR operation involved:")
        return rest.strip().partition("\n")[0] if found else ""

    def operand(self) -> Operand | None:
        """The Ref that the refused operation works on: by its number in the kernel, else by its shape and space."""
        kernel, types = self.kernel, _MEMREF.search(self.operation)
        if kernel is None or types is None:
            return None
        shape = [int(n) for n in (types[1] or "").strip("x").split("x") if n.isdigit()]
        for number in map(int, _ARGUMENT.findall(self.operation)):
            at = number - len(kernel.grid)
            if 0 <= at < len(kernel.operands) and _held(kernel.operands[at]) == shape:
                return kernel.operands[at]
        alike = [o for o in kernel.operands if _held(o) == shape and o.dtype == dtype_of(types[2])]
        return alike[0] if len(alike) == 1 else None

    def copied(self) -> tuple[str | None, int | None]:
        """The source and the line of the copy that was refused, as far as the facts and the compiler say."""
        operand, kernel = self.operand(), self.kernel
        copies = [a for a in kernel.accesses if a.kind == "copy_start"] if kernel else []
        mine = [a for a in copies if operand and operand.name in (a.ref, a.to)] or copies
        at = [a for a in mine if a.line == self.place[0]] or _touching(mine, self.operation) or mine
        ref = at[0].ref if len({a.ref for a in at}) == 1 else operand.name if operand else None
        return ref, at[0].line if len({a.line for a in at}) == 1 else None

    def access_line(self, operand: Operand | None, *kinds: str) -> int | None:
        """The line of the only access of these kinds (to `operand`, if it is known); None if there are several."""
        kernel = self.kernel
        if kernel is None:
            return None
        found = [a for a in kernel.accesses if a.kind in kinds and (operand is None or operand.name in (a.ref, a.to))]
        lines = {a.line for a in _touching(found, self.operation) or found}
        return lines.pop() if len(lines) == 1 else None


def place_in(text: str, path: str) -> tuple[int, int] | None:
    """The first place in the file `path` that a compiler's text names; columns count from 0."""
    found = re.search(rf'"{re.escape(path)}":(\d+):(\d+)', text)
    return (int(found[1]), int(found[2])) if found else None


def frames_in(error: BaseException, path: str) -> list[tuple[int, int | None]]:
    """The places in the file `path` that the exceptions' tracebacks name, innermost last."""
    found: list[tuple[int, int | None]] = []
    link: BaseException | None = error
    while link is not None and not found:
        found = [(f.lineno, None) for f in traceback.extract_tb(link.__traceback__) if f.filename == path and f.lineno]
        link = link.__cause__ or link.__context__
    return found


def dtype_of(short: str) -> str:
    """JAX's name of an MLIR element type."""
    return _SHORT.get(short, short)


def _held(operand: Operand) -> list[int]:
    """The shape that the kernel sees."""
    return [n for n in operand.block_shape if n is not None] if operand.block_shape is not None else operand.shape


def _touching(accesses: list[Access], operation: str) -> list[Access]:
    """Those accesses whose shape occurs in the operation's types."""
    shapes = set(re.findall(r"(?:memref|vector)<([\dx]+)x\w", operation))
    return [a for a in accesses if "x".join(map(str, a.shape)) in shapes]
