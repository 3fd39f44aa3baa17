"""`bench`: the references of the set, and the same functions in plain JAX beside them."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
import sys
import time

import click

from tutor.cli.check import chips_named, progress
from tutor.cli.errors import ExitCode, Refused
from tutor.cli.render_bench import render_bench
from tutor.cli.session import SLUG, Session, Verb, json_option, pass_session, say, show_json
from tutor.cli.text import plural
from tutor.ladder.check import Ladder
from tutor.ladder.chip import chips_here
from tutor.ladder.compiler import NoCompiler
from tutor.protocol import Bench
from tutor.sets import Exercise


@click.command("bench", cls=Verb)
@click.argument("slugs", type=SLUG, metavar="[SLUG]…", nargs=-1)
@click.option(
    "--chip", metavar="NAMES", help="Estimate for these chips, instead of this machine's, or the set's first."
)
@json_option
@pass_session
def bench(session: Session, slugs: tuple[str, ...], chip: str | None, as_json: bool) -> int:
    """Compare the reference solutions with the same functions in plain JAX: was the kernel worth writing?"""
    wanted = [session.exercise(slug) for slug in slugs] or list(session.set.exercises)
    exercises = [exercise for exercise in wanted if exercise.kind == "kernel" and exercise.reference is not None]
    if not exercises:
        raise Refused("nothing_to_bench", "There is no reference solution of a kernel to look at.")
    chips = chips_named(chip) or chips_here(session.set.manifest.chips)
    table, interrupted = asyncio.run(_bench(session.set.id, exercises, tuple(chips)))
    if as_json:
        show_json(table)
    else:
        width = min(shutil.get_terminal_size((88, 24)).columns, 120)
        click.echo(render_bench(table, width=width, color=session.color), nl=False)
    if interrupted:
        say("Interrupted: this is what was found until then.")
        return ExitCode.INTERRUPTED
    return ExitCode.DONE


def said(words: str) -> None:
    """Say what goes on where no terminal shows it: the table comes at the end, since its columns fit all of it."""
    if not sys.stderr.isatty():
        say(words)


async def _bench(set_id: str, exercises: list[Exercise], chips: tuple[str, ...]) -> tuple[Bench, bool]:
    """The table as far as it got, and whether it was interrupted."""
    ladder = Ladder()
    table = Bench(set=set_id, chips=list(chips), rows=[])
    task, loop, began = asyncio.current_task(), asyncio.get_running_loop(), time.monotonic()
    assert task is not None
    loop.add_signal_handler(signal.SIGINT, task.cancel)
    said(f"{plural(len(exercises), 'reference')} and the same in plain JAX, for {', '.join(chips)}: a few seconds each")
    try:
        async with contextlib.aclosing(ladder.bench(set_id, exercises, chips)) as tables:
            async for table in tables:
                done, seconds = len({row.exercise for row in table.rows}), time.monotonic() - began
                progress(f"{done} of {len(exercises)}  {seconds:.1f} s  Ctrl+C stops")
                if not table.complete:
                    said(f"{done} of {len(exercises)}, {seconds:.0f} s: {exercises[done - 1].slug}")
    except asyncio.CancelledError:
        task.uncancel()
        return table, True
    except NoCompiler as cannot:
        raise Refused("cannot_bench", str(cannot), cannot.hint) from None
    finally:
        progress("")
        loop.remove_signal_handler(signal.SIGINT)
        await ladder.aclose()
    return table, False
