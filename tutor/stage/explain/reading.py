"""What the source text says about a place: which ref is stored to, which names a line uses, where a spec is written.

Everything here only reads the AST and answers None when it is not sure.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tutor.stage.explain.where import Place

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Reading:
    """The learner's file, parsed once."""

    def __init__(self, source: str) -> None:
        self.source = source
        try:
            self.tree: ast.Module = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError):
            self.tree = ast.Module([], [])

    def statement(self, place: Place | None) -> ast.stmt | None:
        """The innermost statement whose text covers the place's line."""
        if place is None:
            return None
        found = [n for n in self._nodes(ast.stmt) if _covers(n, place.line)]
        return max(found, key=lambda n: (n.lineno, -(n.end_lineno or n.lineno)), default=None)

    def node(self, place: Place | None) -> ast.expr | ast.stmt | None:
        """The node that stands exactly at the place; without columns, the statement of its line."""
        if place is None:
            return None
        if place.column is not None and place.end_column is not None:
            span = (place.line, place.column, place.end_line, place.end_column)
            same = [n for n in ast.walk(self.tree) if isinstance(n, ast.expr | ast.stmt) and _span(n) == span]
            if same:
                return next((n for n in same if isinstance(n, ast.expr)), same[0])
        return self.statement(place)

    def functions(self, place: Place | None) -> list[Function]:
        """The functions that enclose the place, outermost first."""
        if place is None:
            return []
        found = [n for n in ast.walk(self.tree) if isinstance(n, Function) and _covers(n, place.line)]
        return sorted(found, key=lambda n: (n.lineno, -(n.end_lineno or n.lineno)))

    def parameters(self, place: Place | None) -> set[str]:
        """The parameters of all enclosing functions: inside a kernel these are its refs."""
        return {name for f in self.functions(place) for name in parameter_names(f)}

    def stored_ref(self, place: Place | None) -> str | None:
        """The name of the ref that the statement at the place stores to."""
        node, statement = self.node(place), self.statement(place)
        if isinstance(node, ast.Subscript | ast.Call) and not isinstance(node, ast.stmt):
            name = base_name(node.args[0] if isinstance(node, ast.Call) and node.args else node)
            if name in self.parameters(place):
                return name
        targets: list[ast.expr] = []
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, ast.AugAssign | ast.AnnAssign):
            targets = [statement.target]
        names = [base_name(t) for t in targets if isinstance(t, ast.Subscript)]
        return names[0] if len(names) == 1 else None

    def loaded_ref(self, place: Place | None) -> str | None:
        """The one ref that is indexed at the place: exact when columns are known, else the line's only one."""
        node = self.node(place)
        if node is None:
            return None
        known = self.parameters(place)
        if isinstance(node, ast.Subscript) and base_name(node) in known:
            return base_name(node)
        inside = {base_name(n) for n in ast.walk(node) if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Load)}
        if isinstance(node, ast.AugAssign):
            inside.add(base_name(node.target))
        names = {n for n in inside if n in known}
        return names.pop() if len(names) == 1 else None

    def bare_ref(self, place: Place | None) -> str | None:
        """The first parameter that stands at the place without an index, such as the `x_ref` of `x_ref + 1`."""
        node = self.node(place)
        if node is None:
            return None
        known = self.parameters(place)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id in known:
            return node.target.id
        indexed = {id(n.value) for n in ast.walk(node) if isinstance(n, ast.Subscript)}
        indexed |= {id(n.value) for n in ast.walk(node) if isinstance(n, ast.Attribute) and n.attr in _SAFE}
        return next((n.id for n in _ordered(node, ast.Name) if n.id in known and id(n) not in indexed), None)

    def launches(self, place: Place | None) -> bool:
        """Whether the place is a call of a kernel, and not a line inside one."""
        statement = self.statement(place)
        return statement is not None and any(
            isinstance(n, ast.Call) and call_name(n) in ("pallas_call", "kernel") for n in ast.walk(statement)
        )

    def sharpened(self, place: Place | None, ref: str | None) -> Place | None:
        """The place with a column, where the line indexes the ref just once."""
        if place is None or place.column is not None or ref is None:
            return place
        found = [n for n in self._nodes(ast.Subscript) if n.lineno == place.line and base_name(n) == ref]
        return place_at(found[0]) if len(found) == 1 else place

    def semaphore_ref(self, place: Place | None) -> str | None:
        """The semaphore that the statement at the place uses, also through a copy object made earlier."""
        node, known = self.node(place), self.parameters(place)
        if node is None:
            return None
        calls = _ordered(node, ast.Call)
        made = [c for c in calls if call_name(c) in _COPIES]
        for call in calls:
            receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
            if isinstance(receiver, ast.Name) and receiver.id not in known:
                made += [v for v in self.assigned(receiver.id) if isinstance(v, ast.Call) and call_name(v) in _COPIES]
        for copy in made:
            given = {k.arg: k.value for k in copy.keywords}
            sem = copy.args[2] if len(copy.args) > 2 else given.get("sem") or given.get("recv_sem")
            if sem is not None and base_name(sem) in known:
                return base_name(sem)
        return self.bare_ref(place) if not made else None

    def assigned(self, name: str) -> list[ast.expr]:
        """The values that are assigned to a plain name, in order."""
        return [
            n.value
            for n in _ordered(self.tree, ast.Assign)
            if any(isinstance(t, ast.Name) and t.id == name for t in n.targets)
        ]

    def function(self, name: str, line: int | None = None) -> Function | None:
        """The function of that name (the one at `line`, if several)."""
        found = [n for n in ast.walk(self.tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
        found = [n for n in found if n.name == name.rpartition(".")[2]]
        near = [n for n in found if line is None or line in (n.lineno, *(d.lineno for d in n.decorator_list))]
        return next(iter(near or found), None)

    def calls(self, *names: str) -> list[ast.Call]:
        """All calls of a function or method with one of these names, in order."""
        return [c for c in _ordered(self.tree, ast.Call) if call_name(c) in names]

    def _nodes[T: ast.AST](self, kind: type[T]) -> Iterator[T]:
        return (n for n in ast.walk(self.tree) if isinstance(n, kind))


_COPIES = {"make_async_copy", "async_copy", "make_async_remote_copy"}
# Attributes that a ref has; `x_ref.shape` is no mistake.
_SAFE = {"shape", "dtype", "ndim", "size", "at", "bitcast", "reshape", "memory_space"}


def parameter_names(function: Function) -> list[str]:
    """The positional parameters of a function, then the others, in order."""
    a = function.args
    stars = [s for s in (a.vararg, a.kwarg) if s is not None]
    return [p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs, *stars)]


def base_name(node: ast.expr) -> str | None:
    """The name at the bottom of `name.at[…].x(…)[…]`."""
    while isinstance(node, ast.Subscript | ast.Attribute | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def call_name(call: ast.Call) -> str:
    """The last part of what is called: `pallas_call` for `pl.pallas_call(…)`."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def place_at(node: ast.AST) -> Place:
    """The place of a node."""
    return Place(
        getattr(node, "lineno", 1),
        getattr(node, "col_offset", None),
        getattr(node, "end_lineno", None),
        getattr(node, "end_col_offset", None),
    )


def _ordered[T: ast.AST](node: ast.AST, kind: type[T]) -> list[T]:
    found = [n for n in ast.walk(node) if isinstance(n, kind)]
    return sorted(found, key=lambda n: (getattr(n, "lineno", 0), getattr(n, "col_offset", 0)))


def _covers(node: ast.AST, line: int) -> bool:
    start = getattr(node, "lineno", None)
    return start is not None and start <= line <= (getattr(node, "end_lineno", None) or start)


def _span(node: ast.expr | ast.stmt) -> tuple[int, int, int | None, int | None]:
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset
