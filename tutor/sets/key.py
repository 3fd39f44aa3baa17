"""The secret key of a set: while grading, inputs are drawn from it, so that nobody can work them out beforehand.

The file is `solutions/seed.key`, 32 bytes as hexadecimal text. It is as secret as the hidden cases beside it, never
part of a student's pack, and no part of a set's hashes. Another key means other inputs, so it has to be kept.
"""

from __future__ import annotations

import contextlib
import secrets
from pathlib import Path

from tutor.sets.errors import SetError
from tutor.sets.loading import ExerciseSet

KEY_BYTES = 32


def seed_key(exercises: ExerciseSet, elsewhere: Path | None = None) -> bytes:
    """The key of a set: the one in its `solutions/`; else the one in the file `elsewhere`; else a new one.

    A new key goes into the set if that is a folder of the instructor's own that can be written. Into the built-in set,
    a package or an unpacked archive nothing is written: there it goes to `elsewhere`. `SetError` if there is a file
    that holds no key, or no place for a new one."""
    own = exercises.key_file
    for path in (own, elsewhere):
        if path is not None and path.is_file():
            return read_key(path)
    if exercises.origin == "folder" and own.parent.is_dir():
        with contextlib.suppress(OSError):
            return make_key(own)
    if elsewhere is None:
        raise SetError(f"There is no place for the key of the set {exercises.id}: {own.parent} cannot be written.")
    try:
        elsewhere.parent.mkdir(parents=True, exist_ok=True)
        return make_key(elsewhere)
    except OSError as error:
        raise SetError(f"{elsewhere}: the set's key cannot be written: {error.strerror}.") from None


def read_key(path: Path) -> bytes:
    """The key in a file. `SetError` if it cannot be read or holds something else."""
    try:
        key = bytes.fromhex(path.read_text(encoding="ascii"))
    except OSError as error:
        raise SetError(f"{path}: the set's key cannot be read: {error.strerror}.") from None
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        hint = "Put the right file back; or remove it, and the next run makes another key, with other inputs."
        raise SetError(f"{path}: this is no key ({KEY_BYTES * 2} hexadecimal digits).", hint)
    return key


def make_key(path: Path) -> bytes:
    """Make a key in a file that only its owner can read. If another process was quicker, its key."""
    key = secrets.token_bytes(KEY_BYTES)
    new = path.with_name(f".{path.name}.{secrets.token_hex(6)}.new")
    try:
        new.touch(mode=0o600, exist_ok=False)
        new.write_text(key.hex() + "\n", encoding="ascii")
        path.hardlink_to(new)  # appears whole, and never in place of another one
    except FileExistsError:
        return read_key(path)
    except OSError:  # a file system without hard links
        new.rename(path)
    finally:
        new.unlink(missing_ok=True)
    return key
