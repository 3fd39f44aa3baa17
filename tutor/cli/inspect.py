"""`inspect`: any kernel of the user's own, and no exercise."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import click
from watchfiles import awatch

from tutor.cli.check import chips_named, exit_code, progress, show, stage_named
from tutor.cli.errors import Refused, until_interrupted
from tutor.cli.inspect_screen import open_file
from tutor.cli.own_file import own_file, read
from tutor.cli.session import Session, Verb, json_option, pass_session, say, show_json
from tutor.ladder.events import CheckFinished, StageStarted
from tutor.ladder.inspect import Inspector
from tutor.protocol import StageName, Verdict


@click.command("inspect", cls=Verb)
@click.argument("file", metavar="FILE[:FUNCTION]")
@click.option("--stage", metavar="NAME", help="Run this stage and those that it needs, and no other.")
@click.option("--chip", metavar="NAMES", help="Compile for these chips instead of v5e,v6e.")
@click.option("--watch", is_flag=True, help="Inspect again whenever a Python file of its folder is saved.")
@click.option("--tui", is_flag=True, help="Show FILE in the tutor's screen: edit it, and every save inspects it.")
@click.option(
    "--jail",
    is_flag=True,
    help="Run FILE as an attempt is run, in a jail: of yours it sees its own folder only, and cannot write there.",
)
@json_option
@pass_session
def inspect(
    session: Session, file: str, stage: str | None, chip: str | None, watch: bool, tui: bool, jail: bool, as_json: bool
) -> int:
    """Judge a kernel of your own. FILE defines the function (`run`, unless you name another), `make_args()`, which
    returns its arguments, and, if you have one, `reference(*args)`."""
    if watch and as_json:
        raise click.UsageError("--watch and --json do not go together.")
    if tui and (watch or as_json or stage):
        raise click.UsageError("--tui shows all stages and watches the file itself: it takes --chip and --jail only.")
    target = stage_named(stage)
    path, function = own_file(file)
    inspector = Inspector(function, jail=jail, chips=chips_named(chip))
    if tui:
        return open_file(inspector, path, function)
    if watch:
        return until_interrupted(_watch(session, inspector, path, target))
    verdict, source = asyncio.run(_once(inspector, path, target))
    if as_json:
        show_json(verdict)
    else:
        show(session, verdict, source)
    return exit_code(verdict)


async def _once(inspector: Inspector, path: Path, target: StageName | None) -> tuple[Verdict, bytes]:
    try:
        return await _judge(inspector, path, target)
    finally:
        await inspector.aclose()


async def _judge(inspector: Inspector, path: Path, target: StageName | None) -> tuple[Verdict, bytes]:
    source = read(path)
    verdict: Verdict | None = None
    async for event in inspector.check(None, source, path, target=target):
        if isinstance(event, StageStarted):
            progress(f"{path.name}: {event.name} …")
        elif isinstance(event, CheckFinished):
            verdict = event.verdict
    progress("")
    assert verdict is not None
    return verdict, source


async def _watch(session: Session, inspector: Inspector, path: Path, target: StageName | None) -> None:
    async def again() -> None:
        verdict, source = await _judge(inspector, path, target)
        click.echo()
        show(session, verdict, source)

    say(f"Watching {path}. Save it in your editor to inspect it; Ctrl+C ends.")
    running = asyncio.create_task(again())
    try:
        async for changes in awatch(path.parent, recursive=False, debounce=50, step=20):
            if any(name.endswith(".py") for _, name in changes) and path.exists():
                await _stop(running)
                running = asyncio.create_task(again())
    finally:
        await _stop(running)
        await inspector.aclose()


async def _stop(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError, Refused):
        await task
