"""An artifact is looked through before it is run or compiled: whom it calls, and whether its size is sane.

It comes from the process that ran the learner's Python, so it may be anything."""

from __future__ import annotations

import jax.export

from tutor.findings import finding
from tutor.jaxpr.census import Census, take_census
from tutor.protocol import Finding

MOST_BYTES = 16 << 20
MOST_CONSTANT_BYTES = 8 << 20
MOST_OPERATIONS = 100_000
MOST_KERNELS = 256
"""The largest program of the built-in set and the case bank has 6 KiB, some 400 operations and four kernels."""


def scan(artifact: bytes, case: str, *, own: bool = False) -> list[Finding]:
    """What speaks against running or compiling an artifact: KT810, KT811 or KT812. `own`: of an inspected file."""
    if len(artifact) > MOST_BYTES:
        return [_too_large(f"{len(artifact) >> 20} MiB of data", f"{MOST_BYTES >> 20} MiB", case)]
    try:
        census = take_census(jax.export.deserialize(bytearray(artifact)), own=own)
    except Exception as error:  # whatever the parser makes of bytes from anywhere
        message = "What came out of the run is no program that can be read."
        return [finding("KT812", message, raw=f"{type(error).__name__}: {error}"[:2000], case=case)]
    return [*_calls_strangers(census, case), *_too_much(census, case)]


def _calls_strangers(census: Census, case: str) -> list[Finding]:
    if not census.foreign:
        return []
    names = ", ".join(sorted(census.foreign))
    message = (
        f"The program calls code that is not part of it ({names}). It was neither run nor compiled: what is judged has "
        "to be all there."
    )
    return [finding("KT810", message, case=case)]


def _too_much(census: Census, case: str) -> list[Finding]:
    counted = (
        (census.operations, MOST_OPERATIONS, "operations"),
        (census.kernels, MOST_KERNELS, "kernels"),
        (census.constant_bytes, MOST_CONSTANT_BYTES, "bytes of constants"),
    )
    return [_too_large(f"{n:,} {what}", f"{most:,}", case) for n, most, what in counted if n > most]


def _too_large(has: str, most: str, case: str) -> Finding:
    message = f"The program has {has}, and no more than {most} are taken. It was neither run nor compiled."
    hint = "Pass arrays as arguments, and turn long Python loops into `jax.lax.fori_loop` or a grid axis."
    return finding("KT811", message, case=case, hint=hint)
