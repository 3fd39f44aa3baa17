"""What was proved already: one small file a program, named by the hash of everything that the outcome follows from.

Only what came out as it must is kept, so whatever is wrong is always judged again."""

from __future__ import annotations

import functools
import hashlib
import platform
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec

from tutor.ladder.chip import find_device
from tutor.sets.cache import cache_folder
from tutor.sets.exercise import Exercise

JUDGES = ("protocol", "wire", "findings", "sets", "workers", "jaxpr", "stage", "judge", "ladder")
"""The parts of this package that a verdict follows from; the fronts may change freely."""
WORDS: dict[str, Any] = {
    "title": "", "summary": "", "concepts": (), "requires": (), "hints": (), "starter": "", "diagnosis": (),
}  # fmt: skip
"""What a manifest says to people: no verdict follows from it."""
PACKAGES = ("jax", "jaxlib", "libtpu", "numpy", "ml_dtypes")


def key(exercise: Exercise, source: bytes, *promise: object) -> str:
    """The name of a proof: a hash of the exercise's data, the program, what is promised of it, and all versions."""
    data = [exercise.oracle, exercise.solutions / "hidden.toml", exercise.reference]
    total = hashlib.sha256(repr((exercise.set_id, exercise.slug, exercise.chips, *promise)).encode())
    total.update(msgspec.json.encode(msgspec.structs.replace(exercise.manifest, **WORDS), order="deterministic"))
    for piece in (*(path.read_bytes() if path and path.is_file() else b"" for path in data), source):
        total.update(hashlib.sha256(piece).digest())
    total.update(_versions().encode())
    return total.hexdigest()


class Proofs:
    """The proofs in one folder. A folder that cannot be written only makes the next proof as slow as this one."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = cache_folder("proofs") if folder is None else folder

    def find[T](self, name: str, kind: type[T]) -> T | None:
        """What was kept under `name`, or None."""
        try:
            return msgspec.msgpack.decode((self.folder / name).read_bytes(), type=kind)
        except (OSError, msgspec.MsgspecError):
            return None

    def keep(self, name: str, outcome: object) -> None:
        """Keep an outcome. Two processes may write the same one: the file appears whole or not at all."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self.folder, delete=False) as file:
                file.write(msgspec.msgpack.encode(outcome))
            Path(file.name).replace(self.folder / name)
        except OSError:
            return


@functools.cache
def _versions() -> str:
    """Every version that decides: of Python, of the libraries, of this package's own judges, and the chip if any."""
    root = Path(__file__).parents[1]
    total = hashlib.sha256()
    for part in JUDGES:
        files = [root / part] if part.endswith(".py") else sorted((root / part).rglob("*.py"))
        for path in files:
            total.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    found = [f"{package} {_version(package)}" for package in PACKAGES]
    return f"{platform.python_version()} {found} {find_device()} {total.hexdigest()}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
