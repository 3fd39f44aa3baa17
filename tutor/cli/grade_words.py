"""What `grade` tells its user: notes on the whole run, what changed, and the exercises in figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click

from tutor.cli.text import cut, one_line, plural, table
from tutor.grade.changes import Change
from tutor.grade.journal import Journal
from tutor.grade.run import Run
from tutor.grade.submissions import SEPARATOR, UNFIT
from tutor.grade.tally import Tally
from tutor.grade.worth import GROUPS, Line
from tutor.sets import ExerciseSet, nearest

NAMED = 10
"""How many names one message lists."""
WIDTH = 300
URGENT = GROUPS[:4]
FIRST = 5
"""How many students or records get a line of their own on the terminal; the report names all."""


def notes_of(run: Run, journal: Journal, told: list[Change], misnamed: Mapping[str, str]) -> Iterator[str]:
    """What is to be said of a whole run. `misnamed`: by student, which files fit no exercise."""
    for stray in run.students.strays:
        yield f"{stray} is no submission: left out.{_meant(stray, run.exercises.slugs)}"
    for name in run.students.missing:
        yield f"The roster names {name}, which is not in the folder."
    if misnamed:
        yield "\n  ".join([
            f"{plural(len(misnamed), 'student')} handed in Python files that fit no exercise ({UNFIT}):",
            *first_of([f"{student}: {misnamed[student]}" for student in sorted(misnamed)]),
        ])  # fmt: skip
    order = set(run.order)
    gone = sorted({student for student, slug in journal.recorded() if (student, slug) not in order})
    if gone:
        yield f"Recorded earlier and not in this class, kept as they are: {some(gone)}."
    yield from run.overrides.misses(order | set(journal.recorded()))
    kept = [change for change in told if change.kind == "kept"]
    if failed := sum(change.found.status == "infra_error" for change in kept):
        yield f"{plural(failed, 'result')} could not be judged again and {_stand(failed)}."
    if lower := len(kept) - failed:
        new = "the new one" if lower == 1 else "the new ones"
        yield f"{plural(lower, 'result')} would have become lower and {_stand(lower)}. --accept-lower takes {new}."


def _meant(stray: str, slugs: Sequence[str]) -> str:
    """How a single file that is nobody's should be called."""
    if not stray.lower().endswith(".py"):
        return ""
    student, separator, rest = stray[:-3].rpartition(SEPARATOR)
    near = nearest(rest, slugs) if separator and student else None
    if near is not None:
        return f' Did you mean "{student}{SEPARATOR}{near}.py"?'
    return f" A single file is called STUDENT{SEPARATOR}SLUG.py."


def _stand(count: int) -> str:
    """One stands, many stand."""
    return "stands as it was" if count == 1 else "stand as they were"


def show(tally: Tally, told: list[Change], exercises: ExerciseSet, out: Path, *, dry_run: bool) -> None:
    """The changes, and the exercises in figures, on standard output."""
    if told:
        click.echo("\n".join(table([_told(change) for change in told])) + "\n")
    statuses = tally.present
    rows = [["exercise", *statuses, "mean"]]
    for slug, one in tally.exercises.items():
        rows.append([slug, *(str(one.statuses[status]) for status in statuses), f"{one.mean:.3f}"])
    click.echo("\n".join(table(rows, right=range(1, len(rows[0])))))
    for slug, one in tally.exercises.items():
        for code, title, count in one.most_frequent():
            click.echo(f"{slug}: {code} {title}: {count}")
    for line in urgent(tally, exercises, dry_run=dry_run):
        click.echo(line)
    if not dry_run:
        click.echo(f"\n{out / 'grades.csv'}  {out / 'totals.csv'}  {out / 'report.html'}  {out / 'students'}/")


def urgent(tally: Tally, exercises: ExerciseSet, *, dry_run: bool) -> Iterator[str]:
    """What should not wait until somebody opens the report, a line each, and the next step where the set is broken."""
    where = "" if dry_run else ", see report.html"
    for title, lines in tally.worth.groups():
        if title in URGENT:
            yield f"\n{title} ({len(lines)}):"
            yield from (f"  {line}" for line in first_of([_short(line) for line in lines], where))
    broken = {line.exercise for line in tally.worth.lines for flag in line.flags if flag.code == "KT904"}
    for exercise in exercises.exercises:
        if exercise.slug in broken:
            yield (
                f"{exercise.slug}: the set's own files are at fault, not the attempts. They are in {exercise.folder}; "
                f"`kerneltutor set check {exercise.slug}` with this --set shows more. Then grade again."
            )


def _short(line: Line) -> str:
    """Who, where and why, in one line."""
    why = "; ".join(" ".join(filter(None, (flag.code, flag.message, flag.evidence))) for flag in line.flags)
    return cut(one_line(f"{line.student} {line.exercise or '(whole submission)'}: {why}"), WIDTH)


def _told(change: Change) -> list[str]:
    """A change as cells: who, what was recorded, what was found."""
    was = f"{change.was.status} {change.was.score:g}" if change.was else "nothing"
    found = f"-> {change.found.status} {change.found.score:g}"
    note = "the earlier result stands" if change.kind == "kept" else ""
    return [one_line(change.record.student), change.record.exercise, was, found, note]


def some(names: Sequence[str]) -> str:
    """The first names of a list that may be long."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def first_of(lines: Sequence[str], where: str = "") -> list[str]:
    """The first lines, and how many more there are."""
    more = len(lines) - FIRST
    return [*lines[:FIRST], f"and {more} more{where}"] if more > 0 else list(lines)
