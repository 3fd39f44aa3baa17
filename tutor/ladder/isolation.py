"""The proof of a jail, seen from the front: it lays out what a run must not get at, and looks afterwards whether any
of it was got at."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tutor.protocol import Record, Tier
from tutor.wire import Body, Denial, Ended, Job, ProofJob
from tutor.workers.proof import LAST

WORDS: dict[Tier, str] = {
    "A": "bubblewrap, seccomp, Landlock and limits",
    "B": "Landlock, seccomp and limits",
    "C": "limits only",
}


class Isolation(Record, frozen=True):
    """The tier that a worker has proved, all that was tried, and why it has no better one."""

    tier: Tier
    denials: list[Denial] = []
    why_not_better: list[str] = []

    @property
    def words(self) -> str:
        """In one line."""
        return f"tier {self.tier}: {WORDS[self.tier]}"

    @property
    def allowed(self) -> list[str]:
        """What a run can do although it should not; in tiers A and B that is nothing."""
        return [denial.what for denial in self.denials if not denial.denied]


def weakest(some: Sequence[Isolation | None]) -> Isolation:
    """What holds for all of several workers: the lowest tier. A worker without a jail is in tier C."""
    known = [one for one in some if one is not None]
    return max(known, key=lambda one: one.tier) if known and len(known) == len(some) else Isolation("C")


async def prove(ask: Callable[[Job], AsyncIterator[Body | Ended]]) -> list[Denial]:
    """Let a server's run try to get out. `ask` runs a job on that server."""
    with _bait() as bait:
        denials: list[Denial] = []
        ended: Ended | None = None
        async for answer in ask(bait.job):
            if isinstance(answer, Denial):
                denials.append(answer)
            elif isinstance(answer, Ended):
                ended = answer
        seen = bait.taken()
    if not denials or denials[-1].what != LAST:
        how = f"the run ended ({ended.how} {ended.detail})" if ended else "nothing was heard of the run"
        denials.append(Denial(LAST, False, how.replace(" )", ")")))
    return [
        msgspec.structs.replace(denial, denied=False, detail=f"the tutor saw it: {seen[denial.what]}")
        if denial.what in seen
        else denial
        for denial in denials
    ]


@dataclass(frozen=True)
class _Bait:
    """What is laid out, and the job that tries for it."""

    job: ProofJob
    tcp: socket.socket
    udp: socket.socket
    unix: tuple[socket.socket, ...]

    def taken(self) -> dict[str, str]:
        """What was got at, as seen from outside the jail."""
        seen: dict[str, str] = {}
        if {path.name for path in Path(self.job.folder).iterdir()} != {"marker", "socket"}:
            seen["write outside the run's own folder"] = "there is a new file"
        if _called(self.tcp):
            seen["open a TCP connection"] = "a connection arrived"
        if any(map(_called, self.unix)):
            seen["reach a UNIX socket"] = "a connection arrived"
        with contextlib.suppress(BlockingIOError):
            self.udp.recv(16)
            seen["send over UDP"] = "a datagram arrived"
        return seen


@contextmanager
def _bait() -> Iterator[_Bait]:
    with contextlib.ExitStack() as opened:
        folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="kerneltutor-bait-"))
        marker = Path(folder) / "marker"
        marker.write_text(secrets.token_hex(8))
        abstract = f"kerneltutor-{secrets.token_hex(8)}"
        unix = str(Path(folder) / "socket")
        names = [unix, f"\0{abstract}"] if sys.platform == "linux" else [unix]
        listening = [opened.enter_context(_listener(socket.AF_UNIX, name)) for name in names]
        tcp = opened.enter_context(_listener(socket.AF_INET, ("127.0.0.1", 0)))
        udp = opened.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        udp.setblocking(False)
        job = ProofJob(
            folder=folder,
            marker=str(marker),
            home=str(Path.home()),
            tcp=tcp.getsockname()[1],
            udp=udp.getsockname()[1],
            unix=unix,
            abstract=abstract,
            front=os.getpid(),
        )
        yield _Bait(job, tcp, udp, tuple(listening))


def _listener(family: int, address: str | tuple[str, int]) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setblocking(False)
    made.bind(address)
    made.listen(1)
    return made


def _called(listener: socket.socket) -> bool:
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True
