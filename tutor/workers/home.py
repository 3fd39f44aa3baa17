"""Removing what a run has left in its home, whatever it is."""

from __future__ import annotations

import contextlib
import os
from itertools import count
from pathlib import Path


def remove(home: Path) -> None:
    """Remove a folder with all that is in it.

    `shutil.rmtree` gives up on folders that nest more deeply than a path may be long, or than files may be open, and on
    those that their owner may not read. Here every folder is emptied into the home first, so no path is ever long."""
    numbers = count()
    with contextlib.suppress(FileNotFoundError):
        while entries := list(os.scandir(home)):
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    _empty(Path(entry.path), home, numbers)
                else:
                    os.unlink(entry.path)  # noqa: PTH108
        home.rmdir()


def _empty(folder: Path, into: Path, numbers: count[int]) -> None:
    """Move what is in a folder up, and remove it."""
    folder.chmod(0o700)
    for inner in list(os.scandir(folder)):
        if inner.is_dir(follow_symlinks=False):
            os.chmod(inner.path, 0o700)  # noqa: PTH101 (a folder can only be moved by who may write in it)
        os.rename(inner.path, _free(into, numbers))  # noqa: PTH104
    folder.rmdir()


def _free(into: Path, numbers: count[int]) -> str:
    """A name that nothing has: a run may have guessed how ours are made."""
    while os.path.lexists(name := f"{into}/{next(numbers)}.{os.getpid()}"):
        pass
    return name
