"""What must be in the environment of stage and judge before JAX is imported."""

from __future__ import annotations

import os

XLA_FLAGS = "--xla_force_host_platform_device_count=8 --xla_backend_optimization_level=0"
"""Eight devices for `shard_map`. Programs are compiled once, run once, and small: less optimising saves a fifth."""


def prepare() -> None:
    """Set it. A TPU on this machine is left to the device runner."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XLA_FLAGS"] = XLA_FLAGS
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
