"""Programs that the front starts. They end when nobody waits for them any more, and nobody waits for ever for that."""

from __future__ import annotations

import asyncio
import contextlib
from asyncio.subprocess import Process
from collections.abc import Mapping

PATIENCE = 2.0
"""Seconds in which a program that was killed is gone, and its pipes with it."""


async def start(
    *command: str,
    env: Mapping[str, str],
    stdin: int = asyncio.subprocess.PIPE,
    stdout: int = asyncio.subprocess.PIPE,
    stderr: int = asyncio.subprocess.PIPE,
    cwd: str | None = None,
) -> Process:
    """Start a program in a session of its own. If this is cancelled meanwhile, the program is ended.

    asyncio is never cancelled in the middle of it: it then waits until all pipes of the program are closed, and of a
    bubblewrap that is killed while it builds its jail a process is left that holds them, and waits for us."""
    starting = asyncio.create_task(
        asyncio.create_subprocess_exec(
            *command,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
            limit=1 << 20,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await end(await starting)
        raise


async def end(process: Process, *, grace: float = 0) -> None:
    """See to it that a program has ended: by itself within `grace` seconds, else it is killed. Its pipes are closed,
    whoever holds their other ends."""
    if grace and process.returncode is None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), grace)
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), PATIENCE)
    # Else asyncio leaves the pipes to the collector, which warns after the loop has closed.
    process._transport.close()  # type: ignore[attr-defined]
