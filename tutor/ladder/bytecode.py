"""Compiled Python files are written before a jail is entered: inside it they could not be, and every start of a worker
would compile JAX anew, which takes seconds."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import struct
import sys
from pathlib import Path

import tutor
from tutor.ladder.process import end, start
from tutor.ladder.worker import clean_environment

_NOT_OURS = "/builtin/"
_done: set[str] = set()


async def compile_ahead(module: str) -> None:
    """Compile our own package where it has changed, and what `module` imports if it was never imported before.

    Programs of their own do it, and not threads: they can be stopped at once when nobody waits any more."""
    if module in _done:
        return
    package = Path(tutor.__file__).parent
    if os.access(package, os.W_OK) and await asyncio.to_thread(_stale, package):
        await _run("-m", "compileall", "-q", "-x", _NOT_OURS, str(package))
    if _never_imported("jax"):
        await _run("-m", module)  # the server, outside of the jail and with nothing to do
    _done.add(module)


def _stale(package: Path) -> bool:
    """Whether a file of ours has no compiled file, or an older one."""
    ours = (path for path in package.rglob("*.py") if _NOT_OURS not in path.as_posix())
    return any(not _compiled(path) for path in ours)


def _compiled(path: Path) -> bool:
    """Whether the compiled file is of this source: its header holds the time and the size of it."""
    try:
        with Path(importlib.util.cache_from_source(str(path))).open("rb") as file:
            header = file.read(16)
        written = path.stat()
    except OSError:
        return False
    return header[8:] == struct.pack("<II", int(written.st_mtime) & 0xFFFFFFFF, written.st_size & 0xFFFFFFFF)


def _never_imported(package: str) -> bool:
    """Whether a package has no compiled files, although it could have some. It is not imported here."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        return False
    compiled = Path(importlib.util.cache_from_source(found.origin))
    folder = compiled.parent if compiled.parent.exists() else compiled.parent.parent
    return not compiled.exists() and os.access(folder, os.W_OK)


async def _run(*arguments: str) -> None:
    nothing = asyncio.subprocess.DEVNULL
    process = await start(
        *(sys.executable, "-I", *arguments),
        stdin=nothing,
        stdout=nothing,
        stderr=nothing,
        env=clean_environment(),
        cwd="/",
    )
    try:
        await process.wait()
    finally:
        await end(process)
