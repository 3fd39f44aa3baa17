"""Compiled Python files are written before a jail is entered: inside it they could not be, and every start of a worker
would compile JAX anew, which takes seconds."""

from __future__ import annotations

import asyncio
import compileall
import importlib.util
import os
import re
import sys
from pathlib import Path

import tutor
from tutor.ladder.worker import clean_environment

_NOT_OURS = re.compile(r"/builtin/")
_done: set[str] = set()


async def compile_ahead(module: str) -> None:
    """Compile our own package where it has changed, and what `module` imports if it was never imported before."""
    if module in _done:
        return
    _done.add(module)
    package = Path(tutor.__file__).parent
    await asyncio.to_thread(compileall.compile_dir, package, quiet=2, rx=_NOT_OURS)
    if _never_imported("jax"):
        await _import_outside(module)


def _never_imported(package: str) -> bool:
    """Whether a package has no compiled files, although it could have some. It is not imported here."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        return False
    compiled = Path(importlib.util.cache_from_source(found.origin))
    folder = compiled.parent if compiled.parent.exists() else compiled.parent.parent
    return not compiled.exists() and os.access(folder, os.W_OK)


async def _import_outside(module: str) -> None:
    """Start the server once outside of the jail, with nothing to do."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-m", module),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        env=clean_environment(),
        cwd="/",
        start_new_session=True,
    )
    await process.wait()
