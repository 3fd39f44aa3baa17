"""Finding a set: by folder, by archive, or by the name of one that is installed. None of a set's Python runs here.

What only archives and packages need is imported when one is asked for: starting must be quick."""

from __future__ import annotations

import importlib.util
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tutor.sets.errors import SetError, UnknownSet, nearest
from tutor.sets.loading import ExerciseSet, Origin, builtin_root, load_set

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINTS = "kerneltutor.sets"
VARIABLE = "KERNELTUTOR_SET"
_HINT = "Give a folder with exercises/set.toml in it, an archive of one, or the name of an installed set."


class Found(NamedTuple):
    """The root of a set, and where it came from."""

    root: Path
    origin: Origin


def open_set(name: str | Path | None = None) -> ExerciseSet:
    """Find a set (`locate_set`) and load it."""
    found = locate_set(name)
    return load_set(found.root, found.origin)


def find_set(name: str | Path | None = None) -> Path:
    """The root of a set (`locate_set`)."""
    return locate_set(name).root


def locate_set(name: str | Path | None = None, environment: Mapping[str, str] = os.environ) -> Found:
    """Where a set is. None is what `KERNELTUTOR_SET` says, else the built-in set. Else `name` is

    - a folder, or an archive of a set, which is unpacked into the cache;
    - the name of a package that announces a set under the entry point group `kerneltutor.sets`;
    - the id of such a set, of the built-in one, or of an archive that was used before.

    `UnknownSet` offers the nearest known name; `SetError` says what is wrong with a folder or an archive."""
    chosen = name or environment.get(VARIABLE)
    if not chosen:
        return Found(builtin_root(), "built-in")
    path = Path(chosen).expanduser()
    if path.is_file() and path.name != "set.toml":
        from tutor.sets.unpack import unpack

        return Found(unpack(path), "archive")
    if root := _root_at(path):
        return Found(root, "built-in" if root == builtin_root() else "folder")
    if installed := _installed(str(chosen)):
        return installed
    if path.is_dir():
        raise SetError(f"{path} holds no exercise set.", "A set is a folder with exercises/set.toml in it.")
    is_path = path.name != str(chosen) or path.suffix in (".zip", ".tar", ".gz", ".tgz", ".bz2")
    raise UnknownSet(str(chosen), None if is_path else nearest(str(chosen), known_names()), _HINT)


def known_names() -> list[str]:
    """The names that `locate_set` knows besides folders and archives."""
    from tutor.sets.unpack import unpacked

    ids = [set_id(root) for root in (builtin_root(), *unpacked())]
    names = {name for point in _points() for name in (point.name, point.dist.name if point.dist else None)}
    return sorted(name for name in {*names, *ids} if name)


def enclosing_set(folder: Path) -> Path | None:
    """The root of the set that `folder` is, or is inside of; None if it is in none."""
    home = folder.resolve()
    return next((root for root in (home, *home.parents) if (root / "exercises" / "set.toml").is_file()), None)


def set_id(root: Path) -> str | None:
    """The id of the set in a folder, or None if it has none that can be read."""
    try:
        found = tomllib.loads((root / "exercises" / "set.toml").read_text(encoding="utf-8")).get("id")
    except (OSError, ValueError):
        return None
    return found if isinstance(found, str) else None


def _root_at(path: Path) -> Path | None:
    """The root of the set at a path: the set's folder, its `exercises/`, or its `set.toml`."""
    for root in (path, path.parent, path.parent.parent):
        if (root / "exercises" / "set.toml").is_file() and path in (
            root,
            root / "exercises",
            root / "exercises" / "set.toml",
        ):
            return root.resolve()
    return None


def _installed(name: str) -> Found | None:
    if name == set_id(builtin_root()):
        return Found(builtin_root(), "built-in")
    points = _points()
    for point in points:
        if name == point.name:
            return Found(_package_root(point), "package")
    roots = {point: root for point in points if (root := _folder_of(point))}
    of_package = {p: root for p, root in roots.items() if p.dist is not None and _same(name, p.dist.name)}
    if len(of_package) > 1:
        names = ", ".join(point.name for point in of_package)
        raise SetError(f'The package "{name}" holds several sets.', f"Choose one of them: {names}.")
    for root in (*of_package.values(), *(root for root in roots.values() if set_id(root) == name)):
        return Found(root, "package")
    from tutor.sets.unpack import unpacked

    newest = next((root for root in unpacked() if set_id(root) == name), None)
    return Found(newest, "archive") if newest else None


def _points() -> list[EntryPoint]:
    from importlib.metadata import entry_points

    return sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name)


def _package_root(point: EntryPoint) -> Path:
    root = _folder_of(point)
    if root is None:
        raise SetError(f'The package of the set "{point.name}" ({point.module}) holds no exercises/set.toml.')
    return root


def _folder_of(point: EntryPoint) -> Path | None:
    """The folder of the package that an entry point names. Looked up and not imported, its parents neither: a set is
    data."""
    top, *inner = point.module.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
    places = [Path(place).joinpath(*inner) for place in spec.submodule_search_locations or ()] if spec else []
    return next((place for place in places if (place / "exercises" / "set.toml").is_file()), None)


def _same(a: str, b: str) -> bool:
    """Whether two names are one name of a distribution: `My_Set` is `my-set`."""
    return re.sub(r"[-_.]+", "-", a).lower() == re.sub(r"[-_.]+", "-", b).lower()
