"""The comparison with the oracle: the bounds to the letter, and what a wrong result looks like."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutor.judge.compare import compare
from tutor.judge.tolerance import bounds_for
from tutor.protocol import ArraySpec, CaseSpec, ToleranceSpec

RNG = np.random.default_rng(7)
WANT = RNG.standard_normal((64, 256))
DEFAULT = ToleranceSpec()


def case(shape=(64, 256), dtype="float32", count=1):
    outputs = [ArraySpec(f"out{i}", list(shape), dtype) for i in range(count)]
    return CaseSpec(name="c", inputs=[], outputs=outputs, static={}, sizes={})


def judged(got, want=WANT, dtype="float32", **options):
    return compare([got], [want], case(want.shape, dtype), DEFAULT, **options)


def only(outcome):
    [found] = outcome.findings
    return found


# ---------------------------------------------------------------- the bounds


def test_the_bounds_are_those_of_the_contract():
    bf16 = bounds_for(np.dtype(ml_dtypes.bfloat16), DEFAULT)
    assert bf16[:2] == (2.0**-8, 2.0**-6)
    assert bounds_for(np.dtype(np.float32), DEFAULT)[:2] == (1e-5, 1e-4)
    assert bounds_for(np.dtype(np.float16), DEFAULT)[:2] == (2.0**-11, 2.0**-9)
    assert bounds_for(np.dtype(np.int32), DEFAULT) is None
    assert bounds_for(np.dtype(np.float32), ToleranceSpec(rel_l2=1e-3))[:2] == (1e-3, 1e-4)


def test_equal_arrays_pass_with_nothing_used():
    outcome = judged(WANT.astype(np.float32), WANT.astype(np.float32).astype(np.float64))
    assert (outcome.findings, outcome.share) == ([], 0.0)
    assert outcome.error.relative_l2 == 0.0


def test_rounding_to_bfloat16_passes_and_a_share_is_given():
    outcome = judged(WANT.astype(ml_dtypes.bfloat16), dtype="bfloat16")
    assert outcome.findings == []
    assert 0 < outcome.share < 1
    assert 1e-3 < outcome.error.relative_l2 < 3e-3


@given(st.floats(1.01, 50), st.sampled_from([np.float32, ml_dtypes.bfloat16]), st.booleans())
def test_share_is_one_at_the_limit(times, dtype, below):
    """An error of `times` the bound fails, one that is as much below passes; float64 wants keep rounding away."""
    want = np.ones((8, 8))
    bounds = bounds_for(np.dtype(np.float32), ToleranceSpec(rel_l2=0.1, elementwise=1e9))
    got = want * (1 + bounds.rel_l2 * (1 / times if below else times))
    spec = ToleranceSpec(rel_l2=0.1, elementwise=1e9)
    outcome = compare([got.astype(np.float32)], [want], case((8, 8)), spec)
    assert (outcome.findings == []) is below
    assert outcome.share == pytest.approx(1 / times if below else times, rel=1e-3)


@given(st.integers(-(2**62), 2**62), st.integers(-5, 5))
def test_integers_are_exact(value, off):
    want = np.array([value, 1], np.int64)
    got = np.array([value + off, 1], np.int64)
    outcome = compare([got], [want], case((2,), "int64"), DEFAULT)
    assert (outcome.findings == []) is (off == 0)


def test_bools_are_exact():
    want = np.array([True, False])
    assert compare([want], [want], case((2,), "bool"), DEFAULT).findings == []
    assert compare([~want], [want], case((2,), "bool"), DEFAULT).findings


def test_nan_equals_only_a_wanted_nan_and_infinity_only_itself():
    want = np.array([np.nan, np.inf, -np.inf, 1.0])
    assert judged(want.astype(np.float32), want).findings == []
    for i, wrong in enumerate([1.0, -np.inf, np.nan, np.inf]):
        got = want.astype(np.float32).copy()
        got[i] = wrong
        outcome = judged(got, want)
        assert outcome.findings
        assert outcome.error.first_bad == [i]


def test_a_wanted_zero_needs_a_zero():
    zero = np.zeros((4, 4))
    assert judged(zero.astype(np.float32), zero).findings == []
    assert judged(np.full((4, 4), 1e-30, np.float32), zero).findings


# ---------------------------------------------------------------- other arrays than asked for


def test_another_shape_dtype_or_number():
    f32 = WANT.astype(np.float32)
    assert only(judged(f32[:32])).code == "KT204"
    assert "(32, 256)" in only(judged(f32[:32])).message
    assert only(judged(f32.astype(np.float16))).code == "KT204"
    assert only(compare([f32, f32], [WANT], case(), DEFAULT)).code == "KT204"
    assert only(judged(f32.astype(np.complex64))).code == "KT204"


def test_a_broken_oracle_is_not_the_learners_fault():
    with pytest.raises(ValueError, match="oracle"):
        compare([WANT], [WANT[:3]], case(), DEFAULT)
    with pytest.raises(ValueError, match="oracle"):
        compare([WANT], [WANT, WANT], case(), DEFAULT)


# ---------------------------------------------------------------- what it looks like

BLOCKS = {0: (16, 128)}


def damaged(change):
    got = WANT.astype(np.float32).copy()
    change(got)
    return got


def test_all_nan():
    found = only(judged(np.full_like(WANT, np.nan, np.float32)))
    assert found.code == "KT202"
    assert "All of the result is NaN" in found.message


def test_blocks_of_nan_are_named():
    def change(got):
        got[16:32, 128:] = np.nan

    outcome = judged(damaged(change), blocks=BLOCKS, step_of=lambda output, index: ([1, 1], [3]))
    found = only(outcome)
    assert found.code == "KT202"
    assert "1 of 8 blocks" in found.message
    assert "(1, 1)" in found.message
    assert (outcome.error.first_bad, outcome.error.block, outcome.error.grid_step) == ([16, 128], [1, 1], [3])
    assert outcome.error.relative_l2 is None


def test_nan_in_the_simulator_is_unwritten_memory():
    assert only(judged(np.full_like(WANT, np.nan, np.float32), simulated=True)).code == "KT401"
    assert only(judged(damaged(lambda g: g.__iadd__(1)), simulated=True)).code == "KT410"


def test_unwritten_integers_show_the_fill():
    want = RNG.integers(-9, 9, (16, 128)).astype(np.int32)
    got = want.copy()
    got[8:] = np.iinfo(np.int32).max
    assert only(judged(got, want, "int32", simulated=True, blocks={0: (8, 128)})).code == "KT401"
    got[8:] = np.iinfo(np.int32).min
    assert only(judged(got, want, "int32", blocks={0: (8, 128)})).code == "KT210"


def test_whole_blocks():
    def change(got):
        got[0:16, 0:128] += 1
        got[48:64, 0:128] += 1

    found = only(judged(damaged(change), blocks=BLOCKS))
    assert found.code == "KT210"
    assert "2 of 8 blocks" in found.message
    assert "(0, 0), (3, 0)" in found.message


def test_a_block_that_holds_another_ones_numbers():
    def change(got):
        got[0:16, 0:128] = WANT[16:32, 128:]

    assert "belong in block (1, 1)" in only(judged(damaged(change), blocks=BLOCKS)).message


def test_only_the_edge():
    want = RNG.standard_normal((40, 128))
    got = want.astype(np.float32)
    got[32:] += 1
    found = only(judged(got, want, blocks={0: (16, 128)}))
    assert found.code == "KT211"
    assert "indices 32 to 39 of axis 0" in found.message
    got = want.astype(np.float32)
    got[:, -1] += 1
    assert only(judged(got, want)).code == "KT211"


SQUARE = RNG.standard_normal((64, 64))


@pytest.mark.parametrize(
    ("got", "words"),
    [
        (SQUARE.T, "transpose"),
        (2 * SQUARE, "2 times"),
        (SQUARE / 4, "one quarter"),
        (-SQUARE, "sign"),
        (SQUARE + 3, "off by 3"),
        (np.roll(SQUARE, 16, 0), "shifted along axis 0 by one block"),
        (np.roll(SQUARE, 1, 1), "shifted along axis 1 by one element"),
        (SQUARE.reshape(4, 16, 4, 16).transpose(2, 1, 0, 3).reshape(64, 64), "(j, i)"),
        (0 * SQUARE, "All of it is 0"),
        (SQUARE + 1e-3 * RNG.standard_normal((64, 64)), "rounding"),
    ],
)
def test_patterns(got, words):
    found = only(judged(got.astype(np.float32), SQUARE, blocks={0: (16, 16)}))
    assert found.code == ("KT210" if "(j, i)" in words else "KT201")  # the blocks of the diagonal are right
    assert words in found.message
    assert "relative L2" in found.message


def test_noise_has_no_pattern():
    found = only(judged(RNG.standard_normal((64, 256)).astype(np.float32)))
    assert found.code == "KT201"
    assert "instead of" in found.message


def test_a_norm_that_is_too_large_without_a_bad_element():
    want = np.ones((64, 256))
    got = (want * (1 + 3e-5)).astype(np.float32)
    found = only(judged(got, want))
    assert found.code == "KT201"
    assert "No single element" in found.message


def test_the_second_output_is_named():
    good = WANT.astype(np.float32)
    outcome = compare([good, good + 1], [WANT, WANT], case(count=2), DEFAULT)
    assert "`out1`" in only(outcome).message


@given(st.integers(1, 3), st.integers(0, 2**32 - 1), st.booleans())
def test_any_damage_gives_exactly_one_finding(rank, seed, simulated):
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, 20, rank))
    want = rng.standard_normal(shape)
    got = want.astype(np.float32)
    hit = rng.random(shape) < rng.random()
    hit.flat[0] = True
    got[hit] = rng.choice([np.nan, np.inf, 7.0, 0.0])
    block = {0: tuple(int(n) for n in rng.integers(1, 20, rank))}
    outcome = judged(got, want, blocks=block, simulated=simulated)
    assert len(outcome.findings) == 1
    assert outcome.error.first_bad == [int(i) for i in np.argwhere(hit)[0]]
