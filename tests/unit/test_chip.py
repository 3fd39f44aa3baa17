"""Finding the TPU and who holds it, on made-up machines; the device files are ordinary files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tutor.ladder.chip import (
    RUNNER,
    Devices,
    Holder,
    chips_here,
    device_files,
    devices,
    find_device,
    in_words,
    local_chip,
)
from tutor.ladder.chip_watch import intruders, watch
from tutor.ladder.one_chip import Choice, choose


def make_process(proc: Path, pid: int, command: str, files: list[Path], words: list[str] | None = None) -> None:
    (proc / str(pid) / "fd").mkdir(parents=True)
    (proc / str(pid) / "comm").write_text(command + "\n")
    if words is not None:
        (proc / str(pid) / "cmdline").write_bytes(b"".join(word.encode() + b"\0" for word in words))
    for number, file in enumerate(files):
        (proc / str(pid) / "fd" / str(number)).symlink_to(file)


def make_devices(dev: Path) -> Path:
    (dev / "vfio").mkdir(parents=True)
    for name in ("accel0", "accel1", "vfio/0", "vfio/vfio", "null", "accelerometer"):
        (dev / name).write_text("")
    return dev


def test_devices_and_who_holds_them(tmp_path: Path) -> None:
    dev, proc = make_devices(tmp_path / "dev"), tmp_path / "proc"
    make_process(proc, 20, "trainer", [dev / "null", dev / "accel1", dev / "vfio/0"])
    make_process(proc, 3, "shell", [dev / "null"])
    make_process(proc, 7, "gone", [])
    (proc / "7" / "fd").rmdir()
    (proc / "self").mkdir()
    found = devices(dev, proc, tmp_path / "pci")
    assert found.paths == [str(dev / "accel0"), str(dev / "accel1"), str(dev / "vfio/0")]
    (holder,) = found.holders
    assert (holder.pid, holder.command, holder.module) == (20, "trainer", None)
    assert holder.paths == [str(dev / "accel1"), str(dev / "vfio/0")]
    assert found.complete
    assert find_device(dev, tmp_path / "pci") == str(dev / "accel0")


def test_no_devices(tmp_path: Path) -> None:
    assert devices(tmp_path, tmp_path) == Devices([], [], True)
    assert device_files(tmp_path) == []


def test_a_holder_is_named_by_what_it_was_started_as(tmp_path: Path) -> None:
    dev, proc = make_devices(tmp_path / "dev"), tmp_path / "proc"
    held = [dev / "accel0"]
    make_process(proc, 5, "python3", held, ["/usr/bin/python3", "train.py", "--size", "9" * 100])
    make_process(proc, 6, "python3", held, ["/usr/bin/python3", "-I", "-m", RUNNER])
    make_process(proc, 7, "python3", held, ["/usr/bin/python3", "-m", "http.server"])
    first, second, third = devices(dev, proc).holders
    assert in_words(first).startswith("process 5 (python3 train.py --size 999")
    assert len(first.command) == 80
    assert (first.module, second.module, third.module) == (None, RUNNER, None)


@pytest.mark.parametrize(("device", "chip"), [("0x0063", "v5e"), ("0x006f", "v6e"), ("0x9999", None)])
def test_the_chip_of_this_machine_by_its_pci_identity(tmp_path: Path, device: str, chip: str | None) -> None:
    for name, vendor in (("0000:00:01.0", "0x8086"), ("0000:00:05.0", "0x1ae0")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "vendor").write_text(f"{vendor}\n")
        (tmp_path / name / "device").write_text(f"{device}\n")
    (tmp_path / "broken").mkdir()
    assert local_chip(tmp_path) == chip


def make_pci(pci: Path, *functions: tuple[str, str, str | None]) -> Path:
    """PCI devices by vendor, identity and the number of their group, if they have one."""
    for number, (vendor, device, group) in enumerate(functions):
        folder = pci / f"0000:00:{number:02x}.0"
        folder.mkdir(parents=True)
        (folder / "vendor").write_text(vendor + "\n")
        (folder / "device").write_text(device + "\n")
        if group is not None:
            (folder / "iommu_group").symlink_to(pci / "groups" / group)
    return pci


def make_vfio(dev: Path, *numbers: int) -> Path:
    (dev / "vfio").mkdir(parents=True)
    for name in (*map(str, numbers), "vfio"):
        (dev / "vfio" / name).write_text("")
    return dev


GVNIC = ("0x1ae0", "0x0042", "3")


def test_what_else_is_handed_to_this_machine_is_no_tpu(tmp_path: Path) -> None:
    """A passed-through disk or network card has a file in `vfio` too, Google's own included."""
    dev = make_vfio(tmp_path / "dev", 0, 3, 7, 12)
    pci = make_pci(tmp_path / "pci", ("0x8086", "0x1572", "0"), GVNIC, ("0x1ae0", "0x0063", "12"),
                   ("0x1ae0", "0x0063", "7"))  # fmt: skip
    assert device_files(dev, pci) == [str(dev / "vfio/7"), str(dev / "vfio/12")], "by number, not by letter"
    assert local_chip(pci) == "v5e"
    without = make_pci(tmp_path / "other", ("0x8086", "0x1572", "0"), GVNIC)
    assert find_device(dev, without) is None and local_chip(without) is None


def test_where_pci_cannot_be_seen_all_files_count(tmp_path: Path) -> None:
    dev = make_vfio(tmp_path / "dev", 0, 1)
    assert len(device_files(dev, tmp_path / "nothing")) == 2
    ungrouped = make_pci(tmp_path / "pci", ("0x1ae0", "0x0063", None))
    assert len(device_files(dev, ungrouped)) == 2


def test_a_tpu_without_figures_is_one(tmp_path: Path) -> None:
    pci = make_pci(tmp_path / "pci", ("0x1ae0", "0x0083", "0"))
    assert find_device(make_vfio(tmp_path / "dev", 0), pci) is not None and local_chip(pci) is None


def test_what_to_estimate_for(tmp_path: Path) -> None:
    assert chips_here(["v5e", "v6e"], tmp_path) == ("v5e",)
    assert chips_here(["v5e"], make_pci(tmp_path / "pci", ("0x1ae0", "0x006f", "0"))) == ("v6e",)
    assert chips_here([], tmp_path) == ()


# ---------------------------------------------------------------- which of several chips

FOUR = [f"/dev/vfio/{number}" for number in range(4)]
ONE = {"TPU_CHIPS_PER_PROCESS_BOUNDS": "1,1,1", "TPU_PROCESS_BOUNDS": "1,1,1"}


def holding(*paths: str, module: str | None = None) -> Holder:
    return Holder(9, "python train.py", list(paths), module)


def test_of_several_chips_the_first_free_one() -> None:
    assert choose(Devices(FOUR, [], True), "v6e", {}) == Choice({"TPU_VISIBLE_CHIPS": "0", **ONE}, [])
    found = Devices(FOUR, [holding(FOUR[0]), holding(FOUR[2])], True)
    assert choose(found, "v5e", {}).variables["TPU_VISIBLE_CHIPS"] == "1"
    all_held = [holding(*FOUR)]
    assert choose(Devices(FOUR, all_held, True), "v6e", {}) == Choice({}, all_held)


@pytest.mark.parametrize(("paths", "chip"), [(FOUR[:1], "v6e"), (FOUR, "tpu7x"), (FOUR, None)])
def test_where_chips_cannot_be_told_apart_all_are_one(paths: list[str], chip: str | None) -> None:
    assert choose(Devices(paths, [], True), chip, {}) == Choice({}, [])
    one = [holding(paths[0])]
    assert choose(Devices(paths, one, True), chip, {}) == Choice({}, one)


def test_what_the_user_has_chosen_stands() -> None:
    found = Devices(FOUR, [holding(FOUR[0])], True)
    assert choose(found, "v6e", {"TPU_VISIBLE_CHIPS": "2,3"}) == Choice({}, [])
    assert choose(found, "v6e", {"TPU_VISIBLE_DEVICES": "0"}).held_by == found.holders
    for variables in ({"TPU_VISIBLE_CHIPS": "9"}, {"TPU_VISIBLE_CHIPS": "a"}, {"TPU_PROCESS_BOUNDS": "2,2,1"}):
        assert choose(found, "v6e", variables).held_by == found.holders


def test_another_timing_of_ours_is_told_from_others() -> None:
    ours, other = holding(FOUR[0], module=RUNNER), holding(FOUR[0])
    assert choose(Devices(FOUR[:1], [ours], True), "v5e", {}).ours
    assert not choose(Devices(FOUR[:1], [ours, other], True), "v5e", {}).ours
    assert not choose(Devices(FOUR[:1], [], True), "v5e", {}).ours
    assert in_words(ours) == "process 9 (another timing of the tutor's)"


def test_no_chip(tmp_path: Path) -> None:
    assert local_chip(tmp_path) is None
    assert local_chip(tmp_path / "nothing") is None


async def test_who_opens_the_chip_is_seen_and_only_the_runner_may(tmp_path: Path) -> None:
    """Real processes that open a file which stands for the chip; one of them is started as the stager is."""
    dev = make_devices(tmp_path / "dev")
    package = tmp_path / "tutor"
    (package / "judge").mkdir(parents=True)
    for name in ("__init__", "judge/__init__"):
        (package / f"{name}.py").write_text("")
    code = f"import sys; held = open({str(dev / 'accel0')!r}); print('ready', flush=True); sys.stdin.read()"
    for name in ("stage", "judge/device"):
        (package / f"{name}.py").write_text(code)
    open_now = [
        subprocess.Popen(
            [sys.executable, "-m", module], cwd=tmp_path, env={}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for module in ("tutor.stage", RUNNER)
    ]
    try:
        async with watch(dev) as seen:
            for process in open_now:
                assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    finally:
        for process in open_now:
            process.communicate()
    assert {holder.module for holder in seen.values()} == {"tutor.stage", RUNNER}
    assert [holder.module for holder in intruders(seen, os.getpid())] == ["tutor.stage"]


async def test_this_process_may_not_open_it_either(tmp_path: Path) -> None:
    dev = make_devices(tmp_path / "dev")
    async with watch(dev) as seen:
        with (dev / "accel0").open():
            import asyncio

            await asyncio.sleep(0.1)
    assert [holder.pid for holder in intruders(seen, os.getpid())] == [os.getpid()]
    async with watch(dev) as seen:
        pass
    assert seen == {}
