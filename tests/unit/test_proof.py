"""Which stages prove a program, and when an earlier proof stands."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import msgspec
import pytest

from tutor.ladder.mutants import Mutant
from tutor.ladder.mutation import Killed, declared
from tutor.ladder.proof import Program, stages_for
from tutor.ladder.proof_cache import Proofs, key
from tutor.protocol import StageName
from tutor.sets import Exercise, ManifestError, Rules, load_set

ROOT = Path(__file__).parents[2]


@pytest.fixture
def exercise() -> Exercise:
    return load_set(ROOT).exercise("f32_accumulator")


@pytest.mark.parametrize(
    ("stage", "only", "stages"),
    [
        (None, False, None),
        ("trace", False, ("load", "trace")),
        ("interpret", False, ("load", "trace", "interpret")),
        ("structure", False, ("load", "trace", "structure")),
        ("structure", True, ("load", "trace", "interpret", "structure")),
        ("compile", False, ("load", "trace", "lower", "compile")),
        ("lower", True, ("load", "trace", "interpret", "structure", "hazards", "lower")),
    ],
)
def test_stages_that_decide(stage: StageName | None, only: bool, stages: tuple[StageName, ...] | None) -> None:
    assert stages_for(Program("wrong", "wrong_a.py", stage, "KT201", only)) == stages


def test_key_follows_program_and_promise(exercise: Exercise) -> None:
    one = key(exercise, b"a", "wrong", "interpret")
    assert one == key(exercise, b"a", "wrong", "interpret")
    assert len({one, key(exercise, b"b", "wrong", "interpret"), key(exercise, b"a", "wrong", "lower")}) == 3


def test_key_follows_the_exercise(exercise: Exercise) -> None:
    other = load_set(ROOT).exercise("zeros_alias")
    assert key(exercise, b"a") != key(other, b"a")


def test_words_do_not_matter_to_a_proof_and_rules_do(exercise: Exercise) -> None:
    def changed(**fields: object) -> Exercise:
        return dataclasses.replace(exercise, manifest=msgspec.structs.replace(exercise.manifest, **fields))

    before = key(exercise, b"a")
    assert key(changed(hints=("other",), title="Other", diagnosis=()), b"a") == before
    assert key(changed(rules=Rules(kernels=2)), b"a") != before
    assert key(changed(cases=exercise.manifest.cases[:1]), b"a") != before


def test_proofs_are_found_again(tmp_path: Path) -> None:
    proofs = Proofs(tmp_path / "new")
    assert proofs.find("x", Killed) is None
    outcome = Killed("m", "interpret", "KT201")
    proofs.keep("x", outcome)
    assert Proofs(tmp_path / "new").find("x", Killed) == outcome
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["x"]


def test_damaged_proof_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\x00garbage")
    assert Proofs(tmp_path).find("x", Killed) is None


def test_folder_that_cannot_be_made_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    Proofs(tmp_path / "file" / "below").keep("x", Killed("m", None, None))


def test_data_variable_moves_the_proofs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELTUTOR_DATA", str(tmp_path))
    assert Proofs().folder == tmp_path / "proofs"


def test_reason_for_a_mutant_that_is_gone(tmp_path: Path, exercise: Exercise) -> None:
    changed = _with_solutions(exercise, tmp_path)
    (tmp_path / "mutants.toml").write_text('[[equivalent]]\nmutant = "operator: a -> b"\nreason = "why"\n')
    assert declared(changed, [Mutant("operator: a -> b", "")]) == {"operator: a -> b": "why"}
    with pytest.raises(ManifestError, match="no mutant"):
        declared(changed, [Mutant("another", "")])


def _with_solutions(exercise: Exercise, folder: Path) -> Exercise:
    return dataclasses.replace(exercise, solutions=folder)
