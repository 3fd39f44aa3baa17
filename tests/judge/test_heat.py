"""The error by cell, against what one would count by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tutor.judge.heat import MOST_CELLS, error_map
from tutor.judge.tolerance import bounds_for, measure
from tutor.protocol import ToleranceSpec

F32 = bounds_for(np.dtype(np.float32), ToleranceSpec())


def mapped(got, want, block):
    made = error_map(1, measure(got, want, F32), block)
    assert made is not None and made.output == 1
    return made


def test_one_bad_block_is_one_cell():
    want = np.ones((8, 12), np.float32)
    got = want.copy()
    got[4:6, 8:12] = 3
    made = mapped(got, want, (2, 4))
    assert made.cell == [2, 4]
    assert made.bad == [[0, 0, 0], [0, 0, 0], [0, 0, 8], [0, 0, 0]]
    assert made.worst[2] == [0, 0, 2]


def test_blocks_at_the_edge_are_smaller():
    want = np.ones((5, 5), np.float32)
    got = want.copy()
    got[4, 4] = 0
    assert mapped(got, want, (2, 2)).bad == [[0, 0, 0], [0, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    ("shape", "block", "cell"),
    [
        ((), (), [1, 1]),
        ((100,), (50,), [1, 50]),
        ((3, 8, 8), (1, 4, 8), [4, 8]),
        ((3, 8, 8), (3, 8, 8), [24, 8]),
        ((3, 8, 8), (2, 4, 8), [1, 8]),  # its rows are not neighbours
        ((2, 3, 8, 8), (1, 2, 8, 4), [16, 4]),
        ((4, 8), None, [1, 1]),
        ((4, 8), (2,), [1, 1]),
    ],
)
def test_a_cell_is_a_block_where_it_can_be(shape, block, cell):
    made = mapped(np.ones(shape, np.float32), np.zeros(shape, np.float32), block)
    assert made.cell == cell
    assert sum(map(sum, made.bad)) == np.prod(shape)


def test_many_blocks_are_put_together_whole():
    made = mapped(np.ones((1000, 256), np.float32), np.zeros((1000, 256), np.float32), (8, 128))
    assert made.cell == [32, 128] and len(made.bad) <= MOST_CELLS and sum(map(sum, made.bad)) == 256000


def test_what_is_no_number_is_none_and_bad():
    want = np.ones((2, 2), np.float32)
    got = np.array([[np.nan, 1], [1, np.inf]], np.float32)
    made = mapped(got, want, (1, 1))
    assert made.worst == [[None, 0], [0, None]] and made.bad == [[1, 0], [0, 1]]


def test_no_elements_have_no_map():
    empty = np.zeros((0, 4), np.float32)
    assert error_map(0, measure(empty, empty, F32), (1, 4)) is None
