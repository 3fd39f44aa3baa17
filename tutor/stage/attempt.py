"""Loading the learner's file: from bytes to the entry function, or one finding that says why not."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tutor.findings import finding
from tutor.protocol import CaseSpec, Finding
from tutor.stage.explain.jail import refused_by_jail
from tutor.stage.explain.loading import EntryMissing, explain_load, signature_finding
from tutor.stage.explain.safely import safely
from tutor.wire import Attempt

MODULE = "attempt"


class CannotLoad(Exception):
    """The attempt did not load; `finding` says why."""

    def __init__(self, problem: Finding) -> None:
        super().__init__(problem.message)
        self.finding = problem


def load(attempt: Attempt) -> Callable[..., Any]:
    """Run the attempt's file as a fresh module and return its entry. `CannotLoad` if that does not work."""
    return entry_in(load_module(attempt), attempt)


def load_module(attempt: Attempt) -> ModuleType:
    """Run the attempt's file as a fresh module. `CannotLoad` if that does not work."""
    text = decode(attempt.source)
    try:
        code = compile(text, attempt.path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise CannotLoad(explain_load(error, text, attempt.path, attempt.entry)) from None
    except (RecursionError, MemoryError) as error:  # the parser says both of the same things
        message = "Python cannot read this file: some expression in it is nested too deeply or is far too long."
        raise CannotLoad(finding("KT101", message, raw=f"{type(error).__name__}: {error}")) from None
    module = ModuleType(MODULE)
    module.__file__ = attempt.path
    if attempt.own is not None and attempt.own.package:
        module.__package__ = attempt.own.package
    sys.modules[MODULE] = module
    lines = text.splitlines(keepends=True)
    linecache.cache[attempt.path] = (len(text), None, lines, attempt.path)  # tracebacks show the judged text
    try:
        exec(code, module.__dict__)
    except MemoryError:
        raise
    except BaseException as error:  # SystemExit and KeyboardInterrupt are the attempt's too
        problem = error

        def explain() -> Finding:
            refused = refused_by_jail(problem, attempt.path)
            return refused or explain_load(problem, text, attempt.path, attempt.entry)

        explained = safely(explain, problem, "KT103")
        raise CannotLoad(explained) from None
    return module


def entry_in(module: ModuleType, attempt: Attempt) -> Callable[..., Any]:
    """The function that the attempt is judged by. `CannotLoad` if the module has none of that name."""
    entry = module.__dict__.get(attempt.entry)
    if callable(entry):
        return entry  # type: ignore[no-any-return]
    own = [n for n, v in module.__dict__.items() if callable(v) and _is_from(v, MODULE)]
    missing = EntryMissing(attempt.entry, own, entry)
    raise CannotLoad(explain_load(missing, attempt.source, attempt.path, attempt.entry))


def _is_from(value: object, module: str) -> bool:
    """Whether `value` says that it was defined in `module`. An object may answer that with anything."""
    try:
        return str(getattr(value, "__module__", "")) == module
    except Exception:
        return False


def check_signature(entry: Callable[..., Any], attempt: Attempt, case: CaseSpec) -> None:
    """`CannotLoad` if the entry cannot be called as the exercise calls it."""
    text = decode(attempt.source)
    problem = signature_finding(entry, attempt.entry, [spec.name for spec in case.inputs], case.static, text)
    if problem:
        raise CannotLoad(problem)


def decode(source: bytes) -> str:
    """The attempt as text. `CannotLoad` names the first byte that is not UTF-8."""
    try:
        text = source.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = source.count(b"\n", 0, error.start) + 1
        message = (
            f"Byte {error.start} of the file ({source[error.start]:#04x}, on line {line}) is not UTF-8. "
            "Save the file as UTF-8 in your editor."
        )
        raise CannotLoad(finding("KT102", message, line=line, raw=str(error))) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise CannotLoad(finding("KT102", f"Line {line} holds a zero byte. Python source is text.", line=line))
    return text
