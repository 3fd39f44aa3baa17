"""Index maps as they were lowered, worked out for all grid steps, against the same in Python's integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from kernel_samples import f32
from lowering import made

from tutor.jaxpr import index_functions
from tutor.jaxpr.index_functions import Scalars, TooLong
from tutor.jaxpr.lowered import LoweredKernel, read_lowered

GRID = (5, 7)


def lowered(index: Callable[[Any, Any], Any]) -> LoweredKernel:
    """A kernel whose index map gives this."""

    def kernel(x_ref: Any, o_ref: Any) -> None:
        o_ref[...] = x_ref[...]

    def function(x: Any) -> Any:
        spec = pl.BlockSpec((8, 128), lambda i, j: (index(i, j), 0))
        out = pl.BlockSpec((8, 128), lambda i, j: (i, j))
        return pl.pallas_call(kernel, grid=GRID, in_specs=[spec], out_specs=out, out_shape=f32(40, 896))(x)

    artifact, *_ = made(function, {"x": f32(800, 128)})
    return read_lowered(jax.export.deserialize(bytearray(artifact))).kernels[0]


MAPS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[int, int], int]]] = {
    "quotient rounded down": (lambda i, j: (j - 3 * i) // 2, lambda i, j: (j - 3 * i) // 2),
    "remainder": (lambda i, j: (j - 3 * i) % 4, lambda i, j: (j - 3 * i) % 4),
    "cut off": (lambda i, j: lax.div(j - 5, 2), lambda i, j: int((j - 5) / 2)),
    "chosen": (lambda i, j: jnp.where(i > j, i, 2 * j), lambda i, j: i if i > j else 2 * j),
    "clipped": (lambda i, j: jnp.clip(i * j, 2, 9), lambda i, j: min(max(i * j, 2), 9)),
    "bits": (lambda i, j: (i ^ j) & 6 | 1 << i, lambda i, j: (i ^ j) & 6 | 1 << i),
    "branch": (
        lambda i, j: lax.cond(i < 2, lambda i, j: i + j, lambda i, j: i * j, i, j),
        lambda i, j: i + j if i < 2 else i * j,
    ),
    "loop": (lambda i, j: lax.fori_loop(0, 4, lambda k, c: c + k * i, j), lambda i, j: j + 6 * i),
    "loop of the step": (lambda i, j: lax.fori_loop(0, i, lambda k, c: c + k, j), lambda i, j: j + i * (i - 1) // 2),
    "while": (
        lambda i, j: lax.while_loop(lambda c: c < 20, lambda c: c + 1 + i, j),
        lambda i, j: next(c for c in range(j, 40, 1 + i) if c >= 20),
    ),
    "unsigned": (
        lambda i, j: (j.astype(jnp.uint32) // jnp.uint32(3)).astype(jnp.int32) + i,
        lambda i, j: j // 3 + i,
    ),
    "floats": (lambda i, j: jnp.floor(i * 0.5 + j).astype(jnp.int32), lambda i, j: int(i * 0.5 + j)),
    "the same": (lambda i, j: 3, lambda i, j: 3),
}  # fmt: skip


@pytest.mark.parametrize("name", MAPS)
def test_an_index_map(name: str) -> None:
    index, plain = MAPS[name]
    blocks = lowered(index).blocks[0]
    assert blocks is not None
    assert blocks.tolist() == [[plain(i, j), 0] for i in range(GRID[0]) for j in range(GRID[1])]


def test_a_loop_without_end_is_given_up() -> None:
    assert lowered(lambda i, j: lax.while_loop(lambda c: c >= 0, lambda c: c * 0 + i, j)).blocks[0] is None


def test_more_work_than_is_allowed_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_functions, "MOST_CELLS", 10)
    assert lowered(lambda i, j: i + j).blocks[0] is None


def test_what_is_not_in_the_table_is_unknown() -> None:
    assert lowered(lambda i, j: jnp.exp(i * 1.0).astype(jnp.int32)).blocks[0] is None


def test_an_operation_that_is_counted() -> None:
    scalars = Scalars(lowered(lambda i, j: i).function)
    scalars.left = 0
    with pytest.raises(TooLong):
        scalars.spend()
    assert np.asarray(scalars.left) < 0
