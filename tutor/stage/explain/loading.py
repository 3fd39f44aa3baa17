"""Why the attempt could not be loaded, in plain words (KT101 to KT109)."""

from __future__ import annotations

import builtins
import difflib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence

from tutor.findings import finding
from tutor.protocol import Finding
from tutor.stage.explain.reading import Reading
from tutor.stage.explain.table import RAW_LIMIT, clean, first_line
from tutor.stage.explain.where import Place, place_of


class EntryMissing(Exception):
    """The loader found no such function. `names` is what the file does define, `found` the non-callable it has."""

    def __init__(self, entry: str, names: Sequence[str], found: object = None) -> None:
        super().__init__(f"no function {entry!r}")
        self.entry, self.names, self.found = entry, tuple(names), found


def explain_load(exc: BaseException, source: str | bytes, path: str, entry: str) -> Finding:
    """One finding for what was raised while the file was read, compiled or run, or the entry looked up."""
    text = source.decode("utf-8", "replace") if isinstance(source, bytes) else source
    raw = clean(f"{type(exc).__name__}: {exc}")[:RAW_LIMIT]
    if isinstance(exc, UnicodeDecodeError):
        line = source[: exc.start].count(b"\n") + 1 if isinstance(source, bytes) else None
        message = (
            f"Byte {exc.start} of the file (0x{exc.object[exc.start]:02x}) is not UTF-8 text. Python source is read as "
            "UTF-8, so nothing of the file could be read."
        )
        return finding("KT102", message, line=line, raw=raw, hint="Save the file as UTF-8 and check again.")
    if "null bytes" in str(exc) and isinstance(exc, SyntaxError | ValueError):
        line = text[: text.index("\0")].count("\n") + 1 if "\0" in text else None
        message = "The file holds a zero byte, so it is not a text file that Python can read."
        return finding("KT102", message, line=line, raw=raw, hint="Save the file as plain UTF-8 text.")
    if isinstance(exc, SyntaxError) and exc.filename in (path, None, "<unknown>"):
        return _syntax(exc, text, raw)
    place = place_of(exc, path)
    line, column = (place.line, place.column) if place else (None, None)
    if isinstance(exc, EntryMissing):
        return _missing(exc, text)
    if isinstance(exc, SystemExit):
        message = (
            f"The file ends the program while it is imported (exit code {exc.code!r}). Nothing after that line runs, "
            f"so the tutor never gets to `{entry}`."
        )
        hint = 'Remove the call that exits, or put it under `if __name__ == "__main__":`.'
        return finding("KT108", message, line=line, column=column, raw=raw, hint=hint)
    if isinstance(exc, MemoryError):
        message = "The file asked for more memory than a run may use, while it was imported."
        hint = "Make large arrays inside the function that needs them, and smaller."
        return finding("KT107", message, line=line, column=column, raw=raw, hint=hint)
    if isinstance(exc, ImportError):
        return _import(exc, place, raw)
    return _runtime(exc, place, raw, entry)


def signature_finding(
    function: Callable[..., object], entry: str, inputs: Sequence[str], static: Mapping[str, object], source: str
) -> Finding | None:
    """KT105 if `function` cannot be called with these positional inputs and keyword arguments, else None."""
    try:
        signature = inspect.signature(function)
    except Exception:
        return None  # a callable without a signature, or with one of its own making: the call itself will tell
    try:
        signature.bind(*inputs, **static)
    except TypeError as exc:
        node = Reading(source).function(entry)
        call = ", ".join([*inputs, *(f"{name}={value!r}" for name, value in static.items())])
        message = (
            f"The exercise calls `{entry}({call})`, but the function is written `{entry}{signature}`: {exc}. "
            "Every call must fit, for each case."
        )
        hint = "Take the inputs in this order as positional parameters, and the others as keywords."
        return finding("KT105", message, line=node.lineno if node else None, raw=f"TypeError: {exc}", hint=hint)
    return None


def _syntax(exc: SyntaxError, text: str, raw: str) -> Finding:
    line = exc.lineno or None
    column = max(exc.offset - 1, 0) if exc.offset else None
    lines = text.splitlines()
    quoted = lines[line - 1].strip() if line and 0 < line <= len(lines) else ""
    if isinstance(exc, TabError):
        why = "the line mixes tabs and spaces, so Python cannot tell how deep it is indented"
        hint = "Indent with spaces only."
    elif isinstance(exc, IndentationError):
        why, hint = f"the indentation is wrong ({exc.msg})", "Align the line with the block that it belongs to."
    else:
        why, hint = str(exc.msg), _syntax_hint(str(exc.msg))
    shown = f" The line reads `{clean(quoted)[:120]}`." if quoted else ""
    message = f"Python cannot read this file: {why}.{shown}"
    return finding("KT101", message, line=line, column=column, raw=raw, hint=hint)


def _syntax_hint(msg: str) -> str:
    if "was never closed" in msg or "unmatched" in msg:
        return "Count the brackets on this line and on the lines around it."
    if "expected ':'" in msg:
        return "Put a colon at the end of the line."
    if "Maybe you meant '=='" in msg:
        return "Write `==` to compare; `=` gives a name a value."
    return "Look at this line and at the end of the line before it."


def _missing(exc: EntryMissing, text: str) -> Finding:
    reading = Reading(text)
    if exc.found is not None:
        message = f"`{exc.entry}` is a {type(exc.found).__name__} in this file, but it is called as a function."
        return finding("KT104", message, hint=f"Define it with `def {exc.entry}(…):`.")
    nested = reading.function(exc.entry)
    if nested is not None:
        message = (
            f"`{exc.entry}` is defined, but inside another block or function, or it is deleted later, so the file has "
            "no such name at its top level when it has been imported."
        )
        return finding("KT104", message, line=nested.lineno, hint="Move it to the top level of the file.")
    near = difflib.get_close_matches(exc.entry, exc.names, n=1)
    shown = ", ".join(f"`{n}`" for n in list(exc.names)[:8]) or "no function"
    message = f"A function `{exc.entry}` is called, but this file does not define it. It defines {shown}."
    hint = f"Rename `{near[0]}` to `{exc.entry}`." if near else f"Define `def {exc.entry}(…):` in this file."
    node = reading.function(near[0]) if near else None
    return finding("KT104", message, line=node.lineno if node else None, hint=hint)


def _import(exc: ImportError, place: Place | None, raw: str) -> Finding:
    line, column = (place.line, place.column) if place else (None, None)
    if isinstance(exc, ModuleNotFoundError):
        name = exc.name or "?"
        message = (
            f"There is no module `{name}` here. An attempt may import the Python standard library, NumPy and JAX, and "
            "stands alone: other files of yours are not on its path."
        )
        hint = "Remove the import, or write what you need from it into this file."
    else:
        message = (
            f"The import fails: {first_line(str(exc))}. The module is there, but not the name that is asked of it."
        )
        hint = "Check the name's spelling, and whether this version of the module still has it."
    return finding("KT109", message, line=line, column=column, raw=raw, hint=hint)


def _runtime(exc: BaseException, place: Place | None, raw: str, entry: str) -> Finding:
    line, column = (place.line, place.column) if place else (None, None)
    kind, said = type(exc).__name__, first_line(str(exc))
    where = f"line {line} fails" if line else "it fails"
    message = f"While the file is imported, {where} with {kind}{': ' + said if said else ''}. "
    hint: str | None = f"Fix the line, or move work that is not a definition into `{entry}`."
    if isinstance(exc, NameError) and (m := re.search(r"name '(\w+)' is not defined", str(exc))):
        message += f"Nothing has given `{m[1]}` a value by then."
        near = difflib.get_close_matches(m[1], dir(builtins), n=1)
        usual = {"jnp": "import jax.numpy as jnp", "np": "import numpy as np", "jax": "import jax"}
        usual |= {"pl": "from jax.experimental import pallas as pl"}
        usual |= {"pltpu": "from jax.experimental.pallas import tpu as pltpu"}
        hint = f"Add `{usual[m[1]]}` at the top." if m[1] in usual else "Check the spelling, or define it first."
        hint = f"Did you mean `{near[0]}`?" if near and m[1] not in usual else hint
    elif isinstance(exc, RecursionError):
        message += "A function calls itself without an end."
    elif isinstance(exc, KeyboardInterrupt):
        message += "It interrupts itself."
    else:
        message += "So the function that the exercise asks for could not be reached."
    return finding("KT103", message, line=line, column=column, raw=raw, hint=hint)
