"""What a wrong result looks like: NaN where, which blocks, which pattern. Nothing here says right or wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tutor.judge.patterns import pattern, rearranged
from tutor.judge.regions import blocks_of, only_edge, region, whole_blocks
from tutor.judge.tolerance import Array, Measured


@dataclass(frozen=True, eq=False)
class Sheet:
    """One wrong output: its measures, name, first bad index, block shape and the step that wrote that index."""

    measured: Measured
    name: str
    first: tuple[int, ...]
    block: tuple[int, ...] | None
    step: tuple[list[int], list[int]] | None
    several: bool = False

    @property
    def whose(self) -> str:
        """`the result`, or the output's name where there are several."""
        return f"`{self.name}`" if self.several else "the result"


class Said(NamedTuple):
    """A diagnosis in words."""

    code: str
    message: str
    hint: str | None


def diagnose(sheet: Sheet, *, simulated: bool = False) -> Said:
    """The most telling thing about a wrong output. In the simulator NaN is KT401, and other numbers are KT410."""
    for look in (_nan, _never_written, _norm_only, _edge, _blocks, _everywhere):
        said = look(sheet, simulated)
        if said is not None:
            return said
    raise AssertionError


# ---------------------------------------------------------------- memory that nothing wrote


def _nan(sheet: Sheet, simulated: bool) -> Said | None:
    nan = sheet.measured.nan
    if not nan.any():
        return None
    where, hint = _where(sheet, nan, "NaN")
    extra = ""
    if simulated:
        extra = " The simulator fills all memory with NaN, so these numbers come from memory that nothing wrote."
    else:
        extra = " Interpret mode fills memory that nothing wrote with NaN; on a chip it holds whatever was there."
    others = int((sheet.measured.bad & ~nan).sum())
    if others:
        extra += f" {others:,} other elements are wrong numbers."
    return Said("KT401" if simulated else "KT202", f"{where}{extra}{_step(sheet)}", hint)


def _never_written(sheet: Sheet, simulated: bool) -> Said | None:
    """Integers have no NaN: interpret mode fills with the smallest, the simulator with the largest."""
    dtype = sheet.measured.dtype
    if dtype.kind not in "iu":
        return None
    info = np.iinfo(dtype)
    fill = float(info.max if simulated else info.min)
    if not simulated and info.min == 0:
        return None  # zero tells nothing
    filled = sheet.measured.bad & (sheet.measured.got == fill)
    if not filled.any() or filled.sum() < 0.5 * sheet.measured.bad.sum():
        return None
    where, hint = _where(sheet, filled, f"{int(fill)}")
    extra = (
        f" That is the {'largest' if simulated else 'smallest'} {dtype.name}, with which memory is filled that nothing"
    )
    extra += " wrote. On a chip it holds whatever was there."
    if simulated:
        code = "KT401"
    elif only_edge(filled, sheet.block) is not None:
        code = "KT211"
    else:
        code = "KT210" if _partly_right(sheet) else "KT201"
    return Said(code, f"{where}{extra}{_step(sheet)}", hint)


def _where(sheet: Sheet, mask: Array, what: str) -> tuple[str, str]:
    """Which part is `what`, and the usual cause."""
    if mask.all():
        return (
            f"All of {sheet.whose} is {what}.",
            "Look for a sum that is never set to zero before it is added to, an output that is never stored, or a "
            "partial block whose padding enters a sum.",
        )
    never = (
        "Some blocks are never visited or never stored: check the grid and the output's index map, or start from an "
        "array of zeros that is aliased to the output."
    )
    if sheet.block is None:  # the kernel itself stores or copies the parts
        never = (
            "No store and no copy reaches that part in time: look at what is started and waited for. Copies that are "
            "under way on one semaphore at the same time may arrive in any order."
        )
    if (edge := only_edge(mask, sheet.block)) is not None:
        where = f"{_capital(sheet.whose)} is {what} only at its end: {edge}."
        if sheet.block is None:
            return where, never
        return where, "The length is not a multiple of the block: use `pl.cdiv` for the grid, and mask the padding."
    if sheet.block is not None and (found := whole_blocks(mask, sheet.block)) is not None:
        whole, total = found
        return f"{len(whole)} of {total} blocks of {sheet.whose} are {what}: {_blocks_text(whole)}.", never
    share = f"{int(mask.sum()):,} of {mask.size:,} elements"
    return f"{share} of {sheet.whose} are {what}: {region(mask)}.", never


# ---------------------------------------------------------------- wrong numbers


def _norm_only(sheet: Sheet, simulated: bool) -> Said | None:
    m = sheet.measured
    if m.bad.any() or m.bounds is None:
        return None
    relative = m.relative_l2 or 0.0
    message = (
        f"No single element of {sheet.whose} is far off, but all together they are: the relative L2 error is "
        f"{relative:.2g}, and at most {m.bounds.rel_l2:.2g} is allowed. Errors of this kind come from rounding: a sum "
        "or a product that is kept in too narrow a dtype."
    )
    hint = "Keep sums in float32 (scratch and `preferred_element_type`) and cast once, at the end."
    return Said("KT410" if simulated else "KT201", message, hint)


def _edge(sheet: Sheet, simulated: bool) -> Said | None:
    edge = only_edge(sheet.measured.bad, sheet.block)
    if edge is None:
        return None
    message = (
        f"Only the edge of {sheet.whose} is wrong: {edge}. Everything else is right. {_figures(sheet)}{_step(sheet)}"
    )
    hint = "The last block is partial there: mask what lies outside the array, and use `pl.cdiv` for the grid."
    return Said("KT410" if simulated else "KT211", message, hint)


def _blocks(sheet: Sheet, simulated: bool) -> Said | None:
    if sheet.block is None or not _partly_right(sheet):
        return None
    found = whole_blocks(sheet.measured.bad, sheet.block)
    if found is None:
        return None
    whole, total = found
    message = (
        f"{len(whole)} of {total} blocks of {sheet.whose} are wrong, and the others are right: {_blocks_text(whole)}."
    )
    hint = (
        "Look at what differs for these grid steps: index maps, conditions on `program_id`, what is kept between steps."
    )
    moved, seen = _holds_another(sheet, whole[0]), rearranged(sheet.measured, sheet.block)
    if seen is not None:
        message, hint = f"{message} {seen.message}", seen.hint
    elif moved is not None:
        message += f" Block {whole[0]} holds the numbers that belong in block {moved}."
        hint = "The output's or an input's index map sends blocks to the wrong place."
    message += f" {_figures(sheet)}{_step(sheet)}"
    return Said("KT410" if simulated else "KT210", message, hint)


def _everywhere(sheet: Sheet, simulated: bool) -> Said | None:
    m = sheet.measured
    seen = pattern(m, sheet.block)
    share = int(m.bad.sum())
    count = "Every element" if share == m.bad.size else f"{share:,} of {m.bad.size:,} elements"
    verb = "is" if share in (1, m.bad.size) else "are"
    message = f"{count} of {sheet.whose} {verb} wrong. "
    if seen is not None:
        message += seen.message + " "
    message += f"{_figures(sheet)}{_step(sheet)}"
    hint = seen.hint if seen is not None else "Start at the first bad element and follow how it is computed."
    if simulated:
        message += (
            " The simulator keeps memory spaces, windows and copies apart, as a chip does; compare with interpret."
        )
    return Said("KT410" if simulated else "KT201", message, hint)


def _holds_another(sheet: Sheet, block: tuple[int, ...]) -> tuple[int, ...] | None:
    """The block whose wanted numbers stand in `block`, if there is one."""
    if sheet.block is None:
        return None
    m, cuts = sheet.measured, blocks_of(sheet.measured.got.shape, sheet.block)
    mine = m.got[cuts[block]]
    for other, cut in cuts.items():
        wanted = m.want[cut]
        if other != block and wanted.shape == mine.shape and np.any(wanted) and _close(mine, wanted, m):
            return other
    return None


def _close(a: Array, b: Array, m: Measured) -> bool:
    loose = 0.0 if m.bounds is None else 4 * m.bounds.elementwise
    return bool(np.allclose(a, b, rtol=loose, atol=loose * float(np.sqrt(np.mean(b**2)) or 0.0)))


def _partly_right(sheet: Sheet) -> bool:
    return not bool(sheet.measured.bad.all())


def _figures(sheet: Sheet) -> str:
    m, at = sheet.measured, sheet.first
    value = f"At {list(at)} it is {_number(m.got[at])} instead of {_number(m.want[at])}"
    if m.relative_l2 is None:
        return f"{value}."
    if m.bounds is None:
        return f"{value}; the largest error is {m.max_abs:.4g}."
    allowed = f"the relative L2 error is {m.relative_l2:.2g} (allowed: {m.bounds})"
    return f"{value}; {allowed}, the largest {m.max_abs:.3g}."


def _step(sheet: Sheet) -> str:
    if sheet.step is None or not sheet.step[1]:  # without a grid there is one block and one step
        return ""
    block, step = sheet.step
    return f" The first bad element lies in block {tuple(block)}, which grid step {tuple(step)} wrote."


def _blocks_text(blocks: list[tuple[int, ...]], limit: int = 6) -> str:
    shown = ", ".join(map(str, blocks[:limit]))
    return shown if len(blocks) <= limit else f"{shown} and {len(blocks) - limit} more"


def _number(value: float) -> str:
    return f"{value:.6g}"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
