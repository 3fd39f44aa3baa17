"""The learner's file and its side file: reading, writing, and noticing that another editor wrote it."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path

from tutor.sets.workspace import side_file, write_atomic

# `str.splitlines`, which the editor uses, also breaks at these; Python does not, so line numbers would part ways.
_ODD_BREAKS = re.compile("[\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]")


@dataclass(frozen=True)
class Loaded:
    """A file as it was read. `locked` says why the built-in editor must not write it, if it must not."""

    text: str
    data: bytes
    locked: str | None = None


def load(path: Path) -> Loaded:
    """Read an attempt; whatever is in it, it can be shown. `OSError` if it cannot be read."""
    data = path.read_bytes()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        shown = data.decode("utf-8", errors="replace")
        return Loaded(_ODD_BREAKS.sub("\ufffd", shown), data, f"not UTF-8 at byte {error.start}")
    if _ODD_BREAKS.search(text):
        return Loaded(_ODD_BREAKS.sub("\ufffd", text), data, "it has line breaks that Python does not count")
    newlines = {match[0] for match in re.finditer(r"\r\n|\r|\n", text)}
    return Loaded(text, data, "its line ends are mixed" if len(newlines) > 1 else None)


def changed(path: Path, known: bytes) -> bytes | None:
    """What is in the file now, if that is not `known`; None while it is the same, or gone."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    return None if data == known else data


def stamp(path: Path) -> tuple[int, int, int] | None:
    """What changes when the file is written: asked often, so it must be cheap."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


class SideFile:
    """Unsaved text, kept next to the attempt, or where that cannot be written, in the state folder."""

    def __init__(self, path: Path, fallback: Path | None = None) -> None:
        self._places = [side_file(path)]
        if fallback is not None:
            self._places.append(fallback / f"{path.parent.name}-{path.name}.unsaved")

    def keep(self, text: str) -> Path | None:
        """Keep `text`; the answer is where, or None if no place can be written."""
        for place in self._places:
            with contextlib.suppress(OSError):
                write_atomic(place, text.encode("utf-8", errors="surrogatepass"))
                return place
        return None

    def read(self) -> str | None:
        """What was kept, if anything was."""
        for place in self._places:
            with contextlib.suppress(OSError):
                return place.read_bytes().decode("utf-8", errors="replace")
        return None

    def drop(self) -> None:
        """Forget what was kept."""
        for place in self._places:
            with contextlib.suppress(OSError):
                place.unlink(missing_ok=True)
