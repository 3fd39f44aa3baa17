"""Pictures of a grid walk and of an error, without a screen."""

from __future__ import annotations

import numpy as np
from msgspec import structs

from tests.tui.fakes import FACTS
from tutor.grid_walk import OperandWalk, find_law, follow_law
from tutor.protocol import BlockLaw, CaseError, ErrorMap
from tutor.tui.grid_model import Operand, bad_cells, grid_walk, heat_rows, in_words
from tutor.tui.model import walkable


def drawn(picture) -> list[str]:
    return ["".join(cell.text for cell in row) for row in picture.rows]


def operand(blocks, shape, block, *, output=True) -> Operand:
    walk = OperandWalk((len(blocks),), tuple(shape), tuple(block), np.array(blocks), output)
    return Operand("o", walk, 0 if output else None)


def test_each_operand_has_its_block_at_each_step() -> None:
    walk = grid_walk(FACTS, FACTS.kernels[0])
    assert (walk.steps, walk.index(37)) == (128, "(1, 0, 5)")
    a, b, o = walk.operands
    assert [x.says(37) for x in (a, b, o)] == ["(1, 5) fetched", "(5, 0) fetched", "(1, 0) kept"]
    assert o.says(39) == "(1, 0) written back" and o.says(40) == "(1, 1) new" and o.output == 0
    assert drawn(o.picture(37, 8, 16)) == ["▒▒▒▒▒▒▒▒", "██······", "········", "········"]
    assert walk.next_change(37, 1) == 38 and walk.next_change(127, 1) == 127 and walk.next_change(0, -1) == 0


def test_an_array_of_many_blocks_is_scaled_to_fit() -> None:
    picture = operand([[i, 0] for i in range(100)], (100, 8), (1, 8)).picture(50, 10, 16)
    assert picture.scale == (10, 1)
    assert drawn(picture) == ["▒▒"] * 5 + ["██"] + ["··"] * 4


def test_outputs_that_are_never_written_or_opened_again_are_marked() -> None:
    odd = operand([[0], [1], [0]], (4,), (1,))
    assert drawn(odd.picture(1, 4, 8)) == ["x2██!!!!"]
    assert odd.complaints == [
        "2 blocks never written, such as (2,)",
        "1 block opened more than once, such as (0,)",
    ]
    plain = operand([[0], [1], [0]], (4,), (1,), output=False)
    assert drawn(plain.picture(1, 4, 8)) == ["▒▒██····"] and not plain.complaints


def test_four_dimensions_show_the_slice_of_now() -> None:
    blocks = [[b, h, i, 0] for b in range(2) for h in range(3) for i in range(2)]
    picture = operand(blocks, (2, 3, 16, 8), (1, 1, 8, 8)).picture(9, 8, 8)
    assert picture.slice == "[1, 1, :, :]" and drawn(picture) == ["▒▒", "██"]
    assert drawn(operand([[], []], (), ()).picture(0, 4, 4)) == ["██"]


def test_a_million_steps_are_walked_from_a_law() -> None:
    grid = (100, 100, 100)
    law = BlockLaw(
        operand="o_ref", array_shape=[800, 12800], block_shape=[8, 128], base=[0, 0],
        terms=[[[1], [0], [0]], [[0], [1], [0]]], output=0,
    )  # fmt: skip
    kernel = structs.replace(FACTS.kernels[0].kernel, grid=list(grid))
    facts = structs.replace(FACTS.kernels[0], kernel=kernel, steps=10**6, walks=[], laws=[law])
    walk = grid_walk(FACTS, facts)
    (o,) = walk.operands
    assert o.says(999_999) == "(99, 99) written back" and not o.complaints
    assert len(o.picture(500_000, 8, 16).rows) == 8
    assert (
        walk.missing == "Not shown: a_ref, b_ref (the index map is not known here, or is no sum over the grid's axes)."
    )
    found = find_law(follow_law(law.base, law.terms, grid), grid)
    assert found == (law.base, law.terms)


def test_what_cannot_be_walked_is_said() -> None:
    kernel = structs.replace(FACTS.kernels[0].kernel, grid=[None])
    for steps, words in ((None, "depends on data"), (5_000_000, "5,000,000 steps"), (0, "no steps")):
        facts = structs.replace(FACTS.kernels[0], kernel=kernel, steps=steps, walks=[])
        walk = grid_walk(FACTS, facts)
        assert words in walk.missing and not walk.operands
    none = structs.replace(FACTS.kernels[0].kernel, grid=[])
    assert not walkable([structs.replace(FACTS, kernels=[structs.replace(FACTS.kernels[0], kernel=none)])])
    assert walkable([FACTS]) == [(FACTS, FACTS.kernels[0])]


ERRORS = ErrorMap(
    output=0, cell=[128, 128],
    bad=[[0, 5, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0], [9, 0, 0, 0]],
    worst=[[0.0, 1e-3, 0.0, 0.0], [0.0] * 4, [0.0, 0.0, 10.0, 0.0], [None, 0.0, 0.0, 0.0]],
)  # fmt: skip


def test_the_heat_map_grows_with_the_error_and_names_the_step() -> None:
    assert heat_rows(ERRORS) == ["··░░····", "········", "····██··", "NN······"]
    walk = grid_walk(FACTS, FACTS.kernels[0])
    cells = bad_cells(ERRORS, walk.operands[2])
    assert [(c.row, c.column, c.step) for c in cells] == [(0, 1, 15), (2, 2, 87), (3, 0, 103)]
    said = in_words("o", "square", CaseError(0.1, 10.0, by_block=ERRORS), cells, walk)
    assert said == (
        "o is wrong in 3 of 16 cells of 128×128 (case square). The largest error is 10."
        " The first bad block was last written at step 15, (0, 1, 7)."
    )


def test_without_a_walk_no_step_is_named() -> None:
    assert {cell.step for cell in bad_cells(ERRORS, None)} == {None}
    assert "step" not in in_words("o", "c", CaseError(0.1, 10.0, by_block=ERRORS), bad_cells(ERRORS, None), None)


def test_one_size_of_error_is_all_full() -> None:
    same = ErrorMap(output=0, cell=[1, 1], bad=[[1, 1]], worst=[[2.0, 2.0]])
    assert heat_rows(same) == ["████"]
