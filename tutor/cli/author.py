"""`set`: for authors. `set check` is here, making and packing sets in `set_files`."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import random
import shlex
import shutil
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from pathlib import Path

import click

from tutor.cli.errors import ExitCode
from tutor.cli.render_proof import (
    INDENT,
    Outcome,
    margin_lines,
    marked_lines,
    program_lines,
    share_line,
    sign,
    summary,
    wide,
)
from tutor.cli.session import Session, Verb, pass_session, say
from tutor.cli.set_files import new, pack
from tutor.cli.text import one_line, paint, plural, wrap
from tutor.ladder.check import Ladder
from tutor.ladder.mutation import Killed, mutation, share
from tutor.ladder.predict_proof import BrokenKernels, prove_answers
from tutor.ladder.proof import Proved, broken_exercise, default_bound, margins, prove
from tutor.ladder.proof_cache import Proofs
from tutor.ladder.zero_effort import Tried, prove_zero_effort
from tutor.sets import Exercise, SetError
from tutor.sets.review import review

BROKEN = "the exercise is broken"


@click.group("set")
def author() -> None:
    """For authors of exercise sets."""


author.add_command(new)
author.add_command(pack)


@author.command("check", cls=Verb)
@click.argument("slugs", nargs=-1)
@click.option("--mutants", is_flag=True, help="Also change each reference in small ways: do the cases notice?")
@click.option(
    "--drawn",
    type=click.IntRange(0),
    default=None,
    metavar="N",
    help="Mutants of N exercises only, another N every day.",
)
@pass_session
def check_set(session: Session, slugs: tuple[str, ...], mutants: bool, drawn: int | None) -> int:
    """Prove every exercise (or those named): references and right answers pass, starters fail as they say, every wrong
    answer is caught by the stage and the code that it names, and attempts without effort fail. What was proved before
    is not run again. Without --set it is about the set in whose folder it is run."""
    session.use_folder()
    session.require_jax()
    chosen = [session.exercise(slug) for slug in slugs] or list(session.set.exercises)
    changed = {exercise.slug for exercise in chosen if exercise.kind == "kernel" and (mutants or drawn is not None)}
    if drawn is not None:
        changed = draw(changed, drawn, datetime.date.today())
    broken = () if slugs else session.set.broken
    say(f"Proving the set {session.set.id} ({session.set_origin}): {plural(len(chosen) + len(broken), 'exercise')}.")
    for one in broken:
        say(f"{one.error.message} {one.error.hint or ''}")
    width = min(shutil.get_terminal_size((80, 24)).columns, 100)
    proving = Proving(session, width, changed)
    outcomes = [Outcome(one.slug, 0, ("cannot be read",)) for one in broken]
    outcomes += asyncio.run(proving.all(chosen))
    click.echo("\n" + "\n".join(summary(outcomes, width)))
    return ExitCode.NOT_PASSED if any(one.failed for one in outcomes) else ExitCode.DONE


def draw(slugs: Iterable[str], count: int, day: datetime.date) -> set[str]:
    """`count` of the slugs (all, if there are not more): the same on one day, others on another."""
    known = sorted(slugs)
    return set(random.Random(day.isoformat()).sample(known, min(count, len(known))))


def _from_here(path: str) -> str:
    """A path as its author would type it: short, where it is below the working directory."""
    here = Path.cwd()
    return str(Path(path).relative_to(here)) if Path(path).is_relative_to(here) else path


class Proving:
    """One run over exercises, each said as soon as something is known of it. `changed`: those whose mutants run."""

    def __init__(self, session: Session, width: int, changed: Collection[str]) -> None:
        self._next_step = session.next_step
        self._color = session.color
        self._width = width
        self._changed = changed
        self._ladder = Ladder()
        self._proofs = Proofs()

    async def all(self, chosen: Sequence[Exercise]) -> list[Outcome]:
        """Prove one exercise after the other; one that is broken does not stop the others."""
        try:
            return [await self._said(exercise) for exercise in chosen]
        finally:
            await self._ladder.aclose()

    async def _said(self, exercise: Exercise) -> Outcome:
        click.echo(paint(exercise.slug, "bold", self._color))
        try:
            return await self._exercise(exercise)
        except SetError as error:
            self._say(marked_lines(f"{error.message} {error.hint or ''}", self._width, self._color))
            return Outcome(exercise.slug, 0, ("its files",))

    async def _exercise(self, exercise: Exercise) -> Outcome:
        remarks = review(exercise)
        for remark in remarks:
            self._say(marked_lines(remark.text, self._width, self._color, "!!" if remark.error else "??"))
        if any(remark.error for remark in remarks):
            self._say([f"{INDENT}Nothing of this exercise is run until that is put right."])
            return Outcome(exercise.slug, 0, ("its files",))
        if exercise.kind == "predict":
            return await self._answers(exercise)
        programs = await self._programs(exercise)
        if BROKEN in programs.failed:
            return programs
        effortless = await self._zero_effort(exercise)
        failed = programs.failed + effortless.failed
        if exercise.slug in self._changed and not await self._mutants(exercise):
            failed += ("mutants",)
        return Outcome(exercise.slug, programs.programs + effortless.programs, failed)

    async def _programs(self, exercise: Exercise) -> Outcome:
        proved: list[Proved] = []
        hidden = {case.name for case in exercise.cases(hidden=True) if case.hidden}
        async with contextlib.aclosing(prove(self._ladder, exercise, self._proofs)) as outcomes:
            async for one in outcomes:
                if broken := broken_exercise(one.verdict):
                    self._say(marked_lines(broken, self._width, self._color))
                    self._say([f"{INDENT}Nothing of this exercise can be judged until that is put right."])
                    return Outcome(exercise.slug, len(proved), (BROKEN,))
                proved.append(one)
                command = self._next_step(f"check {exercise.slug} {shlex.quote(_from_here(one.program.path))}")
                self._say(program_lines(one, command, hidden, self._width, self._color))
        measured = margins(proved, default_bound(exercise))
        self._say(margin_lines(measured, self._width, self._color))
        failed = [one.program.name for one in proved if one.problem is not None]
        return Outcome(exercise.slug, len(proved), (*failed, *(() if wide(measured) else ("margins",))))

    async def _answers(self, exercise: Exercise) -> Outcome:
        """A predict exercise: what is wrong, line by line, and one line for all that is as it must be."""
        try:
            return await self._count(
                exercise, prove_answers(self._ladder, exercise), "answers", "come out as they must"
            )
        except BrokenKernels as error:
            self._say(marked_lines(one_line(str(error)), self._width, self._color))
            return Outcome(exercise.slug, 0, ("kernels.py",))

    async def _zero_effort(self, exercise: Exercise) -> Outcome:
        tried = prove_zero_effort(self._ladder, exercise, self._proofs)
        return await self._count(exercise, tried, "attempts without effort", "are turned down")

    async def _count(
        self, exercise: Exercise, proved: AsyncIterator[Proved | Tried], what: str, wanted: str
    ) -> Outcome:
        count = good = 0
        async for one in proved:
            count += 1
            good += one.problem is None
            if one.problem is not None:
                words = f"{one_line(one.program.path)}: {one_line(one.problem)}"
                self._say(marked_lines(words, self._width, self._color))
        self._say([f"  {sign(good == count, self._color)}  {what}: {good} of {count} {wanted}"])
        return Outcome(exercise.slug, count, () if good == count else (what,))

    async def _mutants(self, exercise: Exercise) -> bool:
        outcomes: list[Killed] = []
        async for one in mutation(self._ladder, exercise, self._proofs):
            outcomes.append(one)
            if one.stage is None:
                mark = "--" if one.reason else "!!"
                self._say(marked_lines(f"survives: {one_line(one.name)}", self._width, self._color, mark))
                if one.reason:
                    self._say(wrap(one_line(one.reason), self._width, INDENT))
        found = share(outcomes)
        self._say([share_line(found, self._color)])
        return found.good

    def _say(self, lines: Sequence[str]) -> None:
        click.echo("\n".join(lines))
