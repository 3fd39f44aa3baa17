"""`tune`: a sweep of block sizes by the compiler's estimate, and on a TPU by time."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
import time
from collections.abc import AsyncGenerator, Sequence

import click

from tutor.cli.check import attempt_of, chips_named, progress
from tutor.cli.errors import ExitCode, Refused
from tutor.cli.own_file import is_own, own_file, read
from tutor.cli.render_tune import render_sweep
from tutor.cli.session import SLUG, Session, Verb, json_option, pass_session, say, show_json
from tutor.ladder.check import Ladder
from tutor.ladder.compiler import NoCompiler
from tutor.ladder.inspect import Inspector
from tutor.ladder.runs import Failed
from tutor.ladder.sweep_plan import MOST, CannotTune, Wanted
from tutor.ladder.worker import BadAnswer, WorkerDied
from tutor.protocol import Sweep


@click.command("tune", cls=Verb)
@click.argument("slug", type=SLUG, metavar="SLUG|FILE.py[:FUNCTION]")
@click.argument("file", required=False)
@click.option(
    "--chip", metavar="NAMES", help="Estimate for these chips, instead of this machine's, or the exercise's first."
)
@click.option(
    "--param", "params", metavar="NAME=N,N,…", multiple=True, help="Try these values; what is not named stays."
)
@click.option("--max", "most", type=click.IntRange(1, 4096), default=MOST, show_default=True,
              help="At most so many combinations, those nearest to the values of now.")  # fmt: skip
@json_option
@pass_session
def tune_command(
    session: Session,
    slug: str,
    file: str | None,
    chip: str | None,
    params: tuple[str, ...],
    most: int,
    as_json: bool,
) -> int:
    """Try other block sizes for your file of an exercise, or FILE (`-` reads standard input); or for a kernel of your
    own, as `inspect` calls it.

    Block sizes are the keyword arguments of your function that have a whole number as their default."""
    wanted = Wanted(values_named(params), most)
    chips = chips_named(chip)
    if is_own(session, slug, file):
        own = own_file(slug)
        inspector = Inspector(own.function, chips=chips)
        pictures = inspector.tune(None, read(own.path), own.path, wanted=wanted)
        sweep, interrupted = asyncio.run(_sweep(inspector, pictures))
    else:
        exercise = session.exercise(slug)
        path, source = attempt_of(session, exercise, file)
        ladder = Ladder()
        pictures = ladder.tune(exercise, source, path, wanted=wanted, chips=chips)
        sweep, interrupted = asyncio.run(_sweep(ladder, pictures))
    if sweep is not None and as_json:
        show_json(sweep)
    elif sweep is not None:
        width = min(shutil.get_terminal_size((88, 24)).columns, 120)
        click.echo(render_sweep(sweep, width=width, color=session.color), nl=False)
    if interrupted:
        say("Interrupted: this is what was found until then." if sweep else "Interrupted.")
        return ExitCode.INTERRUPTED
    return ExitCode.DONE


def values_named(params: Sequence[str]) -> dict[str, list[int]]:
    """What `--param bm=64,128` names; `Refused` if it is not of that form."""
    found: dict[str, list[int]] = {}
    for text in params:
        name, _, numbers = text.partition("=")
        words = [word.strip() for word in numbers.split(",") if word.strip()]
        if (
            not name.strip().isidentifier()
            or not words
            or not all(w.isdecimal() and 0 < int(w) < 1 << 31 for w in words)
        ):
            raise Refused("bad_param", f'"{text}" is no list of block sizes.', "Write it as `--param bm=64,128,256`.")
        found.setdefault(name.strip(), []).extend(map(int, words))
    return found


async def _sweep(checker: Ladder | Inspector, pictures: AsyncGenerator[Sweep]) -> tuple[Sweep | None, bool]:
    """The sweep as far as it got, and whether it was interrupted. The workers are gone afterwards."""
    sweep: Sweep | None = None
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()
    assert task is not None
    loop.add_signal_handler(signal.SIGINT, task.cancel)
    began = time.monotonic()
    try:
        async with contextlib.aclosing(pictures):
            async for sweep in pictures:
                progress(_bar(len(sweep.tried), sweep.planned, time.monotonic() - began))
    except asyncio.CancelledError:
        task.uncancel()
        return sweep, True
    except (CannotTune, NoCompiler) as cannot:
        raise Refused("cannot_tune", str(cannot), cannot.hint) from None
    except (WorkerDied, BadAnswer, Failed) as failed:
        raise Refused("worker_failed", f"A worker of the tutor failed: {failed}", exit=ExitCode.OURS) from failed
    finally:
        progress("")
        loop.remove_signal_handler(signal.SIGINT)
        await checker.aclose()
    return sweep, False


def _bar(done: int, planned: int, seconds: float, width: int = 30) -> str:
    """`[#######-------] 7 of 32  3.1 s  Ctrl+C stops`."""
    full = width * done // max(1, planned)
    return f"[{'#' * full}{'-' * (width - full)}] {done} of {planned}  {seconds:.1f} s  Ctrl+C stops"
