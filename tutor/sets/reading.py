"""Reading a manifest, with errors that say which file, line and key, and which known key was meant."""

from __future__ import annotations

import datetime
import re
import tomllib
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

from tutor.sets.errors import ManifestError, Problem, SetError, did_you_mean
from tutor.sets.locate import line_of

_AT = re.compile(r"^(?P<what>.*?)(?: - at (?P<key>`key` in )?`\$(?P<path>[^`]*)`)?$", re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\[\.\.\.\]")
_UNKNOWN = re.compile(r"unknown field `(.*)`")
_MISSING = re.compile(r"missing required field `(.*)`")
_CHOICE = re.compile(r"Invalid enum value (.*)", re.DOTALL)
_TYPE = re.compile(r"Expected `(.*)`, got `(.*)`")
_WORDS = {
    "str": "text", "int": "a whole number", "float": "a number", "bool": "true or false",
    "array": "a list", "object": "a table", "null": "nothing",
}  # fmt: skip


def read_text(path: Path) -> str:
    """The text of a file of the set; a missing, unreadable or non-UTF-8 file is a clear error."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ManifestError(path, [Problem((), f"is not UTF-8 text (byte {error.start}).")]) from None
    except FileNotFoundError:
        raise SetError(f"{path}: the file is missing.") from None
    except OSError as error:
        raise SetError(f"{path}: cannot be read: {error.strerror}.") from None


def read_manifest[T: msgspec.Struct](path: Path, kind: type[T]) -> tuple[T, str]:
    """The manifest in `path` as a `kind`, and its text (for the lines of later problems)."""
    text = read_text(path)
    return parse_manifest(text, path, kind), text


def parse_manifest[T: msgspec.Struct](text: str, path: Path, kind: type[T]) -> T:
    """The manifest in `text`; `path` is only for messages."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"at line (\d+)", str(error))
        line = int(where.group(1)) if where else len(text.splitlines()) or None
        what = re.sub(r" \(at .*\)$", "", str(error))
        raise ManifestError(path, [Problem((), f"is not valid TOML: {what}.", line=line)]) from None
    try:
        return msgspec.convert(_plain(data), kind)
    except msgspec.ValidationError as error:
        raise ManifestError(path, [_explain(str(error), kind, _plain(data), text)]) from None


def _plain(value: Any) -> Any:
    """TOML dates as ISO text, so that a date may be written with or without quotes."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.isoformat() if isinstance(value, datetime.date | datetime.time) else value


def _explain(message: str, kind: type[msgspec.Struct], data: Any, text: str) -> Problem:
    match = _AT.match(message)
    assert match is not None  # every part of the pattern is optional
    what = match["what"]
    key: tuple[str | int, ...] = ()
    for step in _STEP.finditer(match["path"] or ""):
        if step[1] or step[2]:
            key = (*key, int(step[2]) if step[2] else step[1])
        elif not match["key"]:
            key = (*key, _wrong_entry(_type_at(kind, key), data, key))
    within = _type_at(kind, key)
    if unknown := _UNKNOWN.search(what):
        key = (*key, unknown[1])
        return Problem(key, "is not a known key.", did_you_mean(unknown[1], _keys(within)), line_of(text, key))
    if missing := _MISSING.search(what):
        return Problem((*key, missing[1]), "is missing.", None, line_of(text, key))
    if choice := _CHOICE.search(what):
        value = choice[1].strip("'")
        known = _choices(within, of_keys=bool(match["key"]))
        place = (*key, value) if match["key"] else key
        said = "is not a known key." if match["key"] else f'has the value "{value}", which is not known.'
        return Problem(place, said, did_you_mean(value, known), line_of(text, place))
    if wrong := _TYPE.search(what):
        wanted = " or ".join(_WORDS.get(w, w) for w in wrong[1].split(" | ") if w != "null")
        return Problem(key, f"must be {wanted}, not {_WORDS.get(wrong[2], wrong[2])}.", None, line_of(text, key))
    return Problem(key, f"{what}.", None, line_of(text, key))


def _wrong_entry(kind: Any, data: Any, key: tuple[str | int, ...]) -> str:
    """The name of the entry that is wrong in the table at `key`, whose names are free: msgspec only says `[...]`."""
    for step in key:
        data = data[step]
    for name, value in data.items():
        try:
            msgspec.convert(value, get_args(kind)[1])
        except msgspec.ValidationError:
            return str(name)
    raise AssertionError("no entry is wrong")


def _keys(kind: Any) -> list[str]:
    """The keys that a table of this type may have."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return [field.encode_name for field in msgspec.structs.fields(kind)]
    return []


def _choices(kind: Any, *, of_keys: bool) -> list[object]:
    """The values of the innermost `Literal` of a type; of a table's keys if `of_keys`."""
    while get_origin(kind) in (dict, tuple):
        kind = get_args(kind)[0 if of_keys or get_origin(kind) is tuple else 1]
        of_keys = False
    return list(get_args(kind))


def _type_at(kind: Any, key: tuple[str | int, ...]) -> Any:
    """The type that stands at a key path, following tables, lists and dictionaries."""
    for step in key:
        if isinstance(step, int):
            kind = get_args(kind)[0]
        elif isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            fields = {f.encode_name: f.name for f in msgspec.structs.fields(kind)}
            kind = get_type_hints(kind)[fields[step]]
        else:
            kind = get_args(kind)[1]
        options = [a for a in get_args(kind) if a is not type(None)]
        if len(options) == 1 and type(None) in get_args(kind):
            kind = options[0]
    return kind
