"""Loading the learner's file: from bytes to the entry function, or one finding that says why not."""

from __future__ import annotations

import inspect
import linecache
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tutor.findings import finding
from tutor.protocol import CaseSpec, Finding
from tutor.stage.explain.loading import explain_load
from tutor.wire import Attempt

MODULE = "attempt"


class CannotLoad(Exception):
    """The attempt did not load; `finding` says why."""

    def __init__(self, problem: Finding) -> None:
        super().__init__(problem.message)
        self.finding = problem


def load(attempt: Attempt) -> Callable[..., Any]:
    """Run the attempt's file as a fresh module and return its entry. `CannotLoad` if that does not work."""
    module = load_module(attempt)
    entry = module.__dict__.get(attempt.entry)
    if not callable(entry):
        raise CannotLoad(_no_entry(module, attempt, entry))
    return entry  # type: ignore[no-any-return]


def load_module(attempt: Attempt) -> ModuleType:
    """Run the attempt's file as a fresh module. `CannotLoad` if that does not work."""
    text = decode(attempt.source)
    try:
        code = compile(text, attempt.path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise CannotLoad(explain_load(error, text, attempt.path, attempt.entry)) from None
    module = ModuleType(MODULE)
    module.__file__ = attempt.path
    sys.modules[MODULE] = module
    lines = text.splitlines(keepends=True)
    linecache.cache[attempt.path] = (len(text), None, lines, attempt.path)  # tracebacks show the judged text
    try:
        exec(code, module.__dict__)
    except MemoryError:
        raise
    except BaseException as error:  # SystemExit and KeyboardInterrupt are the attempt's too
        raise CannotLoad(explain_load(error, text, attempt.path, attempt.entry)) from None
    return module


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


def check_signature(entry: Callable[..., Any], name: str, case: CaseSpec) -> Finding | None:
    """A finding if `entry` cannot be called as the exercise calls it."""
    try:
        signature = inspect.signature(entry)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(*case.inputs, **case.static)
    except TypeError as error:
        wanted = ", ".join(
            [spec.name for spec in case.inputs] + [f"{key}={value}" for key, value in case.static.items()]
        )
        message = f"The exercise calls {name}({wanted}), but your function is {name}{signature}: {error}."
        return finding("KT105", message, line=_first_line(entry), raw=str(error))
    return None


def _first_line(entry: Callable[..., Any]) -> int | None:
    code = getattr(inspect.unwrap(entry), "__code__", None)
    return code.co_firstlineno if code else None


def _no_entry(module: ModuleType, attempt: Attempt, value: object) -> Finding:
    functions = [
        name
        for name, found in module.__dict__.items()
        if callable(found) and getattr(found, "__module__", "") == MODULE
    ]
    if value is not None:
        message = f"{attempt.entry} is a {type(value).__name__}, not a function."
    else:
        message = f"The file defines no function {attempt.entry}. The exercise calls it by that name."
    hint = f"It does define: {', '.join(functions[:8])}." if functions else None
    return finding("KT104", message, hint=hint)
