"""Explaining an exception whose own methods may fail, raise anything, or answer with anything."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tutor.findings import finding
from tutor.protocol import Finding
from tutor.stage.explain.table import clean
from tutor.stage.explain.where import chain


def safely(explain: Callable[[], Finding], error: BaseException, code: str) -> Finding:
    """What `explain` says of `error`; a plain finding of `code` if the exception is made so that nobody can read it."""
    try:
        return msgspec.convert(msgspec.to_builtins(explain()), Finding)
    except MemoryError:
        raise
    except BaseException:  # whatever the exception's own `__str__` and attributes do
        message = f"The program stops with {_unreadable(error)}"
        return finding(code, message, hint="Raise an exception with an ordinary message to see more.")


def readable[E: BaseException | None](error: E) -> E | RuntimeError:
    """The exception, or one with its traceback in its place if its text, or that of a cause, cannot be had."""
    if error is None:
        return error
    try:
        for link in chain(error):
            str(link)
    except MemoryError:
        raise
    except BaseException:
        return RuntimeError(_unreadable(error)).with_traceback(error.__traceback__)
    return error


def _unreadable(error: BaseException) -> str:
    name = clean(type.__dict__["__name__"].__get__(type(error)))[:80] or "an exception without a name"
    return f"{name}, an exception that cannot be shown: its own text or attributes fail."
