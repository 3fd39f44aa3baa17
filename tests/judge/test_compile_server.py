"""The compile server dies, hangs or is not there: the run that was hit says so, and the next one works."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.judge.compiling import job, needs_libtpu
from tutor.ladder.compile import over_chips
from tutor.ladder.compiler import Compiler
from tutor.ladder.worker import Worker
from tutor.protocol import Compilation, Finding
from tutor.wire import Compiled, CompileJob

FAKE = Path(__file__).with_name("fake_compiler.py")
JOB = CompileJob(b"", "small", "v5e", "attempt.py")
WITHOUT_LIBTPU = """
import importlib.metadata as metadata
version = metadata.version
def without(name):
    if name == "libtpu":
        raise metadata.PackageNotFoundError(name)
    return version(name)
metadata.version = without
from tutor.judge.compile.__main__ import main
main()
"""


def misbehaving(how: str, tmp_path: Path) -> Compiler:
    worker = Worker("fake", [sys.executable, str(FAKE), how, str(tmp_path / "starts")])
    return Compiler(worker, wall_seconds={"hang": 0.5, "hang_once": 2}.get(how, 60))


async def answer(compiler: Compiler) -> Compiled:
    found = await compiler.compile(JOB)
    assert isinstance(found, Compiled)
    return found


@pytest.mark.parametrize(("how", "code"), [("die", "KT608"), ("hang", "KT609")])
async def test_twice_is_a_finding(tmp_path: Path, how: str, code: str) -> None:
    compiler = misbehaving(how, tmp_path)
    try:
        found = await answer(compiler)
        assert found.compilation.status == "failed"
        assert [(f.code, f.severity, f.case) for f in found.findings] == [(code, "error", "small")]
        assert (tmp_path / "starts").read_text().split() == ["x", "x"]
    finally:
        await compiler.aclose()


@pytest.mark.parametrize(("how", "code"), [("die_once", "KT608"), ("hang_once", "KT609")])
async def test_once_is_a_note(tmp_path: Path, how: str, code: str) -> None:
    compiler = misbehaving(how, tmp_path)
    try:
        found = await answer(compiler)
        assert found.compilation.status == "passed"
        assert [(f.code, f.severity) for f in found.findings] == [(code, "note")]
        assert "The second time it went well." in found.findings[0].message
    finally:
        await compiler.aclose()


async def test_what_is_known_is_not_compiled_again(tmp_path: Path) -> None:
    compiler = misbehaving("well", tmp_path)
    try:
        first = await answer(compiler)
        compiler.worker.kill()
        assert await answer(compiler) is first
        other = await compiler.compile(CompileJob(b"other", "small", "v5e", "attempt.py"))
        assert other is not first
    finally:
        await compiler.aclose()


@needs_libtpu
async def test_killed_in_the_middle() -> None:
    """`kill -9` of the real server while it compiles: the answer comes all the same, with a note."""
    stage, compiler = Worker("tutor.stage"), Compiler(wall_seconds=60)
    try:
        (asked,) = await job(stage, "over_limit", ["v6e"])
        await compiler.start()
        process = compiler.worker._process
        assert process is not None
        os.kill(process.pid, signal.SIGSTOP)  # else it may have done its work before it is killed
        running = asyncio.create_task(compiler.compile(asked))
        while not compiler.worker._runs:
            await asyncio.sleep(0)
        os.kill(process.pid, signal.SIGKILL)
        found = await running
        assert isinstance(found, Compiled) and found.compilation.status == "passed"
        assert [(f.code, f.severity) for f in found.findings] == [("KT608", "note")]
        (asked,) = await job(stage, "no_argument")
        after = await compiler.compile(asked)
        assert isinstance(after, Compiled) and after.compilation.status == "passed" and not after.findings
    finally:
        await stage.aclose()
        await compiler.aclose()


async def test_without_libtpu_the_server_says_so() -> None:
    worker = Worker("tutor.judge.compile", [sys.executable, "-I", "-c", WITHOUT_LIBTPU])
    try:
        hello = await worker.start()
        assert hello.versions["libtpu"] is None and hello.versions["jax"]
    finally:
        await worker.aclose()


def test_chips_that_agree_are_named_together() -> None:
    def refused(chip: str, line: int) -> Compiled:
        problem = Finding("KT605", "error", "title", f"On {chip}: no.", line=line)
        return Compiled(Compilation(chip, "small", "failed"), [problem], 0.0)

    found = over_chips([refused("v5e", 3), refused("v6e", 3), refused("v4", 3), refused("v6e", 9)])
    assert [(f.line, f.message) for f in found] == [
        (3, "On v5e: no. The same happens on v6e and v4."),
        (9, "On v6e: no."),
    ]
