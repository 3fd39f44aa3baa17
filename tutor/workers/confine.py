"""What a forked child does to itself before it runs anything it should not trust (isolation tier C: limits only)."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from pathlib import Path

from tutor.protocol import Limits

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
GIB = 1 << 30


def default_data_bytes() -> int:
    """2 GiB plus 100 MB a core: XLA's arenas and thread stacks grow with the cores (measured: 1 GiB aborts)."""
    return 2 * GIB + 100_000_000 * (os.cpu_count() or 1)


def confine(limits: Limits, home: Path, server: int, keep: set[int], output: int) -> None:
    """Turn this fresh fork into a run of its own: session, death with the server, limits, home, closed descriptors.

    `keep` are the descriptors that stay open besides 0, 1 and 2; `output` becomes stdout and stderr."""
    os.setsid()
    die_with_parent(server)
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(name, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    _close_others(keep | {0, 1, 2})
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds + 1)  # SIGXCPU first, SIGKILL a second later
    _limit(resource.RLIMIT_FSIZE, limits.file_bytes)
    if sys.platform == "linux":
        _limit(resource.RLIMIT_DATA, limits.data_bytes or default_data_bytes())
    os.environ["HOME"] = os.environ["TMPDIR"] = str(home)
    os.chdir(home)


def die_with_parent(parent: int) -> None:
    """End this process when `parent` ends, or now if it has ended already."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def become_subreaper() -> None:
    """Orphans of a run become children of this server, so that it can find and kill them."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def resident_bytes(pid: int) -> int:
    """Resident memory of a process, 0 where that cannot be read."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * resource.getpagesize()


def children_of(parent: int) -> list[int]:
    """Process ids of the direct children of `parent`."""
    try:
        return [int(p) for p in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
    except (OSError, ValueError):
        return []


def _limit(what: int, soft: int, hard: int | None = None) -> None:
    hard = soft if hard is None else hard
    _, ceiling = resource.getrlimit(what)
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(what, (soft, hard))


def _close_others(keep: set[int]) -> None:
    folder = Path("/proc/self/fd")
    if folder.exists():
        open_now = [int(name) for name in os.listdir(folder)]  # noqa: PTH208
    else:
        open_now = list(range(3, 1024))
    for descriptor in open_now:
        if descriptor not in keep:
            try:
                os.close(descriptor)
            except OSError:
                pass  # the descriptor of the listing itself


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
