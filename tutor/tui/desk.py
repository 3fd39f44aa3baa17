"""The attempt on the desk: which file it is, what the disk held when we last looked, and its side file."""

from __future__ import annotations

from pathlib import Path

from tutor.sets.workspace import write_atomic
from tutor.tui.files import Loaded, SideFile, changed, load, stamp
from tutor.tui.ports import Exercise


class Desk[E: Exercise]:
    """One open attempt. The editor holds the text; the desk knows whether the disk holds the same."""

    def __init__(self, exercise: E, path: Path, fallback: Path | None = None) -> None:
        self.exercise = exercise
        self.path = path
        self.side = SideFile(path, fallback)
        self.loaded: Loaded = Loaded("", b"")
        self._stamp = stamp(path)

    def read(self) -> Loaded:
        """Read the file, and remember it as what the disk holds. `OSError` if it cannot be read."""
        self._stamp = stamp(self.path)
        self.loaded = load(self.path)
        return self.loaded

    def source(self, text: str) -> bytes:
        """The bytes to check and to write for this text of the editor: of a locked file, those of the file itself."""
        return self.loaded.data if self.loaded.locked else text.encode("utf-8", errors="surrogatepass")

    def dirty(self, text: str) -> bool:
        """Whether the editor holds something that the disk does not."""
        return self.source(text) != self.loaded.data

    def theirs(self) -> bool:
        """Whether another program has changed the file since we last looked. Cheap while it has not."""
        now = stamp(self.path)
        if now == self._stamp:
            return False
        self._stamp = now
        return changed(self.path, self.loaded.data) is not None

    def write(self, text: str) -> None:
        """Make the disk hold `text`. `OSError` leaves everything as it was."""
        data = self.source(text)
        write_atomic(self.path, data)
        self.loaded = Loaded(text, data)
        self._stamp = stamp(self.path)
        self.side.drop()

    def lost(self) -> str | None:
        """Unsaved text of an earlier session, if it differs from the file."""
        kept = self.side.read()
        return kept if kept is not None and kept != self.loaded.text else None
