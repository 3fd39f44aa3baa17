"""A jaxpr as text that knows what each of its lines means.

The text is written from the equations, never parsed from JAX's own: kernels first, one equation a line, bodies
indented below the equation that runs them. Every line carries its access, its source place and the lines that fold
under it; every coloured piece is a span. Names from the learner's program are plain data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tutor.jaxpr.compat import DropVar, Jaxpr, Var, is_ref
from tutor.jaxpr.equations import Body
from tutor.jaxpr.kernels import KERNEL_PRIMITIVES, KernelParts, kernel_parts
from tutor.jaxpr.names import NameBook, clean
from tutor.jaxpr.nest import Level, Node, Touch, read_kernel
from tutor.jaxpr.notation import Piece, binder, index_pieces, is_constant, literal, parameters
from tutor.jaxpr.primitives import explain
from tutor.protocol import AccessKind, JaxprLine, MarkedJaxpr, Space, Span

INDENT = 2


def marked(jaxpr: Jaxpr, file_name: str, whole: bool = False) -> MarkedJaxpr:
    """The kernels of a traced program as marked text; `whole` adds their index maps and the program around them.

    `file_name` is the learner's file: source lines are lines of it."""
    program = read_kernel(jaxpr, dict(zip(jaxpr.invars, jaxpr.debug_info.arg_names or (), strict=False)), file_name)
    page = _Page()
    calls: dict[int, list[int]] = {}
    count = 0
    for node in program.walk():
        if node.eqn.primitive.name not in KERNEL_PRIMITIVES:
            continue
        for parts in kernel_parts(node.eqn):
            if count:
                page.line([])
            calls.setdefault(id(node), []).append(count)
            _kernel(page, parts, count, node, file_name, whole)
            count += 1
    if whole or not count:
        if count:
            page.line([])
        page.kernel = None
        page.line([("# the whole program", "comment")])
        _Printer(page, program, calls).top("program", ())
    return page.done()


class _Page:
    """Lines, their meanings and their spans, as they are written."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.lines: list[JaxprLine] = []
        self.spans: list[Span] = []
        self.kernel: int | None = None
        self.folds: dict[int, int] = {}

    def line(
        self,
        pieces: Iterable[Piece],
        depth: int = 0,
        node: Node | None = None,
        kind: AccessKind | None = None,
        ref: str | None = None,
        space: Space | None = None,
    ) -> int:
        """Write one line and give its number."""
        number = len(self.text)
        text = [" " * (INDENT * depth)]
        at = INDENT * depth
        spans = self.spans
        for piece, role in pieces:
            text.append(piece)
            if role is not None:
                spans.append(Span(number, at, at + len(piece), role))
            at += len(piece)
        self.text.append("".join(text))
        place = node.place if node else None
        self.lines.append(
            JaxprLine(
                kind, ref, space, place.line if place else None, place.column if place else None, depth, self.kernel,
                node.eqn.primitive.name if node else None,
            )
        )  # fmt: skip
        return number

    def fold(self, first: int) -> None:
        """Everything after line `first` up to here folds under it."""
        if len(self.text) - 1 > first:
            self.folds[first] = len(self.text) - 1

    def done(self) -> MarkedJaxpr:
        for first, last in self.folds.items():
            old = self.lines[first]
            self.lines[first] = JaxprLine(
                old.kind, old.ref, old.space, old.source_line, old.source_column, old.depth, old.kernel,
                old.primitive, last,
            )  # fmt: skip
        seen = sorted({line.primitive for line in self.lines if line.primitive})
        explained = {name: words for name in seen if (words := explain(name))}
        return MarkedJaxpr("\n".join(self.text), self.lines, self.spans, explained)


def _kernel(page: _Page, parts: KernelParts, number: int, node: Node, file_name: str, whole: bool) -> None:
    page.kernel = number
    level = read_kernel(parts.jaxpr, parts.names, file_name)
    grid = ", ".join("?" if g is None else str(g) for g in parts.grid)
    roles = (("prefetch", parts.prefetch), ("in", parts.inputs), ("out", parts.outputs), ("scratch", parts.scratch))
    operands = "; ".join(f"{role} {', '.join(level.refs[v].name for v in refs)}" for role, refs in roles if refs)
    title = f"# kernel {number}: {clean(parts.name)}, grid ({grid}){'; ' if operands else ''}{operands}"
    page.line([(title, "comment")], node=Node(node.eqn, node.place, None, None, 1, False))
    _Printer(page, level, {}).top("kernel", parts.jaxpr.invars)
    if not whole:
        return
    for var, mapping in zip(parts.inputs + parts.outputs, parts.mappings, strict=False):
        names = dict(zip(mapping.index_map.invars, mapping.index_map.debug_info.arg_names or (), strict=False))
        inner = read_kernel(mapping.index_map, names, file_name)
        shape = ", ".join("None" if n is None else str(n) for n in mapping.block_shape)
        page.line([(f"# index map of {level.refs[var].name}, block ({shape})", "comment")], ref=level.refs[var].name)
        _Printer(page, inner, {}).top("index_map", mapping.index_map.invars)


class _Printer:
    """Prints one level with all that is in it. Its state is the names of variables."""

    def __init__(self, page: _Page, level: Level, calls: dict[int, list[int]]) -> None:
        self.page = page
        self.level = level
        self.calls = calls
        self.book = NameBook()
        self.names: dict[Var, str] = {}
        self.book.taken.update(r.name for below in _levels(level) for r in below.refs.values())

    def top(self, label: str, shown: Iterable[Var]) -> None:
        """A kernel, index map or program: its Refs one a line, then its equations."""
        jaxpr = self.level.jaxpr
        given = list(jaxpr.debug_info.arg_names or ())
        for i, var in enumerate(jaxpr.invars):
            if not is_ref(var):
                self.names[var] = self.book.take(clean(given[i])) if i < len(given) and given[i] else self.book.letter()
        first = self.page.line([(label, "param"), (" { lambda", None)])
        for var in jaxpr.constvars:
            self.names[var] = self.book.letter()
            self.page.line([("const ", "param"), *binder(var, self.names[var])], 2)
        for var in jaxpr.invars:
            ref = self.level.refs.get(var)
            pieces = binder(var, ref.name if ref else self.names[var])
            self.page.line(pieces, 2, ref=ref.name if ref else None, space=ref.space if ref else None)
        self.page.line([("let", None)], 1)
        self.equations(self.level, 2)
        self.close(self.level, 1)
        self.page.fold(first)

    def equations(self, level: Level, depth: int) -> None:
        used = {v for e in level.jaxpr.eqns for v in e.invars if isinstance(v, Var)}
        used.update(v for v in level.jaxpr.outvars if isinstance(v, Var))
        atom = self.atoms(level)
        for node in level.nodes:
            touch = node.touch
            pieces = list(self.touch(node, touch, atom, used)) if touch else list(self.equation(node, atom))
            first = self.page.line(
                pieces, depth, node,
                touch.kind if touch else None, touch.ref.name if touch else None, touch.ref.space if touch else None,
            )  # fmt: skip
            for body, below in node.inner:
                self.body(node, body, below, depth + 1)
            self.page.fold(first)

    def body(self, node: Node, body: Body, level: Level, depth: int) -> None:
        pieces: list[Piece] = [(_label(node, body), "param"), (" {", None)]
        if not level.nodes and not level.jaxpr.outvars:
            self.page.line([*pieces, ("}", None)], depth)
            return
        given = list(level.jaxpr.debug_info.arg_names or ())
        for i, var in enumerate(level.jaxpr.invars):
            ref = level.refs.get(var)
            if ref and ref not in level.allocated:
                continue
            if ref is None:  # loop variables keep the learner's names
                own = given[i] if i < len(given) else ""
                self.names[var] = self.book.take(own) if own.isidentifier() else self.book.letter()
            pieces += [(" ", None), *binder(var, ref.name if ref else self.names[var])]
        for var in level.jaxpr.constvars:
            outer = body.outer.get(var)
            if var in level.refs:
                continue
            if isinstance(outer, Var) and outer in self.names:
                self.names[var] = self.names[outer]
            else:  # an array that the function captured
                self.names[var] = self.book.letter()
                pieces += [(" const ", "param"), *binder(var, self.names[var])]
        first = self.page.line(pieces, depth)
        self.equations(level, depth + 1)
        self.close(level, depth)
        self.page.fold(first)

    def close(self, level: Level, depth: int) -> None:
        atom = self.atoms(level)
        pieces: list[Piece] = [("in (", None)]
        for i, var in enumerate(level.jaxpr.outvars):
            pieces += [(", ", None)] if i else []
            pieces.append(atom(var))
        self.page.line([*pieces, (") }", None)], depth)

    def atoms(self, level: Level) -> Callable[[Any], Piece]:
        names, refs = self.names, level.refs

        def atom(value: Any) -> Piece:
            if is_constant(value):
                return literal(value.val)
            if not isinstance(value, Var):
                return literal(value)
            if value in refs:
                return (refs[value].name, f"space.{refs[value].space}")
            name = names.get(value)
            if name is None:
                name = names[value] = self.book.letter()
            return (name, "variable")

        return atom

    def binders(self, variables: Iterable[Var]) -> list[Piece]:
        pieces: list[Piece] = []
        for var in variables:
            pieces += [(", ", None)] if pieces else []
            if isinstance(var, DropVar):
                pieces.append(("_", "variable"))
                continue
            self.names[var] = self.book.letter()
            pieces += binder(var, self.names[var])
        return pieces

    def equation(self, node: Node, atom: Callable[[Any], Piece]) -> Iterable[Piece]:
        eqn = node.eqn
        if eqn.outvars:
            yield from self.binders(eqn.outvars)
            yield (" = ", None)
        yield (clean(eqn.primitive.name), "primitive")
        if said := self.calls.get(id(node)):
            yield ("[" + ", ".join(f"kernel {n}" for n in said) + "]", "param")
        elif words := parameters(eqn):
            yield (f"[{words}]", "param")
        for value in eqn.invars:
            yield (" ", None)
            yield atom(value)

    def touch(self, node: Node, touch: Touch, atom: Callable[[Any], Piece], used: set[Var]) -> Iterable[Piece]:
        eqn, op = node.eqn, node.operation
        assert op is not None
        target = [(touch.ref.name, f"space.{touch.ref.space}"), *index_pieces(touch.view, atom)]
        match op.kind:
            case "load":
                yield from self.binders(eqn.outvars)
                yield (" <- ", touch.kind)
                yield from target
            case "store":
                taken = [v for v in eqn.outvars if v in used]
                if taken:  # the old value is used: a true swap
                    yield from self.binders(taken)
                    yield (", ", None)
                yield from target
                yield (" += " if op.add else " <- ", touch.kind)
                if taken:
                    yield from target
                    yield (", ", None)
                yield atom(op.value)
            case "copy_start" | "copy_wait":
                yield (eqn.primitive.name, touch.kind)
                yield (" ", None)
                yield from target
                yield (" -> ", touch.kind)
                assert touch.to is not None and touch.to_view is not None
                yield (touch.to.name, f"space.{touch.to.space}")
                yield from index_pieces(touch.to_view, atom)
                if op.semaphore is not None:
                    yield (" ", None)
                    yield atom(op.semaphore.ref)
                    yield from index_pieces(op.semaphore, atom)
            case _:
                if eqn.outvars:
                    yield from self.binders(eqn.outvars)
                    yield (" = ", None)
                yield (eqn.primitive.name, touch.kind)
                yield (" ", None)
                yield from target
                if op.value is not None:
                    yield (" ", None)
                    yield atom(op.value)
        if op.mask is not None:
            yield (" mask=", "param")
            yield atom(op.mask)


def _levels(level: Level) -> Iterable[Level]:
    yield level
    for node in level.nodes:
        for _, below in node.inner:
            yield from _levels(below)


def _label(node: Node, body: Body) -> str:
    match body.role:
        case "branch":
            return f"branch {body.branch}"
        case "loop":
            return "body" if body.trips is None else f"body, {body.trips} times"
        case "condition":
            return "while"
        case "scope":
            return "with"
        case "call":
            return "body"
    return "inside"
