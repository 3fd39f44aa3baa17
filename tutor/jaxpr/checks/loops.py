"""Loops that cannot end."""

from __future__ import annotations

from collections.abc import Iterator

from tutor.findings import finding
from tutor.jaxpr.checks.kernel import KernelView
from tutor.jaxpr.compat import Jaxpr, JaxprEqn, Position, Var, closed, is_ref, position
from tutor.jaxpr.equations import bodies
from tutor.protocol import Finding


def condition_never_changes(kernel: KernelView) -> Iterator[Finding]:
    """KT360. A loop whose condition depends on nothing that the loop changes never ends, once it has begun."""
    for eqn, place in _whiles(kernel.parts.jaxpr, kernel.walk.file_name, kernel.place):
        if _steers(eqn):
            continue
        yield finding(
            "KT360",
            "Nothing that the condition of this loop depends on changes in the loop. Either it never begins, or it "
            "never ends.",
            line=place.line if place else None,
            column=place.column if place else None,
            hint="Change in the body what the condition tests, such as a counter that is part of the loop's value.",
        )


def _whiles(jaxpr: Jaxpr, file_name: str, place: Position | None) -> Iterator[tuple[JaxprEqn, Position | None]]:
    for eqn in jaxpr.eqns:
        here = position(eqn, file_name) or place
        if eqn.primitive.name == "while":
            yield eqn, here
        for body in bodies(eqn):
            yield from _whiles(body.jaxpr, file_name, here)


def _steers(eqn: JaxprEqn) -> bool:
    """Whether the condition reads memory, or a carried value that the body gives anew."""
    test, body = closed(eqn.params["cond_jaxpr"]), closed(eqn.params["body_jaxpr"])
    before = list(body.invars)[eqn.params["body_nconsts"] :]
    changed = {i for i, (a, b) in enumerate(zip(before, body.outvars, strict=True)) if a is not b}
    if any(is_ref(v) for v in test.invars) or _impure(test):
        return True
    fixed = eqn.params["cond_nconsts"]
    needed = _needed(test)
    return any(v in needed for i, v in enumerate(test.invars) if i >= fixed and i - fixed in changed)


def _impure(jaxpr: Jaxpr) -> bool:
    return bool(jaxpr.effects)


def _needed(jaxpr: Jaxpr) -> set[Var]:
    """The variables that the result depends on."""
    needed = {v for v in jaxpr.outvars if isinstance(v, Var)}
    for eqn in reversed(jaxpr.eqns):
        if any(v in needed for v in eqn.outvars):
            needed.update(v for v in eqn.invars if isinstance(v, Var))
    return needed


RULES = (condition_never_changes,)
