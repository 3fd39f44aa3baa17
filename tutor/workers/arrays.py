"""Arrays as bytes: `.npz`, never pickled. ml_dtypes (bfloat16 and the float8s) travel as raw unsigned integers with
their name beside them, since `.npz` alone would lose them."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
_RAW = {1: np.uint8, 2: np.uint16}


def dtype_named(name: str) -> np.dtype[Any]:
    """The NumPy dtype called `name`, the ml_dtypes included. `TypeError` if there is none."""
    extra = getattr(ml_dtypes, name, None)
    return np.dtype(extra) if extra is not None else np.dtype(name)


def pack(arrays: Mapping[str, Array]) -> bytes:
    """Arrays by name, as `.npz` bytes."""
    raw: dict[str, Array] = {}
    for name, array in arrays.items():
        if array.dtype.kind == "V" or array.dtype.isbuiltin != 1:
            raw[f"{name}|{array.dtype.name}"] = array.view(_RAW[array.dtype.itemsize])
        else:
            raw[name] = array
    buffer = io.BytesIO()
    np.savez(buffer, **raw)  # type: ignore[arg-type]
    return buffer.getvalue()


def unpack(data: bytes) -> dict[str, Array]:
    """What `pack` made. `ValueError` if the bytes are not that."""
    found: dict[str, Array] = {}
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as loaded:
            for key in loaded.files:
                name, _, dtype = key.partition("|")
                found[name] = loaded[key].view(dtype_named(dtype)) if dtype else loaded[key]
    except ValueError:
        raise
    except Exception as error:
        raise ValueError(f"not an array archive: {error}") from error
    return found


def numbered(outputs: Iterable[Any]) -> dict[str, Array]:
    """Outputs as arrays by name: `out0`, `out1`, …"""
    return {f"out{number}": np.asarray(output) for number, output in enumerate(outputs)}
