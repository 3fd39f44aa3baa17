"""Where a value goes: forward data flow through a jaxpr and everything nested in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tutor.jaxpr.compat import Jaxpr, JaxprEqn, Var
from tutor.jaxpr.equations import bodies


@dataclass(frozen=True)
class Use:
    """A variable as operand number `position` of an equation; None is an output of the whole jaxpr."""

    var: Var
    eqn: JaxprEqn | None
    position: int


@dataclass
class Flow:
    """Who uses what. Inputs and outputs of nested bodies are joined to what they stand for outside."""

    uses: dict[Var, list[Use]] = field(default_factory=dict)
    alias: dict[Var, list[Var]] = field(default_factory=dict)

    @classmethod
    def of(cls, jaxpr: Jaxpr) -> Flow:
        flow = cls()
        flow._read(jaxpr)
        for i, v in enumerate(jaxpr.outvars):
            if isinstance(v, Var):
                flow.uses.setdefault(v, []).append(Use(v, None, i))
        return flow

    def _read(self, jaxpr: Jaxpr) -> None:
        for eqn in jaxpr.eqns:
            inner = [b for b in bodies(eqn) if b.role != "other"]
            for body in inner:
                for var, outer in (body.outer | body.carried | body.scanned).items():
                    self._join(outer, var)
                outs = list(body.jaxpr.outvars)
                if body.role == "condition":
                    outs = []
                elif len(outs) == len(eqn.outvars):
                    for var, outer in zip(outs, eqn.outvars, strict=True):
                        self._join(var, outer)
                for var, carried in zip(outs, body.carried, strict=False):
                    self._join(var, carried)
                self._read(body.jaxpr)
            if not inner or eqn.primitive.name == "cond":
                used = eqn.invars[:1] if inner else eqn.invars
                for i, v in enumerate(used):
                    if isinstance(v, Var):
                        self.uses.setdefault(v, []).append(Use(v, eqn, i))

    def _join(self, source: object, target: Var) -> None:
        if isinstance(source, Var):
            self.alias.setdefault(source, []).append(target)

    def forward(self, start: Var, through: Callable[[Use], bool]) -> Iterator[Use]:
        """Every use that a value reaches; it passes an equation where `through` says so."""
        seen, todo = {start}, [start]
        while todo:
            var = todo.pop()
            following = list(self.alias.get(var, ()))
            for use in self.uses.get(var, ()):
                yield use
                if use.eqn is not None and through(use):
                    following += use.eqn.outvars
            for other in following:
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
