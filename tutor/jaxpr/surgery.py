"""Rewriting kernel jaxprs: new equations in a body, new inputs for a nested body, effects kept true.

The interpreters read from a jaxpr's effects which Refs it writes, and the exporter refuses effects that it cannot
serialise, so a rewritten body must carry exactly the effects of its equations. The private calls are in `compat`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax

from tutor.jaxpr.compat import (
    Constant,
    Jaxpr,
    JaxprEqn,
    Var,
    closed,
    input_effect,
    jaxpr_with,
    more_scan_constants,
    unspecified_sharding,
)
from tutor.jaxpr.equations import CALLS, Atom, bodies


def substituted(eqn: JaxprEqn, same: dict[Var, Atom]) -> JaxprEqn:
    """The equation with other operands; its effects on Refs follow."""
    if not any(isinstance(v, Var) and v in same for v in eqn.invars):
        return eqn
    effects = {_moved(e, same) for e in eqn.effects}
    invars = [same.get(v, v) if isinstance(v, Var) else v for v in eqn.invars]
    return eqn.replace(invars=invars, effects=effects)


def _moved(effect: Any, same: dict[Var, Atom]) -> Any:
    ref = input_effect(effect)
    return effect.replace(same[ref]) if ref is not None and ref in same else effect


def with_bodies(eqn: JaxprEqn, new: Sequence[Jaxpr], extra: Sequence[Atom] = ()) -> JaxprEqn:
    """The equation with its bodies (in the order of `bodies(eqn)`) replaced.

    Each new body has one more leading input for each atom of `extra`, which becomes an operand."""
    name, params, invars = eqn.primitive.name, dict(eqn.params), list(eqn.invars)
    n, extra = len(extra), list(extra)
    match name:
        case "cond":
            params["branches"] = tuple(new)
            invars = [invars[0], *extra, *invars[1:]]
        case "scan":
            params = more_scan_constants(params, n) | {"jaxpr": new[0]}
            invars = [*extra, *invars]
        case "while":
            split = params["cond_nconsts"]
            params["cond_jaxpr"], params["body_jaxpr"] = new
            params["cond_nconsts"] += n
            params["body_nconsts"] += n
            invars = [*extra, *invars[:split], *extra, *invars[split:]]
        case _:
            params[CALLS.get(name, "jaxpr")] = new[0]
            params |= _more_call_inputs(params, n)
            invars = [*extra, *invars]
    out = eqn.replace(params=params, invars=invars)
    return out.replace(effects=_effects(eqn, out))


def _more_call_inputs(params: dict[str, Any], n: int) -> dict[str, Any]:
    """What `jit` and the custom calls keep for each input."""
    more: dict[str, Any] = {}
    for key, value in (("in_shardings", unspecified_sharding()), ("in_layouts", None), ("donated_invars", False)):
        if key in params:
            more[key] = (value,) * n + tuple(params[key])
    if "num_consts" in params:
        more["num_consts"] = params["num_consts"] + n
    return more


def _effects(before: JaxprEqn, after: JaxprEqn) -> set[Any]:
    """The effects of the bodies, seen from outside, and what the equation had of its own."""
    old = {e for body in bodies(before) for e in body.jaxpr.effects}
    out = {e for e in before.effects if input_effect(e) is None and e not in old}
    for body in bodies(after):
        outer = body.outer | body.carried | body.scanned
        for effect in body.jaxpr.effects:
            ref = input_effect(effect)
            if ref is None:
                out.add(effect)
            elif isinstance(outer.get(ref), Var):
                out.add(effect.replace(outer[ref]))
    return out


def with_equations(
    jaxpr: Jaxpr, eqns: Sequence[JaxprEqn], same: dict[Var, Atom], extra: Sequence[Var] = (), *, scope: bool = False
) -> Jaxpr:
    """The jaxpr with other equations and `extra` leading inputs; `same` renames its outputs.

    `scope` says that the jaxpr is a body of `run_scoped`, whose operands are its constants."""
    outvars = [v if isinstance(v, Constant) else same.get(v, v) for v in jaxpr.outvars]
    return jaxpr_with(closed(jaxpr), eqns, outvars, extra, scope=scope)


def equations_of(function: Callable[..., Any], atoms: Sequence[Atom], out: Any) -> list[JaxprEqn]:
    """The equations of a pure function of one result, on these operands, with its result called `out`."""
    traced = jax.make_jaxpr(function)(*(jax.ShapeDtypeStruct(a.aval.shape, a.aval.dtype) for a in atoms)).jaxpr
    same: dict[Any, Atom] = dict(zip(traced.invars, atoms, strict=True))
    eqns = [substituted(eqn, same) for eqn in traced.eqns]
    (result,) = traced.outvars
    return [eqn.replace(outvars=[out if v is result else v for v in eqn.outvars]) for eqn in eqns]


def rewritten(jaxpr: Jaxpr, plain: Callable[[JaxprEqn], list[JaxprEqn]], *, scope: bool = False) -> Jaxpr:
    """The jaxpr with `plain(eqn)` for each equation without bodies, in every nested body; itself if that changes
    nothing."""
    eqns: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        inner = bodies(eqn)
        if inner and all(body.role != "other" for body in inner):
            new = [rewritten(body.jaxpr, plain, scope=body.role == "scope") for body in inner]
            same = all(n is body.jaxpr for n, body in zip(new, inner, strict=True))
            eqns.append(eqn if same else with_bodies(eqn, new))
        else:
            eqns += plain(eqn)
    same = len(eqns) == len(jaxpr.eqns) and all(a is b for a, b in zip(eqns, jaxpr.eqns, strict=True))
    return jaxpr if same else with_equations(jaxpr, eqns, {}, scope=scope)
