"""Evaluate a traced attempt, binding every kernel again the way a judge wants it.

The attempt is traced once. Each judge then evaluates that jaxpr with its own `interpret`; what the attempt passed for
it decides nothing. Calls are inlined; loops, branches and `shard_map` that hold a kernel are rebuilt with the public
functions that made them. Whatever holds none is bound as it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np
from jax.experimental import pallas as pl

from tutor.jaxpr.compat import Constant, Jaxpr, JaxprEqn, Var, bind, closed, written_at
from tutor.jaxpr.equations import CALLS, Body, bodies, scan_counts
from tutor.jaxpr.kernels import KERNEL_PRIMITIVES, without_semantics

type Params = dict[str, Any]

DEBUG_PRIMITIVES = frozenset({"debug_print", "debug_callback"})
"""What prints and returns nothing. An exported module cannot carry it."""


class CannotRebind(NotImplementedError):
    """A kernel stands inside an equation that this evaluator cannot rebuild; `str()` says which."""


@dataclass(frozen=True)
class LocatedKernel:
    """A kernel equation and where it stands: `path` names the enclosing equations, outermost first.

    `repeated` says that a loop encloses it, `branch` that a `cond` does."""

    eqn: JaxprEqn
    path: tuple[str, ...]
    repeated: bool = False
    branch: bool = False

    @property
    def interpret(self) -> bool:
        """Whether the attempt itself asked for interpret mode. Reported, never obeyed."""
        return bool(self.eqn.params["interpret"])


def kernels(jaxpr: Jaxpr) -> Iterator[LocatedKernel]:
    """Every kernel of an attempt, in program order, through every kind of nesting."""
    yield from _kernels(closed(jaxpr), (), False, False)


def _kernels(jaxpr: Jaxpr, path: tuple[str, ...], repeated: bool, branch: bool) -> Iterator[LocatedKernel]:
    for eqn in jaxpr.eqns:
        if eqn.primitive.name in KERNEL_PRIMITIVES:
            yield LocatedKernel(eqn, path, repeated, branch)
        for body in bodies(eqn):
            yield from _kernels(
                body.jaxpr, (*path, _step(eqn, body)), repeated or body.trips != 1, branch or body.role == "branch"
            )


def _step(eqn: JaxprEqn, body: Body) -> str:
    name = eqn.primitive.name
    if body.branch is not None:
        return f"{name} branch {body.branch}"
    called = eqn.params.get("name")
    return f"{name} {called}" if isinstance(called, str) else f"{name} condition" if body.role == "condition" else name


@dataclass(frozen=True)
class Rebinding:
    """How to bind the kernels again.

    `interpret` is False (for lowering), True, or `pltpu.InterpretParams`. `semantics=False` drops the kernels'
    `dimension_semantics`, which the TPU simulator misreads. `debug=False` leaves out prints outside kernels. `kernel`
    rewrites a kernel equation's parameters first (see `tutor.jaxpr.normalise`)."""

    interpret: Any
    semantics: bool = True
    debug: bool = True
    kernel: Callable[[JaxprEqn], Params] | None = None

    def evaluate(self, jaxpr: Jaxpr, args: Sequence[Any]) -> list[Any]:
        """The outputs of a traced program on flat `args` (arrays, or tracers under `jax.jit` or `jax.export`).

        Call it inside the `target` context of the trace. `CannotRebind`: a kernel is out of reach."""
        jaxpr = closed(jaxpr)
        env: dict[Var, Any] = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
        env.update(zip(jaxpr.invars, args, strict=True))

        def read(atom: Any) -> Any:
            return atom.val if isinstance(atom, Constant) else env[atom]

        for eqn in jaxpr.eqns:
            if not self.debug and eqn.primitive.name in DEBUG_PRIMITIVES and not eqn.outvars:
                continue
            env.update(zip(eqn.outvars, self._bind(eqn, [read(v) for v in eqn.invars]), strict=True))
        return [read(v) for v in jaxpr.outvars]

    def as_function(self, jaxpr: Jaxpr) -> Callable[..., list[Any]]:
        """The program as a function of its flat arguments, for `jax.jit` and `jax.export`."""
        return lambda *args: self.evaluate(jaxpr, args)

    def _bind(self, eqn: JaxprEqn, args: list[Any]) -> list[Any]:
        name = eqn.primitive.name
        if name in KERNEL_PRIMITIVES:
            return bind(eqn, args, self._kernel_params(eqn))
        inner = bodies(eqn)
        if not any(self._concerns(body.jaxpr) for body in inner):
            return bind(eqn, args, eqn.params)
        match name:
            case "scan":
                rebuilt = self._scan
            case "while":
                rebuilt = self._while
            case "cond":
                rebuilt = self._cond
            case "shard_map":
                rebuilt = self._shard_map
            case "run_state":
                rebuilt = self._run_state
            case _ if name in CALLS:
                return self.evaluate(inner[0].jaxpr, args)
            case _:
                rebuilt = self._retraced
        with written_at(eqn):
            return rebuilt(eqn, args)

    def _kernel_params(self, eqn: JaxprEqn) -> Params:
        params = dict(self.kernel(eqn) if self.kernel else eqn.params) | {"interpret": self.interpret}
        return params if self.semantics else without_semantics(params)

    def _concerns(self, jaxpr: Jaxpr) -> bool:
        """Whether something inside must be bound in another way."""
        names = KERNEL_PRIMITIVES if self.debug else (*KERNEL_PRIMITIVES, *DEBUG_PRIMITIVES)
        return any(
            eqn.primitive.name in names or any(self._concerns(body.jaxpr) for body in bodies(eqn)) for eqn in jaxpr.eqns
        )

    def _typed(self, jaxpr: Jaxpr, args: Sequence[Any]) -> list[Any]:
        """As `evaluate`, with constants as arrays, so that a loop's carry keeps its dtype."""
        outs = self.evaluate(jaxpr, args)
        pairs = zip(outs, jaxpr.outvars, strict=True)
        return [np.asarray(out, var.aval.dtype) if isinstance(var, Constant) else out for out, var in pairs]

    def _scan(self, eqn: JaxprEqn, args: list[Any]) -> list[Any]:
        consts, carry = scan_counts(eqn)
        jaxpr, params = closed(eqn.params["jaxpr"]), eqn.params
        fixed, init, rows = args[:consts], args[consts : consts + carry], args[consts + carry :]

        def body(state: list[Any], row: list[Any]) -> tuple[list[Any], list[Any]]:
            outs = self._typed(jaxpr, [*fixed, *state, *row])
            return outs[:carry], outs[carry:]

        last, ys = jax.lax.scan(
            body, init, rows, length=params["length"], reverse=params["reverse"], unroll=params["unroll"]
        )
        return [*last, *ys]

    def _while(self, eqn: JaxprEqn, args: list[Any]) -> list[Any]:
        n, m = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
        for_test, for_body, init = args[:n], args[n : n + m], args[n + m :]
        test, body = closed(eqn.params["cond_jaxpr"]), closed(eqn.params["body_jaxpr"])
        out = jax.lax.while_loop(
            lambda state: self._typed(test, [*for_test, *state])[0],
            lambda state: self._typed(body, [*for_body, *state]),
            init,
        )
        return list(out)

    def _cond(self, eqn: JaxprEqn, args: list[Any]) -> list[Any]:
        which, *operands = args
        branches = [closed(b) for b in eqn.params["branches"]]

        def taken(branch: Jaxpr, *operands: Any) -> list[Any]:
            return self._typed(branch, operands)

        return list(jax.lax.switch(which, [partial(taken, b) for b in branches], *operands))

    def _shard_map(self, eqn: JaxprEqn, args: list[Any]) -> list[Any]:
        params, jaxpr = eqn.params, closed(eqn.params["jaxpr"])
        mapped = jax.shard_map(
            lambda *shards: tuple(self._typed(jaxpr, shards)),
            mesh=params["mesh"],
            in_specs=tuple(params["in_specs"]),
            out_specs=tuple(params["out_specs"]),
            axis_names=frozenset(params["newly_manual_axes"]),
            check_vma=params["check_vma"],
        )
        return list(mapped(*args))

    def _run_state(self, eqn: JaxprEqn, args: list[Any]) -> list[Any]:
        """Kernels that are given Refs of the outer program, as `pl.core_map` is."""
        jaxpr = closed(eqn.params["jaxpr"])
        if not all(eqn.params["is_initialized"]):
            raise CannotRebind("a kernel inside `run_state` is given a Ref that holds nothing yet")

        def body(refs: tuple[Any, ...]) -> None:
            self.evaluate(jaxpr, refs)

        return list(pl.run_state(body)(tuple(args)))

    def _retraced(self, eqn: JaxprEqn, args: list[Any]) -> list[Any]:
        """Any other equation: trace its bodies anew and bind it with these."""
        reached = {k: v for k, v in eqn.params.items() if isinstance(v, Jaxpr) and self._concerns(v)}
        if not reached or any(v.constvars for v in reached.values()):
            raise CannotRebind(f"a kernel inside `{eqn.primitive.name}` cannot be reached")
        return bind(eqn, args, eqn.params | {k: self._retrace(v) for k, v in reached.items()})

    def _retrace(self, jaxpr: Jaxpr) -> Jaxpr:
        specs = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in jaxpr.invars]
        return closed(jax.make_jaxpr(lambda *args: self._typed(jaxpr, args))(*specs))
