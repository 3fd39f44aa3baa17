"""The secret key of a set: where it is kept, and that nobody can work out inputs without it."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tutor.ladder.subject import Subject, subject
from tutor.sets import SetError, load_set
from tutor.sets.key import make_key, read_key, seed_key


def judged(tiny: Path, key: bytes | None = None, seed: int | None = None) -> Subject:
    return subject(load_set(tiny).exercise("scale"), b"", "scale.py", hidden=True, seed=seed, key=key)


def seeds(one: Subject) -> list[int]:
    return [number for case in one.cases for number in (*one.seeds(case), one.hazard_seed(case))]


def test_without_a_key_seeds_are_public_and_stay_as_they_were(tiny: Path) -> None:
    assert seeds(judged(tiny))[:2] == [154523241147362707, 7068583595400726430]


def test_with_a_key_all_seeds_differ_and_repeat(tiny: Path) -> None:
    public, mine, other = seeds(judged(tiny)), seeds(judged(tiny, b"k" * 32)), seeds(judged(tiny, b"l" * 32))
    assert mine == seeds(judged(tiny, b"k" * 32))
    assert len({*public, *mine, *other, *seeds(judged(tiny, b"k" * 32, seed=1))}) == 4 * len(public)


def test_names_cannot_run_into_each_other(tiny: Path) -> None:
    exercise = tiny / "exercises/01_refs/01_scale/exercise.toml"
    exercise.write_text(exercise.read_text().replace('"small"', '"a"').replace('"wide"', '"a\\",0"'))
    assert len(set(seeds(judged(tiny, b"k" * 32)))) == len(seeds(judged(tiny)))


def test_the_key_is_made_once_for_its_owner_alone(tiny: Path) -> None:
    key = seed_key(load_set(tiny))
    file = tiny / "solutions/seed.key"
    assert len(key) == 32 and seed_key(load_set(tiny)) == key == read_key(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_key_is_in_no_hash(tiny: Path) -> None:
    before = load_set(tiny)
    hashes = (before.sha256, before.public_sha256)
    seed_key(before)
    after = load_set(tiny)
    assert (after.sha256, after.public_sha256) == hashes


def test_only_solutions_change_the_whole_hash_alone(tiny: Path) -> None:
    before = load_set(tiny)
    whole, public = before.sha256, before.public_sha256
    (tiny / "solutions/01_refs/01_scale/hidden.toml").write_text("")
    assert load_set(tiny).sha256 != whole and load_set(tiny).public_sha256 == public
    (tiny / "exercises/01_refs/01_scale/oracle.py").write_text("")
    assert load_set(tiny).public_sha256 != public


def test_nothing_is_written_into_a_set_that_is_not_the_users_own(tiny: Path, tmp_path: Path) -> None:
    kept = tmp_path / "out/seed.key"
    key = seed_key(load_set(tiny, "archive"), kept)
    assert not (tiny / "solutions/seed.key").exists()
    assert seed_key(load_set(tiny, "package"), kept) == key
    with pytest.raises(SetError, match="no place for the key"):
        seed_key(load_set(tiny, "archive"))


def test_a_set_without_solutions_gets_its_key_elsewhere(tiny: Path, tmp_path: Path) -> None:
    (tiny / "solutions").rename(tmp_path / "away")
    assert seed_key(load_set(tiny), tmp_path / "seed.key") == read_key(tmp_path / "seed.key")


@pytest.mark.parametrize("text", [b"", b"abc", b"00" * 31, b"00" * 33, b"\xff" * 64, b"x" * 64])
def test_a_file_that_is_no_key_is_never_overwritten(tiny: Path, text: bytes) -> None:
    file = tiny / "solutions/seed.key"
    file.write_bytes(text)
    with pytest.raises(SetError, match="this is no key"):
        seed_key(load_set(tiny))
    assert file.read_bytes() == text


def test_two_at_once_agree(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(make_key, [tmp_path / "seed.key"] * 8))
    assert found == {read_key(tmp_path / "seed.key")}
    assert [path.name for path in tmp_path.iterdir()] == ["seed.key"]


def test_a_file_system_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    assert make_key(tmp_path / "seed.key") == read_key(tmp_path / "seed.key")
    assert stat.S_IMODE((tmp_path / "seed.key").stat().st_mode) == 0o600
