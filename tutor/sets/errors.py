"""What can be wrong with a set, a name or a workspace: each error says what, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


def nearest(name: str, known: Iterable[object]) -> str | None:
    """The known name that `name` was most likely meant to be, or None when none is near."""
    from difflib import get_close_matches  # only errors need it, and starting must be quick

    names = [str(k) for k in known]
    found = get_close_matches(name, names, n=1, cutoff=0.5)
    if found:
        return found[0]
    inside = [k for k in names if name and (name in k or k in name)]
    return min(inside, key=len) if inside else None


def did_you_mean(name: str, known: Iterable[object]) -> str | None:
    """A hint that offers the nearest known name, or lists what is known when there is little of it."""
    names = [str(k) for k in known]
    near = nearest(name, names)
    if near is not None:
        return f'Did you mean "{near}"?'
    return f"Known: {', '.join(names)}." if 0 < len(names) <= 12 else None


class SetError(Exception):
    """Something about a set or the workspace that its reader can put right. `code` is a word for programs."""

    code = "set"

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UnknownName(SetError):
    """A name that nothing has. `nearest` is the known name that is closest, or None."""

    code = "unknown_name"
    what = "name"

    def __init__(self, name: str, nearest: str | None, hint: str | None = None) -> None:
        offer = f'Did you mean "{nearest}"?' if nearest else hint
        super().__init__(f'There is no {self.what} "{name}".', offer)
        self.name = name
        self.nearest = nearest


class UnknownSlug(UnknownName):
    """No exercise of the set has this slug."""

    code = "unknown_exercise"
    what = "exercise"


class UnknownSet(UnknownName):
    """Neither a folder with a set nor an installed package that holds one."""

    code = "unknown_set"
    what = "exercise set"


class WorkspaceError(SetError):
    """The learner's workspace cannot be read or written."""

    code = "workspace"


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a manifest. `key` is the path to it, as in `case[0].sizes.m`."""

    key: tuple[str | int, ...]
    message: str
    hint: str | None = None
    line: int | None = None

    @property
    def where(self) -> str:
        return "".join(f"[{k}]" if isinstance(k, int) else f".{k}" for k in self.key).lstrip(".")


class ManifestError(SetError):
    """A file of the set that does not say what it should. Names the file, the line where known, and the key."""

    code = "manifest"

    def __init__(self, path: Path, problems: list[Problem]) -> None:
        self.path = path
        self.problems = problems
        super().__init__("\n".join(self._line(p) for p in problems), problems[0].hint if len(problems) == 1 else None)

    def _line(self, problem: Problem) -> str:
        place = f"{self.path}:{problem.line}" if problem.line else f"{self.path}"
        where = f"{problem.where}: " if problem.key else ""
        offer = f" {problem.hint}" if problem.hint and len(self.problems) > 1 else ""
        return f"{place}: {where}{problem.message}{offer}"
