"""What the jaxpr cannot show because tracing drops it: read from the source, and compared with the trace."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tutor.findings import finding
from tutor.jaxpr.checks.kernel import KernelView
from tutor.jaxpr.compat import Var
from tutor.protocol import Finding

type Function = ast.FunctionDef | ast.AsyncFunctionDef


def kernel_functions(tree: ast.AST, kernel: KernelView) -> Iterator[tuple[Function, dict[str, Var]]]:
    """The functions that can be this kernel: same parameter names. With each, the Ref of each name."""
    refs = {kernel.parts.names[v]: v for v in kernel.parts.jaxpr.invars}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            named = {n: refs[n] for n in names if n in refs}
            if named and len(named) == len(refs):
                yield node, named


def name_is_rebound(tree: ast.AST, kernel: KernelView) -> Iterator[Finding]:
    """KT344. `o_ref = value` only gives the name to the value; `o_ref[...] = value` stores it."""
    stored = {e.ref for e in kernel.walk.events if e.op is not None and e.op.kind in ("store", "copy_start")}
    wanted = {v for v in kernel.parts.outputs + kernel.parts.scratch if v not in stored}
    for function, refs in kernel_functions(tree, kernel):
        lost = {name: ref for name, ref in refs.items() if ref in wanted}
        for node in ast.walk(function):
            for name in _bound_names(node):
                if name.id in lost:
                    yield finding(
                        "KT344",
                        f"This gives the name {name.id} to a new value. Nothing is stored: the memory behind "
                        f"the Ref stays "
                        "as it was.",
                        line=name.lineno,
                        column=name.col_offset,
                        ref=name.id,
                        hint=f"Write {name.id}[...] = value to store into the Ref.",
                    )


def _bound_names(node: ast.AST) -> Iterator[ast.Name]:
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        targets = [node.target]
    for target in targets:
        for part in ast.walk(target):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                yield part


def read_is_never_used(tree: ast.AST, kernel: KernelView) -> Iterator[Finding]:
    """KT345. A load whose value is not used is dropped when traced: it costs nothing, and may be a slip."""
    events = [e for e in kernel.walk.events if e.op is not None]
    loaded = {(e.ref, e.place.line) for e in events if e.place is not None}
    for function, refs in kernel_functions(tree, kernel):
        inside = range(function.lineno, (function.end_lineno or function.lineno) + 1)
        if any(e.place is None or e.place.line not in inside for e in events if e.ref in refs.values()):
            continue  # JAX kept another place for them, as in the backward half of `custom_vjp`
        for statement in function.body:
            if not isinstance(statement, ast.Assign | ast.Expr | ast.AnnAssign) or statement.value is None:
                continue
            for node in _loads(statement.value, refs):
                ref, name = refs[node.value.id], node.value.id  # type: ignore[attr-defined]
                lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
                if any((ref, line) in loaded for line in lines) or _assigned(function, name):
                    continue
                yield finding(
                    "KT345",
                    f"{name} is read here, and the value is never used. The load is dropped: it is not in the "
                    f"jaxpr and "
                    "costs nothing.",
                    severity="note",
                    line=node.lineno,
                    column=node.col_offset,
                    ref=name,
                )


def _loads(tree: ast.expr, refs: dict[str, Var]) -> Iterator[ast.Subscript]:
    """Every `ref[...]` in an expression that runs as it stands: nothing conditional, no function in it."""
    lazy = (ast.Lambda, ast.IfExp, ast.BoolOp, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    nodes = list(ast.walk(tree))
    if any(isinstance(node, lazy) for node in nodes):
        return
    for node in nodes:
        match node:
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Load()) if name in refs:
                yield node


def _assigned(function: Function, name: str) -> bool:
    """Whether the name is ever given to something else, so that a subscript may not mean the Ref."""
    return any(bound.id == name for node in ast.walk(function) for bound in _bound_names(node))


RULES = (name_is_rebound, read_is_never_used)
