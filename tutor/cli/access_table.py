"""The access table in words: for each Ref, how often one grid step goes to memory, and what the pipeline moves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
TOGETHER = ((1,), (2,), (3,), (4,), (5,), (6,), (7,), (8,), (9, 10), (11,), (12,))
"""What is not torn apart in a narrow terminal: `moved` says little without `least`."""


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
    """The access table of one kernel for a terminal, at most `width` wide.

    Where that is too narrow for all columns, those that say nothing of this kernel are left out first; what is still
    too much goes on below, with the names of the Refs again."""
    rows = [HEAD, *table_rows(kernel, facts)]
    parts = _parts(rows, width)
    left_out = [HEAD[column] for column in _silent(rows) if not any(column in part for part in parts)]
    silent = [f"Left out, as nothing stands there: {', '.join(left_out)}."] if left_out else []
    notes = [line for note in [*silent, *table_notes(kernel, facts)] for line in wrap(note, min(width or 88, 88), "  ")]
    name, colon, rest = heading(kernel).partition(":")
    first, *more = wrap(f"{name}{colon}{rest}", width) if width is not None else [f"{name}{colon}{rest}"]
    return [
        paint(name, "bold", color) + first.removeprefix(name) if first.startswith(name) else first,
        *more,
        *(line for columns in parts for line in _part(rows, columns, color, width)),
        *(paint(note, "dim", color) for note in notes),
    ]


def _parts(rows: Sequence[Sequence[str]], width: int | None) -> list[list[int]]:
    """Which columns stand beside each other; the Ref is the first of every part."""
    every = list(range(len(HEAD)))
    if width is None or _wide(rows, every) <= width:
        return [every]
    silent = _silent(rows)
    parts = [[0]]
    for together in TOGETHER:
        columns = [column for column in together if column not in silent]
        if len(parts[-1]) > 1 and _wide(rows, [*parts[-1], *columns]) > width:
            parts.append([0])
        parts[-1] += columns
    return parts


def _silent(rows: Sequence[Sequence[str]]) -> list[int]:
    """Columns in which nothing stands."""
    return [column for column in range(len(HEAD)) if all(row[column] in ("", "·", "-") for row in rows[1:])]


def _wide(rows: Sequence[Sequence[str]], columns: Sequence[int]) -> int:
    return sum(2 + max(len(row[column]) for row in rows) for column in columns)


def _part(rows: Sequence[Sequence[str]], columns: Sequence[int], color: bool, width: int | None) -> Iterator[str]:
    """Some columns of the table as lines; the sums stand where they are."""
    shown = [[row[column] for column in columns] for row in rows]
    sums = any(shown[-1][1:])
    right = [place for place, column in enumerate(columns) if column in NUMBERS]
    lines = table(shown if sums else shown[:-1], right=right, indent="  ")
    head, *body = lines if width is None else [cut(line, width) for line in lines]
    yield paint(head, "dim", color)
    yield from body[:-1]
    yield paint(body[-1], "bold" if sums else "", color)


def _staged(staged: Staged | None) -> tuple[str, str]:
    if staged is None:
        return ("-", "")
    return (size(staged.bytes), size(staged.least_bytes))


def _count(number: int | None) -> str:
    return "×?" if number is None else str(number) if number else "·"
