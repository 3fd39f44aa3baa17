"""What a machine has, asked without importing JAX and without touching the TPU."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from typing import Literal

import msgspec

_LANDLOCK_CREATE_RULESET = 444
_LANDLOCK_VERSION = 1


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


def isolation() -> list[Check]:
    """What the jail of attempts can be made of. Runs use tier C, limits, today; the others say what is possible."""
    problem = bubblewrap_problem()
    abi = landlock_abi()
    tier_a = (
        Check("bubblewrap", "missing", problem) if problem else Check("bubblewrap", "ok", "works (tier A possible)")
    )
    tier_b = Check("landlock", "ok", f"version {abi} (tier B possible)")
    return [
        Check("isolation", "ok", "tier C: limits, own session, clean environment, private home"),
        tier_a,
        tier_b if abi else Check("landlock", "missing", "not in this kernel"),
    ]


def bubblewrap_problem() -> str | None:
    """Why bubblewrap cannot be used, or None. It is tried, as being installed does not mean being allowed."""
    program = shutil.which("bwrap")
    if program is None:
        return "bwrap is not installed"
    command = [program, "--unshare-all", "--ro-bind", "/", "/", "--die-with-parent", "true"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bwrap does not run: {error}"
    return None if done.returncode == 0 else f"bwrap is not allowed here: {done.stderr.strip() or done.returncode}"


def landlock_abi() -> int:
    """The version of Landlock in this kernel; 0 for none."""
    if sys.platform != "linux":
        return 0
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, int(libc.syscall(_LANDLOCK_CREATE_RULESET, None, 0, _LANDLOCK_VERSION)))
