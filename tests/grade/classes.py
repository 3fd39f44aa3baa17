"""A small set that can be graded, attempts at it, and a ladder that only pretends to judge."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, cast

import msgspec

from tests.tiny_set import write_tiny
from tests.unit.verdicts import verdict
from tutor.grade.judging import Asked, Judging
from tutor.grade.names import Slugs
from tutor.grade.overrides import Overrides
from tutor.grade.run import Run
from tutor.grade.submissions import find_class
from tutor.ladder.check import Ladder
from tutor.ladder.events import CheckFinished, Event
from tutor.ladder.proof_cache import Proofs
from tutor.protocol import AttemptId, CaseResult, StageResult, Tier, Verdict
from tutor.sets import Exercise, ExerciseSet

RIGHT = """\
import jax
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2


def scale(x, *, bm, flag=False):
    spec = pl.BlockSpec((8, x.shape[1]), lambda i: (i, 0))
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return pl.pallas_call(kernel, grid=(x.shape[0] // 8,), in_specs=[spec], out_specs=spec, out_shape=shape)(x)
"""
THREE = RIGHT.replace("* 2", "* 3")
OUTSIDE = "def scale(x, *, bm, flag=False):\n    return x * 2\n"
ORACLE = """\
import numpy as np


def make_inputs(rng, case):
    return {"x": rng.standard_normal(case.inputs[0].shape).astype(np.float32)}


def expected(inputs, case):
    return inputs["x"].astype(np.float64) * 2
"""
KERNELS = """\
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2


def twice(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def make_args():
    return (jnp.zeros((8, 128), jnp.float32),)
"""


def write_set(root: Path) -> Path:
    """A set of one kernel exercise (`scale`, with one hidden case) and one predict exercise (`guess`)."""
    write_tiny(root)
    first = root / "exercises" / "01_refs" / "01_scale"
    manifest = (first / "exercise.toml").read_text()
    rules = manifest[manifest.index("[rules]") : manifest.index("[[diagnosis]]")]
    (first / "exercise.toml").write_text(manifest.replace(rules, "[rules]\nkernels = 1\n\n"))
    (first / "oracle.py").write_text(ORACLE)
    (root / "exercises" / "02_blocks" / "01_guess" / "kernels.py").write_text(KERNELS)
    (root / "solutions" / "01_refs" / "01_scale" / "reference.py").write_text(RIGHT)
    return root


def hand_in(folder: Path, **attempts: str | bytes) -> Path:
    """A submission as a folder: `hand_in(folder, scale=RIGHT)`."""
    folder.mkdir(parents=True, exist_ok=True)
    for slug, text in attempts.items():
        (folder / f"{slug}.py").write_bytes(text.encode() if isinstance(text, str) else text)
    return folder


def whole(*, failed: str = "", **changes: object) -> Verdict:
    """A verdict with every stage up to `lower`; `failed` names one that did not pass."""
    names = ("load", "trace", "interpret", "structure", "hazards", "lower")
    cases = [CaseResult("small", "passed"), CaseResult("secret", "failed" if failed == "interpret" else "passed")]
    stages = [
        StageResult(name, "failed" if name == failed else "passed", 0.1, None, [], cases if name == "interpret" else [])
        for name in names
    ]
    values: dict[str, object] = {"stages": stages, "score": 1.0 if not failed else 5 / 6, "passed": not failed}
    return verdict(**{**values, **changes})


class PretendedLadder:
    """Gives the verdict that `answer` makes of a source; counts how often it was asked."""

    def __init__(self, answer: Callable[[bytes], Verdict], seconds: float = 0.0) -> None:
        self._answer = answer
        self._seconds = seconds
        self.asked: list[bytes] = []
        self.at_once = self.most_at_once = 0
        self.closed = False

    async def check(self, exercise: Exercise, source: bytes, path: str, **options: Any) -> AsyncIterator[Event]:
        self.asked.append(source)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(self._seconds)
            found = self._answer(source)
            named = AttemptId(path, hashlib.sha256(source).hexdigest())
            yield CheckFinished(msgspec.structs.replace(found, exercise=exercise.slug, attempt=named))
        finally:
            self.at_once -= 1

    async def aclose(self) -> None:
        self.closed = True


def run_over(folder: Path, exercises: ExerciseSet, *, jobs: int = 2, tier: Tier = "C", **options: Any) -> Run:
    """A run over the class in `folder`."""
    students = find_class(folder, options.pop("roster", None), Slugs(exercises.slugs))
    return Run(exercises, students, Asked(tier), options.pop("overrides", Overrides()), jobs, **options)


def judging_with(
    ladder: PretendedLadder, cache: Path, *, jobs: int = 2, another: PretendedLadder | None = None
) -> Judging:
    """A judging that asks pretended ladders."""
    return Judging(cast(Ladder, ladder), lambda: cast(Ladder, another or ladder), Proofs(cache), Asked("C"), jobs)
