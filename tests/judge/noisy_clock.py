"""A machine whose programs have a known ratio, and times as real ones have them: stalls, drift, and busy neighbours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tutor.judge.device.protocol import Pair, Repeat


@dataclass(frozen=True)
class Noise:
    """How the times of a machine are spread, as shares of a time.

    `load` comes and goes slowly and slows both programs (its autocorrelation from call to call is `stays`), `own` is
    each program's own, with the autocorrelation `own_stays`; one call of `1 / stalls` stalls for up to many times its
    length; every call is slower than the one before by `drift`; who goes second is faster by `second`. `call`: the
    microseconds that every call takes beside its program."""

    load: float = 0.02
    stays: float = 0.9
    own: float = 0.03
    own_stays: float = 0.0
    stalls: float = 0.05
    drift: float = 2e-4
    second: float = 0.03
    call: float = 0.0


@dataclass
class NoisyMachine:
    """Times an attempt that takes `ratio` times as long as its reference of 100 µs. The clock ticks every 10 ns."""

    ratio: float
    rng: np.random.Generator
    noise: Noise = Noise()
    calls: int = 0
    _load: float = 0.0
    _own: list[float] = field(default_factory=lambda: [0.0, 0.0])

    def measure(self, repeats: Sequence[Repeat]) -> list[Pair]:
        pairs = []
        for repeat in repeats:
            if repeat.attempt_first:
                attempt, reference = self._time(0, False), self._time(1, True)
            else:
                reference, attempt = self._time(1, False), self._time(0, True)
            pairs.append((attempt, reference))
        return pairs

    def _time(self, program: int, second: bool) -> float:
        noise, rng = self.noise, self.rng
        self._load = _next(self._load, noise.stays, noise.load, rng)
        self._own[program] = _next(self._own[program], noise.own_stays, noise.own, rng)
        self.calls += 1
        us = (100 * self.ratio, 100)[program] + noise.call
        us *= math.exp(self._load + self._own[program] + noise.drift * self.calls)
        us *= 1 + rng.pareto(1.5) if rng.random() < noise.stalls else 1
        return round(us * (1 - noise.second) if second else us, 2)


def _next(value: float, stays: float, spread: float, rng: np.random.Generator) -> float:
    return stays * value + math.sqrt(1 - stays**2) * spread * rng.normal()
