"""What only an author needs to hear about an exercise's files: `set check` says it before it runs anything."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from tutor.findings import codes
from tutor.protocol import Record
from tutor.sets.errors import ManifestError, Problem, SetError, did_you_mean
from tutor.sets.exercise import Exercise, read_wrong
from tutor.sets.locate import line_of
from tutor.sets.reading import read_text

SOLUTION_FILES = ("reference.py", "xla.py", "hidden.toml", "mutants.toml", "right_*.py", "wrong_*.py")


class Remark(Record, frozen=True):
    """One thing about an exercise's files. With an `error` the exercise cannot be proved."""

    error: bool
    text: str


def review(exercise: Exercise) -> list[Remark]:
    """Missing and misnamed files, and codes that no finding has."""
    problems = [*_missing(exercise), *_codes(exercise), *_headers(exercise)]
    return [*(Remark(True, text) for text in problems), *(Remark(False, text) for text in _doubtful(exercise))]


def _missing(exercise: Exercise) -> Iterator[str]:
    needed = ("lesson.md", "starter.py", "oracle.py" if exercise.kind == "kernel" else "kernels.py")
    for path in (exercise.folder / name for name in needed):
        if not path.is_file():
            yield f"{path}: the file is missing."
    if exercise.kind == "kernel" and exercise.reference is None:
        yield f"{exercise.solutions / 'reference.py'}: the file is missing; nothing proves this exercise."


def _codes(exercise: Exercise) -> Iterator[str]:
    named: list[tuple[tuple[str | int, ...], str]] = [
        (("diagnosis", i, "when"), one.when) for i, one in enumerate(exercise.manifest.diagnosis)
    ]
    if exercise.starter_expectation is not None:
        named.append((("starter",), exercise.starter_expectation.code))
    path = exercise.folder / "exercise.toml"
    for key, code in named:
        if code not in codes():
            line = line_of(read_text(path), key)
            yield _said(ManifestError(path, [Problem(key, f'there is no code "{code}".', _near(code), line)]))


def _headers(exercise: Exercise) -> Iterator[str]:
    """What cannot be read of the solutions: headers of wrong answers, and the hidden cases."""
    for path in sorted(exercise.solutions.glob("wrong_*.py")):
        try:
            read_wrong(path)
        except SetError as error:
            yield _said(error)
    if exercise.kind == "kernel":
        try:
            exercise.cases(hidden=True)
        except SetError as error:
            yield _said(error)


def _doubtful(exercise: Exercise) -> Iterator[str]:
    folder = exercise.solutions
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if path.suffix in (".py", ".toml") and not any(fnmatch(path.name, known) for known in SOLUTION_FILES):
            yield f"{path}: nothing reads this file. {_meant(path)}"
    if exercise.kind == "kernel" and not (folder / "hidden.toml").is_file():
        yield f"{folder / 'hidden.toml'}: there is none, so an attempt can be made to fit the public cases alone."


def _meant(path: Path) -> str:
    words = path.name.lower().replace("-", "_")
    for kind in ("wrong", "right"):
        if words.startswith(kind) and path.suffix == ".py":
            rest = words.removesuffix(".py").removeprefix(kind).strip("_") or "name"
            return f'Did you mean "{kind}_{rest}.py"?'
    return did_you_mean(words, SOLUTION_FILES) or f"Known: {', '.join(SOLUTION_FILES)}."


def _near(code: str) -> str | None:
    return did_you_mean(code, codes())


def _said(error: SetError) -> str:
    return f"{error.message} {error.hint or ''}".rstrip()
