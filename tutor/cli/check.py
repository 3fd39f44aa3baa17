"""`check`: one attempt, or all of them."""

from __future__ import annotations

import asyncio
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from tutor.cli.errors import ExitCode, Refused
from tutor.cli.render import render_verdict
from tutor.cli.session import SLUG, Session, Verb, json_option, pass_session, say, show_json
from tutor.cli.text import one_line, table
from tutor.ladder.check import AVAILABLE, Ladder
from tutor.ladder.events import CheckFinished, StageStarted
from tutor.protocol import PREDICT_STAGES, STAGES, StageName, Verdict
from tutor.sets import Exercise, did_you_mean
from tutor.sets.checks import CHIPS


@dataclass(frozen=True)
class Asked:
    """What a check is asked for besides the attempt. As it stands: everything, as the exercise says."""

    stage: StageName | None = None
    chips: tuple[str, ...] | None = None
    seed: int | None = None

    @property
    def whole(self) -> bool:
        """Whether this is what the exercise itself asks, so that its outcome counts as progress."""
        return self.stage is None and self.chips is None


@click.command("check", cls=Verb)
@click.argument("slug", type=SLUG, required=False)
@click.argument("file", required=False)
@click.option("--all", "every", is_flag=True, help="Check every exercise that you have begun.")
@click.option("--stage", metavar="NAME", help="Run this stage and those that it needs, and no other.")
@click.option("--chip", metavar="NAMES", help="Compile for these chips, such as v5e,v6e, instead of the exercise's.")
@click.option("--seed", type=int, metavar="N", help="Vary the inputs; without it a verdict repeats.")
@json_option
@pass_session
def check(
    session: Session,
    slug: str | None,
    file: str | None,
    every: bool,
    stage: str | None,
    chip: str | None,
    seed: int | None,
    as_json: bool,
) -> int:
    """Judge your file of an exercise, or FILE (`-` reads standard input)."""
    session.require_jax()
    asked = Asked(stage_named(stage), chips_named(chip), seed)
    if every:
        if slug is not None:
            raise click.UsageError("--all takes no SLUG.")
        return asyncio.run(_check_all(session, asked, as_json))
    if slug is None:
        raise click.UsageError("Which exercise? Give its SLUG, or --all.")
    exercise = session.exercise(slug)
    if exercise.kind == "predict" and asked.stage not in (None, *PREDICT_STAGES):
        words = f"{slug} is a predict exercise: it has no stage {asked.stage}."
        raise Refused("no_stage", words, f"There are: {', '.join(PREDICT_STAGES)}.")
    path, source = attempt_of(session, exercise, file)
    verdict = asyncio.run(_check_once(exercise, source, path, asked))
    if asked.whole and file is None and exit_code(verdict) is not ExitCode.OURS:
        keep(session, exercise, source, verdict)
    if as_json:
        show_json(verdict)
    else:
        show(session, verdict, source)
        if asked.whole and file is not None and verdict.passed:
            say(f"Nothing was recorded: only your own file counts as solved (`{session.next_step(f'check {slug}')}`).")
    return exit_code(verdict)


def stage_named(name: str | None) -> StageName | None:
    """The stage that `--stage` names; `Refused` with the nearest one if there is none."""
    if name is None or name in AVAILABLE:
        return name
    if name in STAGES:
        raise Refused("no_stage", f"The stage {name} is not there yet.", f"There are: {', '.join(AVAILABLE)}.")
    raise Refused("unknown_stage", f'There is no stage "{name}".', did_you_mean(name, AVAILABLE))


def chips_named(names: str | None) -> tuple[str, ...] | None:
    """The chips that `--chip` names; `Refused` with the nearest one if there is no such chip."""
    if names is None:
        return None
    asked = tuple(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    for name in asked:
        if name not in CHIPS:
            raise Refused("unknown_chip", f'There is no chip "{name}".', f"Known: {', '.join(CHIPS)}.")
    if not asked:
        raise Refused("unknown_chip", "--chip names no chip.", f"Known: {', '.join(CHIPS)}.")
    return asked


def attempt_of(session: Session, exercise: Exercise, file: str | None) -> tuple[str, bytes]:
    """The path to show and the bytes to judge: the workspace copy, FILE, or standard input for `-`."""
    if file == "-":
        return f"{exercise.slug}.py", sys.stdin.buffer.read()
    path = Path(file) if file is not None else session.file(exercise).path
    try:
        return str(path.resolve()), path.read_bytes()
    except IsADirectoryError:
        raise Refused("not_a_file", f"{path} is a folder.", "Give the Python file to check.") from None
    except OSError as error:
        raise Refused("cannot_read", f"{path} cannot be read: {error.strerror}.", "Check the name.") from None


def keep(session: Session, exercise: Exercise, source: bytes, verdict: Verdict) -> None:
    """Put the attempt into the history; a history that cannot be written is only said."""
    history = session.try_history()
    if history is not None:
        history.add(exercise.set_id, exercise.slug, source, verdict)


def show(session: Session, verdict: Verdict, source: bytes) -> None:
    """The verdict as text on standard output."""
    width = min(shutil.get_terminal_size((88, 24)).columns, 100)
    text = source.decode("utf-8", "replace")
    click.echo(render_verdict(verdict, source=text, width=width, color=session.color))


def exit_code(verdict: Verdict) -> ExitCode:
    """0 if it passed; 3 if a stage had an error of ours; else 1."""
    if any(stage.status == "error" for stage in verdict.stages):
        return ExitCode.OURS
    return ExitCode.DONE if verdict.passed else ExitCode.NOT_PASSED


async def _check_once(exercise: Exercise, source: bytes, path: str, asked: Asked) -> Verdict:
    ladder = Ladder()
    try:
        return await judge(ladder, exercise, source, path, asked)
    finally:
        await ladder.aclose()


async def judge(
    ladder: Ladder,
    exercise: Exercise,
    source: bytes,
    path: str,
    asked: Asked = Asked(),
) -> Verdict:
    """Run the ladder; on a terminal, the stage under way is shown meanwhile."""
    verdict: Verdict | None = None
    running: list[str] = []
    async for event in ladder.check(exercise, source, path, target=asked.stage, seed=asked.seed, chips=asked.chips):
        if isinstance(event, StageStarted):
            running.append(event.name)
            progress(f"{exercise.slug}: {running[-1]} …")
        elif isinstance(event, CheckFinished):
            verdict = event.verdict
    progress("")
    assert verdict is not None
    return verdict


def progress(words: str) -> None:
    """Say on a terminal what goes on now, in place of what was said before; nothing takes it away."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{words}")
        sys.stderr.flush()


async def _check_all(session: Session, asked: Asked, as_json: bool) -> int:
    begun = [exercise for exercise in session.set.exercises if session.workspace.find(exercise)]
    if not begun:
        say(f"You have begun no exercise yet. `{session.next_step('next')}` names the first.")
        return ExitCode.DONE
    verdicts: list[Verdict] = []
    ladder = Ladder()
    try:
        for exercise in begun:
            path, source = attempt_of(session, exercise, None)
            verdict = await judge(ladder, exercise, source, path, asked)
            if asked.whole:
                keep(session, exercise, source, verdict)
            verdicts.append(verdict)
    finally:
        await ladder.aclose()
    if as_json:
        show_json(verdicts)
    else:
        click.echo("\n".join(table([_row(verdict) for verdict in verdicts])))
    return max((exit_code(verdict) for verdict in verdicts), default=ExitCode.DONE)


def _row(verdict: Verdict) -> tuple[str, str, str]:
    errors = [found for stage in verdict.stages for found in stage.findings if found.severity == "error"]
    said = f"{errors[0].code} {errors[0].title}" if errors else ""
    return ("passed" if verdict.passed else "failed", verdict.exercise or "", one_line(said))
