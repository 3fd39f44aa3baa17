"""`jaxpr`: the marked jaxpr of an attempt, and the access table."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import click

from tutor.cli.access_table import access_table, of_kernels
from tutor.cli.check import attempt_of, show
from tutor.cli.errors import ExitCode
from tutor.cli.marked import marked_text
from tutor.cli.own_file import is_own, own_file, read
from tutor.cli.render import render_verdict
from tutor.cli.session import SLUG, Session, Verb, json_option, pass_session, say, show_json
from tutor.cli.text import wrap
from tutor.ladder.check import Ladder
from tutor.ladder.events import CheckFinished, Event, KernelsTraced
from tutor.ladder.inspect import Inspector
from tutor.protocol import StageName, Verdict
from tutor.record import HistoryError
from tutor.sets import Exercise
from tutor.tui.access_model import notes
from tutor.tui.roofline_model import Roofline, rooflines


@click.command("jaxpr", cls=Verb)
@click.argument("slug", type=SLUG, metavar="SLUG|FILE.py[:FUNCTION]")
@click.argument("file", required=False)
@click.option("--whole", is_flag=True, help="The whole program and the index maps too, not only the kernels.")
@click.option("--html", "as_html", is_flag=True, help="Print one self-contained HTML file, with the source beside it.")
@json_option
@pass_session
def jaxpr(session: Session, slug: str, file: str | None, whole: bool, as_html: bool, as_json: bool) -> int:
    """The jaxpr of your file, with every load, store and copy marked, and how often each Ref is used. A file of your
    own, in place of an exercise, is traced on what its make_args() gives, as by `inspect`."""
    if as_html and as_json:
        raise click.UsageError("--html and --json are two forms of the same: ask for one.")
    # A page also shows how fast the kernel is, by the compiler's estimate.
    target: StageName = "compile" if as_html else "trace"
    checker: Ladder | Inspector
    if is_own(session, slug, file):
        exercise, own = None, own_file(slug)
        path, source, title = str(own.path), read(own.path), own.path.name
        checker = Inspector(own.function)
        events = checker.check(None, source, path, target=target, whole_jaxpr=whole)
    else:
        exercise = session.exercise(slug)
        path, source = attempt_of(session, exercise, file)
        title, checker = exercise.title, Ladder()
        events = checker.check(exercise, source, path, target=target, whole_jaxpr=whole)
    traced, verdict = asyncio.run(_trace(checker, events))
    if traced is None:
        if as_json:
            show_json(verdict)
        elif as_html:  # a page is data, and there is none
            say(render_verdict(verdict, source=source.decode("utf-8", "replace"), width=88, color=False))
        else:
            show(session, verdict, source)
        return ExitCode.NOT_PASSED
    if as_json:
        marks = traced.jaxpr
        show_json({"kernels": traced.kernels, "text": marks.text, "spans": marks.spans, "lines": marks.lines})
        return ExitCode.DONE
    if as_html:
        from tutor.cli.page import page  # slow to import

        text = source.decode("utf-8", "replace")
        roofs = _roofs(session, exercise, source, verdict) if exercise is not None else rooflines(verdict.compile)
        made = page(title, Path(path).name, text, traced.kernels, traced.jaxpr, traced.facts, roofs)
        click.echo(made.encode(), nl=False)
        return ExitCode.DONE
    click.echo("\n".join(marked_text(traced.jaxpr, color=session.color)))
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for kernel, facts in of_kernels(traced.kernels, traced.facts):
        click.echo()
        click.echo("\n".join(access_table(kernel, facts, color=session.color, width=width)))
    for note in notes(traced.jaxpr) if traced.kernels else []:  # before a predict exercise is solved, it would tell
        click.echo("\n".join(["", *wrap(note, width or 88)]))
    return ExitCode.DONE


def _roofs(session: Session, exercise: Exercise, source: bytes, verdict: Verdict) -> list[Roofline]:
    """The rooflines of this source: by the time that was measured of it before, if there is one, else estimated."""
    try:
        history = session.history
        speeds = history.speeds(session.set.id, exercise.slug)
        mine = hashlib.sha256(source).hexdigest()
        timed = [one for one in speeds if one.sha256 == mine and one.clock != "estimate"]
        timing = history.verdict(timed[-1].attempt_id).timing if timed else None
    except HistoryError:
        return rooflines(verdict.compile)
    return rooflines(verdict.compile, timing, speeds)


async def _trace(checker: Ladder | Inspector, events: AsyncGenerator[Event]) -> tuple[KernelsTraced | None, Verdict]:
    """What is known of the kernels, None if they do not trace; the workers are gone afterwards."""
    traced: KernelsTraced | None = None
    verdict: Verdict | None = None
    try:
        async for event in events:
            if isinstance(event, KernelsTraced):
                traced = event
            elif isinstance(event, CheckFinished):
                verdict = event.verdict
    finally:
        await checker.aclose()
    assert verdict is not None
    return traced, verdict
