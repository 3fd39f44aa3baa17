"""Sets in archives: unpacked once, into the cache, under the hash of the archive."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from tutor.sets.archive import ArchiveError, archive_files, read_bytes
from tutor.sets.cache import cache_folder
from tutor.sets.errors import SetError
from tutor.sets.exercise import KEY_FILE, hash_files
from tutor.sets.packed import MANIFEST, read_pack

_SET = "exercises/set.toml"


def unpack(path: Path) -> Path:
    """The root of the set in an archive: zip or tar, made by `set pack` or by hand, with or without a folder around it.

    `SetError` says what is wrong with it; a pack whose files are not what was packed is refused."""
    data = read_bytes(path)
    target = cache_folder("sets") / hashlib.sha256(data).hexdigest()
    if (target / _SET).is_file():
        os.utime(target)  # the last one used comes first in `unpacked`
        return target
    files = _set_files(archive_files(data, str(path)), path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".new-") as made:
            root = Path(made) / "set"
            _write(root, files)
            _check_pack(root, files, path)
            if target.exists():  # a copy that is not whole
                shutil.rmtree(target)
            root.rename(target)
    except OSError as error:
        raise SetError(f"{path} cannot be unpacked into {target.parent}: {error.strerror}.") from None
    return target


def unpacked() -> list[Path]:
    """The roots of all sets that were unpacked, the last one used first."""
    roots = [path.parent.parent for path in cache_folder("sets").glob(f"[!.]*/{_SET}")]
    return sorted(roots, key=lambda root: root.stat().st_mtime, reverse=True)


def _set_files(files: Mapping[str, bytes], path: Path) -> dict[str, bytes]:
    """The files of the set in an archive, by their names inside the set."""
    tops = sorted({name.removesuffix(_SET) for name in files if name == _SET or name.endswith("/" + _SET)}, key=len)
    if not tops:
        hint = "A set's archive has exercises/set.toml in it; `kerneltutor set pack` makes one."
        raise ArchiveError(f"{path} holds no exercise set.", hint)
    if len(tops) > 1 and tops[0]:
        raise ArchiveError(f"{path} holds several exercise sets: {', '.join(tops)}.", "Pack each on its own.")
    inner = {name.removeprefix(tops[0]): data for name, data in files.items() if name.startswith(tops[0])}
    kept = ("exercises", "solutions")
    return {name: data for name, data in inner.items() if name == MANIFEST or PurePosixPath(name).parts[0] in kept}


def _write(root: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch(mode=0o600 if name == f"solutions/{KEY_FILE}" else 0o666)
        place.write_bytes(data)


def _check_pack(root: Path, files: Mapping[str, bytes], path: Path) -> None:
    """A pack says its own hash: what was damaged or edited on the way is not taken for what was packed."""
    if MANIFEST not in files:
        return
    said = read_pack(files[MANIFEST], str(path))
    if hash_files([("exercises", root / "exercises")]) != said.set_sha256:
        hint = f"Ask for it again. Who changed it on purpose removes {MANIFEST} from it."
        raise ArchiveError(f"{path}: its exercises are not those that were packed.", hint)
