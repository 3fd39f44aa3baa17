"""What `doctor` finds, on made-up machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tutor.cli import machine


def make_process(proc: Path, pid: int, command: str, files: list[Path]) -> None:
    (proc / str(pid) / "fd").mkdir(parents=True)
    (proc / str(pid) / "comm").write_text(command + "\n")
    for number, file in enumerate(files):
        (proc / str(pid) / "fd" / str(number)).symlink_to(file)


def test_devices_and_who_holds_them(tmp_path: Path) -> None:
    dev, proc = tmp_path / "dev", tmp_path / "proc"
    (dev / "vfio").mkdir(parents=True)
    for name in ("accel0", "accel1", "vfio/0", "vfio/vfio", "null"):
        (dev / name).write_text("")
    make_process(proc, 20, "trainer", [dev / "null", dev / "accel1", dev / "vfio/0"])
    make_process(proc, 3, "shell", [dev / "null"])
    make_process(proc, 7, "gone", [])
    (proc / "7" / "fd").rmdir()
    (proc / "self").mkdir()
    found = machine.devices(dev, proc)
    assert found.paths == [str(dev / "accel0"), str(dev / "accel1"), str(dev / "vfio/0")]
    (holder,) = found.holders
    assert (holder.pid, holder.command) == (20, "trainer")
    assert holder.paths == [str(dev / "accel1"), str(dev / "vfio/0")]
    assert found.complete


def test_no_devices(tmp_path: Path) -> None:
    assert machine.devices(tmp_path, tmp_path) == machine.Devices([], [], True)


def test_versions_without_importing() -> None:
    assert machine.version("click") is not None
    assert machine.version("no-such-package-of-ours") is None


def test_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert machine.terminal().status == "missing"


def test_bubblewrap_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert machine.bubblewrap_problem() == "bwrap is not installed"


def test_bubblewrap_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho no namespaces here >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert machine.bubblewrap_problem() == "bwrap is not allowed here: no namespaces here"
