"""Loading sets: what a good one gives, and finding sets and exercises by name."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tutor.sets import (
    SetError,
    UnknownSet,
    UnknownSlug,
    builtin_root,
    chapter_title,
    find_set,
    load_set,
)


def test_exercises_in_order(tiny: Path) -> None:
    loaded = load_set(tiny)
    assert (loaded.id, loaded.slugs, loaded.broken) == ("tiny", ["scale", "guess"], ())
    scale = loaded.exercise("scale")
    assert (scale.chapter, scale.number, scale.file_name, scale.chips) == ("01_refs", 1, "01_scale.py", ("v5e",))
    assert scale.hints == ("first", "second", "third")
    assert scale.lesson.startswith("# Scale")
    assert scale.starter_expectation is not None and scale.starter_expectation.code == "KT201"
    assert scale.diagnosis("KT201") == "Look at the factor."
    assert scale.reference is not None and scale.oracle is not None and scale.kernels is None
    guess = loaded.exercise("guess")
    assert (guess.kind, guess.oracle, guess.starter_expectation) == ("predict", None, None)
    assert guess.kernels is not None and guess.kernels.is_file()


def test_cases_have_numbers(tiny: Path) -> None:
    small, wide = load_set(tiny).exercise("scale").cases()
    assert (small.inputs[0].shape, small.outputs[0].shape) == ([8, 128], [8, 128])
    assert (small.static, small.hazard, small.seeds) == ({"bm": 8}, True, 2)
    assert (wide.inputs[0].shape, wide.static, wide.seeds) == ([16, 256], {"bm": 4, "flag": True}, 3)


def test_hidden_cases_only_when_asked(tiny: Path) -> None:
    scale = load_set(tiny).exercise("scale")
    assert [(c.name, c.hidden) for c in scale.cases(hidden=True)] == [
        ("small", False),
        ("wide", False),
        ("secret", True),
    ]
    assert all(not c.hidden for c in scale.cases())


def test_a_students_copy_has_no_solutions(tiny: Path) -> None:
    shutil.rmtree(tiny / "solutions")
    scale = load_set(tiny).exercise("scale")
    assert (scale.reference, scale.rights, scale.wrongs) == (None, [], [])
    assert [c.name for c in scale.cases(hidden=True)] == ["small", "wide"]


def test_wrong_answers_say_what_catches_them(tiny: Path) -> None:
    (wrong,) = load_set(tiny).exercise("scale").wrongs
    assert (wrong.stage, wrong.code, wrong.only, wrong.misconception) == (
        "interpret",
        "KT201",
        True,
        "multiplies by three",
    )


@pytest.mark.parametrize("text", ["", "x = 1\n", "# expect: interprt KT201\n# why\n", "# expect: interpret KT201\nx\n"])
def test_a_wrong_answer_without_a_header(tiny: Path, text: str) -> None:
    (tiny / "solutions/01_refs/01_scale/wrong_three.py").write_text(text)
    with pytest.raises(SetError, match=r"wrong_three\.py"):
        _ = load_set(tiny).exercise("scale").wrongs


@pytest.mark.parametrize(("name", "near"), [("scal", "scale"), ("gues", "guess"), ("zzzzqq", None)])
def test_unknown_slug_offers_the_nearest(tiny: Path, name: str, near: str | None) -> None:
    with pytest.raises(UnknownSlug) as caught:
        load_set(tiny).exercise(name)
    assert caught.value.nearest == near


def test_slug_with_its_number(tiny: Path) -> None:
    assert load_set(tiny).exercise("01_scale").slug == "scale"


def test_hash_follows_content(tiny: Path) -> None:
    before = load_set(tiny)
    whole, public = before.sha256, before.public_sha256
    scale, guess = (e.sha256 for e in before.exercises)
    (tiny / "exercises/01_refs/01_scale/__pycache__").mkdir()
    (tiny / "exercises/01_refs/01_scale/__pycache__/oracle.pyc").write_bytes(b"x")
    same = load_set(tiny)
    assert same.sha256 == whole
    (tiny / "solutions/01_refs/01_scale/hidden.toml").write_text("")
    after = load_set(tiny)
    assert after.sha256 != whole
    assert after.public_sha256 == public
    assert after.exercise("scale").sha256 != scale
    assert after.exercise("guess").sha256 == guess


def test_find_set(tiny: Path, tmp_path: Path) -> None:
    assert find_set(tiny) == tiny.resolve()
    assert find_set(tiny / "exercises") == tiny.resolve()
    assert find_set() == builtin_root()
    with pytest.raises(SetError, match="holds no exercise set"):
        find_set(tmp_path)
    with pytest.raises(UnknownSet):
        find_set("no_such_set")


def test_the_built_in_set_is_inside_a_wheel_or_beside_a_checkout(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site" / "tutor"
    package.mkdir(parents=True)
    monkeypatch.setattr("tutor.__file__", str(package / "__init__.py"))
    assert builtin_root() == package.parent
    shutil.copytree(tiny, package / "builtin")
    assert load_set(builtin_root()).slugs == ["scale", "guess"]


def test_a_set_in_an_installed_package(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site"
    shutil.copytree(tiny, site / "gpu_course")
    (site / "gpu_course" / "__init__.py").write_text("raise SystemExit('a set is data and is never imported')\n")
    info = site / "gpu_course-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gpu_course\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[kerneltutor.sets]\ncourse = gpu_course\n")
    monkeypatch.syspath_prepend(str(site))
    assert load_set(find_set("course")).id == "tiny"
    with pytest.raises(UnknownSet) as caught:
        find_set("cours")
    assert caught.value.nearest == "course"


def test_chapter_title() -> None:
    assert chapter_title("03_memory") == "03 Memory"
    assert chapter_title("10_two_words") == "10 Two words"
    assert chapter_title("04_dma") == "04 DMA"


def test_nothing_heavy_is_imported() -> None:
    probe = "import sys, tutor.sets, tutor.record; print([m for m in ('jax', 'numpy', 'textual') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
