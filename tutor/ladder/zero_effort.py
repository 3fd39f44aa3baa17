"""Attempts without effort, which every exercise must turn down: zeros, a constant, a copy of an input, jnp alone.

They are made from the manifest: which shapes and dtypes come out for which arguments is written into the program. The
jnp answers are the exercise's own `xla.py`, once as it is and once with a kernel behind it that copies the result."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path

import msgspec

from tutor.ladder.check import Ladder
from tutor.ladder.first_failure import QUICK, first_failure
from tutor.ladder.in_order import in_order
from tutor.ladder.proof import Program, judge
from tutor.ladder.proof_cache import Proofs, key
from tutor.protocol import Record, StageName
from tutor.sets.exercise import Exercise
from tutor.sets.reading import read_text

_HEAD = """\
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

OUTPUTS = {outputs}


def out_shape(arrays, options):
    found = OUTPUTS[tuple(tuple(a.shape) for a in arrays), tuple(sorted(options.items()))]
    return [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in found]


def pack(results):
    return results[0] if len(results) == 1 else tuple(results)


def like(array, shape):
    same = (array.shape, array.dtype) == (shape.shape, shape.dtype)
    return array if same else jnp.resize(array, shape.shape).astype(shape.dtype)


def filled(value, shapes):
    def kernel(*refs):
        for ref in refs:
            ref[...] = jnp.full(ref.shape, value, ref.dtype)

    return pl.pallas_call(kernel, out_shape=shapes)()


def copied(arrays):
    def kernel(*refs):
        for source, target in zip(refs[: len(arrays)], refs[len(arrays) :]):
            target[...] = source[...]

    return pl.pallas_call(kernel, out_shape=[jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arrays])(*arrays)


"""
_ENTRY = "def {entry}(*arrays, **options):\n    shapes = out_shape(arrays, options)\n    return pack({result})\n"
_ZEROS = "[jnp.zeros(s.shape, s.dtype) for s in shapes]"
_RESIZED = "[like(arrays[{i}], s) for s in shapes]"
_COPIED_XLA = """

_in_jnp = {entry}


def {entry}(*arrays, **options):
    return pack(copied([jnp.asarray(leaf) for leaf in jax.tree.leaves(_in_jnp(*arrays, **options))]))
"""


def attempts(exercise: Exercise) -> dict[str, str]:
    """The programs by name. Those with jnp are there only if the exercise has an `xla.py`."""
    head = _HEAD.replace("{outputs}", repr(_outputs(exercise)))

    def program(result: str) -> str:
        return head + _ENTRY.format(entry=exercise.entry, result=result)

    made = {
        "zeros without a kernel": program(_ZEROS),
        "zeros": program("filled(0, shapes)"),
        "a constant": program("filled(1, shapes)"),
    }
    for i, entry in enumerate(exercise.manifest.inputs):
        made[f"a copy of {entry.name} without a kernel"] = program(_RESIZED.format(i=i))
        made[f"a copy of {entry.name}"] = program(f"copied({_RESIZED.format(i=i)})")
    if exercise.xla is not None:
        text = read_text(exercise.xla)
        made["jnp alone"] = text
        made["jnp, and a kernel that copies"] = head + text + _COPIED_XLA.format(entry=exercise.entry)
    return made


class Tried(Record, frozen=True):
    """What came of one attempt. `problem` is None if it was turned down; `kept`: an earlier run has seen that."""

    program: Program
    problem: str | None
    kept: bool = False


def prove_zero_effort(ladder: Ladder, exercise: Exercise, proofs: Proofs) -> AsyncGenerator[Tried]:
    """Judge them all. Each must fail, by whichever stage; the first that fails decides."""
    made = attempts(exercise).items()
    return in_order([partial(_try, ladder, exercise, name, source.encode(), proofs) for name, source in made])


async def _try(ladder: Ladder, exercise: Exercise, name: str, source: bytes, proofs: Proofs) -> Tried:
    proof = key(exercise, source, "zero")
    kept = proofs.find(proof, Tried)
    if kept is not None:
        return msgspec.structs.replace(kept, kept=True)
    path = str(Path(exercise.solutions) / "zero_effort.py")
    tried = Tried(Program("zero", name), await _problem(ladder, exercise, source, path))
    if tried.problem is None:
        proofs.keep(proof, tried)
    return tried


async def _problem(ladder: Ladder, exercise: Exercise, source: bytes, path: str) -> str | None:
    failure = await first_failure(ladder, exercise, source, path, QUICK)
    if failure is not None:
        return _ours(failure.stage, failure.trouble) if failure.trouble is not None else None
    verdict = await judge(ladder, exercise, source, path, None)
    if verdict.passed:
        return "must fail, but passes"
    broken = next((stage for stage in verdict.stages if stage.status == "error"), None)
    return _ours(broken.name, broken.reason) if broken else None


def _ours(stage: StageName, reason: str | None) -> str:
    return f"must fail, but the tutor itself failed at {stage}: {reason}"


def _outputs(exercise: Exercise) -> dict[object, list[tuple[tuple[int, ...], str]]]:
    """Shapes and dtypes of the outputs, by the shapes of the inputs and the keyword arguments of a call."""
    found: dict[object, list[tuple[tuple[int, ...], str]]] = {}
    for case in exercise.cases(hidden=True):
        call = (tuple(tuple(spec.shape) for spec in case.inputs), tuple(sorted(case.static.items())))
        found[call] = [(tuple(spec.shape), spec.dtype) for spec in case.outputs]
    return found
