"""Compiling one artifact for one chip, and reading what the compiler wrote down on the way."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import jax
import jax.export
import numpy as np
from jax.experimental import topologies

from tutor.findings import finding
from tutor.jaxpr import compat
from tutor.judge.compile import chips
from tutor.judge.compile.allocations import Piece, least_vmem, named, peak, read
from tutor.judge.compile.dumps import around, dump_text, kernels_dumped
from tutor.judge.compile.explain import explain
from tutor.judge.compile.refusal import Refusal, frames_in
from tutor.judge.compile.schedule.estimate import NoEstimate, estimate
from tutor.judge.compile.settings import ALLOCATIONS, SCHEDULE
from tutor.protocol import Allocation, Compilation, Finding, Kernel, Schedule
from tutor.wire import Compiled, CompileJob
from tutor.workers.arrays import unpack


def warm() -> None:
    """Load libtpu and the devices that most compiles are for."""
    for chip in ("v5e", "v6e"):
        _devices(compat.CHIPS[chip].topology)


def compile_case(job: CompileJob, folder: Path, libtpu: str) -> Compiled:
    """Compile one case for one chip. `folder` is where the dumps arrive; it is empty before."""
    began = time.monotonic()
    exported, calls = _named(job.artifact)
    wanted = chips.topology(job.chip, exported.nr_devices)
    if wanted is None:
        reason = f"there is no {job.chip} topology for {exported.nr_devices} devices here"
        return Compiled(Compilation(job.chip, job.case, "unavailable"), [], time.monotonic() - began, reason)
    memory = chips.memory(job.chip)
    kernels = job.kernels if len(job.kernels) == len(calls) else []
    if job.sweep and (hopeless := _hopeless(job, kernels, calls, memory)) is not None:
        return Compiled(*hopeless, time.monotonic() - began)
    failure: Exception | None = None
    try:
        _compile(exported, job.chip, wanted)
    except MemoryError:
        raise
    except Exception as error:
        failure = error
    pieces = [_pieces(folder, call.name) for call in calls]
    refusal = Refusal(
        text=str(failure) if failure else "",
        chip=job.chip,
        case=job.case,
        path=job.path,
        libtpu=libtpu,
        memory=memory,
        calls=calls,
        kernels=kernels,
        frames=frames_in(failure, job.path) if failure else (),
    )
    schedule, without = _schedule(job, folder, calls, libtpu) if job.estimate and not failure else (None, [])
    number = refusal.call_number if failure else _largest(pieces)
    limit = calls[number].vmem_limit_bytes if calls else None
    compilation = Compilation(
        chip=job.chip,
        case=job.case,
        status="failed" if failure else "passed",
        vmem_bytes=peak(pieces[number] or ()) if pieces and pieces[number] is not None else None,
        vmem_limit_bytes=min(limit or memory.scoped_vmem, memory.vmem),
        vmem_capacity=memory.vmem,
        allocations=_records(pieces, kernels),
        schedule=schedule,
    )
    findings = without
    if failure:
        mine = pieces[number] if number < len(pieces) else None
        findings = [explain(replace(refusal, pieces=mine or []))]
    return Compiled(compilation, findings, time.monotonic() - began)


def _hopeless(
    job: CompileJob, kernels: Sequence[Kernel], calls: Sequence[compat.TpuCall], memory: chips.Memory
) -> tuple[Compilation, list[Finding]] | None:
    """What is said of a kernel whose blocks alone need more VMEM than it may have: such compiles take seconds."""
    for kernel, call in zip(kernels, calls, strict=False):
        least, limit = least_vmem(kernel), min(call.vmem_limit_bytes or memory.scoped_vmem, memory.vmem)
        if least > limit:
            said = finding("KT602", f"On {job.chip}: the blocks of {kernel.name} alone need more VMEM than there is.")
            return Compilation(job.chip, job.case, "failed", None, limit, memory.vmem), [said]
    return None


@lru_cache(maxsize=8)
def _named(artifact: bytes) -> tuple[jax.export.Exported, list[compat.TpuCall]]:
    """The program of an artifact; the next chip gets the same."""
    return compat.name_kernels(jax.export.deserialize(bytearray(artifact)))


@cache
def _devices(topology: str) -> list[Any]:
    return list(topologies.get_topology_desc(platform="tpu", topology_name=topology).devices)


def _compile(exported: jax.export.Exported, chip: str, topology: str) -> None:
    devices = _devices(topology)[: exported.nr_devices]
    if exported.nr_devices == 1:
        one = jax.sharding.SingleDeviceSharding(devices[0])
        ins: Sequence[Any] = [one] * len(exported.in_avals)
        outs: Any = one  # a program without arguments has nothing else that names the device
    else:
        mesh = compat.device_mesh(exported, devices)
        whole = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
        ins = [sharding or whole for sharding in exported.in_shardings_jax(mesh)]
        # The results are laid out as the program says.
        outs = None if ins else jax.tree.unflatten(exported.out_tree, [whole] * len(exported.out_avals))
    wide = any(np.dtype(aval.dtype).itemsize > 4 for aval in (*exported.in_avals, *exported.out_avals))
    specs = [jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=s) for a, s in zip(exported.in_avals, ins, strict=True)]
    args, keywords = jax.tree.unflatten(exported.in_tree, specs)
    with compat.target_chip(chip), jax.enable_x64(wide):
        jax.jit(exported.call, out_shardings=outs).lower(*args, **keywords).compile()


def _pieces(folder: Path, name: str) -> list[Piece] | None:
    dump = dump_text(folder, name, ALLOCATIONS)
    return None if dump is None else read(dump, dump_text(folder, name, SCHEDULE))


def _schedule(
    job: CompileJob, folder: Path, calls: Sequence[compat.TpuCall], libtpu: str
) -> tuple[Schedule | None, list[Finding]]:
    """The estimate, or a note that says why there is none."""
    values = unpack(job.values) if job.values else {}
    try:
        return estimate(kernels_dumped(folder, calls), job.kernels, job.chip, values, around(folder)), []
    except NoEstimate as why:
        words = f"There is no speed estimate for {job.chip} (libtpu {libtpu}): {why}."
        return None, [finding("KT612", words, severity="note", case=job.case)]


def _largest(pieces: Sequence[list[Piece] | None]) -> int:
    return max(range(len(pieces)), key=lambda i: peak(pieces[i] or ()), default=0)


def _records(pieces: Sequence[list[Piece] | None], kernels: Sequence[Kernel]) -> list[Allocation]:
    """The allocations of all kernels; where there are several, each name begins with its kernel's."""
    found: list[Allocation] = []
    for i, some in enumerate(pieces):
        kernel = kernels[i] if kernels else None
        prefix = f"{kernel.name}." if kernel and len(pieces) > 1 else ""
        found += named(some or [], kernel, prefix)
    return found
