"""A kernel's call, traced, and what the general rules say of it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from tutor.jaxpr.checks import suspects
from tutor.jaxpr.compat import target
from tutor.protocol import Finding

F32, BF16 = jnp.float32, jnp.bfloat16
BLOCK = (8, 128)
ANY = pl.BlockSpec(memory_space=pl.ANY)
DMA = pltpu.SemaphoreType.DMA


def shape(*dims: int, dtype: Any = F32) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(dims, dtype)


def findings(
    function: Callable[..., Any], *args: Any, source: str | None = None, known: Iterable[int] = ()
) -> list[Finding]:
    """What is said of a function of a test, with lines of the test's own file.

    `known` are the positions of arguments whose contents the rules may look at."""
    with target():
        jaxpr = jax.make_jaxpr(function)(*args)
    return suspects(jaxpr, {i: np.asarray(args[i]) for i in known}, _file_of(function), source=source)


def _file_of(function: Callable[..., Any]) -> str:
    whole = function.func if isinstance(function, functools.partial) else function
    return inspect.getfile(whole)


def codes(function: Callable[..., Any], *args: Any, **kwargs: Any) -> set[str]:
    return {f.code for f in findings(function, *args, **kwargs)}


def alarms(function: Callable[..., Any], *args: Any, **kwargs: Any) -> set[str]:
    """What is more than a note."""
    return {f.code for f in findings(function, *args, **kwargs) if f.severity != "note"}


def only(code: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Finding:
    """The one finding of that code."""
    (found,) = [f for f in findings(function, *args, **kwargs) if f.code == code]
    return found


def line_of(function: Callable[..., Any], text: str) -> int:
    """The line of a function that holds the text."""
    lines, start = inspect.getsourcelines(function)
    return next(start + i for i, line in enumerate(lines) if text in line)


def call(kernel: Callable[..., None], out: tuple[int, ...] = BLOCK, *, dtype: Any = F32, **kwargs: Any) -> Any:
    """The kernel's `pallas_call`, with one output of this shape."""
    return pl.pallas_call(kernel, out_shape=shape(*out, dtype=dtype), **kwargs)


def rows(index_map: Callable[..., Any], block: tuple[int, ...] = BLOCK, **kwargs: Any) -> pl.BlockSpec:
    return pl.BlockSpec(block, index_map, **kwargs)


def copy_kernel(x_ref: Any, o_ref: Any) -> None:
    o_ref[...] = x_ref[...]
