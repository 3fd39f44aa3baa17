"""How far a result may be from what is wanted, and how far it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from tutor.protocol import ToleranceSpec

Array = np.ndarray[Any, np.dtype[Any]]

F32_REL_L2, F32_ELEMENTWISE = 1e-5, 1e-4


class Bounds(NamedTuple):
    """`rel_l2` bounds |err| / |want| over the whole array, `elementwise` is the factor in
    |err| <= elementwise * (|want| + rms(want)) for every element.

    With `atol` the bound of an element is NumPy's: |err| <= atol + elementwise * |want|."""

    rel_l2: float
    elementwise: float
    atol: float | None = None

    def limit(self, want: Array, rms: float) -> Array:
        """How far each element may be off, where |want| is `want` and its root mean square `rms`."""
        return self.elementwise * (want + rms) if self.atol is None else self.atol + self.elementwise * want

    @property
    def alike(self) -> float:
        """The relative L2 error up to which two arrays look the same."""
        return self.rel_l2 if self.atol is None else self.elementwise

    def __str__(self) -> str:
        return f"{self.rel_l2:.2g}" if self.atol is None else f"rtol {self.elementwise:.2g}, atol {self.atol:.2g}"


def bounds_for(dtype: np.dtype[Any], given: ToleranceSpec) -> Bounds | None:
    """The bounds for results of `dtype`; None for integers and bools, which are exact (with `rtol` only bools are).

    Below 32 bits both follow the dtype's own step `eps`: half of it for the norm, twice for an element."""
    if given.rtol is not None and given.atol is not None and dtype.kind != "b":
        return Bounds(float("inf"), given.rtol, given.atol)
    if not is_float(dtype):
        return None
    eps = float(ml_dtypes.finfo(dtype).eps)  # type: ignore[no-untyped-call]
    wide = dtype.itemsize >= 4
    rel_l2 = F32_REL_L2 if wide else eps / 2
    elementwise = F32_ELEMENTWISE if wide else 2 * eps
    return Bounds(
        given.rel_l2 if given.rel_l2 is not None else rel_l2,
        given.elementwise if given.elementwise is not None else elementwise,
    )


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether the dtype is a float, NumPy's own or one of ml_dtypes."""
    return dtype.kind == "f" or (dtype.kind == "V" and "float" in dtype.name)


@dataclass(frozen=True, eq=False)
class Measured:
    """One output beside what is wanted.

    `got` and `want` are float64; `bad` marks elements outside their bound; `share` is the largest part of a bound that
    is used (1 is the limit); `relative_l2` and `max_abs` are None where NaN or infinity makes them meaningless."""

    got: Array
    want: Array
    bad: Array
    relative_l2: float | None
    max_abs: float | None
    share: float
    bounds: Bounds | None
    dtype: np.dtype[Any]

    @property
    def ok(self) -> bool:
        """Whether every bound is kept."""
        return self.share <= 1

    @property
    def nan(self) -> Array:
        """Where NaN came and none was wanted."""
        found: Array = np.isnan(self.got) & ~np.isnan(self.want)
        return found


def measure(got: Array, want: Array, bounds: Bounds | None) -> Measured:
    """Compare arrays of equal shape. NaN equals only a wanted NaN, an infinity only the same infinity."""
    dtype = got.dtype
    if bounds is None:
        return _exact(got, want)
    g, w = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(g) & np.isfinite(w)
    same = (np.isnan(g) & np.isnan(w)) | (g == w)
    with np.errstate(invalid="ignore"):  # infinities are left out by `finite`
        error = np.where(finite, np.abs(np.where(finite, g - w, 0.0)), 0.0)
    wanted = np.where(np.isfinite(w), np.abs(w), 0.0)
    count = max(int(np.isfinite(w).sum()), 1)
    norm = float(np.sqrt((wanted**2).sum()))
    limit = bounds.limit(wanted, norm / float(np.sqrt(count)))
    bad = np.where(finite, error > limit, ~same)
    error_norm = float(np.sqrt((error**2).sum()))
    if not bool((finite | same).all()):
        return Measured(g, w, bad, None, None, float("inf"), bounds, dtype)
    relative = error_norm / norm if norm else (0.0 if error_norm == 0 else None)
    shares = np.divide(error, limit, out=np.where(error > 0, np.inf, 0.0), where=limit > 0)
    share = float(shares.max(initial=0.0))
    if error_norm == 0 or bounds.atol is not None:
        norm_share = 0.0
    else:
        norm_share = error_norm / (bounds.rel_l2 * norm) if norm * bounds.rel_l2 else float("inf")
    return Measured(g, w, bad, relative, float(error.max(initial=0.0)), max(share, norm_share), bounds, dtype)


def _exact(got: Array, want: Array) -> Measured:
    with np.errstate(invalid="ignore"):
        bad = np.asarray(got != want) | (np.isnan(want) if want.dtype.kind == "f" else False)
        g, w = got.astype(np.float64), want.astype(np.float64)
    error = np.abs(g - w)
    norm = float(np.sqrt((w**2).sum()))
    relative = float(np.sqrt((error**2).sum())) / norm if norm else (None if bad.any() else 0.0)
    share = float("inf") if bad.any() else 0.0
    return Measured(g, w, bad, relative, float(error.max(initial=0.0)), share, None, got.dtype)
