"""Compiled files are written ahead, by a program that can be stopped."""

from __future__ import annotations

import asyncio
import compileall
import os
from pathlib import Path

import pytest

from tutor.ladder import bytecode
from tutor.workers.confine import children_of


def test_a_file_is_stale_until_it_is_compiled_and_after_it_was_changed(tmp_path: Path) -> None:
    source = tmp_path / "inner" / "one.py"
    source.parent.mkdir()
    source.write_text("ONE = 1\n")
    (tmp_path / "builtin").mkdir()
    (tmp_path / "builtin" / "exercise.py").write_text("never ours\n")
    assert bytecode._stale(tmp_path)
    compileall.compile_dir(source.parent, quiet=2)
    assert not bytecode._stale(tmp_path)
    source.write_text("ONE = 11\n")
    assert bytecode._stale(tmp_path)


def test_nobody_waits_for_it_after_a_cancel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bytecode, "_done", set())
    monkeypatch.setattr(bytecode, "_stale", lambda _: True)
    run = bytecode._run
    monkeypatch.setattr(bytecode, "_run", lambda *_: run("-c", "import time; time.sleep(600)"))

    async def cancelled() -> None:
        task = asyncio.create_task(bytecode.compile_ahead("tutor.stage"))
        while not task.done() and not _sleepers():
            await asyncio.sleep(0.01)
        assert _sleepers()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert not _sleepers()
    assert not bytecode._done, "what was not compiled is tried again"


def _sleepers() -> list[int]:
    told = ((pid, Path(f"/proc/{pid}/cmdline").read_bytes()) for pid in children_of(os.getpid()))
    return [pid for pid, command in told if b"time.sleep(600)" in command]
