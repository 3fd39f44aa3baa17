"""`set`: for authors. `set check` is here, making and packing sets in `set_files`."""

from __future__ import annotations

import asyncio
import datetime
import random
from collections.abc import Collection, Iterable

import click

from tutor.cli.errors import ExitCode
from tutor.cli.session import Session, Verb, pass_session, say
from tutor.cli.set_files import new, pack
from tutor.cli.text import one_line, paint
from tutor.ladder.check import Ladder
from tutor.ladder.mutation import Killed, Share, mutation, share
from tutor.ladder.predict_proof import BrokenKernels, prove_answers
from tutor.ladder.proof import MARGIN, Margins, Proved, default_bound, margins, prove
from tutor.ladder.proof_cache import Proofs
from tutor.ladder.zero_effort import prove_zero_effort
from tutor.sets import Exercise


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
    is not run again."""
    session.require_jax()
    chosen = [session.exercise(slug) for slug in slugs] or list(session.set.exercises)
    changed = {exercise.slug for exercise in chosen if exercise.kind == "kernel" and (mutants or drawn is not None)}
    if drawn is not None:
        changed = draw(changed, drawn, datetime.date.today())
    broken = [] if slugs else session.set.broken
    for one in broken:
        say(f"{one.error.message} {one.error.hint or ''}")
    code = asyncio.run(_prove_all(session, chosen, changed))
    return ExitCode.NOT_PASSED if broken else code


def draw(slugs: Iterable[str], count: int, day: datetime.date) -> set[str]:
    """`count` of the slugs (all, if there are not more): the same on one day, others on another."""
    known = sorted(slugs)
    return set(random.Random(day.isoformat()).sample(known, min(count, len(known))))


async def _prove_all(session: Session, chosen: list[Exercise], changed: Collection[str]) -> int:
    good = True
    ladder, proofs = Ladder(), Proofs()
    try:
        for exercise in chosen:
            click.echo(paint(exercise.slug, "bold", session.color))
            if exercise.kind == "predict":
                good &= await _answers(ladder, exercise, session.color)
                continue
            if exercise.reference is None:
                good = False
                sign = paint("!!", "red", session.color)
                click.echo(f"  {sign}  there is no {exercise.solutions / 'reference.py'}: nothing proves this exercise")
                continue
            good &= await _programs(ladder, exercise, proofs, session.color)
            good &= await _zero_effort(ladder, exercise, proofs, session.color)
            if exercise.slug in changed:
                good &= await _mutants(ladder, exercise, proofs, session.color)
    finally:
        await ladder.aclose()
    return ExitCode.DONE if good else ExitCode.NOT_PASSED


async def _programs(ladder: Ladder, exercise: Exercise, proofs: Proofs, color: bool) -> bool:
    proved: list[Proved] = []
    async for one in prove(ladder, exercise, proofs):
        proved.append(one)
        click.echo(_line(one, color))
    measured = margins(proved, default_bound(exercise))
    click.echo(_margin_line(measured, color))
    return all(one.problem is None for one in proved) and _wide(measured)


async def _answers(ladder: Ladder, exercise: Exercise, color: bool) -> bool:
    """A predict exercise: what is wrong, line by line, and one line for all that is as it must be."""
    good = count = 0
    try:
        async for one in prove_answers(ladder, exercise):
            count += 1
            good += one.problem is None
            if one.problem is not None:
                click.echo(_told("!!", one, color))
    except BrokenKernels as error:
        click.echo(f"  {paint('!!', 'red', color)}  {one_line(str(error))}")
        return False
    sign = paint("ok", "green", color) if good == count else paint("!!", "red", color)
    click.echo(f"  {sign}  answers: {good} of {count} files come out as they must")
    return good == count


async def _zero_effort(ladder: Ladder, exercise: Exercise, proofs: Proofs, color: bool) -> bool:
    count = bad = 0
    async for one in prove_zero_effort(ladder, exercise, proofs):
        count += 1
        if one.problem is not None:
            bad += 1
            click.echo(_told("!!", one, color))
    sign = paint("!!", "red", color) if bad else paint("ok", "green", color)
    click.echo(f"  {sign}  attempts without effort: {count - bad} of {count} are turned down")
    return not bad


def _told(sign: str, one: Proved, color: bool) -> str:
    return f"  {paint(sign, 'red', color)}  {one_line(one.program.path)}: {one_line(one.problem or '')}"


async def _mutants(ladder: Ladder, exercise: Exercise, proofs: Proofs, color: bool) -> bool:
    outcomes: list[Killed] = []
    async for one in mutation(ladder, exercise, proofs):
        outcomes.append(one)
        if one.stage is None:
            sign = paint("--", "yellow", color) if one.reason else paint("!!", "red", color)
            click.echo(f"  {sign}  survives: {one_line(one.name)}")
            if one.reason:
                click.echo(f"      {one_line(one.reason)}")
    found = share(outcomes)
    click.echo(_share_line(found, color))
    return found.good


def _share_line(found: Share, color: bool) -> str:
    sign = paint("ok", "green", color) if found.good else paint("!!", "red", color)
    words = f"  {sign}  mutants: {found.killed} of {found.total - found.equivalent} killed ({found.share:.0%})"
    return words + (f", {found.equivalent} more are equivalent" if found.equivalent else "")


def _line(one: Proved, color: bool) -> str:
    sign = paint("ok", "green", color) if one.problem is None else paint("!!", "red", color)
    wanted = f"{one.program.stage} {one.program.code}" if one.program.stage else "passes"
    time = "proved" if one.kept else f"{one.verdict.seconds:5.2f} s"
    words = f"  {sign}  {one.program.name:34} {wanted:22} {time}"
    return words if one.problem is None else f"{words}\n      {one_line(one.problem)}"


def _wide(measured: Margins) -> bool:
    return all(margin is None or margin >= MARGIN for margin in (measured.right, measured.wrong))


def _margin_line(measured: Margins, color: bool) -> str:
    right = "none to measure" if measured.right is None else f"{measured.right:.2f}x inside the bound"
    wrong = "none to measure" if measured.wrong is None else f"{measured.wrong:.2f}x outside it"
    sign = paint("ok", "green", color) if _wide(measured) else paint("!!", "red", color)
    return f"  {sign}  margins: worst right answer {right}, nearest wrong answer {wrong} (at least {MARGIN})"
