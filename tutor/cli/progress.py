"""`progress`: what is solved, and carrying it to another machine."""

from __future__ import annotations

import datetime
import shutil
import sys
from pathlib import Path

import click

from tutor.cli.errors import ExitCode, Refused
from tutor.cli.listing import describe
from tutor.cli.session import SLUG, Session, Verb, json_option, pass_session, say, shared_options, show_json
from tutor.cli.text import one_line, plural, table
from tutor.record import Document, Progress, export_progress, import_progress, merge_progress, read_progress
from tutor.sets import chapter_title, write_atomic
from tutor.tui.speed_plot import heading, legend, plot, series, usable


@click.group("progress", invoke_without_command=True)
@json_option
@click.pass_context
def progress(context: click.Context, as_json: bool) -> int | None:
    """What is solved, by chapter. With a command: export, import or merge it."""
    if context.invoked_subcommand is not None:
        return None
    session = context.ensure_object(Session)
    loaded = session.set
    status = session.history.status(loaded.id)
    found = {e.slug: status.get(e.slug, Progress(e.slug)) for e in loaded.exercises}
    solved = sum(p.solved for p in found.values())
    if as_json:
        exercises = [
            {**describe(e, found[e.slug]), "speeds": session.history.speeds(loaded.id, e.slug)}
            for e in loaded.exercises
        ]
        show_json({"set": loaded.id, "solved": solved, "total": len(found), "exercises": exercises})
        return ExitCode.DONE
    rows = [("chapter", "solved", "attempts", "hints", "last")]
    for chapter in loaded.manifest.chapters:
        of = [found[e.slug] for e in loaded.chapter(chapter)]
        if of:
            last = max((p.last_at for p in of if p.last_at is not None), default=None)
            rows.append((
                chapter_title(chapter), f"{sum(p.solved for p in of)} of {len(of)}",
                str(sum(p.attempts for p in of)), str(sum(p.hints_used for p in of)),
                f"{datetime.datetime.fromtimestamp(last):%Y-%m-%d}" if last is not None else "",
            ))  # fmt: skip
    click.echo("\n".join(table(rows, right=(1, 2, 3))))
    say(f"{solved} of {plural(len(found), 'exercise')} solved. The history is {session.history.path}.")
    return ExitCode.DONE


progress.params += shared_options()


@progress.command("speed", cls=Verb)
@click.argument("slug", type=SLUG)
@json_option
@pass_session
def speed(session: Session, slug: str, as_json: bool) -> int:
    """How fast your attempts at one exercise were, measured or estimated, beside the reference."""
    exercise = session.exercise(slug)
    speeds = session.history.speeds(session.set.id, exercise.slug)
    if as_json:
        show_json({"set": session.set.id, "exercise": exercise.slug, "speeds": speeds})
        return ExitCode.DONE
    shown = series(speeds)
    if not shown:
        say("No attempt at this exercise has a time: on a TPU it is measured, and with libtpu estimated.")
        return ExitCode.DONE
    click.echo(one_line(heading(shown)))
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 80
    for row in plot(shown, min(width, 100), 10):
        click.echo("".join(words for words, _ in row).rstrip())
    click.echo("".join(words for words, _ in legend()))
    rows = [("attempt", "chip", "clock", "case", "µs", "reference µs", "ratio")]
    for one in speeds:
        when = f"{datetime.datetime.fromtimestamp(one.at):%Y-%m-%d %H:%M}"
        reference = one.reference_us if usable(one.reference_us) else None
        beside = (f"{reference:.4g}", f"{one.attempt_us / reference:.2f}") if reference else ("", "")
        rows.append((when, one_line(one.chip), one.clock, one_line(one.case), f"{one.attempt_us:.4g}", *beside))
    click.echo("\n".join(["", *table(rows, right=(4, 5, 6))]))
    return ExitCode.DONE


@progress.command("export", cls=Verb)
@click.argument("file", default="-", type=click.Path(dir_okay=False, allow_dash=True))
@pass_session
def export_(session: Session, file: str) -> int:
    """Write all progress, of all sets, as JSON (to standard output without FILE)."""
    data = export_progress(session.history)
    if file == "-":
        sys.stdout.write(data.decode())
        return ExitCode.DONE
    try:
        write_atomic(Path(file), data)
    except OSError as error:
        raise Refused("file", f"{file} cannot be written: {error.strerror}.") from error
    say(f"Written to {file}.")
    return ExitCode.DONE


@progress.command("import", cls=Verb)
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@pass_session
def import_(session: Session, file: str) -> int:
    """Make an export your history. What was there before is kept beside it."""
    merged, kept = import_progress(session.history, _read(file))
    say(f"{plural(merged.added, 'attempt')} imported.")
    if kept is not None:
        say(f"The history that was here is kept: `kerneltutor progress import {kept}` brings it back.")
    return ExitCode.DONE


@progress.command("merge", cls=Verb)
@click.argument("files", nargs=-1, required=True, type=click.Path(dir_okay=False, allow_dash=True))
@pass_session
def merge(session: Session, files: tuple[str, ...]) -> int:
    """Add what exports hold and your history does not. Nothing is taken away."""
    for file, document in [(file, _read(file)) for file in files]:
        merged = merge_progress(session.history, document)
        say(f"{file}: {plural(merged.added, 'new attempt')}, {merged.known} known already.")
    return ExitCode.DONE


def _read(file: str) -> Document:
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise Refused("file", f"{file} cannot be read: {error.strerror}.") from error
    return read_progress(data, file)
