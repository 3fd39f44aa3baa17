"""The program: a group of verbs, each in a module that is imported only when the verb is used."""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple, TextIO

import click

from tutor.cli.errors import ExitCode, Refused, report
from tutor.cli.session import Session, shared_options
from tutor.sets import did_you_mean


class Lazy(NamedTuple):
    """Where a verb lives, and what the list of verbs says about it."""

    place: str
    help: str


VERBS: dict[str, Lazy] = {
    "list": Lazy("tutor.cli.listing:list_exercises", "All exercises, and where you stand."),
    "next": Lazy("tutor.cli.listing:next_exercise", "The next unsolved exercise."),
    "show": Lazy("tutor.cli.exercise:show", "The lesson of an exercise, and your file."),
    "hint": Lazy("tutor.cli.exercise:hint", "The next hint."),
    "solution": Lazy("tutor.cli.exercise:solution", "The reference solution, when the set allows it."),
    "reset": Lazy("tutor.cli.exercise:reset", "Put the starter back; your file is kept beside it."),
    "check": Lazy("tutor.cli.check:check", "Judge an attempt; --all judges every one that you have begun."),
    "watch": Lazy("tutor.cli.watch:watch", "Check on every save."),
    "inspect": Lazy("tutor.cli.inspect:inspect", "Judge a kernel of your own, without an exercise."),
    "jaxpr": Lazy("tutor.cli.jaxpr:jaxpr", "The marked jaxpr of an attempt, and its access table."),
    "tune": Lazy("tutor.cli.tune:tune_command", "Try other block sizes, by the compiler's estimate."),
    "bench": Lazy("tutor.cli.bench:bench", "The references beside the same functions in plain JAX."),
    "progress": Lazy("tutor.cli.progress:progress", "What is solved; export, import, merge."),
    "submit": Lazy("tutor.cli.submit:submit", "One archive of your attempts, to hand in."),
    "explain": Lazy("tutor.cli.explain:explain", "What a finding's code means."),
    "grade": Lazy("tutor.cli.grade:grade", "Grade a class: folders or archives, one student each."),
    "set": Lazy("tutor.cli.author:author", "For authors: make, prove and pack exercise sets."),
    "doctor": Lazy("tutor.cli.doctor:doctor", "What this machine has, and what is missing."),
}
TUI = "tutor.cli.start:open_tutor"  # what the program does without a verb


class Program(click.Group):
    """Looks its verbs up by name, so that a quick verb does not wait for the others."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        lazy = VERBS.get(cmd_name)
        if lazy is None:
            return None
        command: click.Command = load(lazy.place)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in VERBS:
            near = did_you_mean(args[0], VERBS) or ""
            hint = f"{near} `kerneltutor --help` lists all commands.".lstrip()
            raise Refused("unknown_command", f'There is no command "{args[0]}".', hint)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, lazy.help) for name, lazy in VERBS.items()])


def load(place: str) -> Any:
    """What `module:name` names."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


EPILOG = """Shell completion: add eval "$(_KERNELTUTOR_COMPLETE=bash_source kerneltutor)" to ~/.bashrc (zsh_source in
~/.zshrc; for fish, pipe fish_source to source)."""


@click.command(
    cls=Program, invoke_without_command=True, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.pass_context
def program(context: click.Context) -> object:
    """Learn to write JAX Pallas TPU kernels. Without a command: the tutor's screen, at the next unsolved exercise."""
    session = context.ensure_object(Session)
    if context.invoked_subcommand is not None:
        return None
    return load(TUI)(session)


program.params += shared_options()


def run(arguments: Sequence[str]) -> int:
    """Run the command line with these arguments; the answer is the exit code. Never raises."""
    asked = list(arguments)
    as_json = "--json" in (asked[: asked.index("--")] if "--" in asked else asked)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a narrow terminal encoding must not end the program
    output = sys.stdout
    try:
        code = program.main(asked, prog_name="kerneltutor", standalone_mode=False)
        output.flush()
        return int(code) if isinstance(code, int) else ExitCode.DONE
    except BrokenPipeError:
        return _reader_gone(output)
    except SystemExit as stop:
        # Click ends so after shell completion, and, having wrapped the streams, when the reader has gone.
        return int(stop.code or 0) if sys.stdout is output else _reader_gone(output)
    except (Exception, KeyboardInterrupt) as error:
        return report(error, as_json=as_json)


def _reader_gone(output: TextIO) -> int:
    """The reader went away, as `head` does: nothing is wrong, and nothing more can be said."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), output.fileno())
    return ExitCode.DONE
