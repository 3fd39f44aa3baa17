"""Every mistake in a manifest names the file, the line, the key, and what was probably meant."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tutor.sets import ManifestError, SetError, load_set

SCALE = "exercises/01_refs/01_scale/exercise.toml"
GUESS = "exercises/02_blocks/01_guess/exercise.toml"
HIDDEN = "solutions/01_refs/01_scale/hidden.toml"

# file, text to replace, replacement, text on the line that is named, what the message holds, what the hint holds
MISTAKES = [
    (SCALE, "summary =", "sumary =", "sumary", "sumary: is not a known key.", '"summary"'),
    (SCALE, "dtype = ", "dtpye = ", "dtpye", "input[0].dtpye: is not a known key.", '"dtype"'),
    (SCALE, 'dtype = "float32"\n\n[static]', '\n[static]', "[[output]]", "output[0].dtype: is missing.", ""),
    (SCALE, "kernels = 1", "kernel = 1", "kernel = 1", "rules.kernel: is not a known key.", '"kernels"'),
    (SCALE, "kernels = 1", 'kernels = "1"', "kernels", "rules.kernels: must be a whole number, not text.", ""),
    (SCALE, 'shape = ["m", "2*n"]', "shape = [true]", "[true]", "input[0].shape[0]: must be a whole number", ""),
    (SCALE, '"vmem"', '"vmen"', "vmen", 'rules.space.x: has the value "vmen"', '"vmem"'),
    (SCALE, "space = { x =", "space = { xx =", "xx", 'rules.space.xx: "xx" is no input or output', '"x"'),
    (SCALE, 'to = "out"', 'to = "otu"', "otu", 'rules.alias[0].to: "otu" is no output', '"out"'),
    (SCALE, 'from = "fresh"', 'from = "frsh"', "frsh", 'rules.alias[0].from: "frsh" is no input', '"fresh"'),
    (SCALE, 'kind = "kernel"', 'kind = "kernle"', "kernle", 'kind: has the value "kernle"', '"kernel"'),
    (SCALE, "format = 1", "format = 2", "format", 'format: has the value "2"', "1"),
    (SCALE, 'slug = "scale"', 'slug = "Scale"', "Scale", "slug: must be made of small letters", ""),
    (SCALE, 'slug = "scale"', 'slug = "scales"', "scales", "but the folder is 01_scale", ""),
    (SCALE, "interpret KT201", "interprt KT201", "interprt", 'starter: "interprt" is no stage.', '"interpret"'),
    (SCALE, "interpret KT201", "interpret", "interpret", "starter: must be a stage and a code", ""),
    (SCALE, 'shape = ["m", "2*n"]', 'shape = ["m", "2*nn"]', "nn", 'input[0].shape: uses "nn"', '"n"'),
    (SCALE, "n = 64, b = 8 }", "n = 64 }", 'bm = "b"', 'static.bm: uses "b", a size that case "small"', ""),
    (SCALE, "static = { bm = 4,", 'static = { bm = "mm",', "mm", 'case[1].static.bm: uses "mm"', '"m"'),
    (SCALE, 'name = "wide"', 'name = "small"', "[[case]]", 'case: two have the name "small"', ""),
    (SCALE, "hazard = true", "hazard = false", "[[case]]", "case: no case has hazard = true", ""),
    (SCALE, "hazard = true", "hazard = 1", "hazard", "case[0].hazard: must be true or false, not a whole number.", ""),
    (SCALE, "seeds = 3", "seeds = 0", "seeds", "case[1].seeds: must be at least 1.", ""),
    (SCALE, "n = 64,", 'n = "64",', "64", "case[0].sizes.n: must be a whole number, not text.", ""),
    (SCALE, "seeds = 3", 'role = "timing"', "timing", 'case[1].role: has the value "timing"', ""),
    (SCALE, 'entry = "scale"', 'entry = "2x"', "2x", "entry: must be the name of a function", ""),
    (SCALE, 'entry = "scale"\n', "", None, "entry: is missing", ""),
    (SCALE, 'dtype = "float32"', 'dtype = "flaot32"', "flaot32", 'input[0].dtype: "flaot32" is no dtype.', '"float32"'),
    (SCALE, 'when = "KT201"', 'when = "201"', "201", "diagnosis[0].when: must be a code", ""),
    (SCALE, "[rules]", "[points]\ninterprt = 2\n[rules]", "interprt", "points.interprt: is not a known", '"interpret"'),
    (SCALE, "[rules]", "[rules", "[rules", "is not valid TOML", ""),
    (SCALE, "hints = [", 'chips = ["v5"]\nhints = [', "v5", 'chips[0]: "v5" is no known chip.', '"v5'),
    (SCALE, "hints = [", 'requires = ["gues"]\nhints = [', "gues", 'requires: there is no exercise "gues".', '"guess"'),
    (GUESS, "loads.x_ref", "load.x_ref", "load.x", 'question[0].quantity: "load.x_ref" is no known', '"loads.REF"'),
    (GUESS, 'hints = ["one"]', 'entry = "f"', "entry", 'entry: belongs to kind = "kernel".', ""),
    (GUESS, 'id = "loads_x"', 'id = "for"', "for", "question[0].id: must be a name", ""),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "line", "message", "hint"), MISTAKES)
def test_mistake(
    tiny: Path, edit: Callable[..., None], name: str, old: str, new: str, line: str | None, message: str, hint: str
) -> None:
    edit(name, old, new)
    loaded = load_set(tiny)
    error = loaded.broken[0].error
    assert isinstance(error, ManifestError)
    assert message in error.message
    place = re.match(re.escape(str(tiny / name)) + r":(?:(\d+):)? ", error.message)
    assert place is not None
    lines = (tiny / name).read_text().splitlines()
    assert place[1] is None if line is None else line in lines[int(place[1]) - 1]
    assert hint in (error.hint or error.message)


def test_one_broken_exercise_leaves_the_others(tiny: Path, edit: Callable[..., None]) -> None:
    edit(GUESS, 'title = "Guess"', "title = 3")
    loaded = load_set(tiny)
    assert loaded.slugs == ["scale"]
    with pytest.raises(ManifestError, match="title: must be text, not a whole number"):
        loaded.exercise("guess")


def test_all_problems_are_told_at_once(tiny: Path, edit: Callable[..., None]) -> None:
    edit(SCALE, "interpret KT201", "interprt KT201")
    edit(SCALE, "seeds = 3", "seeds = 0")
    error = load_set(tiny).broken[0].error
    assert "starter:" in error.message and "case[1].seeds:" in error.message


@pytest.mark.parametrize(
    ("old", "new", "message", "hint"),
    [
        ("chips =", "chip =", "chip: is not a known key.", '"chips"'),
        ('id = "tiny"', 'id = "../up"', "id: must be made of", ""),
        (
            '"02_blocks"',
            '"02_bloks"',
            "chapters: leaves out the folder 02_blocks.",
            '"02_bloks" has no folder: did you mean "02_blocks"?',
        ),
        ('chips = ["v5e"]', 'reveal = { when = "passed" }', 'reveal.when: has the value "passed"', '"pass"'),
        ('chips = ["v5e"]', 'reveal = { when = "tries" }', "reveal.tries: must be at least 1", ""),
        ('chips = ["v5e"]', 'reveal = { when = "date", date = "soon" }', "reveal.date: must be a date", ""),
        ('">=0.12,<0.13"', '"0.12"', "jax: must be a version range", ""),
    ],
)
def test_set_mistake(tiny: Path, edit: Callable[..., None], old: str, new: str, message: str, hint: str) -> None:
    edit("exercises/set.toml", old, new)
    with pytest.raises(ManifestError) as caught:
        load_set(tiny)
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize("date", ["2030-01-31", '"2030-01-31"', "2030-01-31T12:00:00Z"])
def test_reveal_date(tiny: Path, edit: Callable[..., None], date: str) -> None:
    edit("exercises/set.toml", 'chips = ["v5e"]', f'reveal = {{ when = "date", date = {date} }}')
    assert (load_set(tiny).manifest.reveal.date or "").startswith("2030-01-31")


def test_hidden_cases_are_checked(tiny: Path, edit: Callable[..., None]) -> None:
    edit(HIDDEN, 'name = "secret"', 'name = "small"')
    with pytest.raises(ManifestError, match='two have the name "small"'):
        load_set(tiny).exercise("scale").cases(hidden=True)


def test_hidden_holds_nothing_but_cases(tiny: Path) -> None:
    (tiny / HIDDEN).write_text("format = 1\n")
    with pytest.raises(ManifestError, match="format: is not a known key"):
        load_set(tiny).exercise("scale").cases(hidden=True)


def test_not_utf8(tiny: Path) -> None:
    (tiny / SCALE).write_bytes(b"slug = '\xff'\n")
    assert "is not UTF-8 text (byte 8)" in load_set(tiny).broken[0].error.message


def test_missing_manifest_and_lesson(tiny: Path) -> None:
    (tiny / SCALE).unlink()
    assert "the file is missing" in load_set(tiny).broken[0].error.message
    (tiny / "exercises/02_blocks/01_guess/lesson.md").unlink()
    with pytest.raises(SetError, match=r"lesson\.md: the file is missing"):
        _ = load_set(tiny).exercise("guess").lesson


def test_two_exercises_with_one_slug(tiny: Path) -> None:
    text = (tiny / SCALE).read_text()
    twin = tiny / "exercises/02_blocks/07_scale"
    twin.mkdir()
    (twin / "exercise.toml").write_text(text)
    loaded = load_set(tiny)
    assert loaded.slugs == ["scale", "guess"]
    assert 'two exercises have the slug "scale"' in loaded.broken[0].error.message
