"""`submit`: one archive of your attempts."""

from __future__ import annotations

import datetime
import hashlib
from pathlib import Path
from typing import Literal

import click

from tutor.cli.errors import ExitCode, Refused
from tutor.cli.listing import say_broken
from tutor.cli.session import SLUG, Session, Verb, json_option, pass_session, say, show_json
from tutor.cli.text import plural
from tutor.record import History
from tutor.sets import Exercise, SetError, write_atomic
from tutor.sets.archive import read_archive
from tutor.sets.submission import check_student, make_submission, read_submission

State = Literal["passed", "failed", "unchecked", "untouched", "missing"]
_SAID: dict[State, tuple[str, str]] = {
    "passed": ("ok", "passed when you last checked it"),
    "failed": ("!!", "did not pass when you last checked it"),
    "unchecked": ("??", "never checked as it is now"),
    "untouched": ("--", "left out: it is the starter, unchanged"),
    "missing": ("--", "left out: you have not begun it"),
}


@click.command("submit", cls=Verb)
@click.argument("slugs", metavar="[SLUG]...", type=SLUG, nargs=-1)
@click.option("--id", "student", metavar="ID", help="Your id, as your instructor knows you. It also names the archive.")
@click.option("-o", "--output", "file", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path),
              help="The archive to write; by default ID.zip (or SET-submission.zip) here.")  # fmt: skip
@json_option
@pass_session
def submit(session: Session, slugs: tuple[str, ...], student: str | None, file: Path | None, as_json: bool) -> int:
    """Put your attempts (or those named) into one archive to hand in, and say how each of them stands. Nothing is sent
    anywhere. The archive holds your files, the id that you give, the set and the versions, and nothing else of you."""
    if student is not None:
        check_student(student)
    chosen = [session.exercise(slug) for slug in dict.fromkeys(slugs)] or list(session.set.exercises)
    place = file or Path(f"{student or session.set.id + '-submission'}.zip")
    _check_place(place)
    if not slugs:
        say_broken(session.set)
    history = session.try_history()
    states: dict[str, State] = {}
    attempts: list[tuple[Exercise, bytes]] = []
    for exercise in chosen:
        source = _source(session, exercise)
        states[exercise.slug] = _state(history, exercise, source)
        if source is not None and states[exercise.slug] != "untouched":
            attempts.append((exercise, source))
    if not attempts:
        untouched = [slug for slug, state in states.items() if state == "untouched"]
        why = f"what you have is the starter, unchanged ({', '.join(untouched)})" if untouched else (
            "you have begun none of these exercises")  # fmt: skip
        raise Refused("nothing_begun", f"There is nothing to submit: {why}.",
                      f"`{session.next_step('next')}` names the first.", ExitCode.NOT_PASSED)  # fmt: skip
    now = datetime.datetime.now(datetime.UTC)
    manifest, data = make_submission(session.set, attempts, student=student, created=now)
    try:
        write_atomic(place, data)
    except OSError as error:
        raise Refused("cannot_write", f"{place} cannot be written: {error.strerror}.") from None
    if as_json:
        show_json({"file": str(place), "submission": manifest,
                   "exercises": [{"slug": slug, "state": state} for slug, state in states.items()]})  # fmt: skip
        return ExitCode.DONE
    width = max(map(len, states))
    for slug, state in states.items():
        mark, words = _SAID[state]
        say(f"{mark} {slug.ljust(width)}  {words}")
    say(f"{len(attempts)} of {plural(len(chosen), 'exercise')}, {len(data):,} bytes. Hand in this file:")
    click.echo(place)
    return ExitCode.DONE


def _source(session: Session, exercise: Exercise) -> bytes | None:
    """The attempt as it is in the workspace; None if there is none. Nothing is made."""
    found = session.workspace.find(exercise)
    try:
        return found.read_bytes() if found else None
    except OSError as error:
        raise Refused("cannot_read", f"{found} cannot be read: {error.strerror}.") from None


def _state(history: History | None, exercise: Exercise, source: bytes | None) -> State:
    """How an attempt stands, as far as the history knows this very file."""
    if source is None:
        return "missing"
    if source == exercise.starter.encode():
        return "untouched"
    sha256 = hashlib.sha256(source).hexdigest()
    attempts = history.attempts(exercise.set_id, exercise.slug) if history else []
    same = [attempt for attempt in attempts if attempt.sha256 == sha256]
    if not same:
        return "unchecked"
    return "passed" if same[-1].passed else "failed"


def _check_place(place: Path) -> None:
    """An earlier submission is replaced, and nothing else."""
    if not place.exists():
        return
    try:
        if place.is_file() and read_submission(read_archive(place)) is not None:
            return
    except SetError:
        pass
    raise Refused("exists", f"{place} is there already, and is no submission.", "Give another name with -o FILE.")
