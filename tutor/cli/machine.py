"""What a machine has, asked without importing JAX and without touching the TPU."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from typing import Literal

import msgspec


class Check(msgspec.Struct, frozen=True):
    """One line of `doctor`. `missing`: the tutor can do without it; `problem`: it cannot."""

    name: str
    status: Literal["ok", "missing", "problem"]
    detail: str
    fix: str | None = None


def version(package: str) -> str | None:
    """The installed version of a package; it is not imported."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed(package)
    except PackageNotFoundError:
        return None


def terminal() -> Check:
    """What the terminal can show."""
    name = os.environ.get("TERM", "")
    columns, lines = shutil.get_terminal_size()
    encoding = (sys.stdout.encoding or "").lower()
    colours = "true colour" if os.environ.get("COLORTERM") in ("truecolor", "24bit") else "256 or fewer colours"
    detail = f"{name or 'unknown'}, {columns}x{lines}, {colours}, {encoding}"
    if name in ("", "dumb"):
        return Check("terminal", "missing", detail, "The screen needs a terminal; all commands work without one.")
    if "utf" not in encoding:
        return Check("terminal", "missing", detail, "Set LANG to a UTF-8 locale, else some signs are shown as codes.")
    return Check("terminal", "ok", detail)


def platform_check() -> Check:
    """Python and the operating system."""
    detail = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    if sys.platform == "linux" and platform.machine() in ("x86_64", "AMD64"):
        return Check("python", "ok", detail)
    if sys.platform == "win32":
        return Check("python", "problem", detail, "On Windows, run kerneltutor inside WSL.")
    return Check("python", "missing", detail, "Here `compile`, the estimate and the stronger jails are not available.")
