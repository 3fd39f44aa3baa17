"""A file of the user's own on the command line, where an exercise could stand too: `FILE.py[:FUNCTION]`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import click

from tutor.cli.errors import Refused
from tutor.cli.session import Session

DEFAULT = "run"


class OwnFileName(NamedTuple):
    """Where the file is, and which function of it is meant."""

    path: Path
    function: str


def is_file_name(text: str) -> bool:
    """Whether this means a file: slugs have no suffix and no folder."""
    name, colon, function = text.rpartition(":")
    if colon and function.isidentifier():
        text = name
    return text.endswith(".py") or os.sep in text or Path(text).is_file()


def is_own(session: Session, text: str, file: str | None) -> bool:
    """Whether a verb that takes an exercise was given a file in its place. `UsageError` if it got both."""
    if text in {exercise.slug for exercise in session.set.exercises} or not is_file_name(text):
        return False
    if file is not None:
        raise click.UsageError(f"{text} is a file of your own, so {file} is one file too many.")
    return True


def own_file(text: str) -> OwnFileName:
    """FILE and FUNCTION of `FILE[:FUNCTION]`. `Refused` if there is no such file."""
    name, colon, function = text.rpartition(":")
    if colon and not function.isidentifier() and Path(name).is_file() and not Path(text).exists():
        words = f'"{function}" is no name of a function.' if function else "No function is named after the colon."
        raise Refused("no_function", words, f"Give {name}:FUNCTION, or {name} alone for its `{DEFAULT}`.")
    if not colon or not function.isidentifier() or Path(text).exists():
        name, function = text, DEFAULT
    path = Path(name).resolve()
    read(path)
    return OwnFileName(path, function)


def read(path: Path) -> bytes:
    """The bytes of a file; `Refused` if they cannot be had."""
    try:
        return path.read_bytes()
    except IsADirectoryError:
        raise Refused("not_a_file", f"{path} is a folder.", "Give the Python file to inspect.") from None
    except OSError as error:
        raise Refused("cannot_read", f"{path} cannot be read: {error.strerror}.", "Check the name.") from None
