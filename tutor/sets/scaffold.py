"""New sets and exercises from a template: one small exercise that is whole, proves itself, and says what goes where.

The template is `template/`. Nothing is ever overwritten: what is made appears whole, where nothing was before.
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tutor.sets.checks import CHAPTER, SET_ID, SLUG
from tutor.sets.errors import SetError, did_you_mean
from tutor.sets.key import make_key
from tutor.sets.loading import ExerciseSet

TEMPLATE = Path(__file__).parent / "template"
FIRST_CHAPTER = "01_first"
FIRST_SLUG = "add_blocks"


def new_set(folder: Path, *, set_id: str | None = None, title: str | None = None, slug: str = FIRST_SLUG) -> list[Path]:
    """Make a set of one exercise in a folder that is empty or not there yet, with a secret key; returns its files.

    Without an id or a title they are made from the folder's name. `SetError` if a name cannot be used, or
    the folder holds something."""
    name = set_id or re.sub(r"[^a-z0-9_.-]+", "-", folder.absolute().name.lower()).strip("-._")
    _check_name("id", name, SET_ID, "small letters, digits, _, - and .", "Give one with --id.")
    _check_name("slug", slug, SLUG, "small letters, digits and _", "Give one with --slug.")
    heading = _title(title or set_id or folder.absolute().name)
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        hint = "Give a folder that is empty or not there; `set new --exercise SLUG` adds to a set."
        raise SetError(f"{folder} is there already, and holds something.", hint)
    with _appearing(folder) as root:
        values = {"id": json.dumps(name), "title": heading, "chapter": json.dumps(FIRST_CHAPTER), "slug": slug}
        _fill(TEMPLATE / "set.toml", root / "exercises" / "set.toml", values)
        _write_exercise(root, FIRST_CHAPTER, f"01_{slug}", slug, title=None)
        make_key(root / "solutions" / "seed.key")
    return sorted(path for path in folder.rglob("*") if path.is_file())


def new_exercise(
    exercises: ExerciseSet, slug: str, *, chapter: str | None = None, title: str | None = None
) -> list[Path]:
    """Add an exercise to a set, as the last of a chapter (by default of the last chapter); returns its files.

    `SetError` if the name cannot be used or is there already, or the set is not its user's own to write to."""
    if exercises.origin != "folder":
        raise SetError(f"The set {exercises.id} is no folder of your own.", "Name your set's folder with --set DIR.")
    _check_name("slug", slug, SLUG, "small letters, digits and _", None)
    known = [*exercises.slugs, *(broken.slug for broken in exercises.broken)]
    if slug in known:
        raise SetError(f'The set {exercises.id} has an exercise "{slug}" already.', "Each needs a name of its own.")
    chapters = exercises.manifest.chapters
    place = chapter or (chapters[-1] if chapters else "")
    if place not in chapters:
        _check_name("chapter", place, CHAPTER, "two digits, _ and small letters", None)
        toml = exercises.root / "exercises" / "set.toml"
        near = did_you_mean(place, chapters) or ""
        raise SetError(f'{toml} has no chapter "{place}".', f"Add it to `chapters` there first. {near}".strip())
    used = [path.name[:2] for path in (exercises.root / "exercises" / place).glob("[0-9][0-9]_*")]
    number = max(map(int, used), default=0) + 1
    if number > 99:
        raise SetError(f"The chapter {place} has its 99 exercises.", "Begin another.")
    return _write_exercise(exercises.root, place, f"{number:02d}_{slug}", slug, title=title)


def _write_exercise(root: Path, chapter: str, folder: str, slug: str, *, title: str | None) -> list[Path]:
    values = {"slug": json.dumps(slug), "title": _title(title or slug.replace("_", " ").capitalize())}
    places = {"exercise": root / "exercises" / chapter / folder, "solution": root / "solutions" / chapter / folder}
    for place in places.values():
        if place.exists():
            raise SetError(f"{place} is there already.", "Give the exercise another slug.")
    for kind, place in places.items():
        with _appearing(place) as made:
            for path in sorted((TEMPLATE / kind).iterdir()):
                if path.is_file():
                    _fill(path, made / path.name, values if path.name == "exercise.toml" else {})
    return sorted(path for place in places.values() for path in place.iterdir())


def _fill(source: Path, target: Path, values: Mapping[str, str]) -> None:
    text = source.read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace(f"{{{{{name}}}}}", value)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


@contextmanager
def _appearing(folder: Path) -> Iterator[Path]:
    """A folder beside the one that is wanted; when all is in it, it is renamed. Never takes the place of anything."""
    made = folder.absolute().parent / f".{folder.name}.{secrets.token_hex(6)}.new"
    try:
        made.mkdir(parents=True)
        yield made
        made.rename(folder.absolute())  # over an empty folder at most
    except OSError as error:
        raise SetError(f"{folder} cannot be made: {error.strerror}.") from None
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _check_name(what: str, name: str, pattern: re.Pattern[str], words: str, hint: str | None) -> None:
    if not pattern.fullmatch(name):
        raise SetError(f'The {what} must be made of {words}, not "{name}".', hint)


def _title(text: str) -> str:
    """A title as TOML text."""
    if not text.strip() or not text.isprintable():
        raise SetError("A title is one line of text.")
    return json.dumps(text, ensure_ascii=False)
