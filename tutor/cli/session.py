"""What every command works with: the set, the workspace, the history. Each is opened when first asked for."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import click
import msgspec

from tutor.cli.text import plain
from tutor.record import History, HistoryError, open_history
from tutor.sets import (
    Exercise,
    ExerciseSet,
    Opened,
    UnknownSlug,
    Workspace,
    WorkspaceError,
    builtin_root,
    enclosing_set,
    open_set,
    workspace_root,
)
from tutor.sets.finding import VARIABLE


@dataclass
class Session:
    """The options that every command has, and what they stand for."""

    set_name: str | None = None
    workspace_name: str | None = None
    no_color: bool = False

    @cached_property
    def set(self) -> ExerciseSet:
        return open_set(self.set_name)

    @property
    def set_origin(self) -> str:
        """Where the set came from, in words; an archive by its own name, since nobody knows the cache."""
        match self.set.origin:
            case "built-in":
                return "built in"
            case "archive":
                chosen = Path(self.set_name or os.environ.get(VARIABLE, ""))
                return f"archive {chosen.name}" if chosen.suffix else "from an archive"
            case origin:
                return f"{origin} {self.set.root}"

    def use_folder(self) -> None:
        """An author's verb is about the set in whose folder it is run, unless another one was named; says so."""
        if self.set_name or os.environ.get(VARIABLE):
            return
        root = enclosing_set(Path.cwd())
        if root is not None and root != builtin_root():
            self.set_name = os.path.relpath(root)  # short to type again, from here
            say(f"No --set was given: this is about the set of this folder, {root}.")

    def next_step(self, words: str) -> str:
        """A command line that goes on from here: it names the set again, if the user had to name it."""
        return f"kerneltutor {words}" + (f" --set {shlex.quote(self.set_name)}" if self.set_name else "")

    def require_jax(self) -> None:
        """`SetError` if the set is made for another JAX: its verdicts would be worth nothing."""
        from tutor.sets.versions import require_jax

        require_jax(self.set)

    @cached_property
    def workspace(self) -> Workspace:
        return Workspace(workspace_root(self.workspace_name))

    @cached_property
    def history(self) -> History:
        history = open_history()
        click.get_current_context().find_root().call_on_close(history.close)
        return history

    @property
    def color(self) -> bool:
        """Whether standard output may be coloured."""
        plain_wanted = self.no_color or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        return not plain_wanted and sys.stdout.isatty()

    def exercise(self, slug: str) -> Exercise:
        try:
            return self.set.exercise(slug)
        except UnknownSlug as error:
            if slug.endswith(".py"):
                hint = f"`kerneltutor inspect {shlex.quote(slug)}` judges a file of your own."
                raise UnknownSlug(slug, None, hint) from None
            raise UnknownSlug(slug, error.nearest, f"`{self.next_step('list')}` shows all exercises.") from None

    def file(self, exercise: Exercise) -> Opened:
        """The learner's file, made or moved if need be; says on standard error what was done."""
        opened = self.workspace.open(exercise)
        if opened.moved_from is not None:
            say(f"The set renumbered this exercise: {opened.moved_from} is now {opened.path}.")
        if opened.newer_starter:
            reset = self.next_step(f"reset {exercise.slug}")
            say(f"The set has a changed starter for {exercise.slug}. Your file is as you left it; "
                f"`{reset}` takes the new one and keeps yours beside it.")  # fmt: skip
        return opened

    def try_file(self, exercise: Exercise) -> Opened | None:
        """Like `file`, but a workspace that cannot be written is only said."""
        try:
            return self.file(exercise)
        except WorkspaceError as error:
            say(f"{error.message} {error.hint or ''}")
            return None

    def try_history(self) -> History | None:
        """The history; one that cannot be used is only said."""
        try:
            return self.history
        except HistoryError as error:
            say(f"{error.message} {error.hint or ''} Progress is not shown.")
            return None


def say(text: str) -> None:
    """Talk goes to standard error; standard output is data."""
    click.echo(plain(text).rstrip(), err=True)


def show_json(value: Any) -> None:
    """A JSON document on standard output."""
    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2))


def _keep(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def keep(context: click.Context, _: click.Parameter, value: Any) -> None:
        if value:
            setattr(context.find_root().ensure_object(Session), name, value)

    return keep


def _version(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        from importlib.metadata import version  # slow to import

        click.echo(f"kerneltutor {version('kerneltutor')}")
        context.exit()


def shared_options() -> list[click.Parameter]:
    """The options that stand before or after every verb."""
    folder = click.Path(file_okay=False)
    return [
        click.Option(["--set"], metavar="DIR|ARCHIVE|NAME", expose_value=False, is_eager=True,
                     callback=_keep("set_name"), help="The exercise set: a folder, an archive, or an installed set."),
        click.Option(["--workspace"], metavar="DIR", type=folder, expose_value=False, is_eager=True,
                     callback=_keep("workspace_name"), help="Where your files are (default ~/kerneltutor)."),
        click.Option(["--no-color"], is_flag=True, expose_value=False, callback=_keep("no_color"), is_eager=True,
                     help="No colours."),
        click.Option(["--version"], is_flag=True, expose_value=False, callback=_version, is_eager=True,
                     help="Show the version and exit."),
    ]  # fmt: skip


class Verb(click.Command):
    """A command that also takes the shared options."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.params += shared_options()


class Slug(click.types.StringParamType):
    """The slug of an exercise; the shell completes it."""

    name = "slug"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        try:
            exercises = ctx.find_root().ensure_object(Session).set.exercises
        except Exception:  # a broken set must not spoil the learner's prompt
            return []
        return [CompletionItem(e.slug, help=e.title) for e in exercises if e.slug.startswith(incomplete)]


pass_session = click.make_pass_decorator(Session, ensure=True)
SLUG = Slug()
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
