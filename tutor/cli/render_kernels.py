"""What kernels access, as a table in plain terminal text."""

from __future__ import annotations

from collections.abc import Sequence

from tutor.cli.access_table import grid_text
from tutor.cli.marked import COLOURS
from tutor.cli.text import cut, one_line, paint, plural, table, times
from tutor.protocol import Access, Kernel
from tutor.tui.model import LETTERS
from tutor.tui.text import dims, size


def line_of_counts(kernels: Sequence[Kernel]) -> str:
    """The trips between memory and registers in one grid step, summed over the kernels."""
    totals = [
        (_sum([k.loads for k in kernels]), "load", "loads"),
        (_sum([k.stores for k in kernels]), "store", "stores"),
        (_sum([k.accumulates for k in kernels]), "accumulate", "accumulates"),
        (_sum([k.copies for k in kernels]), "copy", "copies"),
    ]
    return ", ".join(plural(n, word, many) for n, word, many in totals if n != 0) or "no loads and no stores"


def kernel_lines(kernel: Kernel, width: int, color: bool) -> list[str]:
    """One kernel: its grid, its accesses, and the bytes that cross HBM."""
    name = one_line(kernel.name)
    lines = [f"{paint(name, 'bold', color)}  {grid_text(kernel)}  (case {one_line(kernel.facts_case)})"]
    head = ("", "ref", "space", "kind", "line", "shape", "dtype", "per step", "bytes")
    rows = [head, *(_row(access) for access in kernel.accesses)]
    if kernel.accesses:
        body = [cut(line, width) for line in table(rows, right=(4, 7, 8), indent="  ")]
        lines += [paint(body[0], "dim", color), *(
            paint(line, COLOURS[access.kind], color) for line, access in zip(body[1:], kernel.accesses, strict=True)
        )]  # fmt: skip
    lines.append(f"  in one grid step: {line_of_counts([kernel])}")
    lines.append(f"  HBM, whole grid: {size(kernel.bytes_in)} in, {size(kernel.bytes_out)} out")
    if any(access.branch for access in kernel.accesses):
        lines.append("  ? in a branch: counted if it is taken")
    return lines


def _row(access: Access) -> tuple[str, ...]:
    kind = access.kind.replace("_", " ") + ("?" if access.branch else "")
    line = "" if access.line is None else str(access.line)
    return (
        LETTERS[access.kind], cut(one_line(access.ref), 24), access.space, kind, line, dims(access.shape), access.dtype,
        times(access.per_step), size(access.bytes_per_step),
    )  # fmt: skip


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [n for n in counts if n is not None]
    return sum(known) if len(known) == len(counts) else None
