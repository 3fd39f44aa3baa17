"""What a packed set says of itself: `pack.json`, beside its `exercises/`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from tutor.protocol import Figures, Record
from tutor.sets.errors import SetError

SCHEMA = "kerneltutor.pack/1"
MANIFEST = "pack.json"
Audience = Literal["student", "instructor"]


class Pack(Record, frozen=True, kw_only=True):
    """`pack.json`. `set_sha256` is the hash of `exercises/`, which students and instructor have in common: for each
    file in the order of its name, the line `exercises/NAME`, a zero byte, the sha256 of its bytes in hexadecimal, and a
    line feed; then the sha256 of all that. Hidden files and `__pycache__` do not count. `content_sha256` goes over
    `solutions/` as well, in the same way, and is null in a student's pack. The secret key is in neither.

    `figures` (by slug) stand for the references in a student's pack, where a rule compares with them."""

    schema: str = SCHEMA
    audience: Audience
    set: str
    title: str
    set_sha256: str
    content_sha256: str | None
    kerneltutor: str
    figures: dict[str, list[Figures]] = {}


def read_pack(data: bytes, name: str) -> Pack:
    """What a pack says of itself; `name` is only for messages. `SetError` if it cannot be read."""
    try:
        found = msgspec.json.decode(data, type=Pack)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SetError(f"{name}: {MANIFEST} cannot be read: {error}") from None
    if found.schema != SCHEMA:
        raise SetError(f'{name}: {MANIFEST} has the schema "{found.schema}"; this kerneltutor knows {SCHEMA}.')
    return found


def figures_of(root: Path) -> dict[str, list[Figures]]:
    """The figures in a packed set's folder; none where it was not packed."""
    path = root / MANIFEST
    if not path.is_file():
        return {}
    try:
        return read_pack(path.read_bytes(), str(path)).figures
    except OSError as error:
        raise SetError(f"{path}: cannot be read: {error.strerror}.") from None
