"""The jail that a worker server is started in: its tier, and the command that puts it there.

Tier A: bubblewrap around the server (namespaces, only the view, read-only), and in every run Landlock and seccomp.
Tier B: Landlock and seccomp in every run. Tier C: limits only. Limits hold in all of them."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from tutor.protocol import Record, Tier
from tutor.workers import landlock
from tutor.workers.kernel import KNOWN_MACHINE
from tutor.workers.view import CPUS, View, concealed, readable

TMP_BYTES = 1 << 30
SECCOMP = Path("/proc/sys/kernel/seccomp/actions_avail")


class Jail(Record, frozen=True):
    """How the runs of a server are confined: what they may read, and which folders they may only list."""

    tier: Tier = "C"
    read: list[str] = []
    names: list[str] = []


def jail_of(tier: Tier, view: View) -> Jail:
    """The jail of one tier."""
    if tier == "C":
        return Jail()
    whole, listed = readable(view)
    return Jail(tier, whole, listed)


def why_not(tier: Tier) -> str | None:
    """Why this machine cannot have a tier, as far as that is known without trying; None if it may."""
    if tier == "C":
        return None
    if not KNOWN_MACHINE:
        return "tiers A and B need Linux on x86-64"
    if not SECCOMP.exists():
        return "this kernel has no seccomp filters"
    if tier == "A" and shutil.which("bwrap") is None:
        return "bubblewrap is not installed (bwrap)"
    if tier == "B" and not landlock.version():
        return "this kernel has no Landlock, or it is switched off"
    return None


def jailed_command(tier: Tier, module: str, view: View, environment: Mapping[str, str]) -> list[str]:
    """The command line that starts the server `module` in a jail."""
    jail = msgspec.json.encode(jail_of(tier, view)).decode()
    server = [sys.executable, "-I", "-m", module, jail]
    return [*bubblewrap(view, environment), *server] if tier == "A" else server


def jail_named(arguments: Sequence[str]) -> Jail:
    """The jail that a server was told of on its command line; tier C if it was told of none."""
    return msgspec.json.decode(arguments[1], type=Jail) if len(arguments) > 1 else Jail()


def bubblewrap(view: View, environment: Mapping[str, str]) -> list[str]:
    """`bwrap` with its options: every namespace of its own, the view read-only, and nothing to write to but /tmp."""
    return [
        shutil.which("bwrap") or "bwrap",
        *("--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"),
        *(part for name, value in environment.items() for part in ("--setenv", name, value)),
        *("--setenv", "HOME", "/tmp", "--setenv", "TMPDIR", "/tmp"),
        *("--proc", "/proc", "--dev", "/dev", "--size", str(TMP_BYTES), "--tmpfs", "/tmp"),
        *("--ro-bind-try", CPUS, CPUS),
        *_mounts(view),
        *("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp", "--"),
    ]


def _mounts(view: View) -> Iterator[str]:
    for path in view.shown:
        yield from ("--ro-bind-try", path, path)
    for path in concealed(view):
        yield from ("--tmpfs", path, "--remount-ro", path)
