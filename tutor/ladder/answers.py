"""A learner's file of answers: `id = literal` lines, read and never run."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

from tutor.findings import finding
from tutor.ladder.quantities import Form, Value
from tutor.protocol import Finding
from tutor.sets.errors import did_you_mean

MOST_BYTES = 64 << 10
_MOST_SHOWN = 60
_WORDS: dict[Form, str] = {
    "number": "a whole number, such as 4",
    "truth": "True or False",
    "index": "a tuple of whole numbers, such as (0, 2)",
    "space": 'the name of a memory space as text, such as "vmem"',
}


class Answer(NamedTuple):
    """One line: the literal, as it was written, and where. `value` None: not answered yet."""

    value: object
    written: str
    line: int


class Answers(NamedTuple):
    """Every answer by question, and what could not be read."""

    given: dict[str, Answer]
    findings: list[Finding]


def read_answers(source: bytes, known: Sequence[str]) -> Answers:
    """Read the file. Nothing in it is ever run. `known` are the ids of the questions."""
    if len(source) > MOST_BYTES:
        return Answers({}, [finding("KT128", f"The file has {len(source):,} bytes; answers need only a few lines.")])
    try:
        text = source.decode("utf-8-sig")
        tree = ast.parse(text)
    except UnicodeDecodeError as error:
        return Answers({}, [finding("KT102", f"Byte {error.start} of the file is not UTF-8.", raw=str(error))])
    except SyntaxError as error:
        message = f"Line {error.lineno} is not valid Python: {error.msg}." if error.lineno else f"{error.msg}."
        return Answers({}, [finding("KT101", message, line=error.lineno, raw=str(error))])
    except (ValueError, RecursionError, MemoryError) as error:
        return Answers({}, [finding("KT101", "Python cannot read this file.", raw=f"{type(error).__name__}: {error}")])
    given: dict[str, Answer] = {}
    problems: list[Finding] = []
    for number, statement in enumerate(tree.body):
        if number == 0 and _is_text(statement):
            continue  # a docstring
        name = _assigned(statement)
        if name is None:
            problems.append(_unreadable(statement, "This line is no answer. Every line is `id = literal`."))
        elif name not in known:
            message = f"No question is called `{name}`."
            problems.append(_unreadable(statement, message, did_you_mean(name, known)))
        elif name in given:
            message = f"`{name}` is answered twice, on line {given[name].line} and here. Keep one."
            problems.append(_unreadable(statement, message))
        else:
            assert isinstance(statement, ast.Assign)
            try:
                value = ast.literal_eval(statement.value)
            except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                message = f"The answer to `{name}` is not a literal. Write the value itself: nothing here is run."
                problems.append(_unreadable(statement, message))
                continue
            given[name] = Answer(value, _shown(statement.value, text), statement.lineno)
    return Answers(given, problems)


def right(value: object, want: Value) -> bool:
    """Whether an answer is the right one. `0` is not `False`, and a block of one dimension may be a plain number."""
    if isinstance(want, bool):
        return value is want
    if isinstance(want, int):
        return _whole(value) and value == want
    if isinstance(want, str):
        return isinstance(value, str) and value.strip().lower() == want
    if _whole(value):
        value = (value,)
    return isinstance(value, tuple | list) and all(map(_whole, value)) and tuple(value) == want


def fits(value: object, form: Form) -> bool:
    """Whether an answer is of the kind that the question asks for."""
    match form:
        case "truth":
            return isinstance(value, bool)
        case "number":
            return _whole(value)
        case "space":
            return isinstance(value, str)
    return _whole(value) or (isinstance(value, tuple | list) and all(map(_whole, value)))


def form_in_words(form: Form) -> str:
    """What an answer of this form looks like."""
    return _WORDS[form]


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _assigned(statement: ast.stmt) -> str | None:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    return None


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _unreadable(statement: ast.stmt, message: str, hint: str | None = None) -> Finding:
    return finding("KT128", message, line=statement.lineno, column=statement.col_offset, hint=hint)


def _shown(value: ast.expr, text: str) -> str:
    written = " ".join((ast.get_source_segment(text, value) or "").split())
    return written if len(written) <= _MOST_SHOWN else written[: _MOST_SHOWN - 1] + "…"
