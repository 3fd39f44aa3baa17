"""What a jailed worker may read: the interpreter, its packages, our own package and the system's libraries.

Neither the user's home, nor any exercise set, nor `solutions/`, which stands beside our package in a checkout."""

from __future__ import annotations

import importlib.util
import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import tutor
from tutor.protocol import Record

SYSTEM = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache", "/usr/share/zoneinfo", "/nix/store")
"""Shared libraries, and how the loader finds them."""
CPUS = "/sys/devices/system/cpu"
"""libtpu counts the processors here."""
PROCESS = ("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", CPUS)
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


DEPENDENCIES = ("jax", "jaxlib", "libtpu", "numpy", "scipy", "ml_dtypes", "opt_einsum", "msgspec", "flatbuffers")
"""What the workers import, wherever it is installed: a `.pth` file may have put another folder on the path."""


class View(Record, frozen=True):
    """Files and folders that are shown, and folders inside them that are not."""

    shown: list[str]
    hidden: list[str] = []


def worker_view(more: Iterable[Path] = (), hidden: Iterable[Path] = ()) -> View:
    """The view of a worker that is started with this interpreter. `more` is shown too. Of `hidden`, and of the built-in
    set where it stands inside our package, nothing can be read."""
    package = Path(tutor.__file__).resolve().parent
    libraries = [
        sysconfig.get_path("stdlib"),
        sysconfig.get_path("platstdlib"),
        *site.getsitepackages(),
        *_folders_of(DEPENDENCIES),
        *(f"{prefix}/{name}" for prefix in (sys.base_prefix, sys.base_exec_prefix) for name in ("lib", "lib64")),
    ]
    ours = [Path(sys.prefix) / "pyvenv.cfg", package]
    found = [*_interpreter(), *ours, *(Path(path) for path in (*libraries, *SYSTEM)), *more]
    there = dict.fromkeys(str(spelled) for path in found for spelled in (path, path.resolve()) if path.exists())
    shown = _outermost(there)
    secret = _outermost(dict.fromkeys(str(path.resolve()) for path in (package / "builtin", *hidden) if path.exists()))
    return View(shown, [path for path in secret if any(_is_below(path, os.path.realpath(other)) for other in shown)])


def _outermost(paths: Iterable[str]) -> list[str]:
    """Without those that stand below another one."""
    known = list(paths)
    return [path for path in known if not any(_is_below(path, other) for other in known if other != path)]


def _folders_of(packages: Iterable[str]) -> Iterator[str]:
    """The folders of `sys.path` that packages stand in; none is imported for that."""
    for spec in map(importlib.util.find_spec, packages):
        yield from (str(Path(place).parent) for place in (spec.submodule_search_locations or () if spec else ()))


def _interpreter() -> Iterator[Path]:
    """The folders that the interpreter's program is found in, link after link."""
    program = Path(sys.executable)
    for _ in range(40):
        yield program.parent
        if not program.is_symlink():
            return
        program = program.parent / program.readlink()


def concealed(view: View) -> list[str]:
    """The hidden folders, under every name that they have in the view."""
    found: list[str] = []
    for path in view.shown:
        real = os.path.realpath(path)
        found += [path + one.removeprefix(real) for one in view.hidden if _is_below(one, real)]
    return list(dict.fromkeys(found))


def readable(view: View) -> tuple[list[str], list[str]]:
    """The view for Landlock, which can allow and not forbid: paths to read all of, and folders whose names may be
    listed. A folder with a hidden one in it is replaced by what else it holds."""
    whole: list[str] = []
    listed: list[str] = []
    for path in view.shown:
        _without(path, view.hidden, whole, listed)
    return whole, listed


def _without(path: str, hidden: Sequence[str], whole: list[str], listed: list[str]) -> None:
    real = os.path.realpath(path)
    if real in hidden:
        return
    if not any(_is_below(one, real) for one in hidden):
        whole.append(path)
        return
    listed.append(path)
    for entry in sorted(os.scandir(real), key=lambda entry: entry.name):
        _without(entry.path, hidden, whole, listed)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
