"""`list` and `next`."""

from __future__ import annotations

import click

from tutor.cli.errors import ExitCode
from tutor.cli.session import Session, Verb, json_option, pass_session, say, show_json
from tutor.cli.text import one_line, paint, plural, table
from tutor.record import Progress
from tutor.sets import Exercise, ExerciseSet, chapter_title


def describe(exercise: Exercise, progress: Progress) -> dict[str, object]:
    """One exercise as `--json` says it."""
    return {
        "slug": exercise.slug,
        "chapter": exercise.chapter,
        "number": exercise.number,
        "title": exercise.title,
        "summary": exercise.summary,
        "kind": exercise.kind,
        "solved": progress.solved,
        "attempts": progress.attempts,
        "best_score": progress.best_score,
        "hints_used": progress.hints_used,
    }


def state(progress: Progress) -> tuple[str, str]:
    """How far an exercise is, in a mark and a colour."""
    if progress.solved:
        return "ok", "green"
    return ("..", "yellow") if progress.attempts else ("  ", "dim")


def next_unsolved(loaded: ExerciseSet, solved: set[str]) -> Exercise | None:
    """The first exercise that is not solved; None if all are."""
    return next((e for e in loaded.exercises if e.slug not in solved), None)


def say_broken(loaded: ExerciseSet) -> int:
    """Say what is wrong with exercises that could not be loaded; the answer is an exit code."""
    for broken in loaded.broken:
        say(f"{broken.error.message} {broken.error.hint or ''}")
    return ExitCode.USAGE if loaded.broken else ExitCode.DONE


@click.command("list", cls=Verb)
@json_option
@pass_session
def list_exercises(session: Session, as_json: bool) -> int:
    """All exercises of the set, and where you stand: ok solved, .. tried."""
    loaded = session.set
    history = session.try_history()
    status = history.status(loaded.id) if history else {}
    if as_json:
        exercises = [describe(e, status.get(e.slug, Progress(e.slug))) for e in loaded.exercises]
        show_json({"set": loaded.id, "title": loaded.title, "origin": loaded.origin, "root": str(loaded.root),
                   "exercises": exercises,
                   "broken": [{"slug": b.slug, "message": b.error.message} for b in loaded.broken]})  # fmt: skip
        return say_broken(loaded)
    width = max((len(e.slug) for e in loaded.exercises), default=0)
    for chapter in loaded.manifest.chapters:
        exercises_of = loaded.chapter(chapter)
        broken_of = [b for b in loaded.broken if b.chapter == chapter]
        if exercises_of or broken_of:
            click.echo(paint(chapter_title(chapter), "bold", session.color))
        for exercise in exercises_of:
            progress = status.get(exercise.slug, Progress(exercise.slug))
            mark, colour = state(progress)
            tries = plural(progress.attempts, "attempt") if progress.attempts else ""
            row = f"{exercise.number:02d}  {exercise.slug.ljust(width)}  {one_line(exercise.title)}"
            click.echo(f"  {paint(mark, colour, session.color)} {row}  {tries}".rstrip())
        for broken in broken_of:
            click.echo(f"  {paint('!!', 'red', session.color)} {broken.number:02d}  {broken.slug.ljust(width)}  broken")
    solved = sum(1 for e in loaded.exercises if status.get(e.slug, Progress(e.slug)).solved)
    say(f"{loaded.title} ({loaded.id}, {session.set_origin}): {solved} of {len(loaded.exercises)} solved.")
    return say_broken(loaded)


@click.command("next", cls=Verb)
@json_option
@pass_session
def next_exercise(session: Session, as_json: bool) -> int:
    """The next unsolved exercise, and your file for it."""
    exercise = next_unsolved(session.set, session.history.solved(session.set.id))
    if exercise is None:
        if as_json:
            show_json(None)
        say(f"All {len(session.set.exercises)} exercises are solved.")
        return ExitCode.DONE
    opened = session.try_file(exercise)
    path = str(opened.path) if opened else None
    if as_json:
        progress = session.history.progress(session.set.id, exercise.slug)
        show_json({**describe(exercise, progress), "file": path})
        return ExitCode.DONE
    rows = [
        ("exercise", exercise.slug),
        ("title", one_line(exercise.title)),
        ("chapter", chapter_title(exercise.chapter)),
    ]
    click.echo("\n".join(table([*rows, ("file", path or "none")])))
    return ExitCode.DONE
