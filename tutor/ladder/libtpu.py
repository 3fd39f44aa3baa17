"""How libtpu is added to the environment that this program runs in."""

from __future__ import annotations

import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path


def libtpu_command() -> str:
    """The one command that adds libtpu."""
    checkout = Path(__file__).resolve().parents[2]
    if (checkout / "pyproject.toml").is_file() and Path(sys.prefix) == checkout / ".venv":
        return f"uv sync --extra tpu --project {checkout}"
    try:
        jax = version("jax")
    except PackageNotFoundError:
        jax = "0.12.*"
    wanted = f"'jax[tpu]=={jax}'"  # the extra of jax pins the libtpu that matches it
    if shutil.which("uv") and find_spec("pip") is None:
        return f"uv pip install --python {sys.executable} {wanted}"
    return f"{sys.executable} -m pip install {wanted}"
