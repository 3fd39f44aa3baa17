"""What the keys of a manifest must mean together. Every check is pure and says all that is wrong, not the first."""

from __future__ import annotations

import datetime
import keyword
import re
from collections.abc import Iterable, Iterator, Mapping

from tutor.protocol import STAGES, Rules
from tutor.sets.errors import Problem, did_you_mean
from tutor.sets.late import check_late
from tutor.sets.manifest import ArrayEntry, CaseEntry, Dim, ExerciseManifest, SetManifest
from tutor.sets.shapes import UnknownSize, dimension, factors

SLUG = re.compile(r"[a-z][a-z0-9_]*")
SET_ID = re.compile(r"[a-z0-9][a-z0-9_.-]*")
CHAPTER = re.compile(r"\d\d_[a-z][a-z0-9_]*")
CODE = re.compile(r"KT\d{3}")
CHIPS = ("v4", "v5e", "v5p", "v6e", "tpu7x")
DTYPES = (
    "bool", "int4", "int8", "int16", "int32", "uint4", "uint8", "uint16", "uint32",
    "bfloat16", "float16", "float32", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz",
)  # fmt: skip
QUANTITY = re.compile(
    r"(loads|stores|space)\.\w+|(block|refetched)\.\w+@(\d+)|line\.\w+|copies|bytes_in|bytes_out|races|vector_loads"
)
KERNEL_ONLY = ("entry", "starter", "input", "output", "static", "case", "rules")


def check_set(manifest: SetManifest) -> list[Problem]:
    """What is wrong with a `set.toml`, beyond keys and types."""
    return [
        *_pattern(("id",), manifest.id, SET_ID, "small letters, digits, _, - and ."),
        *_chips(manifest.chips),
        *_jax_range(manifest.jax),
        *_reveal(manifest),
        *check_late(manifest.late),
        *_duplicates(("chapters",), manifest.chapters, "chapter"),
        *(
            problem
            for i, name in enumerate(manifest.chapters)
            for problem in _pattern(("chapters", i), name, CHAPTER, "two digits, _ and small letters, as in 03_memory")
        ),
    ]


def check_exercise(manifest: ExerciseManifest) -> list[Problem]:
    """What is wrong with an `exercise.toml`, beyond keys and types."""
    problems = list(_pattern(("slug",), manifest.slug, SLUG, "small letters, digits and _"))
    if not manifest.title.strip():
        problems.append(Problem(("title",), "is empty."))
    problems += _chips(manifest.chips or ())
    problems += _duplicates(("requires",), manifest.requires, "exercise")
    if manifest.slug in manifest.requires:
        problems.append(Problem(("requires",), "names the exercise itself."))
    for i, diagnosis in enumerate(manifest.diagnosis):
        if not CODE.fullmatch(diagnosis.when):
            problems.append(Problem(("diagnosis", i, "when"), f'must be a code such as KT401, not "{diagnosis.when}".'))
    for stage, weight in manifest.points.items():
        if weight < 0:
            problems.append(Problem(("points", stage), "must not be negative."))
    problems += _predict(manifest) if manifest.kind == "predict" else _kernel(manifest)
    return problems


def check_hidden(cases: tuple[CaseEntry, ...], manifest: ExerciseManifest) -> list[Problem]:
    """What is wrong with the cases of a `hidden.toml` that belongs to `manifest`."""
    return [*_cases(cases, manifest), *_duplicates(("case",), [c.name for c in manifest.cases + cases], "case")]


def _kernel(manifest: ExerciseManifest) -> Iterator[Problem]:
    for key, value in (("entry", manifest.entry), ("starter", manifest.starter)):
        if not value:
            yield Problem((key,), "is missing (a kernel exercise needs it).")
    if manifest.entry and (not manifest.entry.isidentifier() or keyword.iskeyword(manifest.entry)):
        yield Problem(("entry",), f'must be the name of a function, not "{manifest.entry}".')
    if manifest.starter:
        yield from _expectation(("starter",), manifest.starter)
    for name, entries in (("input", manifest.inputs), ("output", manifest.outputs)):
        if not entries:
            yield Problem((name,), "is missing (a kernel exercise needs at least one).")
        for i, entry in enumerate(entries):
            if not entry.name.isidentifier():
                yield Problem((name, i, "name"), f'must be a name, not "{entry.name}".')
            if entry.dtype not in DTYPES:
                yield Problem((name, i, "dtype"), f'"{entry.dtype}" is no dtype.', did_you_mean(entry.dtype, DTYPES))
    names = [e.name for e in manifest.inputs + manifest.outputs]
    yield from _duplicates(("input",), names, "input or output")
    if manifest.questions:
        yield Problem(("question",), 'belongs to kind = "predict".')
    if not manifest.cases:
        yield Problem(("case",), "is missing (a kernel exercise needs at least one).")
        return
    yield from _duplicates(("case",), [c.name for c in manifest.cases], "case")
    if not any(c.hazard for c in manifest.cases):
        yield Problem(("case",), "no case has hazard = true; one that is small must have it.")
    if not any(c.role == "check" for c in manifest.cases):
        yield Problem(("case",), 'every case has role = "time"; at least one must be "check".')
    yield from _cases(manifest.cases, manifest)
    yield from _rules(manifest.rules, manifest)


def _predict(manifest: ExerciseManifest) -> Iterator[Problem]:
    used = {
        "entry": manifest.entry, "starter": manifest.starter, "input": manifest.inputs, "output": manifest.outputs,
        "static": manifest.static, "case": manifest.cases, "rules": manifest.rules != Rules(),
    }  # fmt: skip
    for key in KERNEL_ONLY:
        if used[key]:
            yield Problem((key,), 'belongs to kind = "kernel".')
    if not manifest.questions:
        yield Problem(("question",), "is missing (a predict exercise needs at least one).")
    yield from _duplicates(("question",), [q.id for q in manifest.questions], "question")
    for i, question in enumerate(manifest.questions):
        if not question.id.isidentifier() or keyword.iskeyword(question.id):
            yield Problem(("question", i, "id"), f'must be a name that Python can assign to, not "{question.id}".')
        if not QUANTITY.fullmatch(question.quantity):
            known = ("loads.REF", "stores.REF", "copies", "bytes_in", "bytes_out", "block.OPERAND@STEP",
                     "refetched.OPERAND@STEP", "races", "space.REF", "vector_loads", "line.KIND")  # fmt: skip
            near = did_you_mean(question.quantity, known)
            yield Problem(("question", i, "quantity"), f'"{question.quantity}" is no known quantity.', near)


def _cases(cases: tuple[CaseEntry, ...], manifest: ExerciseManifest) -> Iterator[Problem]:
    for i, case in enumerate(cases):
        if not case.name.strip():
            yield Problem(("case", i, "name"), "is empty.")
        if case.seeds < 1:
            yield Problem(("case", i, "seeds"), "must be at least 1.")
        yield from _static(("case", i, "static"), case.static, case)
        for table, entries in (("input", manifest.inputs), ("output", manifest.outputs)):
            yield from _shapes(table, entries, case)
        yield from _static(("static",), {k: v for k, v in manifest.static.items() if k not in case.static}, case)


def _shapes(table: str, entries: tuple[ArrayEntry, ...], case: CaseEntry) -> Iterator[Problem]:
    for i, entry in enumerate(entries):
        for dim in entry.shape:
            yield from _dim((table, i, "shape"), dim, case)


def _static(key: tuple[str | int, ...], static: Mapping[str, object], case: CaseEntry) -> Iterator[Problem]:
    for name, value in static.items():
        if not name.isidentifier():
            yield Problem((*key, name), "must be the name of a keyword argument.")
        if isinstance(value, str):
            yield from _dim((*key, name), value, case)


def _dim(key: tuple[str | int, ...], dim: Dim, case: CaseEntry) -> Iterator[Problem]:
    try:
        if dimension(dim, case.sizes) < 0:
            yield Problem(key, "must not be negative.")
    except UnknownSize as error:
        missing = str(error.args[0])
        message = f'uses "{missing}", a size that case "{case.name}" does not give.'
        yield Problem(key, message, did_you_mean(missing, case.sizes))


def _rules(rules: Rules, manifest: ExerciseManifest) -> Iterator[Problem]:
    inputs = [e.name for e in manifest.inputs]
    outputs = [e.name for e in manifest.outputs]
    named: list[tuple[tuple[str | int, ...], str, list[str]]] = []
    for table in ("space", "max_loads", "max_stores", "max_block"):
        counted = table in ("max_loads", "max_stores")
        named += [
            (("rules", table, name), name, inputs + outputs)
            for name in getattr(rules, table)
            if not (counted and name == "scratch")  # all buffers of the kernel's own
        ]
    named += [(("rules", "fetch_once", i), name, inputs) for i, name in enumerate(rules.fetch_once)]
    for i, alias in enumerate(rules.alias):
        named.append((("rules", "alias", i, "from"), alias.source, ["fresh", *inputs]))
        named.append((("rules", "alias", i, "to"), alias.to, outputs))
    for key, name, known in named:
        if name not in known:
            what = "output" if known is outputs else "input or output" if known == inputs + outputs else "input"
            yield Problem(key, f'"{name}" is no {what} of the exercise.', did_you_mean(name, known))
    counts = {"kernels": rules.kernels, "min_copies": rules.min_copies,
              "max_steps_ratio": rules.max_steps_ratio, "max_bytes_ratio": rules.max_bytes_ratio}  # fmt: skip
    for word, value in counts.items():
        if value is not None and value < 0:
            yield Problem(("rules", word), "must not be negative.")
    for table in ("max_loads", "max_stores"):
        for name, value in getattr(rules, table).items():
            if value < 0:
                yield Problem(("rules", table, name), "must not be negative.")
    sizes = set.intersection(*(set(c.sizes) | set(c.static) | set(manifest.static) for c in manifest.cases))
    for i, scratch in enumerate(rules.scratch):
        if scratch.space != "semaphore" and scratch.dtype not in DTYPES:
            message = f'"{scratch.dtype}" is no dtype.'
            yield Problem(("rules", "scratch", i, "dtype"), message, did_you_mean(scratch.dtype, DTYPES))
        for dim in scratch.shape or ():
            for name in factors(dim):
                if not name.lstrip("-").isdecimal() and name not in sizes:
                    message = f'uses "{name}", which is no size of every case.'
                    yield Problem(("rules", "scratch", i, "shape"), message, did_you_mean(name, sizes))
    for name, most in rules.max_block.items():
        for factor in factors(most):
            if not factor.lstrip("-").isdecimal() and factor not in sizes:
                message = f'uses "{factor}", which is no size or keyword argument of every case.'
                yield Problem(("rules", "max_block", name), message, did_you_mean(factor, sizes))
    if rules.dot_dtype is not None and rules.dot_dtype not in DTYPES:
        message = f'"{rules.dot_dtype}" is no dtype.'
        yield Problem(("rules", "dot_dtype"), message, did_you_mean(rules.dot_dtype, DTYPES))


def _expectation(key: tuple[str | int, ...], text: str) -> Iterator[Problem]:
    """`STAGE KTnnn`."""
    words = text.split()
    if len(words) != 2 or not CODE.fullmatch(words[1]):
        yield Problem(key, f'must be a stage and a code, as in "hazards KT401", not "{text}".')
    elif words[0] not in STAGES:
        yield Problem(key, f'"{words[0]}" is no stage.', did_you_mean(words[0], STAGES))


def _pattern(key: tuple[str | int, ...], value: str, pattern: re.Pattern[str], words: str) -> Iterator[Problem]:
    if not pattern.fullmatch(value):
        yield Problem(key, f'must be made of {words}, not "{value}".')


def _duplicates(key: tuple[str | int, ...], names: Iterable[str], what: str) -> Iterator[Problem]:
    seen: set[str] = set()
    told: set[str] = set()
    for name in names:
        if name in seen and name not in told:
            told.add(name)
            yield Problem(key, f'two have the name "{name}"; each {what} needs its own.')
        seen.add(name)


def _chips(chips: Iterable[str]) -> Iterator[Problem]:
    for i, chip in enumerate(chips):
        if chip not in CHIPS:
            yield Problem(("chips", i), f'"{chip}" is no known chip.', did_you_mean(chip, CHIPS))


def _jax_range(text: str) -> Iterator[Problem]:
    if not all(re.fullmatch(r"\s*(==|!=|>=|<=|~=|>|<)\s*\d+(\.\d+)*(\.\*)?\s*", part) for part in text.split(",")):
        yield Problem(("jax",), f'must be a version range such as ">=0.12,<0.13", not "{text}".')


def _reveal(manifest: SetManifest) -> Iterator[Problem]:
    reveal = manifest.reveal
    if reveal.when == "tries" and (reveal.tries is None or reveal.tries < 1):
        yield Problem(("reveal", "tries"), 'must be at least 1 when = "tries".')
    if reveal.when == "date" and reveal.date is None:
        yield Problem(("reveal", "date"), 'is missing, and when = "date".')
    if reveal.date is not None:
        try:
            datetime.datetime.fromisoformat(reveal.date)
        except ValueError:
            yield Problem(("reveal", "date"), f'must be a date such as 2030-01-31, not "{reveal.date}".')
