"""The types of a Mosaic module, read from their text: what they hold, and what memory that nobody wrote holds."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

MOST_ELEMENTS = 1 << 24
"""The largest array of a kernel that is run here: VMEM holds no more float32 than that."""

DTYPES: dict[str, np.dtype[Any]] = {
    "i1": np.dtype(np.bool_), "i8": np.dtype(np.int8), "i16": np.dtype(np.int16), "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64), "index": np.dtype(np.int64), "f32": np.dtype(np.float32), "f16": np.dtype(np.float16),
    "f64": np.dtype(np.float64), "bf16": np.dtype(ml_dtypes.bfloat16),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn), "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
}  # fmt: skip
_SHAPED = re.compile(r"(vector|memref)<((?:\d+x)*)([^,>]+)(?:, #tpu\.memory_space<(\w+)>)?>$")


class Unknown(Exception):
    """Something of a kernel that this interpreter has no meaning for; `str()` names it."""


@dataclass(frozen=True)
class Type:
    """A scalar, a vector or a memref. `space` is a memref's; semaphores have no dtype but a `semaphore` kind."""

    kind: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    space: str | None = None
    semaphore: str | None = None

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)


@lru_cache(maxsize=4096)
def type_of(text: str) -> Type:
    """Read a type's text. `Unknown` if it is none that is run here, or too large."""
    if text in DTYPES:
        return Type("scalar", (), DTYPES[text])
    found = _SHAPED.match(text)
    if found is None:
        raise Unknown(f"the type {text[:80]}")
    shape = tuple(int(n) for n in found[2].split("x")[:-1])
    if math.prod(shape) > MOST_ELEMENTS or len(shape) > 16:
        raise Unknown(f"an array as large as {text[:80]}")
    element = found[3]
    if element.startswith("!tpu.") and element.endswith("semaphore"):
        return Type(found[1], shape, np.dtype(np.int64), found[4], element.removeprefix("!tpu."))
    if element not in DTYPES:
        raise Unknown(f"the type {element[:80]}")
    return Type(found[1], shape, DTYPES[element], found[4])


def garbage(dtype: np.dtype[Any], *, as_interpret: bool) -> Any:
    """What memory holds that nobody wrote: NaN, and for integers the greatest number. `as_interpret`: what it holds in
    interpret mode, which is the least integer."""
    if dtype.kind == "b":
        return not as_interpret
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min if as_interpret else limits.max
    return np.nan


def unwritten(shape: Sequence[int], dtype: np.dtype[Any], *, as_interpret: bool) -> Array:
    """New memory that nobody has written."""
    return np.full(tuple(shape), garbage(dtype, as_interpret=as_interpret), dtype)
