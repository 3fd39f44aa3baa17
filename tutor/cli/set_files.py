"""`set new` and `set pack`: the files of a set, made and handed out."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable
from pathlib import Path

import click

from tutor.cli.errors import ExitCode, Refused
from tutor.cli.session import Session, Verb, json_option, pass_session, say, show_json
from tutor.ladder.check import Ladder
from tutor.ladder.figures import compares, reference_figures
from tutor.ladder.subject import subject
from tutor.protocol import Figures
from tutor.sets import ExerciseSet, load_set


@click.command("new", cls=Verb)
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option("--id", "set_id", metavar="ID", help="The set's id; by default made from DIR's name.")
@click.option("--title", metavar="TEXT", help="The title of the set, or of the exercise that is added.")
@click.option("--slug", metavar="SLUG", help="The name of the set's first exercise.")
@click.option("--exercise", metavar="SLUG", help="Add an exercise of this name to the set in DIR, or to that of --set.")
@click.option("--chapter", metavar="NN_name", help="The chapter to add it to; by default the last one.")
@json_option
@pass_session
def new(
    session: Session,
    folder: Path | None,
    set_id: str | None,
    title: str | None,
    slug: str | None,
    exercise: str | None,
    chapter: str | None,
    as_json: bool,
) -> int:
    """Make a set in DIR, with one exercise that is whole and proves itself; or add such an exercise to a set. Nothing
    that is there is changed."""
    from tutor.sets.scaffold import FIRST_SLUG, new_exercise, new_set

    if exercise is not None:
        if folder is None:
            session.use_folder()
        if slug is not None or set_id is not None:
            raise click.UsageError("--exercise takes neither --slug nor --id.")
        chosen = load_set(folder.resolve(), "folder") if folder is not None else session.set
        made = new_exercise(chosen, exercise, chapter=chapter, title=title)
        root, check = chosen.root, f"set check {exercise}"
    else:
        if folder is None:
            raise click.UsageError("Where? Give the set's folder DIR, or --exercise SLUG to add to a set.")
        if chapter is not None:
            raise click.UsageError("--chapter belongs to --exercise.")
        made = new_set(folder, set_id=set_id, title=title, slug=FIRST_SLUG if slug is None else slug)
        root, check = folder, "set check"
    if as_json:
        show_json({"set": str(root), "files": [str(path) for path in made]})
        return ExitCode.DONE
    click.echo("\n".join(str(path) for path in made))
    say(f"It proves itself: `kerneltutor {check} --set {shlex.quote(str(root))}`.")
    say("Then change one file after the other; each says what goes where.")
    return ExitCode.DONE


@click.command("pack", cls=Verb)
@click.option("--student", "audience", flag_value="student", help="Without solutions, hidden cases and key.")
@click.option("--instructor", "audience", flag_value="instructor", help="Everything, also the secret key.")
@click.option("-o", "--output", "file", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path),
              help="The archive to write; by default ID-student.zip or ID-instructor.zip here.")  # fmt: skip
@json_option
@pass_session
def pack(session: Session, audience: str | None, file: Path | None, as_json: bool) -> int:
    """Put the set into one archive that `--set FILE` reads. The same set always gives the same bytes."""
    from tutor.sets import pack as packs

    if audience not in ("student", "instructor"):
        raise click.UsageError("For whom? Give --student or --instructor.")
    session.use_folder()
    student = audience == "student"
    figures = asyncio.run(_figures(session.set, session.next_step)) if student else {}
    manifest, data = packs.pack(session.set, "student" if student else "instructor", figures)
    place = file or Path(f"{manifest.set}-{audience}.zip")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("xb") as target:
            place.chmod(0o644 if student else 0o600)
            target.write(data)
    except FileExistsError:
        raise Refused("exists", f"{place} is there already.", "Remove it, or give another name with -o FILE.") from None
    except OSError as error:
        raise Refused("cannot_write", f"{place} cannot be written: {error.strerror}.") from None
    if as_json:
        show_json({"file": str(place), "pack": manifest})
        return ExitCode.DONE
    click.echo(place)
    say(f"The set {manifest.set} for {'students' if student else 'instructors'}, "
        f"set_sha256 {manifest.set_sha256}.")  # fmt: skip
    if not student:
        say("It holds every solution: keep it to yourself.")
    return ExitCode.DONE


async def _figures(exercises: ExerciseSet, command: Callable[[str], str]) -> dict[str, list[Figures]]:
    """The figures of the references, for the exercises whose rules compare with them."""
    found: dict[str, list[Figures]] = {}
    ladder = Ladder()
    try:
        for exercise in exercises.exercises:
            if compares(exercise.manifest.rules):
                judged = subject(exercise, b"", exercise.file_name)
                known = found[exercise.slug] = await reference_figures(ladder.runs(judged))
                if len(known) < len(judged.cases):
                    words = f"The reference of {exercise.slug} does not trace, and a rule compares with it."
                    raise Refused("reference", words, f"`{command(f'set check {exercise.slug}')}` says what is wrong.")
    finally:
        await ladder.aclose()
    return found
