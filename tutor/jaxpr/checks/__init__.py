"""The general rules on a traced attempt (`KT32x` to `KT34x`): mistakes that no other judge names, or names too late.

Each rule is one small function: its docstring is what a learner reads, its findings point at the learner's line. A rule
that cannot be sure is silent. Nothing here starts a JAX backend.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from tutor.findings import finding
from tutor.jaxpr.checks import grid, hints, loops, memory, numbers, semaphores, source
from tutor.jaxpr.checks.doubts import DOUBTS
from tutor.jaxpr.checks.kernel import KernelView, Rule
from tutor.jaxpr.checks.outer import fate, known_operands
from tutor.jaxpr.checks.walk import walk
from tutor.jaxpr.compat import Jaxpr, Position, closed, position
from tutor.jaxpr.equations import bodies
from tutor.jaxpr.flow import Flow
from tutor.jaxpr.kernels import KERNEL_PRIMITIVES, kernel_parts
from tutor.jaxpr.scalars import Array
from tutor.protocol import Finding

__all__ = ["DOUBTS", "RULES", "SOURCE_RULES", "kernel_views", "look", "source_suspects", "suspects"]

RULES: tuple[Rule, ...] = (*semaphores.RULES, *memory.RULES, *grid.RULES, *numbers.RULES, *loops.RULES, *hints.RULES)
SOURCE_RULES = source.RULES

CALLBACKS = frozenset({"pure_callback", "io_callback"})


def kernel_views(jaxpr: Jaxpr, values: Mapping[int, Array] | None, file_name: str) -> Iterator[KernelView]:
    """Every kernel of a traced attempt, walked. Arguments as for `suspects`.

    Left out are kernels of several bodies that run side by side: what one of them misses, another may do."""
    jaxpr = closed(jaxpr)
    flow = Flow.of(jaxpr)
    for eqn, around, operands in known_operands(jaxpr, values or {}):
        written = (position(e, file_name) for e in (eqn, *reversed(around)))
        place = next(filter(None, written), None)
        side_by_side = kernel_parts(eqn)
        for parts in side_by_side if len(side_by_side) == 1 else ():
            dynamic = len(eqn.invars) - len(parts.operands)
            tables = parts.unchanged(operands[dynamic : dynamic + len(parts.prefetch)])
            known = {v: t for v, t in zip(parts.prefetch, tables, strict=True) if t is not None}
            fates = tuple(fate(flow, v) for v in eqn.outvars)
            yield KernelView(eqn, parts, place, walk(parts, file_name, known), tables, fates)


def look(
    jaxpr: Jaxpr, values: Mapping[int, Array] | None, file_name: str, *, source: str | None = None
) -> tuple[list[Finding], list[Finding]]:
    """What the general rules say about a traced attempt, and what would explain wrong numbers and is no mistake else.

    `values` are entry arguments whose contents are known, by flat position (a scalar-prefetch table decides which
    blocks are visited); without them the rules that need them are silent. `file_name` is the name that the attempt was
    compiled under: only its lines are given. With the `source`, what tracing drops is found too (KT344, KT345). Sorted
    by line, each finding once."""
    tree = _parsed(source) if source is not None else None
    found, doubts = [], []
    for view in kernel_views(jaxpr, values, file_name):
        found += [f for rule in RULES for f in rule(view)]
        doubts += [f for rule in DOUBTS for f in rule(view)]
        if tree is not None:
            found += [f for source_rule in SOURCE_RULES for f in source_rule(tree, view)]
    found += [*callbacks(closed(jaxpr), file_name), *platform_branches(closed(jaxpr), file_name)]
    return _tidy(found), _tidy(doubts)


def suspects(
    jaxpr: Jaxpr, values: Mapping[int, Array] | None, file_name: str, *, source: str | None = None
) -> list[Finding]:
    """The first half of what `look` finds."""
    return look(jaxpr, values, file_name, source=source)[0]


def source_suspects(
    source: str, jaxpr: Jaxpr, file_name: str, values: Mapping[int, Array] | None = None
) -> list[Finding]:
    """Only what the source shows and the trace does not: names rebound instead of stored to, and unused reads."""
    tree = _parsed(source)
    if tree is None:
        return []
    views = kernel_views(jaxpr, values, file_name)
    return _tidy(f for view in views for rule in SOURCE_RULES for f in rule(tree, view))


def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):
        return None


def callbacks(jaxpr: Jaxpr, file_name: str, place: Position | None = None) -> Iterator[Finding]:
    """KT342. A callback runs Python on the host; a program that needs it cannot be exported."""
    for eqn in jaxpr.eqns:
        here = position(eqn, file_name) or place
        if eqn.primitive.name in CALLBACKS:
            yield finding(
                "KT342",
                f"{eqn.primitive.name.replace('_', ' ').capitalize()}: this calls back into Python on the host "
                f"while the "
                "program runs. That cannot be exported or run on another machine.",
                line=here.line if here else None,
                column=here.column if here else None,
                hint="Compute it with jax.numpy, or pass the value in. jax.debug.print is allowed.",
            )
        inner = [b.jaxpr for b in bodies(eqn)]
        if eqn.primitive.name in ("pallas_call", "mpmd_map"):
            inner = [p.jaxpr for p in kernel_parts(eqn)]
        for body in inner:
            yield from callbacks(body, file_name, here)


def platform_branches(jaxpr: Jaxpr, file_name: str, place: Position | None = None) -> Iterator[Finding]:
    """KT352. A kernel that asks for its platform is another kernel on the CPU than on a TPU."""
    for eqn in jaxpr.eqns:
        here = position(eqn, file_name) or place
        if eqn.primitive.name in KERNEL_PRIMITIVES:
            for parts in kernel_parts(eqn):
                yield from _platform_indices(parts.jaxpr, file_name, here)
        else:
            for body in bodies(eqn):
                yield from platform_branches(body.jaxpr, file_name, here)


def _platform_indices(jaxpr: Jaxpr, file_name: str, place: Position | None) -> Iterator[Finding]:
    for eqn in jaxpr.eqns:
        here = position(eqn, file_name) or place
        if eqn.primitive.name == "platform_index":
            yield finding(
                "KT352",
                "This kernel has a branch for each platform: interpret mode runs the one for the CPU, and a TPU "
                "another one, so what is found right here says nothing about the TPU.",
                line=here.line if here else None,
                column=here.column if here else None,
                hint="Write the kernel for the TPU alone; interpret mode runs it as it is.",
            )
        for body in bodies(eqn):
            yield from _platform_indices(body.jaxpr, file_name, here)


def _tidy(found: Iterable[Finding]) -> list[Finding]:
    unique = {(f.code, f.line, f.column, f.ref): f for f in reversed(list(found))}
    return sorted(unique.values(), key=lambda f: (f.line is None, f.line or 0, f.column or 0, f.code))
