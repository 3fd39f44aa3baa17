"""What `doctor` says of who opens the chip; a plain file stands for the chip."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tutor.cli import chip_check, doctor
from tutor.ladder.chip import RUNNER, Devices, Holder
from tutor.sets import builtin_root, load_set


@pytest.fixture
def dev(tmp_path: Path) -> Path:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "accel0").write_text("")
    return tmp_path / "dev"


def test_no_worker_of_a_whole_check_opens_it(dev: Path) -> None:
    exercise = load_set(builtin_root()).exercise("tile_copy")
    found = chip_check.who_opens_the_chip(exercise, dev)
    assert (found.status, found.detail) == (
        "ok",
        "no worker of the tutor (nothing was timed), in a whole check of tile_copy",
    )


class Opens:
    """Stands for the ladder: while it checks, this process holds the chip."""

    def __init__(self, path: Path) -> None:
        self.path = path

    async def warm(self) -> None:
        self.held = self.path.open()

    async def check(self, *_: object):
        yield None

    async def aclose(self) -> None:
        pass


def test_one_that_does_is_named(dev: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chip_check, "Ladder", lambda: Opens(dev / "accel0"))
    found = chip_check.who_opens_the_chip(load_set(builtin_root()).exercise("tile_copy"), dev)
    assert found.status == "problem"
    assert f"process {os.getpid()} (" in found.detail


def test_the_runner_may(dev: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Runs(Opens):
        async def warm(self) -> None:
            pass

    def seen(*_: object):
        from tutor.ladder.chip import Devices

        return Devices([], [Holder(7, "python", [str(dev / "accel0")], RUNNER)], True)

    monkeypatch.setattr(chip_check, "Ladder", lambda: Runs(dev / "accel0"))
    monkeypatch.setattr("tutor.ladder.chip_watch.devices", seen)
    found = chip_check.who_opens_the_chip(load_set(builtin_root()).exercise("tile_copy"), dev)
    assert (found.status, found.detail) == ("ok", "the device runner alone, in a whole check of tile_copy")


FOUR = [f"/dev/vfio/{number}" for number in range(4)]


@pytest.mark.parametrize(
    ("paths", "held", "said"),
    [
        (FOUR, FOUR[:1], "Kernels are timed on a chip that is free."),
        (FOUR, FOUR, "Kernels are timed once that process has let go."),
        (FOUR[:1], FOUR[:1], "Kernels are timed once that process has let go."),
    ],
)
def test_what_a_holder_means(paths: list[str], held: list[str], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "local_chip", lambda: "v6e")
    for name in [name for name in os.environ if name.startswith("TPU_")]:
        monkeypatch.delenv(name)
    tpu, holder = doctor._tpu(Devices(paths, [Holder(7, "python train.py", held)], True))
    assert tpu.detail.startswith("v6e: /dev/vfio/0")
    assert "process 7 (python train.py)" in holder.detail and holder.fix == said
