"""The interpreter of Mosaic kernels on real programs: every right answer of the built-in set and of the case bank."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.export
import numpy as np
import pytest

from tests.cases.test_case_bank import FILES, RIGHT, WRONG, expectation
from tests.judge.mosaic_modules import exported, on_cpu, ran
from tests.unit.builtin_programs import check_cases, exercises, name_of, programs, traced
from tutor.jaxpr import compat
from tutor.jaxpr.normalise import TPU_ARTIFACT
from tutor.judge.compare import compare
from tutor.judge.mosaic.program import Program
from tutor.judge.mosaic.types import Unknown
from tutor.judge.oracle import Oracle
from tutor.judge.tpu_run import ROUNDING
from tutor.protocol import ArraySpec, CaseSpec, ToleranceSpec
from tutor.stage.artifacts import export
from tutor.wire import OracleFile

DECLINED = {
    "ours_valid_bounded_slices": "the type",
    "ours_valid_kernels_in_loops": "inside a loop",
    "ours_valid_random_bits": "tpu.prng_set_seed_32",
}
"""Right cases whose kernels cannot be run, and why."""
ELSEWHERE = {
    "ours_valid_mesh_of_two_axes": "four devices",
    "ours_valid_ring_copy": "four devices",
    "ours_valid_shard_map": "four devices",
}


@pytest.mark.parametrize(("slug", "path"), programs(), ids=name_of)
def test_right_answers_of_the_built_in_set(slug: str, path: Path) -> None:
    exercise = exercises()[slug]
    oracle = Oracle(OracleFile(exercise.oracle.read_bytes(), str(exercise.oracle)))
    for case in check_cases(slug)[:2]:
        artifact = export(traced(slug, path, case), "tpu", path.read_text(), str(path))
        inputs = oracle.make_inputs(case, 1)
        program = Program(jax.export.deserialize(bytearray(artifact.data or b"")))
        for as_interpret in (False, True):
            made = program.run(list(inputs.values()), as_interpret=as_interpret).outputs
            outcome = compare(made, oracle.expected(inputs, case), case, exercise.tolerance)
            assert outcome.findings == [] and outcome.share <= 1 < ROUNDING


@pytest.mark.parametrize("name", [name for name in RIGHT if name not in ELSEWHERE])
def test_right_cases_of_the_bank(name: str) -> None:
    module = runpy.run_path(str(FILES[name]))
    with jax.enable_x64(module.get("CONFIG", {}).get("jax_enable_x64", False)):
        run_case(name, module)


def run_case(name: str, module: dict[str, Any]) -> None:
    arguments = module["make_args"]()
    given = [np.asarray(leaf) for leaf in jax.tree.leaves(arguments)]

    def flat(*arrays: Any) -> Any:
        return module["run"](*fitted(arguments, arrays))

    with compat.target():
        entry = TPU_ARTIFACT.as_function(jax.make_jaxpr(flat)(*given))
        program = Program(jax.export.export(jax.jit(entry), platforms=["tpu"])(*given))
    if name in DECLINED:
        with pytest.raises(Unknown, match=DECLINED[name]):
            program.run(given)
        return
    made = program.run(given).outputs
    wanted = module["reference"](*arguments) if "reference" in module else on_cpu(flat, *given)
    want = [np.asarray(leaf) for leaf in jax.tree.leaves(wanted)]
    specs = [ArraySpec(f"out{n}", list(array.shape), array.dtype.name) for n, array in enumerate(made)]
    case = CaseSpec(name="c", inputs=[], outputs=specs, static={}, sizes={})
    assert compare(made, want, case, ToleranceSpec()).findings == []


def fitted(arguments: Any, arrays: tuple[Any, ...]) -> list[Any]:
    """The arguments of a case with these arrays in the places of its own; numbers stay numbers."""
    rest: Iterator[Any] = iter(arrays)
    leaves, tree = jax.tree.flatten(arguments)
    found = [next(rest) for _ in leaves]
    return list(jax.tree.unflatten(tree, [b if isinstance(b, int) else a for a, b in zip(found, leaves, strict=True)]))


LOWERED = ("numeric", "tpui", "2core", "none", "structure")
"""Wrong cases by the stage that finds them: those that lower and come to their end in interpret mode."""


NOT_LOWERED = ("89_interpret_baked_in",)


@pytest.mark.parametrize(
    "name",
    [n for n in WRONG if expectation(n, FILES[n].read_text())[0] in LOWERED and n not in NOT_LOWERED],
)
def test_with_the_memory_of_interpret_mode_wrong_cases_give_what_it_gives(name: str) -> None:
    """Else an honest mistake would be taken for two programs."""
    module = runpy.run_path(str(FILES[name]))
    given = [np.asarray(leaf) for leaf in jax.tree.leaves(module["make_args"]())]
    made = ran(exported(module["run"], *given), given, as_interpret=True).outputs
    for mine, wanted in zip(made, on_cpu(module["run"], *given), strict=True):
        wide = mine.astype(np.float64), wanted.astype(np.float64)
        one_rounding = 1e-4 if mine.dtype.itemsize >= 4 else 2e-2
        np.testing.assert_allclose(*wide, rtol=one_rounding, atol=one_rounding)


def test_nearly_all_for_one_device_are_run() -> None:
    for_one_device = len(programs()) + len(RIGHT) - len(ELSEWHERE)
    assert len(DECLINED) <= 0.05 * for_one_device
    assert {*DECLINED, *ELSEWHERE} <= set(RIGHT)
