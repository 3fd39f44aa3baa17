"""The grid walk against brute force: one step after another, one element after another."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tutor.grid_walk import OperandWalk, find_law, follow_law, grid_index, step_count, step_number, step_that_wrote

grids = st.lists(st.integers(1, 4), max_size=4).map(tuple)


@st.composite
def walks(draw):
    """A random operand: any blocks at any step, also out of range and hanging over the edge."""
    grid = draw(grids)
    rank = draw(st.integers(1, 3))
    shape = tuple(draw(st.integers(1, 7)) for _ in range(rank))
    block = tuple(draw(st.integers(1, 4)) for _ in range(rank))
    steps = step_count(grid)
    index = st.tuples(*(st.integers(-1, n) for n in shape))
    blocks = np.array(draw(st.lists(index, min_size=steps, max_size=steps)), np.int64).reshape(steps, rank)
    return OperandWalk(grid, shape, block, blocks, draw(st.booleans()), 4)


def elements(walk, step):
    """The elements of the array that the block at a step holds."""
    ranges = (
        range(max(0, i * b), min(n, i * b + b))
        for i, b, n in zip(walk.block(step), walk.block_shape, walk.array_shape, strict=True)
    )
    return set(itertools.product(*ranges))


@given(grids)
def test_steps_and_indices_are_inverse_and_ordered(grid):
    everything = list(itertools.product(*map(range, grid)))
    assert [grid_index(k, grid) for k in range(step_count(grid))] == everything
    assert [step_number(i, grid) for i in everything] == list(range(len(everything)))


@pytest.mark.parametrize("step", [-1, 6])
def test_a_step_outside_the_grid_is_refused(step):
    with pytest.raises(IndexError, match="outside a grid of 6 steps"):
        grid_index(step, (2, 3))


@pytest.mark.parametrize("index", [(2, 0), (0, -1), (0,)])
def test_an_index_outside_the_grid_is_refused(index):
    with pytest.raises(IndexError, match="outside the grid"):
        step_number(index, (2, 3))


@settings(max_examples=200)
@given(walks())
def test_movement_and_bytes(walk):
    current, moved, transfers, distinct = None, 0, 0, {}
    for step in range(step_count(walk.grid)):
        new = walk.block(step) != current
        current = walk.block(step)
        assert walk.movement(step) == (("opened" if new else "kept") if walk.output else "fetched" if new else "reused")
        if new:
            transfers += 1
            moved += 4 * len(elements(walk, step))
        distinct[current] = 4 * len(elements(walk, step))
        last = step + 1 == step_count(walk.grid) or walk.block(step + 1) != current
        assert walk.written_back(step) == (walk.output and last)
    assert (walk.transfers, walk.bytes_moved(), walk.least_bytes()) == (transfers, moved, sum(distinct.values()))


@settings(max_examples=200)
@given(walks())
def test_visits(walk):
    runs = [key for key, _ in itertools.groupby(walk.block(k) for k in range(step_count(walk.grid)))]
    everything = list(itertools.product(*map(range, walk.block_grid)))
    assert walk.never_visited() == [b for b in everything if b not in runs]
    assert walk.revisited() == [b for b in everything if runs.count(b) > 1]
    assert walk.never_visited(most=1) == walk.never_visited()[:1]
    outside = [k for k in range(step_count(walk.grid)) if not elements(walk, k)]
    assert walk.out_of_range() == (outside[0] if outside else None)


@settings(max_examples=200)
@given(walks(), st.data())
def test_the_step_that_wrote(walk, data):
    element = data.draw(st.tuples(*(st.integers(0, n - 1) for n in walk.array_shape)))
    wrote = [k for k in range(step_count(walk.grid)) if element in elements(walk, k)]
    expected = (walk.block(wrote[-1]), grid_index(wrote[-1], walk.grid)) if wrote else None
    assert step_that_wrote(walk, element) == expected


def test_maps_that_count_elements():
    walk = OperandWalk((3,), (10,), (4,), np.array([[0], [3], [6]]), False, 2, (True,))
    assert walk.bytes_moved() == 3 * 4 * 2
    assert step_that_wrote(walk, (4,)) == ((3,), (1,))
    with pytest.raises(ValueError, match="no fixed grid of blocks"):
        walk.never_visited()


def test_an_element_of_another_rank_is_refused():
    walk = OperandWalk((), (4, 4), (4, 4), np.zeros((1, 2), int), True)
    with pytest.raises(IndexError, match="not an index of an array of rank 2"):
        step_that_wrote(walk, (1,))


def test_a_scalar_has_one_block():
    walk = OperandWalk((2,), (), (), np.zeros((2, 0), int), True)
    assert (walk.transfers, walk.bytes_moved(), walk.never_visited()) == (1, 4, [])
    assert step_that_wrote(walk, ()) == ((), (1,))


def test_a_million_steps():
    grid = (100, 100, 100)
    steps = np.indices(grid).reshape(3, -1)
    walk = OperandWalk(grid, (800, 12800), (8, 128), steps[:2].T, True)
    assert (walk.transfers, walk.bytes_moved()) == (10_000, 800 * 12800 * 4)
    assert (walk.never_visited(), walk.revisited(), walk.out_of_range()) == ([], [], None)
    assert step_that_wrote(walk, (799, 0)) == ((99, 0), (99, 0, 99))


@given(grids, st.integers(0, 3), st.data())
def test_a_sum_over_axes_is_found_and_followed(grid, rank, data):
    number = st.integers(-3, 3)
    base = data.draw(st.lists(number, min_size=rank, max_size=rank))
    terms = [[data.draw(st.lists(number, min_size=n, max_size=n)) if n > 1 else [0] for n in grid] for _ in range(rank)]
    blocks = np.array(
        [
            [base[d] + sum(terms[d][k][i] for k, i in enumerate(index)) for d in range(rank)]
            for index in itertools.product(*map(range, grid))
        ],
        np.int64,
    ).reshape(step_count(grid), rank)
    law = find_law(blocks, grid)
    assert law is not None and (follow_law(*law, grid) == blocks).all()


def test_a_product_of_axes_is_no_sum():
    assert find_law(np.array([[0], [0], [0], [1]]), (2, 2)) is None


def test_a_law_for_another_grid_is_refused():
    with pytest.raises(ValueError, match="3 shares for a grid axis of 2"):
        follow_law([0], [[[0, 1, 5]]], (2,))
