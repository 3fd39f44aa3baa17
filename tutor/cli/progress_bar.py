"""How far a long command has come, on standard error: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

EVERY_SECONDS = 30.0


@contextmanager
def counting(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A function to call with how many more are done."""
    if sys.stderr.isatty():
        with click.progressbar(length=total, label=what, file=sys.stderr, show_pos=True) as bar:
            bar.render_progress()
            yield bar.update
        return
    began = said = time.monotonic()
    done = 0

    def count(more: int) -> None:
        nonlocal done, said
        done += more
        now = time.monotonic()
        if done == total or now - said >= EVERY_SECONDS:
            said = now
            click.echo(f"{what}: {done} of {total}, {now - began:.0f} s", err=True)

    yield count
