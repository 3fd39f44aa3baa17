"""A seccomp filter: the system calls that a run has no business with answer EPERM, so Python says what was refused.

Names, numbers and structures are those of Linux on x86-64; another architecture's calls are refused whole."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterator

from tutor.workers.kernel import PR_SET_SECCOMP, no_new_privileges, prctl

_X86_64 = 0xC000003E
_X32_BIT = 0x40000000
_FILTER_MODE = 2
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16

CLONE, CLONE3, CLONE_THREAD = 56, 435, 0x10000
SOCKETPAIR, AF_UNIX = 53, 1

DENIED: dict[str, tuple[int, ...]] = {
    # names of the calls behind each group's numbers stand in the same order
    "fork vfork execve execveat": (57, 58, 59, 322),
    "setsid setpgid personality": (112, 109, 135),
    "socket io_uring_setup io_uring_enter io_uring_register": (41, 425, 426, 427),
    "ptrace process_vm_readv process_vm_writev kcmp process_madvise process_mrelease": (101, 310, 311, 312, 440, 448),
    "tkill pidfd_open pidfd_getfd pidfd_send_signal": (200, 434, 438, 424),
    "setpriority sched_setparam sched_setscheduler sched_setattr ioprio_set": (141, 142, 144, 314, 251),
    "move_pages migrate_pages": (279, 256),
    "unshare setns mount umount2 pivot_root chroot": (272, 308, 165, 166, 155, 161),
    "open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr open_tree_attr": (
        428, 429, 430, 431, 432, 433, 442, 467,
    ),
    "name_to_handle_at open_by_handle_at fanotify_init fanotify_mark inotify_add_watch": (303, 304, 300, 301, 254),
    "bpf perf_event_open userfaultfd memfd_secret memfd_create": (321, 298, 323, 447, 319),
    "add_key request_key keyctl": (248, 249, 250),
    "init_module finit_module delete_module kexec_load kexec_file_load reboot": (175, 313, 176, 246, 320, 169),
    "swapon swapoff acct quotactl quotactl_fd syslog vhangup": (167, 168, 163, 179, 443, 103, 153),
    "settimeofday clock_settime adjtimex clock_adjtime": (164, 227, 159, 305),
    "sethostname setdomainname iopl ioperm modify_ldt": (170, 171, 172, 173, 154),
    "shmget shmat shmctl semget semop semctl semtimedop": (29, 30, 31, 64, 65, 66, 220),
    "msgget msgsnd msgrcv msgctl mq_open mq_unlink": (68, 69, 70, 71, 240, 241),
    "setuid setgid setreuid setregid setresuid setresgid setgroups setfsuid setfsgid": (
        105, 106, 113, 114, 117, 119, 116, 122, 123,
    ),
    # Landlock has no word on these
    "truncate chmod fchmod fchmodat fchmodat2": (76, 90, 91, 268, 452),
    "chown fchown lchown fchownat utime utimes futimesat utimensat": (92, 93, 94, 260, 132, 235, 261, 280),
    "setxattr lsetxattr fsetxattr setxattrat": (188, 189, 190, 463),
    "removexattr lremovexattr fremovexattr removexattrat": (197, 198, 199, 466),
}  # fmt: skip
"""Always refused."""

ONLY_ITSELF = {"kill": 62, "tgkill": 234, "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297}
"""Refused unless the first argument is the process itself."""
ITSELF_OR_ZERO = {"prlimit64": 302, "sched_setaffinity": 203}

REFUSED_OPTIONS: dict[int, tuple[int, tuple[int, ...]]] = {
    157: (0, (1,)),  # prctl: PR_SET_PDEATHSIG, or the run could outlive its server
    72: (1, (8, 10, 15)),  # fcntl: F_SETOWN, F_SETSIG, F_SETOWN_EX send signals
    16: (1, (0x5412, 0x541C, 0x8901, 0x8902)),  # ioctl: TIOCSTI, TIOCLINUX, FIOSETOWN, SIOCSPGRP
}
"""By system call: which argument, and the values of it that are refused."""


def install() -> None:
    """Filter the system calls of this thread, and of what it starts, from now on. `OSError` if that cannot be."""
    code = program(os.getpid())
    held = ctypes.create_string_buffer(code, len(code))
    pointed = _Program(len(code) // 8, ctypes.cast(held, ctypes.c_void_p))
    no_new_privileges()
    prctl(PR_SET_SECCOMP, _FILTER_MODE, ctypes.byref(pointed))


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]


def program(itself: int) -> bytes:
    """The filter of the process `itself`, as BPF instructions of 8 bytes."""
    return b"".join(struct.pack("=HBBI", *step) for step in _steps(itself))


type _Step = tuple[int, int, int, int]
"""Operation, steps to jump if it holds, steps if not, operand."""


def _steps(itself: int) -> Iterator[_Step]:
    refuse, pretend_missing = _answer(errno.EPERM), _answer(errno.ENOSYS)
    yield _LOAD, 0, 0, _ARCHITECTURE
    yield _EQUAL, 1, 0, _X86_64
    yield refuse
    yield _LOAD, 0, 0, _NUMBER
    yield _AT_LEAST, 0, 1, _X32_BIT
    yield refuse
    for number in (number for group in DENIED.values() for number in group):
        yield _EQUAL, 0, 1, number
        yield refuse
    yield _EQUAL, 0, 1, CLONE3  # its flags are behind a pointer, so libc has to fall back to clone
    yield pretend_missing
    yield from _unless(CLONE, 0, _ANY_BIT, (CLONE_THREAD,), refuse)
    yield from _unless(SOCKETPAIR, 0, _EQUAL, (AF_UNIX,), refuse)
    for number in ONLY_ITSELF.values():
        yield from _unless(number, 0, _EQUAL, (itself,), refuse)
    for number in ITSELF_OR_ZERO.values():
        yield from _unless(number, 0, _EQUAL, (0, itself), refuse)
    for number, (argument, values) in REFUSED_OPTIONS.items():
        yield _EQUAL, 0, 2 * len(values) + 2, number
        yield _LOAD, 0, 0, _ARGUMENTS + 8 * argument
        for value in values:
            yield _EQUAL, 0, 1, value
            yield refuse
        yield _LOAD, 0, 0, _NUMBER
    yield _RETURN, 0, 0, _ALLOW


def _unless(number: int, argument: int, test: int, values: tuple[int, ...], refuse: _Step) -> Iterator[_Step]:
    """Refuse a call unless the low half of an argument passes the test with one of `values`."""
    yield _EQUAL, 0, len(values) + 3, number
    yield _LOAD, 0, 0, _ARGUMENTS + 8 * argument
    for position, value in enumerate(values):
        yield test, len(values) - position, 0, value
    yield refuse
    yield _LOAD, 0, 0, _NUMBER


def _answer(number: int) -> _Step:
    return _RETURN, 0, 0, _ERROR | number
