"""`jaxpr`: the marked jaxpr of an attempt, and the access table."""

from __future__ import annotations

import asyncio

import click

from tutor.cli.check import attempt_of, show
from tutor.cli.errors import ExitCode
from tutor.cli.marked import access_table, marked_text
from tutor.cli.session import SLUG, Session, Verb, json_option, pass_session, show_json
from tutor.ladder.check import Ladder
from tutor.ladder.events import CheckFinished, KernelsTraced
from tutor.protocol import Verdict
from tutor.sets import Exercise


@click.command("jaxpr", cls=Verb)
@click.argument("slug", type=SLUG)
@click.argument("file", required=False)
@click.option("--whole", is_flag=True, help="The whole program and the index maps too, not only the kernels.")
@json_option
@pass_session
def jaxpr(session: Session, slug: str, file: str | None, whole: bool, as_json: bool) -> int:
    """The jaxpr of your file, with every load, store and copy marked, and how often each Ref is used."""
    exercise = session.exercise(slug)
    path, source = attempt_of(session, exercise, file)
    traced, verdict = asyncio.run(_trace(exercise, source, path, whole))
    if traced is None:
        if as_json:
            show_json(verdict)
        else:
            show(session, verdict, source)
        return ExitCode.NOT_PASSED
    if as_json:
        marks = traced.jaxpr
        show_json({"kernels": traced.kernels, "text": marks.text, "spans": marks.spans, "lines": marks.lines})
        return ExitCode.DONE
    click.echo("\n".join(marked_text(traced.jaxpr, color=session.color)))
    for kernel in traced.kernels:
        click.echo()
        click.echo("\n".join(access_table(kernel)))
    return ExitCode.DONE


async def _trace(exercise: Exercise, source: bytes, path: str, whole: bool) -> tuple[KernelsTraced | None, Verdict]:
    ladder = Ladder()
    traced: KernelsTraced | None = None
    verdict: Verdict | None = None
    try:
        async for event in ladder.check(exercise, source, path, target="trace", whole_jaxpr=whole):
            if isinstance(event, KernelsTraced):
                traced = event
            elif isinstance(event, CheckFinished):
                verdict = event.verdict
    finally:
        await ladder.aclose()
    assert verdict is not None
    return traced, verdict
