"""What a forked child does to itself before it runs anything it should not trust."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import signal
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from tutor.protocol import Limits, Tier
from tutor.workers import landlock, seccomp
from tutor.workers.jail import Jail
from tutor.workers.kernel import drop_capabilities, prctl
from tutor.workers.view import DEVICES, PROCESS

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
GIB = 1 << 30
OPEN_FILES = 512
JAIL_THREADS = 4096
"""In tier A users are counted for the jail alone, so their threads can be limited. The server's watch is nearer."""
_LOCKED: list[Tier] = []
ENTRIES = 5_000
"""A run with more files and folders than this in its home counts as one that fills the disk."""


def default_data_bytes() -> int:
    """2 GiB plus 100 MB a core: XLA's arenas and thread stacks grow with the cores (measured: 1 GiB aborts)."""
    return 2 * GIB + 100_000_000 * (os.cpu_count() or 1)


def default_threads() -> int:
    """XLA has a few pools with a thread a core each, and the simulator some of its own."""
    return 512 + 16 * (os.cpu_count() or 1)


def confine(limits: Limits, jail: Jail, home: Path, server: int, keep: set[int], output: int) -> None:
    """Turn this fresh fork into a run of its own: session, death with the server, limits, home, closed descriptors,
    and in the tiers A and B the locks of the jail.

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
    close_others(keep | {0, 1, 2})
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds + 1)  # SIGXCPU first, SIGKILL a second later
    _limit(resource.RLIMIT_FSIZE, limits.file_bytes)
    if sys.platform == "linux":
        _limit(resource.RLIMIT_DATA, limits.data_bytes or default_data_bytes())
    _limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    if jail.tier == "A":
        _limit(resource.RLIMIT_NPROC, JAIL_THREADS)
    os.environ["HOME"] = os.environ["TMPDIR"] = tempfile.tempdir = str(home)
    os.chdir(home)
    lock(jail, home)


def lock(jail: Jail, home: Path) -> None:
    """Lock this process into its jail: only `home` can be written, only the view be read; no network, no signals, no
    processes. It holds for the threads that are started from now on. `OSError` where the kernel cannot do it."""
    if jail.tier == "C":
        return
    drop_capabilities()
    if jail.tier == "B" or landlock.version():
        landlock.restrict([*jail.read, *PROCESS], names=jail.names, write=[str(home)], devices=DEVICES)
    seccomp.install()
    _LOCKED.append(jail.tier)


def locked() -> bool:
    """Whether this process is locked into a jail of tier A or B."""
    return bool(_LOCKED)


def die_with_parent(parent: int) -> None:
    """End this process when `parent` ends, or now if it has ended already."""
    _on_linux(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def become_subreaper() -> None:
    """Orphans of a run become children of this server, so that it can find and kill them."""
    _on_linux(PR_SET_CHILD_SUBREAPER, 1)


class Turn(NamedTuple):
    """What the kernel says of one thread: seconds on a core, and seconds in the queue for one."""

    worked: float
    queued: float


def turns(pid: int) -> list[Turn]:
    """The turns of each thread of a process; empty where the kernel does not say. A machine with too much to do keeps a
    process in the queue, which is not its fault."""
    found: list[Turn] = []
    with contextlib.suppress(OSError, ValueError, IndexError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            worked, queued, *_ = (thread / "schedstat").read_text().split()
            found.append(Turn(int(worked) / 1e9, int(queued) / 1e9))
    return found


def resident_bytes(pid: int) -> int:
    """Resident memory of a process, 0 where that cannot be read."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * resource.getpagesize()


def threads_of(pid: int) -> int:
    """How many threads a process has, 0 where that cannot be read."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[17])
    except (OSError, IndexError, ValueError):
        return 0


def fills_the_disk(home: Path, allowed: int, most: int = ENTRIES) -> bool:
    """Whether what lies in a run's home takes more bytes than are `allowed`, or is more than so many entries."""
    left, used, entries = [str(home)], 0, 0
    while left:
        try:
            with os.scandir(left.pop()) as found:
                for entry in found:
                    entries += 1
                    used += entry.stat(follow_symlinks=False).st_blocks * 512
                    if used > allowed or entries > most:
                        return True
                    if entry.is_dir(follow_symlinks=False):
                        left.append(entry.path)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return True  # folders in folders, more than a path can name
            continue  # the run has removed it meanwhile
    return False


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


def close_others(keep: set[int]) -> None:
    """Close every descriptor of this process but `keep`."""
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


def _on_linux(option: int, value: int) -> None:
    if sys.platform == "linux":
        prctl(option, value)
