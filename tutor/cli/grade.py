"""`grade`: a class, with hidden cases, into records, a table and reports."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

import click

from tutor.cli.check import chips_named
from tutor.cli.errors import ExitCode, Refused
from tutor.cli.grade_words import notes_of, show, some
from tutor.cli.progress_bar import counting
from tutor.cli.session import Session, Verb, pass_session, say
from tutor.cli.text import one_line
from tutor.grade.changes import Change
from tutor.grade.exports import export
from tutor.grade.journal import Journal
from tutor.grade.judging import Asked, Judging, verdict_folder
from tutor.grade.names import Slugs
from tutor.grade.overrides import read_overrides
from tutor.grade.roster import read_roster
from tutor.grade.run import Run
from tutor.grade.run import grade as run_class
from tutor.grade.submissions import UNFIT, Class, find_class, unfit_names
from tutor.grade.tally import Tally
from tutor.ladder.check import Ladder
from tutor.ladder.jailed import NotIsolated
from tutor.ladder.proof_cache import Proofs
from tutor.ladder.worker import WorkerDied
from tutor.protocol import Tier
from tutor.record import data_folder
from tutor.sets import ExerciseSet
from tutor.sets.key import seed_key


@click.command("grade", cls=Verb)
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("grades"),
    metavar="DIR",
    show_default=True,
    help="Where records, grades and reports go.",
)
@click.option(
    "--roster",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="CSV",
    help="Who is in the class: a column student; submission and submitted_at if need be.",
)
@click.option("--jobs", type=click.IntRange(1, 64), metavar="N", help="Attempts that are judged at once.")
@click.option("--chip", metavar="NAMES", help="Compile for these chips instead of the exercise's.")
@click.option("--no-compile", is_flag=True, help="Leave the stage compile out. Every record says so.")
@click.option("--dry-run", is_flag=True, help="Judge, show what would change, and write nothing.")
@click.option("--accept-lower", is_flag=True, help="Let a score fall below the one that is recorded.")
@click.option("--allow-weak", is_flag=True, help="Grade although attempts are held by limits only (tier C).")
@pass_session
def grade(
    session: Session,
    folder: Path,
    out: Path,
    roster: Path | None,
    jobs: int | None,
    chip: str | None,
    no_compile: bool,
    dry_run: bool,
    accept_lower: bool,
    allow_weak: bool,
) -> int:
    """Judge every student's attempts in FOLDER (folders, archives or single files, one student each), on public and
    hidden cases. What was judged before is not judged again, so a run that was stopped goes on where it was."""
    exercises = _whole_set(session.set)
    say(f"Grading with the set {exercises.id}: {exercises.title} ({exercises.place}).")
    session.require_jax()
    students = _class_in(folder, out, roster, exercises)
    _same_set(out, exercises)
    chips = chips_named(chip)
    secret = seed_key(exercises, data_folder() / "keys" / f"{exercises.id}.key")
    overrides = read_overrides(out)
    wanted = jobs or max(2, os.cpu_count() or 2)

    async def whole() -> int:
        ladder = Ladder(shared=True)
        try:
            tier = await proved_tier(ladder, allow_weak=allow_weak)
            asked = Asked(tier, not no_compile, chips, secret)
            run = Run(exercises, students, asked, overrides, wanted, roster is not None, accept_lower)
            judging = Judging(
                ladder, lambda: Ladder(isolation=tier, shared=True), Proofs(verdict_folder()), asked, wanted
            )
            with Journal(out, write=not dry_run) as journal:
                return await _grade(run, judging, journal, out, dry_run=dry_run)
        finally:
            await ladder.aclose()

    try:
        return asyncio.run(whole())
    except KeyboardInterrupt:
        kept = "Verdicts are remembered" if dry_run else f"What was judged is kept in {out}"
        message, hint = "Interrupted.", f"{kept}; the same command goes on where it was."
        raise Refused("interrupted", message, hint, ExitCode.INTERRUPTED) from None


async def proved_tier(ladder: Ladder, *, allow_weak: bool) -> Tier:
    """The isolation of this run. `Refused` if it is the weakest, and that was not allowed."""
    try:
        isolation = await ladder.isolation()
    except NotIsolated as error:
        message = "The tier of isolation that was asked for cannot be had here."
        raise Refused("weak_isolation", message, error.tail) from None
    except WorkerDied as error:
        raise Refused("workers", f"{error}: nothing was graded.", error.tail, ExitCode.OURS) from None
    say(f"Attempts run in {isolation.words}.")
    for reason in isolation.why_not_better:
        say(f"  No better one: {one_line(reason)}.")
    if isolation.tier == "C" and not allow_weak:
        message = "Attempts would only be held by limits here (tier C): a student's program could read your files."
        hint = "`kerneltutor doctor` says what is missing. With --allow-weak it is graded all the same."
        raise Refused("weak_isolation", message, hint)
    return isolation.tier


async def _grade(run: Run, judging: Judging, journal: Journal, out: Path, *, dry_run: bool) -> int:
    told: list[Change] = []
    misnamed: dict[str, str] = {}
    failed = 0
    tally = Tally(run.exercises.slugs)
    students = len(run.students.submissions)
    try:
        async with contextlib.aclosing(run_class(run, judging, journal)) as graded:
            with counting("grading", students) as count:
                async for changes in graded:
                    for change in changes:
                        failed += change.found.status == "infra_error"
                        for flag in change.found.flags:
                            if flag.code == UNFIT:
                                misnamed[change.record.student] = flag.message.partition(": ")[2]
                        if change.differs and (dry_run or change.was is not None):
                            told.append(change)
                        if dry_run:
                            tally.add(change.record)
                        elif change.writes:
                            journal.add(change.record)
                    count(1)
    finally:
        if not dry_run:  # when it is interrupted, too: what is done is kept, in order
            journal.finish(run.order)
    place = {key: number for number, key in enumerate(run.order)}
    told.sort(key=lambda change: place[change.record.key])
    notes = list(notes_of(run, journal, told if not dry_run else [], misnamed))
    if not dry_run:
        tally = export(out, journal, run.exercises, notes)
    for note in notes:
        say(note)
    show(tally, told, run.exercises, out, dry_run=dry_run)
    return ExitCode.OURS if failed else ExitCode.DONE


def _whole_set(exercises: ExerciseSet) -> ExerciseSet:
    """`Refused` for a set that cannot grade: a broken exercise, or a student's copy without hidden cases."""
    if exercises.broken:
        raise exercises.broken[0].error
    if not (exercises.root / "solutions").is_dir():
        message = f"The set {exercises.id} has no solutions/: hidden cases and references are missing."
        raise Refused("student_set", message, "Grade with the instructor's set, not with the students' copy.")
    return exercises


def _same_set(out: Path, exercises: ExerciseSet) -> None:
    """`Refused` if OUT holds records of another set: they would be mixed, and its table and report lost."""
    with Journal(out, write=False) as journal:
        others = sorted(journal.sets - {exercises.id})
    if others:
        message = f"{out} holds records of the set {', '.join(others)}, and this run grades with {exercises.id}."
        raise Refused("another_set", message, "Choose another --out, or the --set that they were graded with.")


def _class_in(folder: Path, out: Path, roster: Path | None, exercises: ExerciseSet) -> Class:
    if out.resolve() == folder.resolve() or folder.resolve() in out.resolve().parents:
        raise Refused("out_inside", f"{out} lies in {folder}, where every entry is a student.", "Choose another --out.")
    read = read_roster(roster) if roster else None
    if read is not None and read.unread:
        used = "student, submission and submitted_at"
        say(f"{roster}: these columns are not read: {some(read.unread)}. What is read: {used}.")
    students = find_class(folder, read.enrolled if read else None, Slugs(exercises.slugs))
    if not students.submissions:
        seen = f" There is: {some(students.strays)}." if students.strays else ""
        hint = "FOLDER holds one folder, zip or tar archive a student, or files called STUDENT__SLUG.py."
        raise Refused("no_submissions", f"{folder} holds no submissions.{seen}", hint)
    unfit = unfit_names(students.submissions, exercises)
    if unfit is not None:
        message = f"No file in {folder} fits an exercise of the set {exercises.id} ({exercises.place})."
        seen = f"Python files there: {some(unfit)}." if unfit else "There are no Python files in it."
        called = some([f"{slug}.py" for slug in exercises.slugs])
        raise Refused("nothing_fits", f"{message} {seen}", f"Attempts are called {called}. Is it the right --set?")
    return students
