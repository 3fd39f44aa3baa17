"""What a run leaves behind is removed, whatever it is."""

import os
from pathlib import Path

import pytest

from tutor.workers.confine import fills_the_disk
from tutor.workers.home import remove


@pytest.fixture
def home(tmp_path):
    made = tmp_path / "home"
    made.mkdir()
    return made


def nest(home: Path, depth: int) -> None:
    here = Path.cwd()
    os.chdir(home)
    try:
        for _ in range(depth):
            Path("deeper").mkdir()
            os.chdir("deeper")
        Path("file").touch()
    finally:
        os.chdir(here)


def test_folders_that_nest_more_deeply_than_a_path_may_be_long(home):
    nest(home, 1500)
    assert fills_the_disk(home, 1 << 30, most=1_000_000)
    remove(home)
    assert not home.exists()


def test_links_are_removed_and_not_followed(home, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("stays")
    (home / "link").symlink_to(tmp_path / "outside")
    (home / "in").mkdir()
    (home / "in" / "link").symlink_to(tmp_path / "outside", target_is_directory=True)
    os.mkfifo(home / "in" / "pipe")
    remove(home)
    assert not home.exists()
    assert (tmp_path / "outside" / "file").read_text() == "stays"


def test_folders_that_their_owner_may_not_read(home):
    (home / "closed" / "inner").mkdir(parents=True)
    (home / "closed" / "inner" / "file").touch()
    (home / "closed" / "inner").chmod(0)
    (home / "closed").chmod(0)
    remove(home)
    assert not home.exists()


def test_names_that_a_run_has_guessed(home):
    for number in range(3):
        (home / f"{number}.{os.getpid()}").mkdir()
    (home / "a" / "b").mkdir(parents=True)
    (home / "a" / "c").touch()
    remove(home)
    assert not home.exists()


def test_a_home_that_is_gone_already(home):
    home.rmdir()
    remove(home)
