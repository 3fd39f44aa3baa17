"""System calls that Python has no function for."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from functools import cache

KNOWN_MACHINE = sys.platform == "linux" and platform.machine() == "x86_64"
"""System calls have numbers, and those in this package are of Linux on x86-64."""

PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
_CAPSET = 126
_CAPABILITY_VERSION_3 = 0x20080522
_LAST_CAPABILITY = 63


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def system_call(number: int, *arguments: object) -> int:
    """The result of a system call; `OSError` with its errno."""
    result = int(_libc().syscall(ctypes.c_long(number), *arguments))
    if result < 0:
        errno = ctypes.get_errno()
        raise OSError(errno, os.strerror(errno))
    return result


def prctl(option: int, value: object, third: object = 0) -> None:
    """`prctl(2)`; `OSError` with its errno."""
    if _libc().prctl(option, value, third, 0, 0) != 0:
        errno = ctypes.get_errno()
        raise OSError(errno, os.strerror(errno))


def no_new_privileges() -> None:
    """From now on no program that this process starts gains any privilege."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def drop_capabilities() -> None:
    """Give up every capability for good. A user who is not root has none to give up."""
    for capability in range(_LAST_CAPABILITY + 1):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:
            break  # EPERM: there is none to drop; EINVAL: that was the last one
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    system_call(_CAPSET, header, (ctypes.c_uint32 * 6)())
