"""What the jail refuses an attempt, in plain words (KT815)."""

from __future__ import annotations

import errno
import socket

from tutor.findings import finding
from tutor.protocol import Finding
from tutor.stage.explain.table import RAW_LIMIT, clean, first_line
from tutor.stage.explain.where import chain, place_of
from tutor.workers import confine

_REFUSED = (errno.EPERM, errno.EACCES, errno.EROFS, errno.ENOENT)


def refused_by_jail(error: BaseException, path: str) -> Finding | None:
    """KT815 if the system has refused something to a run that is locked in, else None."""
    refused = next((link for link in chain(error) if isinstance(link, OSError) and _is_refusal(link)), None)
    if refused is None or not confine.locked():
        return None
    place = place_of(error, path)
    about = f" for {clean(str(refused.filename))[:200]}" if refused.filename is not None else ""
    message = (
        f"The file asks the system for something that a run does not get here: {first_line(str(refused.strerror))}"
        f"{about}. Attempts run in a jail: no network, no other programs and processes, no files but those of Python "
        "and its packages, and only a folder of their own to write to."
    )
    line, column = (place.line, place.column) if place else (None, None)
    raw = clean(f"{type(error).__name__}: {error}")[:RAW_LIMIT]
    return finding("KT815", message, line=line, column=column, raw=raw)


def _is_refusal(error: OSError) -> bool:
    """Names of the network are looked up over sockets, so without one they are unknown."""
    return error.errno in _REFUSED or isinstance(error, socket.gaierror)
