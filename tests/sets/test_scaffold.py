"""A new set proves itself at once, is handed out without its solutions, and nothing is overwritten on the way."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tests.warm import Warm
from tutor.ladder.check import Ladder
from tutor.ladder.proof import MARGIN, Proved, default_bound, margins, programs, prove
from tutor.ladder.proof_cache import Proofs
from tutor.ladder.zero_effort import Tried, prove_zero_effort
from tutor.sets import SetError, load_set, open_set
from tutor.sets.key import read_key
from tutor.sets.pack import pack
from tutor.sets.scaffold import new_exercise, new_set


def test_a_new_set_is_whole(tmp_path: Path) -> None:
    made = new_set(tmp_path / "CS 149: Homework", slug="first_steps")
    loaded = load_set(tmp_path / "CS 149: Homework")
    assert (loaded.id, loaded.title, loaded.slugs, loaded.broken) == (
        "cs-149-homework", "CS 149: Homework", ["first_steps"], (),
    )  # fmt: skip
    assert all(path.is_file() for path in made) and len(made) == 15
    assert not [path for path in made if "{{" in path.read_text()]
    exercise = loaded.exercise("first_steps")
    kinds = [program.kind for program in programs(exercise)]
    assert (kinds.count("right"), kinds.count("wrong")) == (2, 4)
    assert len(exercise.cases(hidden=True)) > len(exercise.cases())
    assert stat.S_IMODE(loaded.key_file.stat().st_mode) == 0o600 and read_key(loaded.key_file)


def test_two_new_sets_have_two_keys(tmp_path: Path) -> None:
    keys = {read_key(load_set(tmp_path / name).key_file) for name in "ab" if new_set(tmp_path / name)}
    assert len(keys) == 2


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "hw").mkdir()
    new_set(tmp_path / "hw", set_id="hw1", title='With "quotes" and é')
    assert (load_set(tmp_path / "hw").id, load_set(tmp_path / "hw").title) == ("hw1", 'With "quotes" and é')
    assert [path.name for path in tmp_path.iterdir()] == ["hw"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"set_id": "../up"}, "The id must be made of"),
        ({"set_id": "A"}, "The id must be made of"),
        ({"slug": "Two Words"}, "The slug must be made of"),
        ({"slug": "../../up"}, "The slug must be made of"),
        ({"title": "a\nb"}, "A title is one line of text"),
        ({"title": " "}, "A title is one line of text"),
    ],
)
def test_names_that_cannot_be_used(tmp_path: Path, options: dict[str, str], words: str) -> None:
    with pytest.raises(SetError, match=words):
        new_set(tmp_path / "hw", **options)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_usable_letters_asks_for_an_id(tmp_path: Path) -> None:
    with pytest.raises(SetError) as caught:
        new_set(tmp_path / "作業")
    assert caught.value.hint == "Give one with --id."


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "hw").mkdir()
    (tmp_path / "hw/notes.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for place in ("hw", "file", "file/below"):
        with pytest.raises(SetError, match=r"is there already|cannot be made"):
            new_set(tmp_path / place)
    assert (tmp_path / "hw/notes.txt").read_text() == (tmp_path / "file").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "hw", "notes.txt"]


# ---------------------------------------------------------------- an exercise more


def test_an_exercise_is_added_behind_the_last(tiny: Path) -> None:
    made = new_exercise(load_set(tiny), "more", title="One more")
    assert {path.parent.relative_to(tiny).as_posix() for path in made} == {
        "exercises/02_blocks/02_more", "solutions/02_blocks/02_more",
    }  # fmt: skip
    new_exercise(load_set(tiny), "other", chapter="01_refs")
    loaded = load_set(tiny)
    assert (loaded.slugs, loaded.broken) == (["scale", "other", "guess", "more"], ())
    assert (loaded.exercise("more").title, loaded.exercise("other").title) == ("One more", "Other")


@pytest.mark.parametrize(
    ("slug", "chapter", "message", "hint"),
    [
        ("scale", None, 'has an exercise "scale" already', "a name of its own"),
        ("Scale", None, "The slug must be made of", ""),
        ("more", "02_bloks", 'has no chapter "02_bloks"', 'Did you mean "02_blocks"?'),
        ("more", "blocks", "The chapter must be made of", ""),
        ("more", "../up", "The chapter must be made of", ""),
    ],
)
def test_what_cannot_be_added(tiny: Path, slug: str, chapter: str | None, message: str, hint: str) -> None:
    before = sorted(tiny.rglob("*"))
    with pytest.raises(SetError) as caught:
        new_exercise(load_set(tiny), slug, chapter=chapter)
    assert message in caught.value.message and hint in (caught.value.hint or "")
    assert sorted(tiny.rglob("*")) == before


def test_a_broken_exercise_keeps_its_name(tiny: Path) -> None:
    (tiny / "exercises/02_blocks/01_guess/exercise.toml").write_text("slug = 3\n")
    with pytest.raises(SetError, match='an exercise "guess" already'):
        new_exercise(load_set(tiny), "guess")


def test_solutions_that_are_there_stay(tiny: Path) -> None:
    left = tiny / "solutions/02_blocks/02_more"
    left.mkdir(parents=True)
    (left / "reference.py").write_text("mine")
    with pytest.raises(SetError, match="02_more is there already"):
        new_exercise(load_set(tiny), "more")
    assert not (tiny / "exercises/02_blocks/02_more").exists()


def test_only_a_folder_of_ones_own(tiny: Path) -> None:
    with pytest.raises(SetError, match="no folder of your own"):
        new_exercise(load_set(tiny, "archive"), "more")


# ---------------------------------------------------------------- it proves itself


def test_the_new_exercise_proves_itself(tmp_path: Path, warm: Warm) -> None:
    new_set(tmp_path / "hw")
    exercise = load_set(tmp_path / "hw").exercise("add_blocks")

    async def work(ladder: Ladder) -> tuple[list[Proved], list[Tried]]:
        zero_effort = prove_zero_effort(ladder, exercise, Proofs(tmp_path / "proofs"))
        return [one async for one in prove(ladder, exercise)], [one async for one in zero_effort]

    proved, lazy = warm.do(work)
    assert {one.program.name: one.problem for one in (*proved, *lazy) if one.problem} == {}
    assert len(lazy) == 9
    measured = margins(proved, default_bound(exercise))
    assert measured.wrong is not None and measured.wrong >= MARGIN


def test_students_get_the_same_verdict_without_the_solutions(
    tmp_path: Path, warm: Warm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELTUTOR_DATA", str(tmp_path / "data"))
    new_set(tmp_path / "hw")
    mine = open_set(tmp_path / "hw")
    (tmp_path / "hw.zip").write_bytes(pack(mine, "student")[1])
    theirs = open_set(tmp_path / "hw.zip")
    assert not (theirs.root / "solutions").exists()
    for name in ("reference.py", "wrong_first_block.py", "wrong_one_block.py"):
        source = (mine.exercise("add_blocks").solutions / name).read_bytes()
        verdicts = [warm.check(exercises.exercise("add_blocks"), source, name) for exercises in (mine, theirs)]
        (here, there) = ([(s.name, s.status, [f.code for f in s.findings]) for s in v.stages] for v in verdicts)
        assert here == there
        assert verdicts[0].passed == verdicts[1].passed == (name == "reference.py")
