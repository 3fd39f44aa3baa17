"""Patterns that a wrong result can have as a whole: a factor, a transpose, a shift, blocks in another order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tutor.judge.tolerance import Array, Measured


class Pattern(NamedTuple):
    """What the result looks like, and what that usually comes from."""

    message: str
    hint: str


def pattern(m: Measured, block: Sequence[int] | None) -> Pattern | None:
    """The first pattern that explains the result; None if none does."""
    if not (np.isfinite(m.got).all() and np.isfinite(m.want).all()) or m.got.size < 2:
        return None
    if not np.any(m.got):
        return Pattern("All of it is 0.", "The store does not happen, or stores what a sum was initialised with.")
    for look in (rearranged, _factor, _offset, _rounded):
        found = look(m, block)
        if found is not None:
            return found
    return None


def rearranged(m: Measured, block: Sequence[int] | None) -> Pattern | None:
    """The right numbers in the wrong places, if that explains all of the result."""
    return _transposed(m, block) or _shifted(m, block) or _blocks_transposed(m, block)


def _close(m: Measured, got: Array, want: Array) -> bool:
    """Whether two arrays agree about as well as the tolerance asks for."""
    loose = 1e-9 if m.bounds is None else max(2 * m.bounds.alike, 1e-6)
    scale = float(np.linalg.norm(want))
    return scale > 0 and float(np.linalg.norm(got - want)) <= loose * scale


def _transposed(m: Measured, block: Sequence[int] | None) -> Pattern | None:
    if m.got.ndim < 2 or m.got.shape[-1] != m.got.shape[-2]:
        return None
    if not _close(m, m.got, np.swapaxes(m.want, -1, -2)):
        return None
    return Pattern(
        "It is the transpose of what is wanted.", "Swap the two factors' roles, the index maps, or the indices."
    )


def _shifted(m: Measured, block: Sequence[int] | None) -> Pattern | None:
    """Shifted along one axis by one block, or by a few elements; the part that falls off does not count."""
    for axis, length in enumerate(m.got.shape):
        size = block[axis] if block is not None else 0
        for by in dict.fromkeys([*([size, -size] if 0 < size < length else []), 1, -1]):
            if abs(by) >= length:
                continue
            here = (slice(None),) * axis
            mine = m.got[(*here, slice(max(by, 0), length + min(by, 0)))]
            theirs = m.want[(*here, slice(max(-by, 0), length + min(-by, 0)))]
            if _close(m, mine, theirs) and not _close(m, mine, m.want[(*here, slice(max(by, 0), length + min(by, 0)))]):
                what = "one block" if size and abs(by) == size else "one element"
                way = "up" if by > 0 else "down"
                return Pattern(
                    f"It is shifted along axis {axis} by {what} ({way}).",
                    "An index map or an index is off by one.",
                )
    return None


def _blocks_transposed(m: Measured, block: Sequence[int] | None) -> Pattern | None:
    """Block (i, j) stands at (j, i), each with its own numbers in order."""
    if block is None or m.got.ndim != 2 or block[0] != block[1] or m.got.shape[0] != m.got.shape[1]:
        return None
    n, b = m.got.shape[0], block[0]
    if n % b or n == b:
        return None
    cut = m.want.reshape(n // b, b, n // b, b).transpose(2, 1, 0, 3).reshape(n, n)
    if not _close(m, m.got, cut):
        return None
    return Pattern("Each block is right, but block (i, j) stands where (j, i) belongs.", "An index map returns (j, i).")


def _factor(m: Measured, block: Sequence[int] | None) -> Pattern | None:
    power = float((m.want**2).sum())
    if not power:
        return None
    factor = float((m.got * m.want).sum()) / power
    if abs(factor - 1) < 1e-2 or not factor or not _close(m, m.got, factor * m.want):
        return None
    if abs(factor + 1) < 1e-3:
        return Pattern("It has the wrong sign.", "A subtraction is the other way round.")
    nearest = round(factor)
    inverse = round(1 / factor)
    if nearest > 1 and abs(factor - nearest) < 1e-2:
        return Pattern(
            f"It is {nearest} times what is wanted.",
            "Something is added more than once: a sum that is not reset, or steps that add the same block again.",
        )
    if inverse > 1 and abs(1 / factor - inverse) < 1e-2:
        return Pattern(
            f"It is one {_ordinal(inverse)} of what is wanted.",
            "A part of the sum is missing or thrown away, or a mean is taken twice.",
        )
    if 0.9 < factor < 1.1:
        return Pattern(
            f"It is {factor:.4g} times what is wanted.",
            "A small part is left out or counted twice, or a sum loses digits to rounding.",
        )
    return Pattern(f"It is {factor:.4g} times what is wanted.", "A scale factor is wrong.")


def _offset(m: Measured, block: Sequence[int] | None) -> Pattern | None:
    difference = m.got - m.want
    mean = float(difference.mean())
    if not mean or not np.allclose(difference, mean, rtol=1e-2, atol=0):
        return None
    return Pattern(f"Every element is off by {mean:.4g}.", "A constant is added that should not be, or left out.")


def _rounded(m: Measured, block: Sequence[int] | None) -> Pattern | None:
    """Right up to a few digits: rounding, not logic."""
    if m.bounds is None or m.relative_l2 is None or m.relative_l2 > 0.03:
        return None
    return Pattern(
        "The numbers are nearly right, so this is rounding and not logic.",
        "Keep sums in float32 (scratch and `preferred_element_type`) and cast once, at the end.",
    )


def _ordinal(n: int) -> str:
    return {2: "half", 3: "third", 4: "quarter"}.get(n, f"{n}th part")
