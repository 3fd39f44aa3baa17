"""`set check`: a set proves itself."""

from __future__ import annotations

import asyncio

import click

from tutor.cli.errors import ExitCode
from tutor.cli.session import Session, Verb, pass_session
from tutor.cli.text import one_line, paint
from tutor.ladder.check import Ladder
from tutor.ladder.proof import MARGIN, Margins, Proved, default_bound, margins, prove
from tutor.sets import Exercise


@click.group("set")
def author() -> None:
    """For authors of exercise sets."""


@author.command("check", cls=Verb)
@click.argument("slugs", nargs=-1)
@pass_session
def check_set(session: Session, slugs: tuple[str, ...]) -> int:
    """Prove every exercise (or those named): references and right answers pass, starters fail as they say, and every
    wrong answer is caught by the stage and the code that it names."""
    chosen = [session.exercise(slug) for slug in slugs] or list(session.set.exercises)
    return asyncio.run(_prove_all(session, chosen))


async def _prove_all(session: Session, chosen: list[Exercise]) -> int:
    good = True
    ladder = Ladder()
    try:
        for exercise in chosen:
            click.echo(paint(exercise.slug, "bold", session.color))
            proved: list[Proved] = []
            async for one in prove(ladder, exercise):
                proved.append(one)
                click.echo(_line(one, session.color))
            measured = margins(proved, default_bound(exercise))
            good &= all(one.problem is None for one in proved) and _wide(measured)
            click.echo(_margin_line(measured, session.color))
    finally:
        await ladder.aclose()
    return ExitCode.DONE if good else ExitCode.NOT_PASSED


def _line(one: Proved, color: bool) -> str:
    sign = paint("ok", "green", color) if one.problem is None else paint("!!", "red", color)
    wanted = f"{one.program.stage} {one.program.code}" if one.program.stage else "passes"
    words = f"  {sign}  {one.program.name:34} {wanted:22} {one.verdict.seconds:5.2f} s"
    return words if one.problem is None else f"{words}\n      {one_line(one.problem)}"


def _wide(measured: Margins) -> bool:
    return all(margin is None or margin >= MARGIN for margin in (measured.right, measured.wrong))


def _margin_line(measured: Margins, color: bool) -> str:
    right = "none to measure" if measured.right is None else f"{measured.right:.2f}x inside the bound"
    wrong = "none to measure" if measured.wrong is None else f"{measured.wrong:.2f}x outside it"
    sign = paint("ok", "green", color) if _wide(measured) else paint("!!", "red", color)
    return f"  {sign}  margins: worst right answer {right}, nearest wrong answer {wrong} (at least {MARGIN})"
