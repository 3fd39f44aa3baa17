"""One exercise: its files, its manifest, and its cases with every size filled in."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import msgspec

from tutor.findings import codes
from tutor.protocol import STAGES, ArraySpec, CaseSpec, Figures, StageName, ToleranceSpec
from tutor.sets.checks import check_exercise, check_hidden
from tutor.sets.errors import ManifestError, Problem, did_you_mean
from tutor.sets.locate import line_of
from tutor.sets.manifest import ArrayEntry, CaseEntry, ExerciseManifest, HiddenManifest
from tutor.sets.questions import with_kernels
from tutor.sets.reading import read_manifest, read_text
from tutor.sets.shapes import shape_of, static_of

KEY_FILE = "seed.key"
"""The set's secret key (`key`), directly in `solutions/`."""
_EXPECT = re.compile(r"#\s*expect:\s*(?P<stage>\w+)\s+(?P<code>KT\d{3})(?P<only>\s+only)?\s*")


@dataclass(frozen=True)
class Expectation:
    """The stage that must fail, and the code of an error among its findings."""

    stage: StageName
    code: str


@dataclass(frozen=True)
class WrongAnswer:
    """A `wrong_*.py`: what must catch it. `only`: all stages before it must have passed."""

    path: Path
    stage: StageName
    code: str
    only: bool
    misconception: str


@dataclass(frozen=True)
class Exercise:
    """An exercise of a set. Reading its manifest was cheap; lesson, starter, programs and hidden cases are read when
    asked for. `folder` is under `exercises/`, `solutions` its mirror, which a student's copy of a set lacks; that has
    `figures` of the reference instead."""

    set_id: str
    chapter: str
    number: int
    folder: Path
    solutions: Path
    manifest: ExerciseManifest
    default_chips: tuple[str, ...] = ("v5e", "v6e")
    figures: tuple[Figures, ...] = ()

    @property
    def slug(self) -> str:
        return self.manifest.slug

    @property
    def title(self) -> str:
        return self.manifest.title

    @property
    def summary(self) -> str:
        return self.manifest.summary

    @property
    def concepts(self) -> tuple[str, ...]:
        return self.manifest.concepts

    @property
    def kind(self) -> str:
        return self.manifest.kind

    @property
    def entry(self) -> str:
        return self.manifest.entry

    @property
    def hints(self) -> tuple[str, ...]:
        return self.manifest.hints

    @property
    def chips(self) -> tuple[str, ...]:
        """The chips that `compile` asks: the exercise's own, else the set's."""
        return self.manifest.chips if self.manifest.chips is not None else self.default_chips

    @property
    def tolerance(self) -> ToleranceSpec:
        return ToleranceSpec(rel_l2=self.manifest.tolerance.rel_l2, elementwise=self.manifest.tolerance.elementwise)

    @property
    def file_name(self) -> str:
        """What the learner's file is called: `NN_slug.py`."""
        return f"{self.number:02d}_{self.slug}.py"

    @property
    def lesson(self) -> str:
        """The lesson, as Markdown. That of a predict exercise ends with its kernels and its questions."""
        text = read_text(self.folder / "lesson.md")
        return text if self.kernels is None else with_kernels(text, read_text(self.kernels), self.manifest.questions)

    @property
    def starter(self) -> str:
        """What the learner's file begins as."""
        return read_text(self.folder / "starter.py")

    @property
    def starter_expectation(self) -> Expectation | None:
        """What the untouched starter must fail with; None for a predict exercise."""
        stage, _, code = self.manifest.starter.partition(" ")
        return next((Expectation(name, code.strip()) for name in STAGES if name == stage), None)

    @property
    def oracle(self) -> Path | None:
        """`oracle.py`; None for a predict exercise."""
        return self.folder / "oracle.py" if self.kind == "kernel" else None

    @property
    def kernels(self) -> Path | None:
        """`kernels.py` of a predict exercise: the author's kernels, shown read-only."""
        return self.folder / "kernels.py" if self.kind == "predict" else None

    @property
    def reference(self) -> Path | None:
        """The reference solution, or None in a set without solutions."""
        return _file(self.solutions / "reference.py")

    @property
    def xla(self) -> Path | None:
        """The same function in jnp, if the set has it."""
        return _file(self.solutions / "xla.py")

    @property
    def rights(self) -> list[Path]:
        """Other right answers."""
        return sorted(self.solutions.glob("right_*.py"))

    @property
    def wrongs(self) -> list[WrongAnswer]:
        """Wrong answers with what their headers say. A broken header is a `ManifestError`."""
        return [read_wrong(path) for path in sorted(self.solutions.glob("wrong_*.py"))]

    def cases(self, hidden: bool = False) -> list[CaseSpec]:
        """The public cases, and with `hidden` those of `hidden.toml` after them, with every size filled in."""
        specs = [self._spec(case) for case in self.manifest.cases]
        return (
            specs + [msgspec.structs.replace(self._spec(case), hidden=True) for case in self._hidden_cases]
            if hidden
            else specs
        )

    def diagnosis(self, code: str) -> str | None:
        """This exercise's own words for a finding of `code`."""
        return next((d.say for d in self.manifest.diagnosis if d.when == code), None)

    @property
    def sha256(self) -> str:
        """A hash of everything in the exercise's two folders."""
        return hash_files([("exercise", self.folder), ("solution", self.solutions)])

    @cached_property
    def _hidden_cases(self) -> tuple[CaseEntry, ...]:
        path = self.solutions / "hidden.toml"
        if not path.is_file():
            return ()
        hidden, text = read_manifest(path, HiddenManifest)
        raise_problems(path, text, check_hidden(hidden.cases, self.manifest))
        return hidden.cases

    def _spec(self, case: CaseEntry) -> CaseSpec:
        def arrays(entries: tuple[ArrayEntry, ...]) -> list[ArraySpec]:
            return [ArraySpec(name=e.name, shape=shape_of(e.shape, case.sizes), dtype=e.dtype) for e in entries]

        return CaseSpec(
            name=case.name,
            inputs=arrays(self.manifest.inputs),
            outputs=arrays(self.manifest.outputs),
            static=static_of({**self.manifest.static, **case.static}, case.sizes),
            sizes=dict(case.sizes),
            seeds=case.seeds,
            role=case.role,
            hazard=case.hazard,
        )


def read_exercise(folder: Path, solutions: Path, set_id: str, chips: tuple[str, ...]) -> Exercise:
    """The exercise in `folder`, checked. `ManifestError` says what is wrong with its manifest."""
    path = folder / "exercise.toml"
    manifest, text = read_manifest(path, ExerciseManifest)
    problems = check_exercise(manifest)
    number, _, name = folder.name.partition("_")
    if name != manifest.slug:
        problems.append(Problem(("slug",), f'is "{manifest.slug}", but the folder is {folder.name}.'))
    raise_problems(path, text, problems)
    return Exercise(set_id, folder.parent.name, int(number), folder, solutions, manifest, chips)


def read_wrong(path: Path) -> WrongAnswer:
    """A wrong answer's header: `# expect: STAGE KTnnn [only]`, and the misconception on the second line."""
    lines = read_text(path).splitlines()
    match = _EXPECT.fullmatch(lines[0]) if lines else None
    if match is None:
        raise ManifestError(path, [Problem((), 'must begin with "# expect: STAGE KTnnn" (or "… only").', line=1)])
    stage = next((s for s in STAGES if s == match["stage"]), None)
    if stage is None:
        named = match["stage"]
        raise ManifestError(path, [Problem((), f'"{named}" is no stage.', did_you_mean(named, STAGES), line=1)])
    if match["code"] not in codes():
        near = did_you_mean(match["code"], codes())
        raise ManifestError(path, [Problem((), f'there is no code "{match["code"]}".', near, line=1)])
    second = lines[1].lstrip("# ").strip() if len(lines) > 1 and lines[1].startswith("#") else ""
    if not second:
        raise ManifestError(path, [Problem((), "the second line must name the misconception, as a comment.", line=2)])
    return WrongAnswer(path, stage, match["code"], match["only"] is not None, second)


def raise_problems(path: Path, text: str, problems: list[Problem]) -> None:
    """Raise a `ManifestError` if there are problems, with their lines in `text`; the same thing is said once."""
    if problems:
        placed = [replace(p, line=line_of(text, p.key)) for p in problems]
        raise ManifestError(path, list(dict.fromkeys(placed)))


def set_files(root: Path) -> list[tuple[str, Path]]:
    """All files below a folder of a set, by their names inside it, in order. Caches, hidden files and the secret key
    do not count."""
    found = [(path.relative_to(root), path) for path in root.rglob("*") if path.is_file()]
    return sorted(
        (inner.as_posix(), path)
        for inner, path in found
        if inner != Path(KEY_FILE) and not any(p.startswith(".") or p == "__pycache__" for p in inner.parts)
    )


def hash_files(roots: list[tuple[str, Path]]) -> str:
    """sha256 over names and contents of the files below some folders (`set_files`): for each, in order, a line
    `LABEL/NAME`, a zero byte, and the sha256 of its bytes in hexadecimal."""
    total = hashlib.sha256()
    for label, root in roots:
        for name, path in set_files(root):
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            total.update(f"{label}/{name}\0{digest}\n".encode())
    return total.hexdigest()


def _file(path: Path) -> Path | None:
    return path if path.is_file() else None
