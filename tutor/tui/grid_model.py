"""The grid walk as pictures: for each operand its array in blocks, and what a step does to them. Pure; needs NumPy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tutor.grid_walk import Index, OperandWalk, follow_law, grid_index, step_count
from tutor.protocol import BlockLaw, BlockWalk, CaseError, CaseFacts, ErrorMap, KernelFacts
from tutor.tui.text import many

type Array = NDArray[np.int64]
type Mark = Literal["now", "before", "later", "never", "again"]
SIGNS: dict[Mark, str] = {"now": "██", "before": "▒▒", "later": "··", "never": "!!", "again": "x2"}
WORDS: dict[Mark, str] = {
    "now": "current",
    "before": "had before",
    "later": "comes later",
    "never": "output that no step has",
    "again": "output opened again (times)",
}
MOST_STEPS = 2_000_000


@dataclass(frozen=True)
class Cell:
    """One cell of a picture: two characters of text and what they mean."""

    text: str
    mark: Mark


@dataclass(frozen=True)
class Picture:
    """An array in blocks, the two last dimensions of it: `rows` of cells, of which each covers `scale` blocks."""

    rows: list[list[Cell]]
    scale: tuple[int, int]
    slice: str


@dataclass(frozen=True, eq=False)
class Operand:
    """One blocked operand of a kernel over its grid. `output` is the entry's output that it is, if it is one."""

    name: str
    walk: OperandWalk
    output: int | None = None

    def says(self, step: int) -> str:
        """What happens to the operand's block at a step."""
        block = ", ".join(map(str, self.walk.block(step)))
        words = {"fetched": "fetched", "reused": "reused", "opened": "new", "kept": "kept"}[self.walk.movement(step)]
        if self.walk.written_back(step):
            words = "written back" if words == "kept" else f"{words}, written back"
        return f"({block}) {words}"

    @cached_property
    def complaints(self) -> list[str]:
        """What is odd about the whole walk: blocks of an output that no step has, or that are opened twice."""
        if not self.walk.output or any(self.walk.element):
            return []
        said = []
        if never := int((self.walk.visits == 0).sum()):
            said.append(f"{many(never, 'block')} never written, such as {self.walk.never_visited(1)[0]}")
        if again := int((self.walk.visits > 1).sum()):
            said.append(f"{many(again, 'block')} opened more than once, such as {self.walk.revisited(1)[0]}")
        return said

    @cached_property
    def first_step(self) -> Array:
        """int64[block_grid]: the first step that has each block, or the number of steps where none has."""
        first = np.full(math.prod(self.walk.block_grid), len(self.walk.blocks), np.int64)
        steps, place = _places(self.walk)
        np.minimum.at(first, place, steps)
        return first.reshape(self.walk.block_grid)

    def picture(self, step: int, rows: int, columns: int) -> Picture:
        """The array at a step, in at most `rows` by `columns` cells."""
        walk = self.walk
        if any(walk.element):
            return Picture([], (1, 1), "")
        block = walk.block(step)
        outer = tuple(min(max(i, 0), n - 1) for i, n in zip(block[:-2], walk.block_grid[:-2], strict=True))
        shape = ([1, 1, *walk.block_grid])[-2:]
        first = self.first_step[outer].reshape(shape)
        visits = walk.visits[outer].reshape(shape)
        scale = -(-shape[0] // rows), -(-shape[1] // columns)
        at = ([0, 0, *block])[-2:]
        down, right = np.arange(0, shape[0], scale[0]), np.arange(0, shape[1], scale[1])
        soonest = np.minimum.reduceat(np.minimum.reduceat(first, down, axis=0), right, axis=1)
        latest = np.maximum.reduceat(np.maximum.reduceat(first, down, axis=0), right, axis=1)
        most = np.maximum.reduceat(np.maximum.reduceat(visits, down, axis=0), right, axis=1)
        steps = len(walk.blocks)

        def cell(r: int, c: int) -> Cell:
            if (r, c) == (at[0] // scale[0], at[1] // scale[1]) and at[0] >= 0 and at[1] >= 0:
                return Cell(SIGNS["now"], "now")
            if walk.output and latest[r, c] == steps:
                return Cell(SIGNS["never"], "never")
            if walk.output and most[r, c] > 1:
                return Cell("x9" if most[r, c] > 9 else f"x{most[r, c]}", "again")
            return Cell(SIGNS["before"], "before") if soonest[r, c] < step else Cell(SIGNS["later"], "later")

        cells = [[cell(r, c) for c in range(len(right))] for r in range(len(down))]
        words = f"[{', '.join(map(str, outer))}, :, :]" if outer else ""
        return Picture(cells, scale, words)


@dataclass(frozen=True, eq=False)
class GridWalk:
    """One kernel of one case: its grid and its operands. `missing` says which operands cannot be shown, and why."""

    case: str
    kernel: str
    grid: Index
    operands: list[Operand]
    missing: str = ""

    @property
    def steps(self) -> int:
        return step_count(self.grid)

    def index(self, step: int) -> str:
        """The grid index in words."""
        return f"({', '.join(map(str, grid_index(step, self.grid)))})"

    def next_change(self, step: int, direction: int) -> int:
        """The nearest step after (or before) at which a block moves; the end of the grid if there is none."""
        changes = np.zeros(self.steps, bool)
        for operand in self.operands:
            changes |= operand.walk.starts_run
        found = np.flatnonzero(changes)
        at = int(np.searchsorted(found, step, side="right" if direction > 0 else "left")) - (direction < 0)
        if 0 <= at < len(found):
            return int(found[at])
        return self.steps - 1 if direction > 0 else 0


def grid_walk(case: CaseFacts, facts: KernelFacts) -> GridWalk:
    """The walk of one kernel of a case."""
    grid = tuple(size or 0 for size in facts.kernel.grid)
    records: list[BlockWalk | BlockLaw] = [*facts.walks, *facts.laws] if facts.steps else []
    operands = [Operand(record.operand, _walk(record, grid), _output(record, facts)) for record in records]
    blocked = [o.name for o in facts.kernel.operands if o.role in ("input", "output") and o.block_shape is not None]
    lost = [name for name in blocked if name not in {operand.name for operand in operands}]
    return GridWalk(case.case, facts.kernel.name, grid, operands, _why(lost, facts.steps))


def _why(lost: Sequence[str], steps: int | None) -> str:
    if not lost:
        return ""
    if steps is None:
        reason = "the grid depends on data"
    elif steps == 0:
        reason = "the grid has no steps"
    elif steps > MOST_STEPS:
        reason = f"a grid of {steps:,} steps is too long to walk"
    else:
        reason = "the index map is not known here, or is no sum over the grid's axes"
    return f"Not shown: {', '.join(lost)} ({reason})."


def _walk(record: BlockWalk | BlockLaw, grid: Index) -> OperandWalk:
    rank = len(record.array_shape)
    if isinstance(record, BlockLaw):
        blocks = follow_law(record.base, record.terms, grid)
    else:
        blocks = np.asarray(record.blocks, np.int64).reshape(len(record.blocks), rank)
    return OperandWalk(
        grid,
        tuple(record.array_shape),
        tuple(record.block_shape),
        blocks,
        record.output is not None,
        element=tuple(record.element),
    )


def _output(record: BlockWalk | BlockLaw, facts: KernelFacts) -> int | None:
    if record.output is None or record.moved or record.output >= len(facts.output_arguments):
        return None
    return facts.output_arguments[record.output]


def _places(walk: OperandWalk) -> tuple[Array, Array]:
    """The steps whose block lies in the array, and the number of that block in row-major order."""
    inside = ((walk.blocks >= 0) & (walk.blocks < np.array(walk.block_grid))).all(axis=1)
    strides = [math.prod(walk.block_grid[d + 1 :]) for d in range(len(walk.block_grid))]
    return np.flatnonzero(inside), (walk.blocks[inside] @ np.array(strides, np.int64)).astype(np.int64)


# ---------------------------------------------------------------- where it is wrong

HEAT = "·░▒▓█"


@dataclass(frozen=True)
class Bad:
    """One cell of an error map that is wrong: its place in the map, and the step that last wrote its first block."""

    row: int
    column: int
    step: int | None


def heat_rows(errors: ErrorMap) -> list[str]:
    """The map in characters, two for a cell: `··` is right; the fuller the square, the larger the error; `NN` is not
    a number."""
    worst = max((x for row in errors.worst for x in row if x is not None), default=0.0)
    low = min((x for row in errors.worst for x in row if x), default=0.0)
    rows = []
    for bad, row in zip(errors.bad, errors.worst, strict=True):
        text = ""
        for count, error in zip(bad, row, strict=True):
            text += "··" if not count else "NN" if error is None else HEAT[_level(error, low, worst)] * 2
        rows.append(text)
    return rows


def _level(error: float, low: float, worst: float) -> int:
    """1 to 4, by the logarithm: errors differ by powers of ten."""
    if worst <= low or error <= low:
        return 4 if error >= worst else 1
    return 1 + min(3, int(4 * math.log(error / low) / math.log(worst / low)))


def bad_cells(errors: ErrorMap, operand: Operand | None) -> list[Bad]:
    """The wrong cells, row by row, with the step that wrote each; without the output's walk no step is known."""
    last = _last_steps(operand) if operand is not None else None
    found = []
    for r, row in enumerate(errors.bad):
        for c, count in enumerate(row):
            if count:
                found.append(Bad(r, c, None if last is None or operand is None else _step(errors, operand, last, r, c)))
    return found


def _last_steps(operand: Operand) -> Array | None:
    walk = operand.walk
    if any(walk.element):
        return None
    last = np.full(math.prod(walk.block_grid), -1, np.int64)
    steps, place = _places(walk)
    np.maximum.at(last, place, steps)
    return last.reshape(walk.block_grid)


def _step(errors: ErrorMap, operand: Operand, last: Array, row: int, column: int) -> int | None:
    shape = operand.walk.array_shape
    lead = np.unravel_index(row * errors.cell[0], shape[:-1]) if len(shape) > 1 else ()
    element = (*(int(i) for i in lead), *([column * errors.cell[1]] if shape else []))
    block = tuple(i // b for i, b in zip(element, operand.walk.block_shape, strict=True))
    step = int(last[block])
    return step if step >= 0 else None


def in_words(name: str, case: str, error: CaseError, cells: Sequence[Bad], walk: GridWalk | None) -> str:
    """One sentence or two about an error map."""
    errors = error.by_block
    if errors is None:
        return ""
    whole = sum(map(len, errors.bad))
    said = (
        f"{name} is wrong in {len(cells)} of {many(whole, 'cell')} of {errors.cell[0]}×{errors.cell[1]} (case {case})."
    )
    if error.max_abs is not None:
        said += f" The largest error is {error.max_abs:.3g}."
    if walk is not None and cells and cells[0].step is not None:
        said += f" The first bad block was last written at step {cells[0].step}, {walk.index(cells[0].step)}."
    return said


def cell_of(errors: ErrorMap, operand: Operand, step: int) -> tuple[int, int] | None:
    """The cell of the map that holds the first element of the operand's block at a step."""
    walk = operand.walk
    start = [int(i) for i in walk.starts[step]]
    if not all(0 <= i < n for i, n in zip(start, walk.array_shape, strict=True)):
        return None
    row = int(np.ravel_multi_index(start[:-1], walk.array_shape[:-1])) if len(start) > 1 else 0
    return row // errors.cell[0], (start[-1] if start else 0) // errors.cell[1]
