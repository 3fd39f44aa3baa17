"""A predict exercise (FORMATS 1): the learner's literals beside what the jaxpr of the author's kernels says.

The stages are `load` and `structure`. The author's kernels are traced by the stager like any attempt, once in the life
of a `Ladder`, so no file holds an answer. Until all answers are right, nothing that is sent out holds one: the marked
jaxpr is shown, the access table is not."""

from __future__ import annotations

import hashlib
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass

import msgspec

from tutor.findings import finding
from tutor.ladder.answers import Answer, Answers, fits, form_in_words, read_answers, right
from tutor.ladder.chip import find_device
from tutor.ladder.events import CheckFinished, Event, KernelsTraced, StageFinished, StageStarted
from tutor.ladder.quantities import Unanswerable, Value, read_quantity, value_of, where_to_look
from tutor.ladder.runs import RUN_LIMITS, TRACE_LIMITS
from tutor.ladder.subject import Named
from tutor.ladder.verdict import assemble, in_own_words
from tutor.ladder.worker import BadAnswer, Worker, WorkerDied
from tutor.protocol import CaseFacts, Finding, Kernel, MarkedJaxpr, StageName, StageResult
from tutor.sets.exercise import Exercise
from tutor.sets.manifest import Question
from tutor.wire import HAZARD_MODES, Attempt, Broken, Ended, KernelsJob, Loaded, Simulated, Traced

_RACE = "KT405"


class BrokenKernels(Exception):
    """The author's kernels, or a question about them, are at fault."""

    def __init__(self, message: str, raw: str | None = None) -> None:
        super().__init__(message)
        self.finding = finding("KT904", message, raw=raw)


@dataclass(frozen=True)
class Kernels:
    """What the author's kernels say: facts by function name, and all of them as one marked jaxpr."""

    facts: dict[str, CaseFacts]
    marked: MarkedJaxpr

    def first_line(self, name: str) -> int | None:
        """The line of the marked jaxpr (1-based) at which the kernels of a function begin."""
        before = 0
        for other, facts in self.facts.items():
            if other == name:
                break
            before += len(facts.kernels)
        return next((i + 1 for i, line in enumerate(self.marked.lines) if line.kernel == before), None)


@dataclass(frozen=True)
class Solved:
    """The right answers, by question, and what they were read from."""

    questions: tuple[Question, ...]
    kernels: Kernels
    answers: dict[str, Value]

    @property
    def shown(self) -> list[Kernel]:
        """The kernels of the access table."""
        return [_no_lines(kernel.kernel) for facts in self.kernels.facts.values() for kernel in facts.kernels]


async def check_answers(
    worker: Worker,
    exercise: Exercise,
    source: bytes,
    path: str,
    *,
    known: dict[str, Solved],
    target: StageName | None = None,
) -> AsyncGenerator[Event]:
    """Judge a file of answers. A `target` before `structure` stops there. `known`: what was solved before."""
    began = time.monotonic()
    questions = exercise.manifest.questions
    diagnosis = {entry.when: entry.say for entry in exercise.manifest.diagnosis}
    done: dict[StageName, StageResult] = {}

    yield StageStarted("load")
    given = read_answers(source, [question.id for question in questions])
    failed = any(found.severity == "error" for found in given.findings)
    seconds = time.monotonic() - began
    load = StageResult("load", "failed" if failed else "passed", round(seconds, 3), None, given.findings)
    done["load"] = in_own_words(load, diagnosis)
    yield StageFinished(done["load"])

    solved: Solved | None = None
    yield StageStarted("structure")
    started = time.monotonic()
    try:
        solved = await solve(worker, exercise, known)
    except BrokenKernels as error:
        structure = _our_fault(error.finding)
    except WorkerDied as error:
        structure = _our_fault(finding("KT902", "A worker process of the tutor ended.", raw=error.tail or None))
    except BadAnswer as error:
        structure = _our_fault(finding("KT903", "A worker of the tutor answered with no record.", raw=str(error)))
    else:
        yield KernelsTraced(kernels=[], jaxpr=_without_places(solved.kernels.marked))
        structure = StageResult("structure", "skipped", reason="load did not pass") if failed else _judge(given, solved)
    structure = msgspec.structs.replace(structure, seconds=round(time.monotonic() - started, 3))
    if target != "load":
        done["structure"] = in_own_words(structure, diagnosis)
        yield StageFinished(done["structure"])

    right_ones = solved is not None and all(stage.status == "passed" for stage in done.values()) and len(done) == 2
    table = solved.shown if solved is not None and right_ones else []
    if solved is not None and table:
        yield KernelsTraced(kernels=table, jaxpr=_without_places(solved.kernels.marked))
    verdict = assemble(
        Named(exercise.set_id, exercise.slug, Attempt(source, path, ""), dict(exercise.manifest.points)),
        done,
        kernels=table,
        compiled=[],
        timing=None,
        printed="",
        hello=worker.hello,
        device=find_device(),
        whole=False,  # nothing is run, so no number waits to be confirmed
        seconds=time.monotonic() - began,
    )
    yield CheckFinished(verdict)


async def solve(worker: Worker, exercise: Exercise, known: dict[str, Solved]) -> Solved:
    """The right answers of an exercise, which are then in `known`. `BrokenKernels` if there are none."""
    await worker.start()  # the verdict names the worker's versions, also where it has nothing to do
    name = _hash(exercise)
    if name not in known:
        known[name] = await _solve(worker, exercise)
    return known[name]


def _hash(exercise: Exercise) -> str:
    """Of all that the answers follow from, so that an author who edits sees what comes of it."""
    written = (_file(exercise).source, msgspec.json.encode(exercise.manifest.questions))
    return hashlib.sha256(b"".join(hashlib.sha256(piece).digest() for piece in written)).hexdigest()


async def _solve(worker: Worker, exercise: Exercise) -> Solved:
    questions = exercise.manifest.questions
    kernels = await trace_kernels(worker, exercise)
    answers: dict[str, Value] = {}
    for question in questions:
        facts = kernels.facts[question.kernel]
        quantity = read_quantity(question.quantity)
        races = await _races(worker, exercise, question.kernel, facts) if quantity.what == "races" else None
        try:
            answers[question.id] = value_of(quantity, facts, races=races)
        except Unanswerable as error:
            raise BrokenKernels(f"Question `{question.id}` about {question.kernel} has no answer: {error}.") from None
    return Solved(questions, kernels, answers)


async def trace_kernels(worker: Worker, exercise: Exercise) -> Kernels:
    """Trace every kernel that a question names, in the order of the questions."""
    names = list(dict.fromkeys(question.kernel for question in exercise.manifest.questions))
    maps = any(q.quantity.startswith(("block", "refetched", "bytes")) for q in exercise.manifest.questions)
    facts: dict[str, CaseFacts] = {}
    marked: MarkedJaxpr | None = None
    async for answer in worker.run(KernelsJob(_file(exercise), names, limits=TRACE_LIMITS, whole=maps)):
        if isinstance(answer, Loaded | Traced) and answer.findings:
            raise BrokenKernels(f"kernels.py: {answer.findings[0].message}", answer.findings[0].raw)
        if isinstance(answer, Traced) and answer.facts is not None:
            facts[answer.case] = answer.facts
            marked = marked or answer.marked
        elif isinstance(answer, Broken):
            raise BrokenKernels(f"kernels.py: {answer.message}", answer.traceback)
        elif isinstance(answer, Ended) and (len(facts) < len(names) or marked is None):
            raise BrokenKernels("kernels.py could not be traced.", answer.printed or answer.detail or None)
    assert marked is not None
    return Kernels(facts, marked)


async def _races(worker: Worker, exercise: Exercise, name: str, facts: CaseFacts) -> bool | None:
    """Whether the simulator sees a race, in any mode that the kernel needs; None if it cannot tell."""
    told = False
    for mode in (mode for mode in HAZARD_MODES if mode in facts.modes):
        async for answer in worker.run(KernelsJob(_file(exercise), [name], mode, RUN_LIMITS)):
            if isinstance(answer, Simulated):
                if any(found.code == _RACE for found in answer.findings):
                    return True
                told = told or answer.unavailable is None
    return False if told else None


def _file(exercise: Exercise) -> Attempt:
    path = exercise.kernels
    assert path is not None
    try:
        return Attempt(path.read_bytes(), str(path), "")
    except OSError as error:
        raise BrokenKernels(f"{path} cannot be read: {error.strerror}.") from None


def _judge(given: Answers, solved: Solved) -> StageResult:
    findings: list[Finding] = []
    for question in solved.questions:
        answer = given.given.get(question.id)
        if answer is None or not right(answer.value, solved.answers[question.id]):
            findings.append(_wrong(question, answer, solved))
    return StageResult("structure", "failed" if findings else "passed", findings=findings)


def _wrong(question: Question, answer: Answer | None, solved: Solved) -> Finding:
    """Which question, what was written, and where to look: never the value."""
    quantity = read_quantity(question.quantity)
    facts = solved.kernels.facts[question.kernel]
    asked = question.ask.strip()
    at = solved.kernels.first_line(question.kernel)
    place = f"`{question.kernel}`, from line {at} of the marked jaxpr on" if at else f"`{question.kernel}`"
    hint = f"In {place}, look at {where_to_look(quantity, facts)}."
    if answer is None or answer.value is None:
        said = f"`{question.id}` is not answered yet: {asked}"
    elif not fits(answer.value, quantity.form):
        said = f"`{question.id}`: {asked} You wrote {answer.written}, but the answer is {form_in_words(quantity.form)}."
    else:
        said = f"`{question.id}`: {asked} You wrote {answer.written}, and that is not right."
    return finding("KT346", said, line=answer.line if answer else None, hint=hint)


def _our_fault(found: Finding) -> StageResult:
    return StageResult("structure", "error", reason=found.message, findings=[found])


def _without_places(marked: MarkedJaxpr) -> MarkedJaxpr:
    """The places are lines of kernels.py; whoever shows the jaxpr would take them for lines of the answers."""
    lines = [msgspec.structs.replace(line, source_line=None, source_column=None) for line in marked.lines]
    return msgspec.structs.replace(marked, lines=lines)


def _no_lines(kernel: Kernel) -> Kernel:
    accesses = [msgspec.structs.replace(access, line=None, column=None) for access in kernel.accesses]
    return msgspec.structs.replace(kernel, accesses=accesses)
