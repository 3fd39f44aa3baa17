"""Finding the TPU and who holds it, on made-up machines; the device files are ordinary files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tutor.ladder.chip import RUNNER, Devices, device_files, devices, find_device, in_words, local_chip
from tutor.ladder.chip_watch import intruders, watch


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
    found = devices(dev, proc)
    assert found.paths == [str(dev / "accel0"), str(dev / "accel1"), str(dev / "vfio/0")]
    (holder,) = found.holders
    assert (holder.pid, holder.command, holder.module) == (20, "trainer", None)
    assert holder.paths == [str(dev / "accel1"), str(dev / "vfio/0")]
    assert found.complete
    assert find_device(dev) == str(dev / "accel0")


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
