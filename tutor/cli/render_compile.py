"""What `compile` found as text: for each chip the VMEM that is used, window by window; and the speed estimates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tutor.cli.text import cut, one_line, table, wrap
from tutor.ladder.chip_use import ChipUse, by_chip
from tutor.ladder.speed_words import estimate_figures
from tutor.protocol import Compilation
from tutor.tui.text import size

_MOST_WINDOWS = 8


def compile_lines(compilations: Sequence[Compilation], width: int) -> Iterator[str]:
    """The lines below the stage `compile`."""
    for use in by_chip(compilations):
        yield f"     {_chip(use)}"
        if use.largest is not None and use.largest.allocations:
            yield from wrap(_windows(use.largest), width, "       ")


def speed_lines(compilations: Sequence[Compilation], width: int) -> Iterator[str]:
    """The speed estimates, one block a chip: a small table of yours beside the reference's, and what it comes to."""
    for one in compilations:
        figures = estimate_figures(one)
        if figures is None:
            continue
        yield from wrap(figures.title, width, "     ")
        lines = table([("", *figures.names), *((label, *cells) for label, cells in figures.rows)], indent="       ")
        yield from (cut(line, width) for line in lines)
        for words in (figures.verdict, *figures.notes):
            yield from wrap(words, width, "       ")


def _chip(use: ChipUse) -> str:
    words = f"{one_line(use.chip)}: {use.status}"
    if use.failed:
        words += f" ({len(use.failed)} of {use.cases} cases)"
    largest = use.largest
    if largest is not None:
        limit = f" of {size(largest.vmem_limit_bytes)}" if largest.vmem_limit_bytes else ""
        case = f" in case {one_line(largest.case)}" if use.cases > 1 else ""
        words += f", VMEM {size(largest.vmem_bytes)}{limit}{case}"
    return words


def _windows(compilation: Compilation) -> str:
    """`a_ref 8 MiB (2 buffers), acc_ref 64 KiB`: the largest first."""
    vmem = sorted((a for a in compilation.allocations if a.space == "vmem"), key=lambda a: -a.bytes)
    words = []
    for a in vmem[:_MOST_WINDOWS]:
        _, _, buffers = a.tag.partition(", ")
        words.append(f"{one_line(a.operand or a.tag)} {size(a.bytes)}" + (f" ({one_line(buffers)})" if buffers else ""))
    if len(vmem) > _MOST_WINDOWS:
        words.append(f"{len(vmem) - _MOST_WINDOWS} more")
    return ", ".join(words)
