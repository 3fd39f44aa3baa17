"""Exit codes, and what is said when a command cannot do its work."""

from __future__ import annotations

import asyncio
import enum
import sys
import traceback
from collections.abc import Coroutine
from typing import Any

import click
import msgspec

from tutor.cli.text import plain
from tutor.protocol import CommandError


class ExitCode(enum.IntEnum):
    """What the shell is told (FORMATS 4)."""

    DONE = 0
    NOT_PASSED = 1
    USAGE = 2
    OURS = 3
    INTERRUPTED = 4


class Refused(Exception):
    """A command that will not do what was asked, for a reason that its user can read."""

    def __init__(self, code: str, message: str, hint: str | None = None, exit: ExitCode = ExitCode.USAGE) -> None:
        super().__init__(message)
        self.error = CommandError(code=code, message=message, hint=hint)
        self.exit = exit


def until_interrupted(watching: Coroutine[Any, Any, None]) -> ExitCode:
    """Run what only Ctrl+C ends, which is no mishap there."""
    try:
        asyncio.run(watching)
    except KeyboardInterrupt:
        sys.stderr.write("\nEnded.\n")
        return ExitCode.INTERRUPTED
    return ExitCode.DONE


def explain(error: BaseException) -> tuple[CommandError, ExitCode]:
    """What to say about an error, and the exit code. Whatever nobody foresaw is our own fault."""
    from tutor.record import HistoryError
    from tutor.sets import SetError

    match error:
        case Refused():
            return error.error, error.exit
        case SetError() | HistoryError():
            return CommandError(code=error.code, message=error.message, hint=error.hint), ExitCode.USAGE
        case click.ClickException():
            hint = None
            if isinstance(error, click.UsageError) and error.ctx is not None:
                hint = f"`{error.ctx.command_path} --help` says how it is used."
            return CommandError(code="usage", message=error.format_message(), hint=hint), ExitCode.USAGE
        case click.Abort() | KeyboardInterrupt():
            return CommandError(code="interrupted", message="Interrupted."), ExitCode.INTERRUPTED
        case _:
            words = f"kerneltutor itself failed: {type(error).__name__}: {error}"
            return CommandError(code="internal", message=words, hint="This is a fault of the program."), ExitCode.OURS


def report(error: BaseException, *, as_json: bool) -> int:
    """Say what went wrong: JSON on standard output if that was asked for, words on standard error else."""
    said, code = explain(error)
    if code is ExitCode.OURS:
        sys.stderr.write(plain("".join(traceback.format_exception(error))))
    if as_json:
        sys.stdout.write(msgspec.json.encode(said).decode() + "\n")
    else:
        sys.stderr.write(plain(said.message) + "\n")
        if said.hint:
            sys.stderr.write(plain(said.hint) + "\n")
    return int(code)
