"""Compiling functions of `compile_kernels.py` in real workers, for tests."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterable
from pathlib import Path

import pytest

from tutor.ladder.compiler import Compiler
from tutor.ladder.worker import Worker
from tutor.protocol import ArraySpec, CaseSpec, Kernel
from tutor.wire import Artifact, ArtifactJob, Attempt, Compiled, CompileJob, Traced, TraceJob

CHIPS = ("v4", "v5e", "v5p", "v6e", "tpu7x")
KERNELS = Path(__file__).with_name("compile_kernels.py")
SOURCE = KERNELS.read_text()
needs_libtpu = pytest.mark.skipif(importlib.util.find_spec("libtpu") is None, reason="libtpu (the tpu extra) is absent")


def arguments() -> dict[str, list[tuple[tuple[int, ...], str]]]:
    """`ARGUMENTS` of the kernels' file, which is not imported here."""
    for node in ast.parse(SOURCE).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "ARGUMENTS":
            return {ast.literal_eval(k): _specs(v) for k, v in zip(node.value.keys, node.value.values, strict=True)}
    raise AssertionError


def _specs(node: ast.expr) -> list[tuple[tuple[int, ...], str]]:
    return eval(compile(ast.Expression(node), "arguments", "eval"))  # our own file: (1 << 20,) is no literal


def line_of(text: str) -> int:
    """The line of the first occurrence of `text` in the kernels' file."""
    return SOURCE[: SOURCE.index(text)].count("\n") + 1


async def job(
    stage: Worker,
    function: str,
    chips: Iterable[str] = ("v5e",),
    *,
    estimate: bool = False,
    values: bytes = b"",
    **static: int,
) -> list[CompileJob]:
    """What the compile server is asked for `function`: one job for each chip."""
    inputs = [ArraySpec(f"a{i}", list(s), dtype) for i, (s, dtype) in enumerate(arguments()[function])]
    case = CaseSpec("small", inputs, [], dict(static), {})
    attempt = Attempt(SOURCE.encode(), str(KERNELS), function)
    kernels: list[Kernel] = []
    artifacts: list[Artifact] = []
    async for answer in stage.run(TraceJob(attempt, [case])):
        if isinstance(answer, Traced) and answer.facts:
            kernels = [kernel.kernel for kernel in answer.facts.kernels]
    async for answer in stage.run(ArtifactJob(attempt, [case], ["tpu"], chips=tuple(chips))):
        if isinstance(answer, Artifact):
            assert answer.data is not None, answer.findings
            artifacts.append(answer)
    return [
        CompileJob(artifact.data or b"", "small", chip, str(KERNELS), kernels, estimate=estimate, values=values)
        for artifact in artifacts
        for chip in artifact.chips
    ]


async def compile_all(wanted: dict[str, tuple[str, ...]]) -> dict[tuple[str, str], Compiled]:
    """Compile each function for its chips."""
    stage, compiler = Worker("tutor.stage"), Compiler(wall_seconds=60)
    found: dict[tuple[str, str], Compiled] = {}
    try:
        for function, chips in wanted.items():
            for one in await job(stage, function, chips):
                answer = await compiler.compile(one)
                assert isinstance(answer, Compiled), answer
                found[function, one.chip] = answer
    finally:
        await stage.aclose()
        await compiler.aclose()
    return found
