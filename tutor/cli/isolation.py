"""`doctor` on the jail: the tier that two workers have proved just now, each denial, and how to get a better one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tutor.cli.machine import Check
from tutor.ladder.check import Ladder
from tutor.ladder.isolation import Isolation
from tutor.ladder.jailed import FORCED, NotIsolated
from tutor.ladder.worker import WorkerDied


def proved() -> Isolation | str:
    """Start the workers and let them prove their jail; why they do not start, if they do not."""

    async def ask() -> Isolation | str:
        ladder = Ladder()
        try:
            return await ladder.isolation()
        except NotIsolated as refused:
            return f"what {FORCED} asks for cannot be had: {refused.tail}"
        except WorkerDied as died:
            return f"the workers do not start: {died.tail or died}"
        finally:
            await ladder.aclose()

    return asyncio.run(ask())


def isolation(found: Isolation | str) -> list[Check]:
    """The lines of `doctor`."""
    if isinstance(found, str):
        again = "Install kerneltutor again with its dependencies."
        return [Check("isolation", "problem", found, how_to_get(found) if FORCED in found else again)]
    denied = [f"{denial.what} ({denial.detail})" for denial in found.denials if denial.denied]
    checks = [Check("isolation", "ok" if found.tier != "C" else "missing", found.words)]
    if denied:
        tried = f"tried by a run just now, and {len(denied)} of {len(found.denials)} denied"
        checks.append(Check("proof", "ok", tried, f"Denied: {'; '.join(denied)}."))
    if found.allowed:
        words = f"an attempt can {', '.join(found.allowed)}"
        checks.append(Check("not denied", "missing", words, "Attempts of people whom you do not trust want a jail."))
    return [*checks, *(Check("better", "missing", why, how_to_get(why)) for why in found.why_not_better)]


def how_to_get(why_not: str) -> str:
    """What to do about the reason that a tier cannot be had for."""
    said = why_not.lower()
    for words, advice in _ADVICE:
        if any(word in said for word in words):
            return advice
    return "Attempts are jailed as said above; the reason is what the system says."


_ADVICE: Sequence[tuple[tuple[str, ...], str]] = (
    (("not installed",), "sudo apt-get install bubblewrap (or: sudo dnf install bubblewrap)"),
    (("unknown option",), "This bubblewrap is too old; 0.7 or newer is needed."),
    (
        ("namespace", "uid map", "permission denied", "operation not permitted", "no permissions"),
        "Programs may make no user namespaces here. On Ubuntu: sudo sysctl "
        "kernel.apparmor_restrict_unprivileged_userns=0; on Debian: sudo sysctl kernel.unprivileged_userns_clone=1; "
        "user.max_user_namespaces must not be 0; in a container: start it with leave to make them.",
    ),
    (
        ("landlock",),
        "Landlock is in Linux 5.13 and newer; it is switched on with lsm=landlock,… on the kernel's command line.",
    ),
    (("x86-64",), "On this machine runs have limits only. Judge attempts of people whom you do not trust elsewhere."),
)
