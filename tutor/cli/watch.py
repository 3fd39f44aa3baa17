"""`watch`: check on every save, in plain terminal text. A newer save ends the check under way."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import click
from watchfiles import awatch

from tutor.cli.check import attempt_of, judge, keep, show
from tutor.cli.errors import Refused, until_interrupted
from tutor.cli.listing import next_unsolved
from tutor.cli.session import SLUG, Session, Verb, pass_session, say
from tutor.ladder.check import Ladder
from tutor.sets import Exercise


@click.command("watch", cls=Verb)
@click.argument("slug", type=SLUG, required=False)
@pass_session
def watch(session: Session, slug: str | None) -> int:
    """Check your file whenever you save it. Without SLUG: the next unsolved exercise. Ctrl+C ends it."""
    session.require_jax()
    return until_interrupted(_watch(session, _chosen(session, slug)))


def _chosen(session: Session, slug: str | None) -> Exercise:
    """The exercise that was named, else the next unsolved one. `Refused` when all are solved."""
    if slug is not None:
        return session.exercise(slug)
    history = session.try_history()
    exercise = next_unsolved(session.set, history.solved(session.set.id) if history else set())
    if exercise is None:
        raise Refused("all_solved", "Every exercise of this set is solved.", "Name one to watch it all the same.")
    return exercise


async def _watch(session: Session, exercise: Exercise) -> None:
    path = session.file(exercise).path
    say(f"Watching {path}. Save it in your editor to check it; Ctrl+C ends.")
    ladder = Ladder()
    running = asyncio.create_task(_check(session, ladder, exercise))
    try:
        async for changes in awatch(path.parent, recursive=False, debounce=50, step=20):
            if any(Path(name) == path for _, name in changes) and path.exists():
                await _stop(running)
                running = asyncio.create_task(_check(session, ladder, exercise))
    finally:
        await _stop(running)
        await ladder.aclose()


async def _check(session: Session, ladder: Ladder, exercise: Exercise) -> None:
    path, source = attempt_of(session, exercise, None)
    say(f"Checking {exercise.slug} …")
    verdict = await judge(ladder, exercise, source, path)
    keep(session, exercise, source, verdict)
    click.echo()
    show(session, verdict, source)
    if verdict.passed:
        say(f"Passed. `{session.next_step('next')}` names the next exercise.")


async def _stop(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError, Refused):
        await task
