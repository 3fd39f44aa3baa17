"""`show`, `hint`, `solution` and `reset`: one exercise at a time."""

from __future__ import annotations

import datetime

import click

from tutor.cli.errors import ExitCode, Refused
from tutor.cli.session import SLUG, Session, Verb, json_option, pass_session, say, show_json
from tutor.cli.text import one_line, paint, plain, table, wrap
from tutor.sets import chapter_title
from tutor.sets.reading import read_text
from tutor.sets.reveal import why_hidden


@click.command("show", cls=Verb)
@click.argument("slug", type=SLUG)
@json_option
@pass_session
def show(session: Session, slug: str, as_json: bool) -> int:
    """The lesson of an exercise, and where your file is."""
    exercise = session.exercise(slug)
    lesson = exercise.lesson
    opened = session.try_file(exercise)
    path = str(opened.path) if opened else None
    manifest = exercise.manifest
    if as_json:
        show_json({"slug": exercise.slug, "chapter": exercise.chapter, "number": exercise.number,
                   "title": exercise.title, "summary": exercise.summary, "kind": exercise.kind,
                   "entry": exercise.entry or None, "concepts": exercise.concepts, "requires": manifest.requires,
                   "hints": len(exercise.hints), "file": path, "lesson": lesson})  # fmt: skip
        return ExitCode.DONE
    click.echo(paint(f"{chapter_title(exercise.chapter)} / {exercise.slug}", "bold", session.color))
    click.echo(one_line(exercise.summary or exercise.title) + "\n")
    click.echo(plain(lesson).rstrip() + "\n")
    rows = [("file", path or "none"), ("hints", str(len(exercise.hints)))]
    if exercise.entry:
        rows.insert(0, ("function", exercise.entry))
    if manifest.requires:
        rows.append(("builds on", ", ".join(manifest.requires)))
    click.echo("\n".join(table(rows)))
    return ExitCode.DONE


@click.command("hint", cls=Verb)
@click.argument("slug", type=SLUG)
@click.option("--seen", is_flag=True, help="Show again the hints that you have seen, and no new one.")
@json_option
@pass_session
def hint(session: Session, slug: str, seen: bool, as_json: bool) -> int:
    """The next hint of an exercise. They go from a nudge to nearly all of it."""
    exercise = session.exercise(slug)
    hints = exercise.hints
    if not hints:
        raise Refused("no_hints", f"{exercise.slug} has no hints.", exit=ExitCode.NOT_PASSED)
    before = min(session.history.hints_used(exercise.set_id, exercise.slug), len(hints))
    used = before if seen else session.history.use_hint(exercise.set_id, exercise.slug, len(hints))
    numbers = range(1, used + 1) if seen else [used]
    if as_json:
        show_json({"slug": exercise.slug, "used": used, "of": len(hints), "hints": [hints[n - 1] for n in numbers]})
        return ExitCode.DONE
    for number in numbers:
        click.echo(paint(f"Hint {number} of {len(hints)}", "bold", session.color))
        click.echo("\n".join(wrap(hints[number - 1].rstrip(), 80)))
    if seen and not used:
        say("You have seen no hint of this exercise.")
    elif not seen and before == len(hints):
        say("That was the last hint; there are no more.")
    return ExitCode.DONE


@click.command("solution", cls=Verb)
@click.argument("slug", type=SLUG)
@json_option
@pass_session
def solution(session: Session, slug: str, as_json: bool) -> int:
    """The reference solution, when the set allows it (after a pass, unless the set says otherwise)."""
    exercise = session.exercise(slug)
    if exercise.reference is None and exercise.kind != "predict":
        raise Refused("no_solution", "This copy of the set has no solutions.", exit=ExitCode.NOT_PASSED)
    progress = session.history.progress(exercise.set_id, exercise.slug)
    now = datetime.datetime.now(datetime.UTC)
    reveal = session.set.manifest.reveal
    if reason := why_hidden(reveal, solved=progress.solved, tries=progress.attempts, now=now):
        hint = f"`{session.next_step(f'hint {exercise.slug}')}` gives a hint."
        more = hint if progress.hints_used < len(exercise.hints) else None
        raise Refused("solution_hidden", reason, more, ExitCode.NOT_PASSED)
    if exercise.reference is None:
        words = "The answers of this exercise are computed from the jaxpr, and not stored."
        raise Refused("no_solution", words, exit=ExitCode.NOT_PASSED)
    text = read_text(exercise.reference)
    session.history.mark_revealed(exercise.set_id, exercise.slug)
    if as_json:
        show_json({"slug": exercise.slug, "path": str(exercise.reference), "source": text})
    else:
        click.echo(plain(text).rstrip())
    return ExitCode.DONE


@click.command("reset", cls=Verb)
@click.argument("slug", type=SLUG)
@json_option
@pass_session
def reset(session: Session, slug: str, as_json: bool) -> int:
    """Put the starter back. Your file is kept beside it, and the command says where."""
    done = session.workspace.reset(session.exercise(slug))
    if as_json:
        show_json({"file": str(done.path), "kept": str(done.kept) if done.kept else None})
        return ExitCode.DONE
    click.echo(done.path)
    say(f"Your file is kept as {done.kept}." if done.kept else "The file was the starter already.")
    return ExitCode.DONE
