"""Inputs for each repeat of their own, made on the device.

The oracle's `make_inputs` runs in the judge, on the host, and is too slow for every repeat. So a few of its sets are
placed on the device once, and each repeat takes one of them, drawn at random, with its floats made new on the device:
an array is multiplied by a random factor between 7/8 and 9/8, and every element of it by one of its own between 15/16
and 17/16.
What the oracle meant stays: zeros, signs, NaN behind an end and the infinities of a mask are where they were, and sizes
are as they were. Integers (indices, lengths, tables) stay as the oracle made them, since a changed one may be no valid
input. No two repeats have the same floats, so an answer that was kept from another call is wrong by several percent,
where bounds are below one: linear results by the factor of the whole array, scale-free ones by those of the elements.
Inputs without any float come from the pool alone, so there the front asks for a larger one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tutor.workers.arrays import Array

REACH = 1 / 8


class FreshInputs:
    """`of(n)` are the inputs of repeat n, on the device; asking again gives the same values in other buffers.

    `seed` must be unknown to whoever wrote the programs: it decides what every repeat gets."""

    def __init__(self, pool: Sequence[Sequence[Array]], device: Any, seed: int) -> None:
        self._pool = [[jax.device_put(array, device) for array in one] for one in pool]
        self._seed = seed
        self._key = jax.device_put(jax.random.key(seed % (1 << 63)), device)
        self._renew = jax.jit(_renewed)

    def plain(self) -> list[Any]:
        """The first set as the oracle made it, in buffers of its own."""
        made: list[Any] = jax.block_until_ready([jnp.copy(array) for array in self._pool[0]])
        return made

    def of(self, number: int) -> list[Any]:
        """Fresh inputs of repeat `number` (from 0), ready to be used."""
        which = np.random.default_rng([self._seed, number]).integers(len(self._pool))
        made: list[Any] = jax.block_until_ready(self._renew(self._pool[which], self._key, number))
        return made

    @property
    def words(self) -> str:
        """What is done, in words."""
        count = len(self._pool)
        if not any(map(is_float, self._pool[0])):
            return f"each repeat takes one of {count} sets at random; without floats there is nothing to make new"
        return f"floats are made new on the device for each repeat, all else is one of {count} sets, at random"


def is_float(array: Any) -> bool:
    """Whether an array's elements are made new."""
    return bool(jnp.issubdtype(array.dtype, jnp.floating))


def _renewed(arrays: list[Any], key: Any, number: Any) -> list[Any]:
    """Jitted: the arrays of one set, as the inputs of this repeat. Also copies what is not renewed, so that no buffer
    is seen twice."""
    keys = jax.random.split(jax.random.fold_in(key, number), len(arrays))
    return [
        _jittered(array, one) if is_float(array) else jnp.copy(array) for array, one in zip(arrays, keys, strict=True)
    ]


def _jittered(array: Any, key: Any) -> Any:
    whole, each = jax.random.split(key)
    wide = array.dtype if array.dtype.itemsize > 4 else jnp.float32
    factor = jax.random.uniform(each, array.shape, wide, 1 - REACH / 2, 1 + REACH / 2)
    factor *= jax.random.uniform(whole, (), wide, 1 - REACH, 1 + REACH)
    made = (array.astype(wide) * factor).astype(array.dtype)
    return jnp.where(jnp.isfinite(array) & ~jnp.isfinite(made), array, made)  # the largest numbers stay finite


class Poison:
    """Fills memory of the outputs' size with NaN (or the largest integer) and frees it, so that an output that a
    program never writes does not hold an answer that was freed there before."""

    def __init__(self, outputs: Sequence[Any]) -> None:
        kinds = [(tuple(out.shape), out.dtype) for out in outputs]
        self._fill = jax.jit(lambda: [jnp.full(shape, bad_value(dtype), dtype) for shape, dtype in kinds])

    def spread(self) -> None:
        """Do it; the memory is free again on return."""
        for array in jax.block_until_ready(self._fill()):
            array.delete()


def bad_value(dtype: Any) -> Any:
    """A value that no right answer holds everywhere."""
    if jnp.issubdtype(dtype, jnp.floating):
        return math.nan
    return jnp.iinfo(dtype).max if jnp.issubdtype(dtype, jnp.integer) else 1
