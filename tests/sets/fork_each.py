"""Runs files as programs of their own, each in a fork of this process, which has imported JAX once.

Each line of standard input is `FILE OUTPUT`: what FILE prints goes to OUTPUT, and its exit code is the answer. No
backend is started here, so a fork is as good as a fresh interpreter."""

from __future__ import annotations

import json
import os
import runpy
import sys
import traceback
import warnings

import jax
import jax.export
import jax.numpy
from jax.experimental import pallas
from jax.experimental.pallas import tpu

__all__ = ["jax", "pallas", "tpu"]


def run(file: str, output: str) -> None:
    """In a fork: run the file, and leave as its interpreter would."""
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    code = 0
    try:
        runpy.run_path(file, run_name="__main__")
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    warnings.filterwarnings("ignore", message=r"os\.fork\(\) was called")
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            run(*json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
