"""A loaded set, and loading one from its folder."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import tutor
from tutor.sets.checks import check_set
from tutor.sets.errors import ManifestError, Problem, SetError, UnknownSlug, did_you_mean, nearest
from tutor.sets.exercise import KEY_FILE, Exercise, hash_files, raise_problems, read_exercise
from tutor.sets.locate import line_of
from tutor.sets.manifest import SetManifest
from tutor.sets.packed import figures_of
from tutor.sets.reading import read_manifest, read_text

Origin = Literal["built-in", "folder", "archive", "package"]
_FOLDER = re.compile(r"\d\d_[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class Broken:
    """An exercise that cannot be loaded; the others of the set can."""

    slug: str
    chapter: str
    number: int
    error: SetError


@dataclass(frozen=True)
class ExerciseSet:
    """A loaded set: its exercises in order. `broken` ones raise their own error when asked for by name.

    `origin`: where it came from. Only a "folder" is its user's own to write to."""

    root: Path
    manifest: SetManifest
    exercises: tuple[Exercise, ...]
    broken: tuple[Broken, ...] = ()
    origin: Origin = "folder"

    @property
    def id(self) -> str:
        return self.manifest.id

    @property
    def title(self) -> str:
        return self.manifest.title

    @property
    def place(self) -> str:
        """Where it came from, in words."""
        return "built in" if self.origin == "built-in" else f"{self.origin} {self.root}"

    @property
    def slugs(self) -> list[str]:
        return [e.slug for e in self.exercises]

    def exercise(self, slug: str) -> Exercise:
        """The exercise of this slug (`NN_slug` is understood too). `UnknownSlug` offers the nearest one."""
        plain = re.sub(r"^\d+_", "", slug.strip()).removesuffix(".py")
        for exercise in self.exercises:
            if exercise.slug in (slug, plain):
                return exercise
        for broken in self.broken:
            if broken.slug in (slug, plain):
                raise broken.error
        raise UnknownSlug(slug, nearest(plain.lower(), self.slugs), "`kerneltutor list` shows all exercises.")

    def chapter(self, name: str) -> list[Exercise]:
        """The exercises of one chapter, in order."""
        return [e for e in self.exercises if e.chapter == name]

    @property
    def key_file(self) -> Path:
        """Where the set's secret key is, if it has one (`key`)."""
        return self.root / "solutions" / KEY_FILE

    @cached_property
    def sha256(self) -> str:
        """A hash of everything that a verdict may follow from: exercises and solutions, without the secret key."""
        return hash_files([("exercises", self.root / "exercises"), ("solutions", self.root / "solutions")])

    @cached_property
    def public_sha256(self) -> str:
        """A hash of what students are given, the exercises alone: the same in the instructor's folder and in their
        copy. This is the `set_sha256` of packs, submissions and records."""
        return hash_files([("exercises", self.root / "exercises")])


_ABBREVIATIONS = {"dma": "DMA", "smem": "SMEM", "tpu": "TPU", "vmem": "VMEM"}


def chapter_title(chapter: str) -> str:
    """What people read for a chapter's folder: `03_memory` is "03 Memory"."""
    number, _, words = chapter.partition("_")
    first, *rest = words.split("_")
    named = [_ABBREVIATIONS.get(word, word) for word in (_ABBREVIATIONS.get(first, first.capitalize()), *rest)]
    return " ".join([number, *named])


def builtin_root() -> Path:
    """Where the built-in set is: inside the package in a wheel, beside the package in a checkout."""
    package = Path(tutor.__file__).resolve().parent
    inside = package / "builtin"
    return inside if (inside / "exercises" / "set.toml").is_file() else package.parent


def load_set(root: Path, origin: Origin | None = None) -> ExerciseSet:
    """Load the set in `root`. A broken `set.toml` is a `ManifestError`; a broken exercise is put into `broken`.

    Without an `origin` it is the built-in set or a folder."""
    path = root / "exercises" / "set.toml"
    manifest, text = read_manifest(path, SetManifest)
    raise_problems(path, text, check_set(manifest))
    _check_folders(root, manifest, path, text)
    figures = figures_of(root)
    exercises: list[Exercise] = []
    broken: list[Broken] = []
    for chapter in manifest.chapters:
        home = root / "exercises" / chapter
        for folder in sorted(home.iterdir()) if home.is_dir() else []:
            if not _FOLDER.fullmatch(folder.name) or not folder.is_dir():
                continue
            try:
                exercise = read_exercise(
                    folder, root / "solutions" / chapter / folder.name, manifest.id, manifest.chips
                )
                if twin := next((e for e in exercises if e.slug == exercise.slug), None):
                    message = f'two exercises have the slug "{twin.slug}"; the other is {twin.folder}.'
                    raise ManifestError(folder / "exercise.toml", [Problem(("slug",), message)])
                exercises.append(replace(exercise, figures=tuple(figures.get(exercise.slug, ()))))
            except SetError as error:
                broken.append(Broken(folder.name[3:], chapter, int(folder.name[:2]), error))
    origin = origin or ("built-in" if root == builtin_root() else "folder")
    loaded = ExerciseSet(root, manifest, tuple(exercises), tuple(broken), origin)
    _check_late(loaded, path, text)
    return _check_requires(loaded)


def _check_folders(root: Path, manifest: SetManifest, path: Path, text: str) -> None:
    """Exercises in a folder that `chapters` leaves out would never be seen: say so."""
    unknown = [
        p.name for p in sorted((root / "exercises").iterdir())
        if p.is_dir() and _FOLDER.fullmatch(p.name) and p.name not in manifest.chapters
    ]  # fmt: skip
    mistyped = [name for name in manifest.chapters if not (root / "exercises" / name).is_dir()]
    problems = [
        Problem(("chapters",), f"leaves out the folder {name}.", _chapter_hint(name, mistyped)) for name in unknown
    ]
    raise_problems(path, text, problems)


def _chapter_hint(folder: str, mistyped: list[str]) -> str:
    """The folder is there and is right; what may be mistyped is the name of a chapter without a folder."""
    near = nearest(folder, mistyped)
    return f'"{near}" has no folder: did you mean "{folder}"?' if near else f'Add "{folder}" to chapters.'


def _check_late(loaded: ExerciseSet, path: Path, text: str) -> None:
    """Dates for an exercise that does not exist would never be applied: say so."""
    known = [*loaded.slugs, *(b.slug for b in loaded.broken)]
    problems = [
        Problem(("late", "exercise", slug), f'there is no exercise "{slug}".', did_you_mean(slug, known))
        for slug in loaded.manifest.late.exercise
        if slug not in known
    ]
    raise_problems(path, text, problems)


def _check_requires(loaded: ExerciseSet) -> ExerciseSet:
    """Exercises that require a slug which does not exist are broken."""
    known = {e.slug for e in loaded.exercises} | {b.slug for b in loaded.broken}
    good: list[Exercise] = []
    broken = list(loaded.broken)
    for exercise in loaded.exercises:
        missing = [slug for slug in exercise.manifest.requires if slug not in known]
        if not missing:
            good.append(exercise)
            continue
        path = exercise.folder / "exercise.toml"
        line = line_of(read_text(path), ("requires",))
        problems = [
            Problem(("requires",), f'there is no exercise "{slug}".', did_you_mean(slug, known), line)
            for slug in missing
        ]
        broken.append(Broken(exercise.slug, exercise.chapter, exercise.number, ManifestError(path, problems)))
    return replace(loaded, exercises=tuple(good), broken=tuple(broken))
