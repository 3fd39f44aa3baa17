"""Two programs on one device, repeat by repeat: what each is given, when the clock runs, and what is kept for later."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from tutor.judge.device.clock import Program, WallClock, profiled, wall_us
from tutor.judge.device.fresh import FreshInputs, Poison
from tutor.judge.device.profile import times_of
from tutor.judge.device.protocol import Pair, Repeat

ATTEMPT, REFERENCE = "kt_attempt", "kt_reference"
"""What the programs are called in a profile."""

APART = 1 << 30
"""Repeats from this number on are not timed: the first check, and warming up."""


class ClockLost(Exception):
    """The profiler said nothing usable of a batch, so its times are not known by the device's clock."""


class NotThere(Exception):
    """A program returned something that is no array on the device: its work may not be done yet."""


@dataclass(frozen=True)
class Kept:
    """A timed repeat whose outputs are kept, to be compared with the oracle's afterwards."""

    number: int
    outputs: list[Any]


class Contest:
    """`measure` times repeats. Every timed repeat has inputs of its own, both programs get the same, and the outputs of
    the attempt are held against the reference's on the device, outside the clock."""

    def __init__(
        self,
        attempt: Program,
        reference: Program,
        fresh: FreshInputs,
        poison: Poison,
        rng: np.random.Generator,
        *,
        keep: int = 3,
        timed: WallClock = wall_us,
    ) -> None:
        self.clock: Literal["device", "wall"] = "wall"
        self.kept: list[Kept] = []
        self._programs = {ATTEMPT: attempt, REFERENCE: reference}
        self._fresh = fresh
        self._poison = poison
        self._rng = rng
        self._timed = timed
        self._most = keep
        self._seen = 0
        self._apart: list[Any] = []
        self._difference = jax.jit(difference)

    def warm_up(self, times: int, *, profiler: bool) -> None:
        """Run both apart from what is timed, and find out whether the profiler can be the clock."""
        self._run([Repeat(APART + 1 + n, bool(n % 2)) for n in range(times)], keep=False)
        if profiler:
            self.clock = "device"
            try:
                self._run([Repeat(APART + 100 + n, bool(n % 2)) for n in range(times)], keep=False)
            except ClockLost:
                self.clock = "wall"

    def measure(self, repeats: Sequence[Repeat]) -> list[Pair]:
        """The times of these repeats, by `clock`. `ClockLost` if the profiler fails."""
        return self._run(repeats, keep=True)

    def forget(self) -> None:
        """Begin anew, by the wall clock."""
        self.clock, self.kept, self._seen, self._apart = "wall", [], 0, []

    def apart(self) -> list[float]:
        """For each timed repeat, in order: how far the attempt's outputs are from the reference's."""
        return [float(value) for value in self._apart]

    def _run(self, repeats: Sequence[Repeat], *, keep: bool) -> list[Pair]:
        called: list[str] = []
        pairs: list[Pair] = []
        with contextlib.ExitStack() as stack:
            calls = stack.enter_context(profiled()) if self.clock == "device" else []
            for repeat in repeats:
                names = (ATTEMPT, REFERENCE) if repeat.attempt_first else (REFERENCE, ATTEMPT)
                took = self._one(repeat.number, names, keep)
                pairs.append((took[ATTEMPT], took[REFERENCE]))
                called += names
        if self.clock == "wall":
            return pairs
        times = times_of(calls, called)
        if times is None:
            raise ClockLost
        return [
            (a, b) if repeat.attempt_first else (b, a)
            for repeat, a, b in zip(repeats, times[::2], times[1::2], strict=True)
        ]

    def _one(self, number: int, names: Sequence[str], keep: bool) -> dict[str, float]:
        inputs = self._fresh.of(number)
        self._poison.spread()
        outputs: dict[
            str, list[Any]
        ] = {}  # both are alive until the end: the second must not get the first one's memory
        took: dict[str, float] = {}
        for name in names:
            given, took[name] = self._timed(self._programs[name], inputs)
            outputs[name] = arrays_of(given)
        if keep:
            self._apart.append(self._difference(outputs[ATTEMPT], outputs[REFERENCE]))
            self._keep(Kept(number, outputs[ATTEMPT]))
        return took

    def _keep(self, one: Kept) -> None:
        """Keeps a few of all repeats, each with the same chance."""
        self._seen += 1
        if len(self.kept) < self._most:
            self.kept.append(one)
        elif (place := int(self._rng.integers(self._seen))) < self._most:
            self.kept[place] = one


def arrays_of(outputs: Any) -> list[Any]:
    """The arrays that a program gave. What is no array of the device may be a promise of one."""
    leaves: list[Any] = jax.tree.leaves(outputs)
    if not all(isinstance(leaf, jax.Array) and leaf.is_ready() for leaf in leaves):
        raise NotThere
    return leaves


def difference(got: Sequence[Any], want: Sequence[Any]) -> Any:
    """The largest relative L2 difference of two lists of arrays, worked out on the device; infinite where an integer, a
    NaN or an infinity is another."""
    worst = jnp.zeros((), jnp.float32)
    for g, w in zip(got, want, strict=True):
        if g.shape != w.shape or g.dtype != w.dtype:
            return jnp.full((), jnp.inf, jnp.float32)
        same = (g == w) | ((g != g) & (w != w))
        if jnp.issubdtype(g.dtype, jnp.floating):
            g, w = g.astype(jnp.float32), w.astype(jnp.float32)
            finite = jnp.isfinite(g) & jnp.isfinite(w)
            error = jnp.sum(jnp.where(finite & ~same, (g - w) ** 2, 0))
            size = jnp.sum(jnp.where(jnp.isfinite(w), w**2, 0))
            apart = jnp.where(error > 0, jnp.sqrt(error / size), 0)
            same |= finite
        else:
            apart = jnp.zeros((), jnp.float32)
        worst = jnp.maximum(worst, jnp.where(jnp.all(same), apart, jnp.inf))
    return worst
