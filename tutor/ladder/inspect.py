"""`inspect`: the ladder on a file of the user's own, with its own arguments and reference, and no exercise."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import os
import sys
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path

import msgspec

from tutor.findings import finding
from tutor.ladder.check import AVAILABLE, Check, Ladder, follow, our_fault, trace_of
from tutor.ladder.chip import chips_here
from tutor.ladder.endings import ending
from tutor.ladder.events import Event, KernelsTraced, StageStarted
from tutor.ladder.jailed import JailedWorker
from tutor.ladder.runs import RUN_LIMITS, Failed
from tutor.ladder.subject import Subject, wanted_stages
from tutor.ladder.sweep_plan import CannotTune, Wanted
from tutor.ladder.tune import tune
from tutor.ladder.verdict import stage_result
from tutor.ladder.worker import BadAnswer, Worker, WorkerDied
from tutor.protocol import CaseSpec, Finding, StageName, StageResult, Sweep, ToleranceSpec
from tutor.wire import Attempt, Broken, ConfigValue, Ended, Given, Loaded, OwnFile, Prepared, PrepareJob

CASE = "make_args"
"""The name of the one case: the arguments come from there."""
DEFAULT_CHIPS = ("v5e", "v6e")
STRANGE = ("JAX_", "XLA_", "TPU_", "LIBTPU_", "PYTHONSTARTUP")
"""Variables that would make the stager's JAX another one than the judge's."""


class Inspector:
    """Judges files of the user's own. It is to the screen what `Ladder` is: `stages`, `warm`, `check`,
    `trace`, `aclose`.

    `function` is judged. Without `jail` the file may import from its own folder, the working directory and all of the
    user's Python environment; with it, it runs as an attempt at an exercise does, and can read its own folder besides.
    `chips` are those to compile for."""

    def __init__(self, function: str = "run", *, jail: bool = False, chips: Sequence[str] | None = None) -> None:
        self.function = function
        self.jail = jail
        self.chips = tuple(chips or DEFAULT_CHIPS)
        self._tuned_for = tuple(chips or chips_here(DEFAULT_CHIPS))
        self._ladder = Ladder() if jail else Ladder(open_worker())
        self._visible: Path | None = None

    def stages(self, exercise: object) -> Sequence[StageName]:
        """The stages of a whole inspection, in order."""
        return AVAILABLE

    async def warm(self) -> None:
        """Start the workers ahead of the first check. The jail is built when it is known what is to be seen in it."""
        if self.jail:
            judges = (self._ladder.judge.start(), self._ladder.compiler.start())
            await asyncio.gather(*judges, return_exceptions=True)
        else:
            await self._ladder.warm()

    async def check(
        self,
        exercise: object,
        source: bytes,
        path: Path | str,
        *,
        target: StageName | None = None,
        only: Sequence[StageName] | None = None,
        whole_jaxpr: bool = False,
    ) -> AsyncGenerator[Event]:
        """Judge one file; `exercise` is not looked at. `target` and `only` are as for `Ladder.check`. Closing the
        iterator stops every run of it."""
        stages = wanted_stages(target, AVAILABLE) if only is None else tuple(s for s in AVAILABLE if s in only)
        yield StageStarted(name="load")
        if self.jail:
            await self._show(Path(path).resolve().parent)
        attempt = self._attempt(source, str(path))
        prepared = await self._prepare(attempt) if isinstance(attempt, Attempt) else attempt
        if isinstance(prepared, Prepared) and isinstance(attempt, Attempt):
            judged, refused = _subject(attempt, prepared, self.chips), None
        else:
            assert isinstance(prepared, StageResult)
            judged, refused = _nothing(source, str(path), self.function, self.chips), prepared
        # Without a reference nothing confirms the numbers, and `passed` says that no stage failed.
        asked = target is None and only is None
        whole = asked and judged.given is not None and judged.given.expected is not None
        check = Check(self._ladder.runs(judged), stages, whole=whole, whole_jaxpr=whole_jaxpr, refused=refused)
        async with contextlib.aclosing(follow(check)) as events:
            async for event in events:
                if event != StageStarted(name="load"):
                    yield event

    async def trace(
        self, exercise: object, source: bytes, path: Path | str, *, whole: bool = False
    ) -> KernelsTraced | None:
        """As `Ladder.trace`."""
        return await trace_of(self.check(exercise, source, path, target="trace", whole_jaxpr=whole))

    async def tune(
        self, exercise: object, source: bytes, path: Path | str, *, wanted: Wanted = Wanted()
    ) -> AsyncGenerator[Sweep]:
        """As `Ladder.tune`, on the arguments of `make_args`, and by the estimate alone: a file of one's own has no
        reference to be timed beside. `CannotTune` if it has no block sizes, or does not load."""
        if self.jail:
            await self._show(Path(path).resolve().parent)
        attempt = self._attempt(source, str(path))
        prepared = await self._prepare(attempt) if isinstance(attempt, Attempt) else attempt
        if not isinstance(prepared, Prepared) or not isinstance(attempt, Attempt):
            found = next(iter(prepared.findings), None) if isinstance(prepared, StageResult) else None
            words = f" {found.code}: {found.message}" if found else ""
            raise CannotTune(f"{Path(path).name} does not load.{words}", f"`kerneltutor inspect {path}` says more.")
        judged = _subject(attempt, prepared, self._tuned_for)
        sweep = tune(self._ladder.runs(judged), wanted, None, self._ladder.new_compiler)
        async with contextlib.aclosing(sweep) as pictures:
            async for picture in pictures:
                yield picture

    async def aclose(self) -> None:
        """End the workers."""
        await self._ladder.aclose()

    def _attempt(self, source: bytes, path: str) -> Attempt | StageResult:
        config = config_of(source)
        if isinstance(config, Finding):
            return stage_result("load", [config])
        folder, here = Path(path).resolve().parent, str(Path.cwd())
        package, root = package_of(folder)
        own = OwnFile(config, list(dict.fromkeys([str(folder), here, str(root)])), here, package)
        jailed = OwnFile(config, list(dict.fromkeys([str(folder), str(root)])), package=package)
        return Attempt(source, path, self.function, jailed if self.jail else own)

    async def _show(self, folder: Path) -> None:
        """Start the jail anew with this folder to be seen in it, unless it is seen already."""
        if folder != self._visible:
            await self._ladder.stage.aclose()
            self._ladder.stage = JailedWorker("tutor.stage", shown=[folder])
            self._visible = folder

    async def _prepare(self, attempt: Attempt) -> Prepared | StageResult:
        """The file's arguments and wanted outputs, or the result of `load` that says why there are none."""
        began = time.monotonic()
        worker = self._ladder.stage
        try:
            async for answer in worker.run(PrepareJob(attempt, RUN_LIMITS)):
                if isinstance(answer, Prepared):
                    return answer
                if isinstance(answer, Loaded):
                    return stage_result("load", answer.findings, seconds=time.monotonic() - began)
                if isinstance(answer, Broken):
                    raise Failed(answer)
                if isinstance(answer, Ended):
                    found = ending(answer, "load", wall_seconds=RUN_LIMITS.wall_seconds)
                    return stage_result("load", [found], seconds=time.monotonic() - began)
        except (WorkerDied, BadAnswer, Failed) as error:
            return our_fault("load", error, time.monotonic() - began)
        raise AssertionError("a run always ends")


def open_worker() -> Worker:
    """A stage worker that has the user's environment: PYTHONPATH, user site, and every variable but JAX's own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(STRANGE)}
    # -P, as `-m` would put the working directory first, where a file may be called as one of our modules is.
    return Worker("tutor.stage", (sys.executable, "-P", "-m", "tutor.stage"), environment)


def package_of(folder: Path) -> tuple[str, Path]:
    """The package that a folder is, by the `__init__.py` in it and above it, and the folder to import that from. What
    is no package has an empty name, and is itself the place."""
    names: list[str] = []
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        names.insert(0, folder.name)
        folder = folder.parent
    return ".".join(names), folder


def config_of(source: bytes) -> dict[str, ConfigValue] | Finding:
    """The file's CONFIG. It is read and not run, because it holds before the file runs. Broken Python has none here:
    loading says what is wrong with it."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    for node in tree.body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id="CONFIG")], value=value)
                | ast.AnnAssign(target=ast.Name(id="CONFIG"), value=ast.expr() as value)
            ):
                return _literal_config(value)
    return {}


def _literal_config(node: ast.expr) -> dict[str, ConfigValue] | Finding:
    try:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict" and not node.args:
            value: object = {k.arg: ast.literal_eval(k.value) for k in node.keywords}
        else:
            value = ast.literal_eval(node)
        return msgspec.convert(value, dict[str, bool | int | float | str | None])
    except (ValueError, TypeError, msgspec.ValidationError):
        message = (
            "CONFIG must be written out, as in {'jax_enable_x64': True}: it is applied before the file runs, so it is "
            "read and not computed. Names are strings; values are numbers, strings, True, False or None."
        )
        return finding("KT130", message, line=node.lineno, column=node.col_offset)


def _subject(attempt: Attempt, prepared: Prepared, chips: tuple[str, ...]) -> Subject:
    case = CaseSpec(CASE, prepared.inputs, [], {}, {}, seeds=1, hazard=True)
    config: Mapping[str, ConfigValue] = attempt.own.config if attempt.own else {}
    return Subject(
        set_id=None,
        slug=None,
        attempt=attempt,
        cases=[case],
        oracle=None,
        rules=None,
        tolerance=prepared.tolerance,
        points={},
        diagnosis={},
        reference=None,
        time_case=case,
        chips=chips,
        given=Given(prepared.data, prepared.expected, dict(config)),
        integers=prepared.integers,
        may_hang=prepared.may_hang,
    )


def _nothing(source: bytes, path: str, function: str, chips: tuple[str, ...]) -> Subject:
    """A file of which nothing is known but its text."""
    empty = Prepared([], b"", b"", None, ToleranceSpec(), False, 0.0)
    return _subject(Attempt(source, path, function, OwnFile()), empty, chips)
