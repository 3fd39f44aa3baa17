"""A course, a history and a checker for the screen alone: no worker, no JAX, and a script for what happens when."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from msgspec import structs

from tutor.findings import finding
from tutor.ladder.events import CheckFinished, Event, KernelsTraced, Lowered, StageFinished, StageStarted
from tutor.ladder.sweep_plan import CannotTune
from tutor.protocol import (
    STAGES,
    Access,
    ArraySpec,
    AttemptId,
    BlockWalk,
    CaseFacts,
    CaseResult,
    Compilation,
    Environment,
    Finding,
    JaxprLine,
    Kernel,
    KernelFacts,
    MarkedJaxpr,
    Operand,
    Schedule,
    Span,
    Staged,
    StageName,
    StageResult,
    Status,
    Sweep,
    Tuned,
    Verdict,
    Work,
)
from tutor.record import Attempt, Speed
from tutor.sets import Broken

STARTER = """\
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def matmul(a, b, *, bm=128, bn=128, bk=128):
    m, k = a.shape
    _, n = b.shape

    def kernel(a_ref, b_ref, o_ref, acc_ref):
        @pl.when(pl.program_id(2) == 0)
        def _():
            acc_ref[...] = jnp.zeros_like(acc_ref)

        acc_ref[...] += jnp.dot(a_ref[...], b_ref[...], preferred_element_type=jnp.float32)

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def _():
            o_ref[...] = acc_ref[...].astype(o_ref.dtype)

    return pl.pallas_call(
        kernel,
        grid=(m // bm, n // bn, k // bk),
        in_specs=[
            pl.BlockSpec((bm, bk), lambda i, j, l: (i, l)),
            pl.BlockSpec((bk, bn), lambda i, j, l: (l, j)),
        ],
        out_specs=pl.BlockSpec((bm, bn), lambda i, j, l: (i, j)),
        out_shape=jax.ShapeDtypeStruct((m, n), a.dtype),
        scratch_shapes=[pltpu.VMEM((bm, bn), jnp.float32)],
    )(a, b)
"""
LESSON = """\
# Keep partial sums in float32

A matrix product adds up `k` terms for each result. If every partial sum is kept in **bf16**, it is rounded before
the next term is added, and the error grows with `k`.

Keep the running sum in a scratch that is *f32* and lives in VMEM:

```python
scratch_shapes=[pltpu.VMEM((bm, bn), jnp.float32)]
```

| step | what happens |
|---|---|
| first `k` | the scratch is zeroed |
| every `k` | one block product is added |
| last `k` | the sum is cast once and stored |
"""


@dataclass(frozen=True)
class FakeExercise:
    slug: str
    title: str
    chapter: str
    number: int
    lesson: str = LESSON
    starter: str = STARTER
    summary: str = "one line"
    hints: Sequence[str] = ("Where does the rounding happen?", "Look at x[i] and [/x].", "Use an f32 scratch.")
    concepts: Sequence[str] = ("scratch", "accumulation")


EXERCISES = (
    FakeExercise("read_then_compute", "A Ref is not an array", "01_refs", 1),
    FakeExercise("block_copy", "Blocks", "01_refs", 2, hints=()),
    FakeExercise("f32_accumulator", "Accumulate in float32", "03_memory", 2),
    FakeExercise("any_sync_copy", "Copy from ANY", "04_dma", 1, concepts=("dma",)),
)


@dataclass
class FakeCourse:
    folder: Path
    exercises: Sequence[FakeExercise] = EXERCISES
    chips: Sequence[str] = ("v5e", "v6e")
    broken: Sequence[Broken] = ()
    solution: Path | None = None
    changed: set[str] = field(default_factory=set)

    def reference(self, exercise: FakeExercise) -> Path | None:
        return self.solution

    def newer_starter(self, exercise: FakeExercise) -> bool:
        return exercise.slug in self.changed

    def keep_mine(self, exercise: FakeExercise) -> None:
        self.changed.discard(exercise.slug)

    def file(self, exercise: FakeExercise) -> Path:
        path = self.folder / exercise.chapter / f"{exercise.number:02}_{exercise.slug}.py"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(exercise.starter)
        return path

    def reset(self, exercise: FakeExercise) -> Path | None:
        path = self.file(exercise)
        kept = path.with_suffix(".py.1")
        path.replace(kept)
        self.file(exercise)
        return kept


@dataclass
class FakeHistory:
    done: set[str] = field(default_factory=lambda: {"read_then_compute", "block_copy"})
    added: list[tuple[str, bytes, Verdict]] = field(default_factory=list)
    hints: dict[str, int] = field(default_factory=dict)
    hidden: str | None = "The solution can be seen once your attempt has passed."
    revealed: list[str] = field(default_factory=list)
    trouble: str | None = None
    fast: list[Speed] = field(default_factory=list)

    def attempts(self, exercise: FakeExercise) -> list[Attempt]:
        return [
            Attempt(n, "", "demo", slug, 1.7e9 + 60 * n, hashlib.sha256(source).hexdigest(), verdict.passed, 0.5)
            for n, (slug, source, verdict) in enumerate(self.added)
            if slug == exercise.slug
        ]

    def speeds(self, exercise: FakeExercise) -> list[Speed]:
        return self.fast

    def source(self, attempt: Attempt) -> bytes | None:
        return self.added[attempt.id][1]

    def why_hidden(self, exercise: FakeExercise) -> str | None:
        return self.hidden

    def mark_revealed(self, exercise: FakeExercise) -> None:
        self.revealed.append(exercise.slug)

    def solved(self) -> frozenset[str]:
        return frozenset(self.done)

    def tried(self) -> frozenset[str]:
        return frozenset(slug for slug, _, _ in self.added)

    def hints_used(self, exercise: FakeExercise) -> int:
        return self.hints.get(exercise.slug, 0)

    def use_hint(self, exercise: FakeExercise) -> int:
        self.hints[exercise.slug] = self.hints_used(exercise) + 1
        return self.hints[exercise.slug]

    def add(self, exercise: FakeExercise, source: bytes, verdict: Verdict) -> None:
        self.added.append((exercise.slug, source, verdict))
        if verdict.passed:
            self.done.add(exercise.slug)


def stage(name: StageName, status: Status, *found: Finding, seconds: float = 0.1, **more: object) -> StageResult:
    return StageResult(name=name, status=status, seconds=seconds, findings=list(found), **more)  # type: ignore[arg-type]


def verdict(results: Sequence[StageResult], *, passed: bool, output: str = "") -> Verdict:
    return Verdict(
        set="demo", exercise="f32_accumulator", attempt=AttemptId(path="x.py", sha256=""), passed=passed, score=1.0,
        stages=list(results), kernels=[], compile=[], timing=None, output=output,
        environment=Environment(python="3", jax="0", jaxlib="0", libtpu=None, device=None, isolation="C"), seconds=1.25,
    )  # fmt: skip


def access(ref: str, kind: str, line: int, *, dtype: str = "bfloat16", size: int = 32768) -> Access:
    return Access(
        ref=ref, space="vmem", kind=kind, line=line, column=8, shape=[128, 128], dtype=dtype, per_step=1,
        branch=False, bytes_per_step=size,
    )  # type: ignore[arg-type]  # fmt: skip


def operand(name: str, role: str, dtype: str, shape: list[int]) -> Operand:
    return Operand(name=name, argument=None, role=role, space="vmem", block_shape=[128, 128], shape=shape, dtype=dtype)  # type: ignore[arg-type]


KERNEL = Kernel(
    name="kernel", primitive="pallas_call", facts_case="square", grid=[4, 4, 8],
    operands=[
        operand("a_ref", "input", "bfloat16", [512, 1024]),
        operand("b_ref", "input", "bfloat16", [1024, 512]),
        operand("o_ref", "output", "bfloat16", [512, 512]),
        operand("acc_ref", "scratch", "float32", [128, 128]),
    ],
    accesses=[
        access("acc_ref", "store", 14, dtype="float32", size=65536),
        access("acc_ref", "load", 16, dtype="float32", size=65536),
        access("a_ref", "load", 16),
        access("b_ref", "load", 16),
        access("acc_ref", "accumulate", 16, dtype="float32", size=65536),
        access("acc_ref", "load", 20, dtype="float32", size=65536),
        access("o_ref", "store", 20),
    ],
    loads=4, stores=2, accumulates=1, copies=0, bytes_in=8388608, bytes_out=524288,
)  # fmt: skip


def walk(name: str, shape: list[int], axes: tuple[int, int], output: int | None = None) -> BlockWalk:
    blocks = [[(i, j, k)[axis] for axis in axes] for i in range(4) for j in range(4) for k in range(8)]
    return BlockWalk(operand=name, array_shape=shape, block_shape=[128, 128], blocks=blocks, output=output)


FACTS = CaseFacts(
    case="square", outside=[], outputs=[ArraySpec("o", [512, 512], "bfloat16")],
    kernels=[
        KernelFacts(
            kernel=KERNEL, inside=[], dots=[], aliases=[], steps=128, interpret=False, line=23, output_arguments=[0],
            walks=[
                walk("a_ref", [512, 1024], (0, 2)),
                walk("b_ref", [1024, 512], (2, 1)),
                walk("o_ref", [512, 512], (0, 1), 0),
            ],
            staged=[
                Staged("a_ref", 128, 4 << 20, 32, 1 << 20),
                Staged("b_ref", 128, 4 << 20, 32, 1 << 20),
                Staged("o_ref", 16, 512 << 10, 16, 512 << 10),
            ],
        )
    ],
)  # fmt: skip


def line(text: str, **facts: object) -> tuple[str, JaxprLine]:
    return text, JaxprLine(**facts)  # type: ignore[arg-type]


_BODY = [
    line("{ lambda ; a:MemRef<vmem>{bf16[128,128]} b:MemRef<vmem>{bf16[128,128]}", fold_end=16, kernel=0),
    line("    o:MemRef<vmem>{bf16[128,128]} acc:MemRef<vmem>{f32[128,128]}. let", kernel=0),
    line("    c:i32[] = program_id[axis=2]", primitive="program_id", source_line=12, depth=1),
    line("    d:bool[] = eq c 0:i32[]", primitive="eq", source_line=12, depth=1),
    line("    cond[branches=(", primitive="cond", source_line=12, depth=1, fold_end=7),
    line("        e:f32[128,128] = broadcast_in_dim 0.0:f32[]", primitive="broadcast_in_dim", source_line=14, depth=2),
    line("        acc[:,:] <- e", kind="store", ref="acc_ref", space="vmem", primitive="swap", source_line=14, depth=2),
    line("    )] d", depth=1),
    line("    f:f32[128,128] <- acc[:,:]", kind="load", ref="acc_ref", space="vmem", primitive="get", source_line=16),
    line("    g:bf16[128,128] <- a[:,:]", kind="load", ref="a_ref", space="vmem", primitive="get", source_line=16),
    line("    h:bf16[128,128] <- b[:,:]", kind="load", ref="b_ref", space="vmem", primitive="get", source_line=16),
    line("    i:f32[128,128] = dot_general g h", primitive="dot_general", source_line=16, depth=1),
    line("    j:f32[128,128] = add f i", primitive="add", source_line=16, depth=1),
    line("    acc[:,:] <- j", kind="accumulate", ref="acc_ref", space="vmem", primitive="swap", source_line=16),
    line("    k:f32[128,128] <- acc[:,:]", kind="load", ref="acc_ref", space="vmem", primitive="get", source_line=20),
    line("    o[:,:] <- convert k", kind="store", ref="o_ref", space="vmem", primitive="swap", source_line=20),
    line("  in () }", kernel=0),
]


def marked(body: list[tuple[str, JaxprLine]] = _BODY) -> MarkedJaxpr:
    spans: list[Span] = []
    for number, (text, record) in enumerate(body):
        if record.kind is not None:
            start = text.index(text.strip()[0])
            spans.append(Span(line=number, start=start, end=len(text), role=record.kind))
        elif record.primitive and record.primitive in text:
            start = text.index(record.primitive)
            spans.append(Span(line=number, start=start, end=start + len(record.primitive), role="primitive"))
        at = text.find("<vmem>")
        if at >= 0:
            spans.append(Span(line=number, start=at + 1, end=at + 5, role="space.vmem"))
    return MarkedJaxpr(
        text="\n".join(text for text, _ in body),
        lines=[record for _, record in body],
        spans=spans,
        explanations={"get": "Load: copies a slice of a Ref into registers.", "swap": "Store: writes a value."},
    )


MOSAIC = """\
#loc = loc(unknown)
#loc1 = loc("a_ref")
module @kernel attributes {stable_mosaic.version = 15 : i64} {
  "stable_mosaic.func.func"() ({
  ^bb0(%arg0: i32 loc(unknown), %arg1: memref<8x128xf32, #tpu.memory_space<vmem>> loc("a_ref")):
    %0 = "stable_mosaic.arith.constant"() {value = 0 : index} : () -> index loc(#loc5)
    %1 = "stable_mosaic.arith.cmpi"(%arg0, %0) {predicate = 0 : i64} : (i32, i32) -> i1 loc(#loc3)
    "stable_mosaic.scf.if"(%1) ({
      %2 = "stable_mosaic.vector.load"(%arg1, %0) : (memref<8x128xf32, #tpu.memory_space<vmem>>) -> f32 loc(#loc5)
      "stable_mosaic.tpu.vector_store"(%2, %arg1) {add = false, strides = array<i32>} : (f32, index) -> () loc(#loc5)
    }, {
      "stable_mosaic.scf.yield"() : () -> () loc(#loc)
    }) : (i1) -> () loc(#loc3)
    "stable_mosaic.func.return"() : () -> () loc(#loc)
  }) {function_type = (i32) -> (), sym_name = "main"} : () -> () loc(#loc)
} loc(#loc)
#loc2 = loc("x.py":14:8 to :20)
#loc3 = loc("kernel"(#loc2))
#loc4 = loc("x.py":16:4 to :9)
#loc5 = loc("add:"(callsite(#loc3 at #loc4)))"""

BAD = finding(
    "KT203",
    "The result is wrong when k = 4096. The error grows with k, so a sum is rounded at every step. x[i] [/x]",
    line=16,
    column=8,
    case="long_k",
    hint="Keep the running sum in an f32 scratch.",
    raw="AssertionError: relative error 6.7e-3 [/raw]\nat block (0, 1)",
)
NOTE = finding("KT320", "This Ref is read twice.", severity="note", line=20)


def passing() -> list[StageResult]:
    cases = [CaseResult(name=name, status="passed") for name in ("square", "tall", "long_k", "ragged")]
    return [
        stage("load", "passed", seconds=0.01),
        stage("trace", "passed", seconds=0.02),
        stage("interpret", "passed", seconds=0.31, cases=cases),
        stage("structure", "passed", seconds=0.01),
        stage("hazards", "passed", seconds=0.62),
        stage("lower", "passed", seconds=0.04),
        stage("compile", "passed", seconds=0.3),
        stage("device", "unavailable", reason="no TPU here"),
    ]


def failing() -> list[StageResult]:
    results = {result.name: result for result in passing()}
    cases = [CaseResult(name=n, status="failed" if n == "long_k" else "passed") for n in ("square", "tall", "long_k")]
    results["interpret"] = stage("interpret", "failed", BAD, NOTE, seconds=0.31, cases=cases)
    results["device"] = stage("device", "skipped", reason="interpret failed")
    return list(results.values())


def sweep_pictures() -> list[Sweep]:
    """A sweep of two keywords: one choice overflows, one is the attempt as it is called."""

    def tuned(bm: int, bn: int, us: float | None) -> Tuned:
        known = Schedule(us, us / 8, "memory", 1 << 20, 0.5, 0.0, {}, []) if us else None
        return Tuned(
            "v5e", {"bm": bm, "bn": bn}, "passed" if us else "overflow", None if us else "KT602", schedule=known
        )

    sweep = Sweep(
        set="fake", exercise="f32_accumulator", attempt=AttemptId("a.py", "0"), case="large", chips=["v5e"],
        own={"bm": 128, "bn": 128}, defaults={"bm": 128, "bn": 128}, parameters={"bm": [128, 256], "bn": [128, 512]},
        planned=4, possible=4,
    )  # fmt: skip
    pictures = [sweep]
    for bm, bn, us in ((128, 128, 300.0), (128, 512, 200.0), (256, 128, 100.0), (256, 512, None)):
        pictures.append(structs.replace(pictures[-1], tried=[*pictures[-1].tried, tuned(bm, bn, us)], seconds=1.0))
    return [*pictures, structs.replace(pictures[-1], complete=True)]


WORK = Work({"bf16": 34_359_738_368, "vector": 33_554_432}, 342_606_336, 41_943_040, True)
BETTER = structs.replace(WORK, moved=142_606_336)


def compiled(chip: str, us: float, reference: float | None = 215.0, work: Work | None = WORK) -> Compilation:
    return Compilation(
        chip, "large", "passed", work=work, reference_work=BETTER if reference else None,
        schedule=Schedule(us, us / 64, "memory", 342_606_336, 0.7, 0.0, {}, []),
        reference=Schedule(reference, 1.0, "compute", 1, 0.1, 0.0, {}, []) if reference else None,
        advice="Memory traffic limits it: `a_ref` is read 16 times over, 256 MiB for 16 MiB. Bigger blocks along the "
        "axes that it does not follow would help. [/x]",
    )  # fmt: skip


def speed(number: int, us: float, **more: object) -> Speed:
    base = Speed(
        number, 1.7e9 + 60 * number, "", number > 2, "v5e", "estimate", "large", us, 215.0, None, None,
        {"bf16": 34_359_738_368}, 1_042_606_336 - number * 10**8,
    )  # fmt: skip
    return replace(base, **more)  # type: ignore[arg-type]


def estimated(source: bytes) -> list[Event]:
    """Right, with an estimate for two chips."""
    *first, last = events(passing())
    assert isinstance(last, CheckFinished)
    compile = [compiled("v5e", 515.0), compiled("v6e", 255.0, 105.0)]
    return [*first, CheckFinished(structs.replace(last.verdict, compile=compile))]


@dataclass
class FakeChecker:
    """Plays `script(source)`; before each event it waits for `gate`, or for `pace` seconds (below 0: not at all)."""

    script: Callable[[bytes], list[Event]]
    pace: float = 0.0
    gate: asyncio.Event | None = None
    asked: Sequence[StageName] = STAGES
    started: list[bytes] = field(default_factory=list)
    cancelled: list[bytes] = field(default_factory=list)
    finished: list[bytes] = field(default_factory=list)
    closed: bool = False
    warmed: bool = False
    traced: list[tuple[bytes, bool]] = field(default_factory=list)
    tuned: list[bytes] = field(default_factory=list)

    async def tune(self, exercise: FakeExercise, source: bytes, path: Path) -> AsyncIterator[Sweep]:
        self.tuned.append(source)
        if b"no blocks" in source:
            raise CannotTune("It has no block sizes to sweep.", "Add some.")
        try:
            for picture in sweep_pictures():
                if self.gate is not None:
                    await self.gate.wait()
                yield picture
        except (asyncio.CancelledError, GeneratorExit):
            self.cancelled.append(source)
            raise

    async def trace(
        self, exercise: FakeExercise, source: bytes, path: Path, *, whole: bool = False
    ) -> KernelsTraced | None:
        self.traced.append((source, whole))
        if b"no trace" in source:
            return None
        body = [*_BODY, line("# the whole program")] if whole else [*_BODY[:9], _BODY[8], *_BODY[9:]]
        return KernelsTraced([structs.replace(KERNEL, loads=5)], marked(body))

    async def check(self, exercise: FakeExercise, source: bytes, path: Path) -> AsyncIterator[Event]:
        self.started.append(source)
        try:
            for event in self.script(source):
                if self.gate:
                    await self.gate.wait()
                elif self.pace >= 0:
                    await asyncio.sleep(self.pace)
                yield event
            self.finished.append(source)
        except (asyncio.CancelledError, GeneratorExit):
            self.cancelled.append(source)
            raise

    def stages(self, exercise: FakeExercise) -> Sequence[StageName]:
        return self.asked

    async def warm(self) -> None:
        self.warmed = True

    async def aclose(self) -> None:
        self.closed = True


def events(results: Sequence[StageResult], *, output: str = "", jaxpr: MarkedJaxpr | None = None) -> list[Event]:
    played: list[Event] = []
    for result in results:
        played += [StageStarted(result.name), StageFinished(result)]
        if result.name == "trace" and result.status == "passed":
            played.append(KernelsTraced([KERNEL], jaxpr or marked(), (FACTS,)))
        if result.name == "lower" and result.status == "passed":
            played.insert(-1, Lowered("square", MOSAIC, "x.py"))
    good = all(result.status in ("passed", "unavailable") for result in results)
    return [*played, CheckFinished(verdict(results, passed=good, output=output))]


def judged(source: bytes) -> list[Event]:
    """Right if the text says float32 for the sum, wrong otherwise."""
    return events(passing() if b"preferred_element_type" in source else failing(), output="hello\n[/x] \x1b[31m red\n")
