"""The device runner seen from the front: started for one timing, and gone when it is over."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from tutor.ladder.chip import RUNNER
from tutor.ladder.process import end, start
from tutor.ladder.truth import Truth
from tutor.wire import Broken, DeviceAnswer, DeviceJob, Doing, Repeated, Step, Timed, Unopened
from tutor.workers.frames import HEADER, frame

WALL_SECONDS = 120.0
LET_GO_SECONDS = 10.0
STDERR_TAIL = 4000
COMPILE_SERVER_VARIABLES = ("TPU_SKIP_MDS_QUERY", "ALLOW_MULTIPLE_LIBTPU_LOAD", "LIBTPU_INIT_ARGS")


class Lost(NamedTuple):
    """The runner ended without an answer, or had to be ended. `step` is what it did last."""

    step: Step
    how: str
    talk: str


class Outcome(NamedTuple):
    """What came of one runner, and the timed repeats that are still to be compared."""

    answer: Timed | Unopened | Broken | Lost
    repeats: Sequence[Repeated]


def environment_for(job: DeviceJob, given: Mapping[str, str]) -> dict[str, str]:
    """The user's environment, which says how a TPU machine's runtime is set up, without what would make JAX another
    one than the judge's, and without what only the compile server wants."""
    kept = {n: v for n, v in given.items() if n not in COMPILE_SERVER_VARIABLES and not n.startswith("JAX_")}
    return {**kept, "JAX_PLATFORMS": job.platform}


async def run_on_device(job: DeviceJob, truth: Truth, environment: Mapping[str, str]) -> Outcome:
    """Start the runner, give it the job, and wait until it has let the device go.

    `-P` and its folder keep it from importing what lies in the user's: it is to run no Python of a learner."""
    process = await start(sys.executable, "-P", "-m", RUNNER, env=environment, cwd="/")
    assert process.stderr is not None
    tail = bytearray()
    talk = asyncio.create_task(_overhear(process.stderr, tail))
    asked = asyncio.create_task(_ask(process, job, truth))
    heard = _Heard()
    how = ""
    try:
        await asyncio.wait_for(_listen(process, heard), WALL_SECONDS)
    except TimeoutError:
        how = f"it gave no answer in {WALL_SECONDS:.0f} seconds"
    finally:
        asked.cancel()
        await end(process, grace=LET_GO_SECONDS if heard.last is not None else 0)
        await asyncio.wait([talk], timeout=1)
        talk.cancel()
        await asyncio.gather(asked, talk, return_exceptions=True)
    if heard.last is not None:
        return Outcome(heard.last, heard.repeats)
    how = how or f"it ended with exit code {process.returncode}"
    if process.returncode is None:  # a driver can hold a process that was killed
        how += ", and its process does not end"
    return Outcome(Lost(heard.step, how, tail.decode("utf-8", "replace")), [])


@dataclass
class _Heard:
    """What the runner has said so far."""

    repeats: list[Repeated] = field(default_factory=list)
    step: Step = "open"
    last: Timed | Unopened | Broken | None = None


async def _ask(process: asyncio.subprocess.Process, job: DeviceJob, truth: Truth) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        for body in (msgspec.msgpack.encode(job), *truth.sets, truth.expected):
            process.stdin.write(frame(body))
            await process.stdin.drain()
        process.stdin.close()


async def _overhear(talk: asyncio.StreamReader, tail: bytearray) -> None:
    """Keep the last of what the runner and the TPU runtime print."""
    while data := await talk.read(4096):
        tail += data
        del tail[:-STDERR_TAIL]


async def _listen(process: asyncio.subprocess.Process, heard: _Heard) -> None:
    """Read answers until the last one, or until there are no more."""
    assert process.stdout is not None
    decode = msgspec.msgpack.Decoder(DeviceAnswer).decode
    with contextlib.suppress(asyncio.IncompleteReadError, msgspec.MsgspecError):
        while heard.last is None:
            size = int.from_bytes(await process.stdout.readexactly(HEADER), "big")
            answer = decode(await process.stdout.readexactly(size))
            if isinstance(answer, Doing):
                heard.step = answer.step
            elif isinstance(answer, Repeated):
                heard.repeats.append(answer)
            else:
                heard.last = answer
