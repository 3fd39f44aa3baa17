"""Who handed in what: names of students, the roster, and which of several files is judged."""

from __future__ import annotations

import datetime
import io
import tempfile
import zipfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.grade.classes import RIGHT, THREE, hand_in, write_set
from tutor.grade.names import Slugs, file_names, readable
from tutor.grade.roster import Enrolled, RosterError, read_roster
from tutor.grade.submissions import Received, find_class, read
from tutor.sets import ExerciseSet, load_set
from tutor.sets.archive import write_archive
from tutor.sets.submission import make_submission

SLUGS = Slugs(["scale", "guess"])


@cache
def exercises(*, one: bool = False) -> ExerciseSet:
    """The small set, or its first exercise alone."""
    whole = load_set(write_set(Path(tempfile.mkdtemp())))
    return replace(whole, exercises=whole.exercises[:1]) if one else whole


def received(folder: Path, student: str, *, one: bool = False, roster: list[Enrolled] | None = None) -> Received:
    found = find_class(folder, roster, Slugs(exercises(one=one).slugs))
    submission = next(each for each in found.submissions if each.student == student)
    return read(submission, exercises(one=one), rostered=roster is not None)


def codes(one: Received, slug: str = "scale") -> list[str]:
    return [flag.code for flag in [*one.flags, *one.attempts[slug].flags]]


def test_every_entry_is_a_student(tmp_path: Path) -> None:
    hand_in(tmp_path / "ada", scale=RIGHT)
    for name in ("bob.zip", "cy.tar.gz", "dee.TGZ", "eve.rar", "fay__scale.py", "fay__02_guess.py", "g__h__scale.py"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "link").symlink_to("/")
    (tmp_path / "roster.csv").touch()
    (tmp_path / "what.py").touch()
    (tmp_path / ".DS_Store").touch()
    found = find_class(tmp_path, None, SLUGS)
    assert [one.student for one in found.submissions] == ["ada", "bob", "cy", "dee", "eve", "fay", "g__h", "link"]
    assert found.strays == ["roster.csv", "what.py"]


def test_single_files_of_a_set_of_one_exercise(tmp_path: Path) -> None:
    (tmp_path / "ada.py").write_text(RIGHT)
    assert received(tmp_path, "ada", one=True).attempts["scale"].source == RIGHT.encode()
    assert find_class(tmp_path, None, SLUGS).submissions == []


def test_two_single_files_are_one_student(tmp_path: Path) -> None:
    (tmp_path / "ada__scale.py").write_text("s = 1\n")
    (tmp_path / "ada__guess.py").write_text("g = 1\n")
    one = received(tmp_path, "ada")
    assert {slug: attempt.source for slug, attempt in one.attempts.items()} == {
        "scale": b"s = 1\n",
        "guess": b"g = 1\n",
    }
    assert one.flags == []


@pytest.mark.parametrize("name", ["scale.py", "01_scale.py", "deep/inside/7_scale.py", "Scale.PY"])
def test_attempts_are_found_by_slug(name: str, tmp_path: Path) -> None:
    (tmp_path / "ada" / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "ada" / name).write_text(RIGHT)
    one = received(tmp_path, "ada")
    assert one.attempts["scale"].source == RIGHT.encode()
    assert codes(one) == [] and codes(one, "guess") == ["KT802"]


def test_of_two_different_files_the_one_nearest_to_the_top_is_judged(tmp_path: Path) -> None:
    hand_in(tmp_path / "ada" / "old", scale=THREE)
    hand_in(tmp_path / "ada", scale=RIGHT)
    one = received(tmp_path, "ada")
    assert one.attempts["scale"].source == RIGHT.encode()
    assert codes(one) == ["KT803"]
    [flag] = one.attempts["scale"].flags
    assert "old/scale.py" in (flag.evidence or "") and "old" not in flag.message


def test_names_that_differ_in_case_alone(tmp_path: Path) -> None:
    hand_in(tmp_path / "ada", Scale=THREE, scale=RIGHT)
    one = received(tmp_path, "ada")
    assert one.attempts["scale"].source == RIGHT.encode() and codes(one) == ["KT803"]


def test_two_copies_of_one_file_are_nothing_to_speak_of(tmp_path: Path) -> None:
    hand_in(tmp_path / "ada" / "copy", scale=RIGHT)
    hand_in(tmp_path / "ada", scale=RIGHT)
    assert codes(received(tmp_path, "ada")) == []


def test_a_file_that_can_be_read_comes_first(tmp_path: Path) -> None:
    hand_in(tmp_path / "ada", scale=b"\0" * (2 << 20))
    hand_in(tmp_path / "ada" / "below", scale=RIGHT)
    one = received(tmp_path, "ada")
    assert one.attempts["scale"].source == RIGHT.encode() and codes(one) == ["KT803"]


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    hand_in(tmp_path / "ada", scale=b"\0" * (2 << 20))
    one = received(tmp_path, "ada")
    assert one.attempts["scale"].source is None
    assert [flag.message for flag in one.attempts["scale"].flags] == [
        "The file cannot be read. It is larger than 1 MiB."
    ]


def test_a_folder_and_an_archive_of_one_student(tmp_path: Path) -> None:
    hand_in(tmp_path / "ada", scale=RIGHT)
    (tmp_path / "ada.zip").write_bytes(b"broken")
    one = received(tmp_path, "ada")
    assert one.attempts["scale"].source == RIGHT.encode()
    assert sorted(codes(one)) == ["KT805", "KT808"]


# ---------------------------------------------------------------- archives made by `submit`


def submitted(path: Path, student: str | None = "ada", *, changed: bytes = b"") -> None:
    """An archive as `submit` makes it; `changed` is put behind the attempt afterwards."""
    attempt = exercises().exercise("scale"), RIGHT.encode()
    made = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
    _, data = make_submission(exercises(), [attempt], student=student, created=made)
    if changed:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = {
                name: archive.read(name) + (changed if name.endswith(".py") else b"") for name in archive.namelist()
            }
        data = write_archive(files)
    path.write_bytes(data)


def test_an_archive_of_submit(tmp_path: Path) -> None:
    submitted(tmp_path / "ada.zip")
    one = received(tmp_path, "ada")
    assert one.attempts["scale"].source == RIGHT.encode() and codes(one) == []
    assert one.submitted_at is None  # what the sender's clock says is no time of handing in


@pytest.mark.parametrize(
    ("name", "student", "changed", "code"),
    [("bob.zip", "ada", b"", "KT855"), ("ada.zip", "ada", b"# more\n", "KT851"), ("ada.zip", None, b"", None)],
)
def test_what_does_not_agree_with_the_manifest_is_flagged(
    name: str, student: str | None, changed: bytes, code: str | None, tmp_path: Path
) -> None:
    submitted(tmp_path / name, student, changed=changed)
    one = received(tmp_path, name.removesuffix(".zip"))
    assert one.attempts["scale"].source == RIGHT.encode() + changed
    assert codes(one) == ([code] if code else [])


def test_a_manifest_that_is_nonsense_is_flagged(tmp_path: Path) -> None:
    hand_in(tmp_path / "ada", scale=RIGHT)
    (tmp_path / "ada" / "submission.json").write_text("{" * 100_000)
    assert codes(received(tmp_path, "ada")) == ["KT850"]


# ---------------------------------------------------------------- the roster


def roster(path: Path, text: str) -> list[Enrolled]:
    (path / "roster.csv").write_text(text)
    return read_roster(path / "roster.csv")


def test_who_is_on_the_roster_and_who_is_not(tmp_path: Path) -> None:
    rows = roster(tmp_path, "Student;name;submission\nada;Ada;4711\nbob;Bob;\nzoe;Zoe;4713.zip\n")
    folder = tmp_path / "class"
    hand_in(folder / "4711", scale=RIGHT)
    hand_in(folder / "bob", scale=RIGHT)
    hand_in(folder / "mallory", scale=RIGHT)
    assert [one.student for one in find_class(folder, rows, SLUGS).submissions] == ["ada", "bob", "mallory", "zoe"]
    assert find_class(folder, rows, SLUGS).missing == ["4713.zip"]
    assert codes(received(folder, "ada", roster=rows)) == []
    assert codes(received(folder, "mallory", roster=rows)) == ["KT807"]
    assert codes(received(folder, "zoe", roster=rows)) == ["KT802"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name\nada\n", "no column `student`"),
        ("student\nada\nada\n", "line 3 and line 2"),
        ("student,submitted_at\nada,yesterday\n", "line 2"),
        ("student,submitted_at\nada,2030-01-01T10:00:00\n", "time zone"),
        ("", "no column `student`"),
    ],
)
def test_a_roster_that_is_wrong_says_where(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(RosterError, match=said):
        roster(tmp_path, text)


def test_a_roster_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_bytes(b"student\n\xff\xfe\n")
    with pytest.raises(RosterError, match="UTF-8"):
        read_roster(tmp_path / "roster.csv")


def test_a_roster_of_a_spreadsheet(tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_bytes("\ufeffstudent\tsubmitted_at\r\nada\t2030-01-01T10:00:00+01:00\r\n".encode())
    [row] = read_roster(tmp_path / "roster.csv")
    assert row.student == "ada" and row.submitted_at is not None


# ---------------------------------------------------------------- names


@given(st.sets(st.text(min_size=1, max_size=200)))
def test_every_student_has_a_safe_file_of_their_own(students: set[str]) -> None:
    names = file_names(students)
    assert set(names) == students
    assert len({name.lower() for name in names.values()}) == len(students)
    for name in names.values():
        assert 0 < len(name) <= 120 and name.isascii()
        assert not set(name) & set('/\\:*?"<>| \0') and not name.startswith(".") and name.lower() not in ("con", "nul")


def test_plain_names_stay_as_they_are() -> None:
    assert file_names(["ada", "a.b@c.org"]) == {"ada": "ada", "a.b@c.org": "a.b@c.org"}
    assert len(set(file_names(["ada", "Ada"]).values())) == 2


@given(st.text(max_size=50))
def test_names_are_shown_without_control_characters(name: str) -> None:
    shown = readable(name)
    assert shown.isprintable() or all(c.isprintable() or not c.isascii() for c in shown)
    assert not set(shown) & {"\n", "\r", "\x1b", "\u202e", "\0"}
    shown.encode()
