"""`explain`: the page of a finding's code."""

from __future__ import annotations

import re
import shutil
from typing import Any

import click

from tutor.cli.errors import ExitCode, Refused
from tutor.cli.session import Session, Verb, json_option, pass_session, show_json
from tutor.cli.text import paint, plain, wrap
from tutor.findings import UnknownCode, codes, page
from tutor.sets import nearest


def _complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[Any]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(code, help=page(code).title) for code in codes() if code.startswith(incomplete.upper())]


def _offer(wanted: str) -> str:
    """What there is instead. A number that none has is not near any other: its hundred is named."""
    if re.fullmatch(r"KT\d{3}", wanted):
        known = [code for code in codes() if code[:3] == wanted[:3]] or list(codes())
        return f"There are {known[0]} to {known[-1]}, not all in use; docs/findings.md lists them."
    near = nearest(wanted, codes())
    return f'Did you mean "{near}": {page(near).title}?' if near else "Codes look like KT401."


@click.command("explain", cls=Verb)
@click.argument("code", shell_complete=_complete)
@json_option
@pass_session
def explain(session: Session, code: str, as_json: bool) -> int:
    """What a finding's code means: the cause, the fix, and the smallest example."""
    wanted = code.upper() if code.upper().startswith("KT") else f"KT{code}"
    try:
        found = page(wanted)
    except UnknownCode:
        raise Refused("unknown_code", f'There is no code "{code}".', _offer(wanted)) from None
    if as_json:
        show_json({"code": wanted, "title": found.title, "meaning": found.meaning, "cause": found.cause,
                   "fix": found.fix, "example": found.example, "lesson": found.lesson})  # fmt: skip
        return ExitCode.DONE
    width = min(shutil.get_terminal_size().columns, 100)
    click.echo(paint(f"{wanted}  {found.title}", "bold", session.color))
    for head, text in found.sections:
        click.echo("\n" + paint(head, "bold", session.color))
        click.echo("\n".join(wrap(text, width, "  ")))
    if found.example.strip():
        click.echo("\n" + paint("The smallest example", "bold", session.color))
        click.echo("\n".join(f"  {line}".rstrip() for line in plain(found.example).strip("\n").splitlines()))
    if found.lesson:
        click.echo(f"\nLesson: {plain(found.lesson)}")
    return ExitCode.DONE
