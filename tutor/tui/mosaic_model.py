"""The lowered module as text that one can read, with the learner's lines; and where lowering was refused.

MLIR is printed by the compiler in its generic form. Names of dialects stay, what says nothing about the kernel goes:
places become line numbers, operand types that the result repeats are left out, Refs have the learner's names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import structs

from tutor.protocol import AccessKind, Finding, JaxprLine, MarkedJaxpr, Space, Span
from tutor.tui.model import Trace

_PLACE = re.compile(r"(#loc\d*) = loc\((.*)\)$")
_LOCATED = re.compile(r'"(?P<file>(?:[^"\\]|\\.)*)":(?P<line>\d+):(?P<column>\d+)')
_SUFFIX = re.compile(r" loc\((#loc\d*|unknown|\"[^\"]*\")\)$")
_ARGUMENT = re.compile(r"(%arg\d+): (.*?) loc\((#loc\d*|unknown|\"[^\"]*\")\)(?:, |\):?$)")
_OPERATION = re.compile(
    r'(?P<results>%[\w:, ]+ = )?"(?:stable_mosaic\.)?(?P<name>[\w.]+)"\((?P<operands>[^)]*)\)(?P<rest>.*)'
)
_NOISE = re.compile(
    r"(?:operandSegmentSizes|resultSegmentSizes|fastmath|strides|function_type|transpose_lhs_hint) = "
    r"(?:array<[^>]*>|#[\w.]+<[^>]*>|false|true|\([^)]*\) -> (?:\([^)]*\)|\w+))(?:, )?"
    r"|(?:add|transpose_lhs|transpose_rhs) = false(?:, )?"
)
_COMPARISONS = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
_SPACES: dict[str, Space] = {"vmem": "vmem", "smem": "smem", "any": "any", "hbm": "hbm", "semaphore_mem": "semaphore"}
_KINDS: dict[str, AccessKind] = {
    "vector.load": "load",
    "tpu.vector_load": "load",
    "memref.load": "load",
    "tpu.load": "load",
    "tpu.strided_load": "load",
    "vector.store": "store",
    "tpu.vector_store": "store",
    "memref.store": "store",
    "tpu.store": "store",
    "tpu.strided_store": "store",
    "tpu.enqueue_dma": "copy_start",
    "tpu.wait_dma": "copy_wait",
    "tpu.wait_dma2": "copy_wait",
    "tpu.sem_signal": "semaphore",
    "tpu.sem_wait": "semaphore",
    "tpu.sem_read": "semaphore",
}


def readable(mosaic: str, path: str) -> MarkedJaxpr:
    """Mosaic modules as marked text. `path` is the learner's file as the module's places name it.

    Lines that are not understood are shown as they are."""
    page = _Page()
    for module in _modules(mosaic):
        if page.text:
            page.add("")
        _module(page, module, path)
    return page.done()


def _modules(mosaic: str) -> Iterator[list[str]]:
    """The lines of each module: every module names its places anew."""
    lines: list[str] = []
    named: set[str] = set()
    for line in mosaic.split("\n"):
        place = _PLACE.match(line)
        if place is not None and place[1] in named:
            yield lines
            lines, named = [], set()
        if place is not None:
            named.add(place[1])
        lines.append(line)
    yield lines


class _Page:
    def __init__(self) -> None:
        self.text: list[str] = []
        self.lines: list[JaxprLine] = []
        self.spans: list[Span] = []
        self.open: list[int] = []
        # From the first line of a further region to that of the operation's first one.
        self.belongs: dict[int, int] = {}

    def add(self, text: str, record: JaxprLine | None = None, pieces: Sequence[tuple[int, int, str]] = ()) -> None:
        number, depth = len(self.text), len(self.open)
        self.text.append("  " * depth + text)
        self.lines.append(structs.replace(record or JaxprLine(), depth=depth))
        self.spans += [Span(number, start + 2 * depth, end + 2 * depth, role) for start, end, role in pieces]

    def close(self) -> int | None:
        """End the innermost region; the answer is the line that it folds under."""
        if not self.open:
            return None
        head = self.open.pop()
        self.lines[head] = structs.replace(self.lines[head], fold_end=len(self.text))
        return head

    def done(self) -> MarkedJaxpr:
        return MarkedJaxpr("\n".join(self.text), self.lines, self.spans)


def _module(page: _Page, lines: Sequence[str], path: str) -> None:
    places = {found[1]: found[2] for line in lines if (found := _PLACE.match(line))}
    names: dict[str, str] = {}
    for raw in lines:
        line = raw.strip()
        if not line or _PLACE.match(line):
            continue
        if line.startswith("^"):
            names = _arguments(page, line, places)
            continue
        suffix = _SUFFIX.search(line)
        source = _place(suffix[1], places, path) if suffix is not None else None
        line = _SUFFIX.sub("", line)
        for argument, name in names.items():
            line = re.sub(rf"{argument}\b", name, line)
        line = re.sub(r"#tpu\.memory_space<(\w+)>", r"\1", line)
        if line.startswith("}"):
            _ended(page, line, source)
        else:
            _operation(page, line, source)


def _arguments(page: _Page, line: str, places: dict[str, str]) -> dict[str, str]:
    """The arguments of a block, one a line; the answer is what each is called here."""
    names = {}
    for argument, kind, place in _ARGUMENT.findall(line):
        written = places.get(place, place)
        given = written.strip('"')
        names[argument] = f"%{given}" if written.startswith('"') and given.isidentifier() else argument
        kind = re.sub(r"#tpu\.memory_space<(\w+)>", r"\1", kind)
        text = f"{names[argument]}: {kind}"
        space = next((s for word, s in _SPACES.items() if f", {word}>" in kind), None)
        page.add(text, JaxprLine(ref=given if names[argument] != argument else None, space=space), _colours(text))
    return names


def _ended(page: _Page, line: str, source: tuple[int, int] | None) -> None:
    head = page.close()
    if head is not None:
        name = re.search(r'sym_name = "(\w+)"', line)
        if name is not None:
            about = "  # index map" if name[1].startswith("transform_") else ""
            page.text[head] = f"{page.text[head].removesuffix(' {')} @{name[1]} {{{about}"
        first = page.belongs.get(head, head)
        if source is not None:  # an operation with regions has its place at its end
            page.lines[first] = structs.replace(page.lines[first], source_line=source[0], source_column=source[1])
    if line == "}, {":
        page.add("} else {")
        page.open.append(len(page.text) - 1)
        if head is not None:
            page.belongs[len(page.text) - 1] = page.belongs.get(head, head)
    else:
        page.add("}")


def _operation(page: _Page, line: str, source: tuple[int, int] | None) -> None:
    found = _OPERATION.match(line)
    where = {"source_line": source[0], "source_column": source[1]} if source else {}
    if found is None:
        page.add(line, JaxprLine(**where), _colours(line))  # type: ignore[arg-type]
    else:
        name, rest = found["name"], _NOISE.sub("", found["rest"])
        results, operands = found["results"] or "", found["operands"]
        text = f"{results}{name}{' ' if operands else ''}{operands}{_said(name, rest)}"
        kind = _KINDS.get(name)
        ref = next((word[1:] for word in operands.split(", ") if word.startswith("%") and not word[1:].isdigit()), None)
        record = JaxprLine(kind=kind, ref=ref if kind else None, primitive=name, **where)  # type: ignore[arg-type]
        at = len(results)
        page.add(text, record, [(at, at + len(name), kind or "primitive"), *_colours(text)])
    if line.endswith("{"):
        page.open.append(len(page.text) - 1)


def _said(name: str, rest: str) -> str:
    """Attributes and the type, as far as they say something: a constant's value, what a result or store is."""
    attributes = re.search(r"\{(.*)\}", rest)
    said = attributes[1].strip().removesuffix(",") if attributes else ""
    if comparison := re.fullmatch(r"predicate = (\d) : i64", said):
        said = _COMPARISONS[int(comparison[1])] if ".cmpi" in name else said
    value = re.fullmatch(r"value = (.*) : .*", said)
    kinds = re.search(r" : \((.*)\) -> (.*)$", rest)
    kind = ""
    if kinds is not None:
        kind = kinds[2] if kinds[2] != "()" else _first(kinds[1])
    text = f" {value[1]}" if value else f" {{{said}}}" if said else ""
    return text + (f" : {kind}" if kind else "") + (" {" if rest.rstrip().endswith("({") else "")


def _first(kinds: str) -> str:
    """The first type of a list; types hold commas themselves."""
    depth = 0
    for i, c in enumerate(kinds):
        depth += (c in "<(") - (c in ">)")
        if c == "," and depth == 0:
            return kinds[:i]
    return kinds


def _colours(text: str) -> list[tuple[int, int, str]]:
    found = re.finditer(rf"(?<=, )({'|'.join(_SPACES)})(?=>)", text)
    return [(m.start(), m.end(), f"space.{_SPACES[m[1]]}") for m in found]


def _place(name: str, places: dict[str, str], path: str, most: int = 32) -> tuple[int, int] | None:
    """The learner's line and column that a place leads to."""
    text = places.get(name, name)
    for found in _LOCATED.finditer(text):
        if found["file"] == path:
            return int(found["line"]), int(found["column"])
    if most:
        # The caller of a `callsite` comes last and counts: JAX lowers a helper once, at the place that used it first.
        for inner in reversed(re.findall(r"#loc\d+", text)):
            if (place := _place(inner, places, path, most - 1)) is not None:
                return place
    return None


# ---------------------------------------------------------------- refused

REFUSED = "!! "


def refused(trace: Trace, found: Sequence[Finding]) -> tuple[MarkedJaxpr, int] | None:
    """The jaxpr with the equations that were not lowered marked, and the first of them; None if no line is known.

    `found` are the findings of `lower`. Where a finding names a column, only equations from there are marked."""
    lines = trace.jaxpr.lines
    marked: set[int] = set()
    for finding in found:
        here = [i for i, line in enumerate(lines) if finding.line is not None and line.source_line == finding.line]
        exact = [i for i in here if finding.column is not None and lines[i].source_column == finding.column]
        marked.update(exact or here)
    if not marked:
        return None
    first = next((finding for finding in found if finding.line is not None), found[0])
    head = [
        f"# not lowered: {first.title} (line {first.line})",
        "# there is no module; what was refused is marked below",
    ]
    body = [(REFUSED if i in marked else "   ") + text for i, text in enumerate(trace.jaxpr.text.split("\n"))]
    records = [
        structs.replace(line, fold_end=None if line.fold_end is None else line.fold_end + len(head)) for line in lines
    ]
    spans = [Span(i, 0, len(text), "comment") for i, text in enumerate(head)]
    spans += [Span(s.line + len(head), s.start + len(REFUSED), s.end + len(REFUSED), s.role) for s in trace.jaxpr.spans]
    text = "\n".join([*head, *body])
    made = MarkedJaxpr(text, [JaxprLine() for _ in head] + records, spans, trace.jaxpr.explanations)
    return made, min(marked) + len(head)
