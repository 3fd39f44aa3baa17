"""`doctor`: what this machine has, and what is missing."""

from __future__ import annotations

import os
import shutil

import click

from tutor.cli.errors import ExitCode
from tutor.cli.isolation import isolation, proved
from tutor.cli.machine import Check, platform_check, terminal, version
from tutor.cli.session import Session, Verb, json_option, pass_session, say, show_json
from tutor.cli.text import one_line, paint, plural, wrap
from tutor.ladder.chip import Devices, devices, local_chip
from tutor.ladder.libtpu import libtpu_command
from tutor.ladder.one_chip import choose
from tutor.record import HistoryError
from tutor.sets import SetError
from tutor.sets.versions import in_range

_MARKS = {"ok": ("ok", "green"), "missing": ("--", "yellow"), "problem": ("!!", "red")}


@click.command("doctor", cls=Verb)
@click.option("--exploits", is_flag=True, help="Grade what hostile submissions try, on this machine.")
@json_option
@pass_session
def doctor(session: Session, exploits: bool, as_json: bool) -> int:
    """Python, JAX, libtpu, the TPU and who holds it, terminal, isolation, workspace."""
    if exploits:
        from tutor.cli.exploits import exploits as run_exploits  # it takes the whole of grading

        return run_exploits(as_json=as_json, color=session.color)
    found = devices()
    jail = proved()
    checks = [*_software(session), *_tpu(found), *_opened(session, found), terminal()]
    checks += [*isolation(jail), *_folders(session)]
    if as_json:
        show_json({"checks": checks, "devices": found, "isolation": jail, "libtpu_command": libtpu_command()})
        return ExitCode.DONE
    width = max(len(c.name) for c in checks)
    columns = min(shutil.get_terminal_size((88, 24)).columns, 100)
    for check in checks:
        mark, colour = _MARKS[check.status]
        first, *more = wrap(one_line(check.detail), columns, " " * (width + 5))
        click.echo(f"{paint(mark, colour, session.color)} {check.name.ljust(width)}  {first.strip()}")
        for line in more:
            click.echo(line)
        if check.fix:
            click.echo("\n".join(wrap(check.fix, columns, " " * (width + 5))))
    missing = sum(c.status == "missing" for c in checks)
    problems = sum(c.status == "problem" for c in checks)
    optional = f"{plural(missing, 'optional thing')} missing"
    say(f"{plural(problems, 'problem')} to put right, {optional}." if problems else f"All in order; {optional}.")
    return ExitCode.DONE


def _software(session: Session) -> list[Check]:
    checks = [platform_check()]
    jax = version("jax")
    try:
        wanted = session.set.manifest.jax
        checks.append(Check("exercise set", "ok", f"{session.set.id}: {len(session.set.exercises)} exercises"))
        checks += [Check(f"exercise {b.slug}", "problem", b.error.message) for b in session.set.broken]
    except SetError as error:
        wanted = ">=0.12,<0.13"
        checks.append(Check("exercise set", "problem", error.message, error.hint))
    if jax is None:
        checks.append(Check("jax", "problem", "not installed", "Install kerneltutor again with its dependencies."))
    elif in_range(jax, wanted):
        checks.append(Check("jax", "ok", jax))
    else:
        checks.append(Check("jax", "problem", f"{jax}, but the set wants {wanted}", f"Install jax {wanted}."))
    jaxlib = version("jaxlib")
    checks.append(Check("jaxlib", "ok" if jaxlib else "problem", jaxlib or "not installed"))
    libtpu = version("libtpu")
    fix = f"Without it nothing is compiled for a TPU. This adds it (the tpu extra): {libtpu_command()}"
    checks.append(Check("libtpu", "ok", libtpu) if libtpu else Check("libtpu", "missing", "not installed", fix))
    return checks


def _tpu(found: Devices) -> list[Check]:
    if not found.paths:
        return [Check("TPU", "missing", "no device file (/dev/accel*, /dev/vfio/*): kernels are not timed")]
    chip, choice = local_chip(), choose(found, local_chip(), os.environ)
    checks = [Check("TPU", "ok", f"{chip}: {', '.join(found.paths)}" if chip else ", ".join(found.paths))]
    for holder in found.holders:
        words = f"process {holder.pid} ({holder.command}) holds {', '.join(holder.paths)}"
        when = "once that process has let go" if choice.held_by else "on a chip that is free"
        checks.append(Check("TPU holder", "missing", words, f"Kernels are timed {when}."))
    if not found.holders:
        partly = "" if found.complete else " (some processes of other users could not be looked at)"
        checks.append(Check("TPU holder", "ok", f"nobody holds it{partly}"))
    return checks


def _opened(session: Session, found: Devices) -> list[Check]:
    """Which of our processes open the chip; looked at only where there is one and nobody else holds it."""
    if not found.paths or found.holders:  # with a holder beside us nobody could tell who opened what
        return []
    try:
        exercise = next((e for e in session.set.exercises if e.kind == "kernel"), None)
    except SetError:
        return []
    from tutor.cli.chip_check import who_opens_the_chip

    return [who_opens_the_chip(exercise)] if exercise is not None else []


def _folders(session: Session) -> list[Check]:
    checks = []
    try:
        problem = session.workspace.problem()
        elsewhere = "Choose another with --workspace DIR or KERNELTUTOR_WORKSPACE."
        fine = Check("workspace", "ok", str(session.workspace.root))
        checks.append(Check("workspace", "problem", problem, elsewhere) if problem else fine)
    except SetError as error:
        checks.append(Check("workspace", "problem", error.message, error.hint))
    try:
        checks.append(Check("history", "ok", str(session.history.path)))
    except HistoryError as error:
        checks.append(Check("history", "problem", error.message, error.hint))
    return checks
