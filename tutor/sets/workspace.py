"""The learner's files (FORMATS 2): `<workspace>/<set id>/<NN_chapter>/<NN_slug>.py`, made from the starter.

The learner's text is never lost: a renumbered exercise has its file moved, a changed starter is only offered, `reset`
keeps what it replaces, and every write is atomic. A folder of our own, `.kerneltutor`, holds the starter that each file
was made from; text that a crash left unsaved is beside the file, as `.NN_slug.py.unsaved`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tutor.sets.errors import WorkspaceError
from tutor.sets.exercise import Exercise

VARIABLE = "KERNELTUTOR_WORKSPACE"


@dataclass(frozen=True)
class Opened:
    """The learner's file of one exercise, and what was done to have it there.

    `moved_from`: where it was before the set renumbered the exercise. `newer_starter`: the set has another starter
    than the one that this file was made from; `reset` takes it, `keep_mine` stops the offer."""

    path: Path
    made: bool = False
    moved_from: Path | None = None
    newer_starter: bool = False


@dataclass(frozen=True)
class Reset:
    """What `reset` did. `kept` is where the replaced text is now; None if there was nothing worth keeping."""

    path: Path
    kept: Path | None


_ELSEWHERE = f"Choose another folder with --workspace DIR or {VARIABLE}."


def workspace_root(option: str | Path | None = None, environment: Mapping[str, str] = os.environ) -> Path:
    """Where the workspace is: the option, else `KERNELTUTOR_WORKSPACE`, else `~/kerneltutor`."""
    chosen = option or environment.get(VARIABLE)
    try:
        return Path(chosen).expanduser().absolute() if chosen else Path.home() / "kerneltutor"
    except RuntimeError:
        raise WorkspaceError("There is no home folder to keep a workspace in.", _ELSEWHERE) from None


@dataclass(frozen=True)
class Workspace:
    """The learner's files below `root`. Every method raises `WorkspaceError` when a folder or file cannot be used."""

    root: Path

    def path(self, exercise: Exercise) -> Path:
        """Where the file of this exercise belongs (it may not be there yet)."""
        return self.root / exercise.set_id / exercise.chapter / exercise.file_name

    def find(self, exercise: Exercise) -> Path | None:
        """Where the file of this exercise is: in its place, or under an older number or chapter; None if nowhere."""
        place = self.path(exercise)
        if place.is_file():
            return place
        name = re.compile(rf"\d+_{re.escape(exercise.slug)}\.py")
        old = [p for p in (self.root / exercise.set_id).glob(f"*/*_{exercise.slug}.py") if name.fullmatch(p.name)]
        return max((p for p in old if p.is_file()), key=lambda p: p.stat().st_mtime, default=None)

    def open(self, exercise: Exercise) -> Opened:
        """The learner's file, made from the starter if there is none, moved if the exercise was renumbered."""
        place = self.path(exercise)
        found = self.find(exercise)
        if found is None:
            starter = exercise.starter
            self._write(self._base(exercise), starter.encode())
            self._write(place, starter.encode())
            return Opened(place, made=True)
        if found != place:
            with _clear(place.parent):
                place.parent.mkdir(parents=True, exist_ok=True)
                found.rename(place)
                if side_file(found).is_file():
                    side_file(found).rename(side_file(place))
                if not any(found.parent.iterdir()):
                    found.parent.rmdir()
        base = self._read(self._base(exercise))
        newer = base is not None and base != exercise.starter.encode()
        return Opened(place, moved_from=found if found != place else None, newer_starter=newer)

    def read(self, exercise: Exercise) -> bytes:
        """The bytes of the learner's file, made from the starter if there is none."""
        found = self.find(exercise) or self.open(exercise).path
        with _clear(found):
            return found.read_bytes()

    def save(self, exercise: Exercise, source: bytes | str) -> Path:
        """Write the learner's file, and forget the unsaved text of it. Text is written as UTF-8, as it is."""
        path = self.open(exercise).path
        self._write(path, source.encode() if isinstance(source, str) else source)
        self.drop_unsaved(exercise)
        return path

    def reset(self, exercise: Exercise) -> Reset:
        """Put the starter back. What it replaces is kept beside it as `NN_slug.kept-1.py`, `…-2.py` and so on."""
        path = self.open(exercise).path
        starter = exercise.starter.encode()
        kept: Path | None = None
        with _clear(path):
            if path.read_bytes() != starter:
                kept = next(p for i in range(1, 10**6) if not (p := path.with_suffix(f".kept-{i}.py")).exists())
                self._write(kept, path.read_bytes())
        self._write(self._base(exercise), starter)
        self._write(path, starter)
        return Reset(path, kept)

    def keep_mine(self, exercise: Exercise) -> None:
        """The learner does not want the changed starter: do not offer this one again."""
        self._write(self._base(exercise), exercise.starter.encode())

    # ------------------------------------------------------------ text that a crash would lose

    def keep_unsaved(self, exercise: Exercise, text: str) -> Path:
        """Put unsaved text into a side file, where a crash cannot lose it."""
        side = self._side(exercise)
        self._write(side, text.encode())
        return side

    def unsaved(self, exercise: Exercise) -> str | None:
        """The text that a crash left in the side file, if it differs from the learner's file."""
        text = self._read(self._side(exercise))
        found = self.find(exercise)
        if text is None or (found is not None and text == self._read(found)):
            return None
        return text.decode(errors="replace")

    def drop_unsaved(self, exercise: Exercise) -> None:
        """Remove the side file: its text was saved, or the learner does not want it."""
        with _clear(self._side(exercise)):
            self._side(exercise).unlink(missing_ok=True)

    # ------------------------------------------------------------ our own folder, and writing

    def _base(self, exercise: Exercise) -> Path:
        return self.root / exercise.set_id / ".kerneltutor" / "starters" / f"{exercise.slug}.py"

    def _side(self, exercise: Exercise) -> Path:
        return side_file(self.find(exercise) or self.path(exercise))

    def _read(self, path: Path) -> bytes | None:
        with _clear(path):
            return path.read_bytes() if path.is_file() else None

    def _write(self, path: Path, data: bytes) -> None:
        with _clear(path):
            write_atomic(path, data)

    def problem(self) -> str | None:
        """Why the workspace cannot be written, or None. Makes nothing."""
        folder = next((p for p in (self.root, *self.root.parents) if p.exists()), self.root)
        if not folder.is_dir():
            return f"{folder} is not a folder."
        return None if os.access(folder, os.W_OK | os.X_OK) else f"{folder} cannot be written."


def side_file(path: Path) -> Path:
    """Where the unsaved text of a learner's file is kept."""
    return path.with_name(f".{path.name}.unsaved")


def write_atomic(path: Path, data: bytes) -> None:
    """Write a file so that it holds either the old or the new bytes, whatever happens. Keeps its permissions, and
    writes through a symbolic link."""
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    new = target.with_name(f".{target.name}.{os.urandom(6).hex()}.new")
    try:
        with new.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            new.chmod(target.stat().st_mode & 0o7777)
        new.replace(target)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


@contextmanager
def _clear(path: Path) -> Iterator[None]:
    """Say plainly which path could not be used and why."""
    try:
        yield
    except OSError as error:
        where = error.filename if isinstance(error.filename, str) else path
        raise WorkspaceError(f"The workspace cannot be used: {where}: {error.strerror}.", _ELSEWHERE) from error
