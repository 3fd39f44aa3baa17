"""Landlock: the kernel keeps a process, and what comes of it, to the files that it is given. Needs no privileges.

What the constants mean stands in the kernel's documentation, userspace-api/landlock.rst."""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
import sys
from collections.abc import Iterable

from tutor.workers.kernel import no_new_privileges, system_call

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_MAKE_DEVICES = 1 << 6 | 1 << 11
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""By version, how many rights over files there are: bits from 0 up."""
_TCP = 0b11
_SCOPES = 0b11
"""No abstract UNIX sockets and no signals beyond the domain."""


class _Ruleset(ctypes.Structure):
    _fields_ = [("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def version() -> int:
    """The version of Landlock in this kernel; 0 for none."""
    if sys.platform != "linux":
        return 0
    try:
        return system_call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_ASK_VERSION))
    except OSError:
        return 0


def restrict(
    read: Iterable[str], *, names: Iterable[str] = (), write: Iterable[str] = (), devices: Iterable[str] = ()
) -> None:
    """From now on this thread, and what it starts, may only read below `read`, list the names of files below `names`,
    do anything with files and folders below `write`, and read and write the files `devices`. No TCP, and no signal or
    abstract socket to anything outside, where the kernel knows how. What does not exist is left out.

    `OSError` if the kernel has no Landlock."""
    known = version()
    rights = (1 << _RIGHTS.get(known, 16)) - 1
    wanted = _Ruleset(rights, _TCP if known >= 4 else 0, _SCOPES if known >= 6 else 0)
    size = 8 if known < 4 else 16 if known < 6 else 24
    ruleset = system_call(_CREATE_RULESET, ctypes.byref(wanted), ctypes.c_size_t(size), ctypes.c_uint32(0))
    try:
        for path in read:
            _allow(ruleset, path, rights & (_READ_FILE | _READ_DIR))
        for path in names:
            _allow(ruleset, path, rights & _READ_DIR)
        for path in write:
            _allow(ruleset, path, rights & ~(_EXECUTE | _MAKE_DEVICES))
        for path in devices:
            _allow(ruleset, path, rights & (_READ_FILE | _WRITE_FILE))
        no_new_privileges()
        system_call(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not stat.S_ISDIR(os.fstat(beneath).st_mode):
                rights &= _OF_FILES
            rule = _Beneath(rights, beneath)
            kind = ctypes.c_int(_PATH_BENEATH)
            system_call(_ADD_RULE, ctypes.c_int(ruleset), kind, ctypes.byref(rule), ctypes.c_uint32(0))
        finally:
            os.close(beneath)
