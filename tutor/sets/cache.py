"""Where what can be made again is kept: below `KERNELTUTOR_DATA`, else in the platform's folder for caches."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "KERNELTUTOR_DATA"


def cache_folder(name: str) -> Path:
    """The folder for one kind of thing. It may not be there yet."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen).expanduser().absolute() / name
    from platformdirs import user_cache_path  # starting must be quick

    return user_cache_path("kerneltutor", appauthor=False) / name
