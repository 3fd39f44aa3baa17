"""The access table in words: for each Ref, how often one grid step goes to memory, and what the pipeline moves."""

from __future__ import annotations

from collections.abc import Sequence

from tutor.cli.text import cut, one_line, paint, table, wrap
from tutor.protocol import CaseFacts, Kernel, KernelFacts, Staged
from tutor.tui.access_model import ref_rows
from tutor.tui.text import dims, short_dtype, size

HEAD = (
    "ref", "space", "block", "dtype", "loads", "stores", "accum.", "copies", "bytes/step", "moved", "least", "work",
    "array",
)  # fmt: skip
NUMBERS = range(4, 11)
"""The columns that hold numbers."""


def of_kernels(kernels: Sequence[Kernel], facts: Sequence[CaseFacts]) -> list[tuple[Kernel, KernelFacts | None]]:
    """Every kernel with what else is known of it: the facts of the case that it was traced for."""
    for case in facts:
        if [k.facts_case for k in kernels] == [case.case] * len(case.kernels):
            return list(zip(kernels, case.kernels, strict=True))
    return [(kernel, None) for kernel in kernels]


def grid_text(kernel: Kernel) -> str:
    """`grid 4×2×?`: an extent that depends on data is `?`."""
    return f"grid {dims(kernel.grid)}".replace("·", "?") if kernel.grid else "no grid"


def heading(kernel: Kernel) -> str:
    """The kernel in one line: its grid, and the bytes that cross HBM."""
    moved = f"{size(kernel.bytes_in)} in, {size(kernel.bytes_out)} out over the whole grid"
    return f"{one_line(kernel.name)}: {grid_text(kernel)}; {moved}"


def table_rows(kernel: Kernel, facts: KernelFacts | None = None) -> list[tuple[str, ...]]:
    """The access table below `HEAD`: one row a Ref, and one last row with the sums of one grid step."""
    rows = [
        (
            one_line(row.ref), row.space, dims(row.block), short_dtype(row.dtype),
            *(_count(row.counts[letter]) for letter in "LSAC"), size(row.bytes_per_step), *_staged(row.staged),
            row.work, dims(row.shape),
        )
        for row in ref_rows(kernel, facts)
    ]  # fmt: skip
    sums = map(_count, (kernel.loads, kernel.stores, kernel.accumulates, kernel.copies))
    return [*rows, ("one step", "", "", "", *sums, "", "", "", "", "")]


def table_notes(kernel: Kernel, facts: KernelFacts | None = None) -> list[str]:
    """What a reader of this kernel's table must know to read its numbers right."""
    notes = []
    if any(access.branch for access in kernel.accesses):
        notes.append(
            "An access in a branch counts in the row of its Ref as if the branch were taken. "
            "The sums take the branch that does most."
        )
    if any(access.per_step is None for access in kernel.accesses):
        notes.append("×? is in a loop whose length depends on data.")
    if any(each.bytes > each.least_bytes for each in (facts.staged if facts else ())):
        notes.append(
            "moved is what the pipeline copies over the whole grid; least is what it would be if every block that is "
            "visited moved once. A block moves again when another one was in its place meanwhile."
        )
    return notes


def access_table(
    kernel: Kernel, facts: KernelFacts | None = None, *, color: bool = False, width: int | None = None
) -> list[str]:
    """The access table of one kernel for a terminal; lines longer than `width` are cut."""
    lines = table([HEAD, *table_rows(kernel, facts)], right=NUMBERS, indent="  ")
    head, *rows = lines if width is None else [cut(line, width) for line in lines]
    notes = [line for note in table_notes(kernel, facts) for line in wrap(note, min(width or 88, 88), "  ")]
    name, colon, rest = heading(kernel).partition(":")
    return [
        paint(name, "bold", color) + colon + rest,
        paint(head, "dim", color),
        *rows[:-1],
        paint(rows[-1], "bold", color),
        *(paint(note, "dim", color) for note in notes),
    ]


def _staged(staged: Staged | None) -> tuple[str, str]:
    if staged is None:
        return ("-", "")
    return (size(staged.bytes), size(staged.least_bytes))


def _count(number: int | None) -> str:
    return "×?" if number is None else str(number) if number else "·"
