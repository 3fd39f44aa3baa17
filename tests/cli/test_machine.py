"""What `doctor` finds, on made-up machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tutor.cli import machine


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
