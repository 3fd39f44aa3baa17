"""What one equation does: to memory (`operation`), and which bodies it runs (`bodies`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import jax

from tutor.jaxpr.compat import Jaxpr, JaxprEqn, Var, View, closed, view

type Atom = Any
"""A `Var` or a `Constant`."""

# ---------------------------------------------------------------- memory


@dataclass(frozen=True)
class Operation:
    """One equation that touches memory or semaphores.

    `view` is what is touched: for copies the destination. For `signal`, `wait` and `read` it is the semaphore.
    `semaphore` is what a copy signals on arrival, `source_semaphore` what a remote copy signals when it has been sent.
    `value` is what is stored, or the amount of a signal or wait. `add` is an accumulating copy or store."""

    kind: Literal["load", "store", "copy_start", "copy_wait", "signal", "wait", "read"]
    view: View
    source: View | None = None
    semaphore: View | None = None
    source_semaphore: View | None = None
    value: Any = None
    mask: Any = None
    remote: bool = False
    waits_for_send: bool = False
    add: bool = False


def operation(eqn: JaxprEqn) -> Operation | None:
    """What `eqn` does to memory, or None for arithmetic and control flow."""
    name, params, invars = eqn.primitive.name, eqn.params, eqn.invars
    match name:
        case "get":
            return Operation("load", View(invars[0], _transforms(params, invars[1:])))
        case "swap" | "addupdate":
            stored = View(invars[0], _transforms(params, invars[2:]))
            return Operation("store", stored, value=invars[1], add=name == "addupdate")
        case "masked_load":
            ref, transforms, mask, _ = params["args_tree"].unflatten(invars)
            return Operation("load", _must(view(ref, transforms)), mask=mask)
        case "masked_swap":
            ref, transforms, value, mask = params["args_tree"].unflatten(invars)
            return Operation("store", _must(view(ref, transforms)), value=value, mask=mask)
        case "dma_start" | "dma_wait":
            source, into, arrived, sent, device = params["tree"].unflatten(invars)
            return Operation(
                "copy_start" if name == "dma_start" else "copy_wait",
                _must(view(into)), view(source), view(arrived), view(sent), remote=device is not None,
                waits_for_send=bool(params.get("is_wait_send")), add=bool(params.get("add")),
            )  # fmt: skip
        case "semaphore_signal":
            ref, transforms, value, device, core_index = params["args_tree"].unflatten(invars)
            remote = device is not None or core_index is not None
            return Operation("signal", _must(view(ref, transforms)), value=value, remote=remote)
        case "semaphore_wait":
            ref, transforms, value, _ = params["args_tree"].unflatten(invars)
            return Operation("wait", _must(view(ref, transforms)), value=value)
        case "semaphore_read":
            ref, transforms = params["args_tree"].unflatten(invars)
            return Operation("read", _must(view(ref, transforms)))
    return None


def _transforms(params: dict[str, Any], flat: list[Atom]) -> tuple[Any, ...]:
    return tuple(jax.tree_util.tree_unflatten(params["tree"], flat))


def _must(view: View | None) -> View:
    assert view is not None
    return view


# ---------------------------------------------------------------- bodies


@dataclass(frozen=True)
class Body:
    """A jaxpr inside an equation, and what its inputs stand for outside.

    `outer` maps inner variables that keep one meaning (constants, plain arguments, Refs) to outer atoms; `carried` maps
    loop carries to their first value; `scanned` maps one row at a time to the outer array. Variables in none of these
    are new (the allocations of `run_scoped`). `trips` is 1 outside loops and None where it depends on data."""

    role: Literal["call", "branch", "loop", "condition", "scope", "other"]
    jaxpr: Jaxpr
    outer: dict[Var, Atom]
    carried: dict[Var, Atom] = field(default_factory=dict)
    scanned: dict[Var, Atom] = field(default_factory=dict)
    trips: int | None = 1
    branch: int | None = None


CALLS = {
    "jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr", "remat2": "jaxpr",
    "checkpoint": "jaxpr", "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr", "custom_lin": "jaxpr", "run_state": "jaxpr", "shard_map": "jaxpr",
    "xla_metadata_call": "jaxpr",
}  # fmt: skip
"""Equations that run one body once, on their inputs in order."""


def bodies(eqn: JaxprEqn) -> tuple[Body, ...]:
    """The jaxprs that `eqn` runs, in the order in which they run. A kernel's body is not among them."""
    name, params, invars = eqn.primitive.name, eqn.params, list(eqn.invars)
    match name:
        case "pallas_call" | "mpmd_map":
            return ()
        case "cond":
            return tuple(
                Body("branch", closed(b), _pairs(list(closed(b).invars), invars[1:]), branch=i)
                for i, b in enumerate(params["branches"])
            )
        case "scan":
            return (_scan_body(eqn),)
        case "while":
            return _while_bodies(eqn)
        case "run_scoped":
            inner = params["jaxpr"]
            return (Body("scope", inner, _pairs(list(inner.constvars), invars)),)
    if name in CALLS and CALLS[name] in params:
        inner = closed(params[CALLS[name]])
        return (Body("call", inner, _pairs(list(inner.invars), invars)),)
    return tuple(Body("other", inner, {}, trips=None) for inner in _any_jaxprs(params))


def _pairs(inner: list[Var], outer: list[Atom]) -> dict[Var, Atom]:
    return dict(zip(inner, outer, strict=True)) if len(inner) == len(outer) else {}


def scan_counts(eqn: JaxprEqn) -> tuple[int, int]:
    """How many inputs of a `scan` are constants and how many are carried; the rest are scanned over."""
    if "num_consts" in eqn.params:
        return eqn.params["num_consts"], eqn.params["num_carry"]
    consts, carry, _ = eqn.params["ft_in"].unpack()
    return len(consts), len(carry)


def _scan_body(eqn: JaxprEqn) -> Body:
    consts, carry = scan_counts(eqn)
    jaxpr = closed(eqn.params["jaxpr"])
    inner, outer = list(jaxpr.invars), list(eqn.invars)
    cut = consts + carry
    return Body(
        "loop", jaxpr, _pairs(inner[:consts], outer[:consts]), _pairs(inner[consts:cut], outer[consts:cut]),
        _pairs(inner[cut:], outer[cut:]), trips=int(eqn.params["length"]),
    )  # fmt: skip


def _while_bodies(eqn: JaxprEqn) -> tuple[Body, Body]:
    params, outer = eqn.params, list(eqn.invars)
    nc, nb = params["cond_nconsts"], params["body_nconsts"]
    init = outer[nc + nb :]
    test, body = closed(params["cond_jaxpr"]), closed(params["body_jaxpr"])
    ti, bi = list(test.invars), list(body.invars)
    return (
        Body("condition", test, _pairs(ti[:nc], outer[:nc]), _pairs(ti[nc:], init), trips=None),
        Body("loop", body, _pairs(bi[:nb], outer[nc : nc + nb]), _pairs(bi[nb:], init), trips=None),
    )


def _any_jaxprs(params: dict[str, Any]) -> Iterator[Jaxpr]:
    for value in params.values():
        for item in value if isinstance(value, tuple | list) else (value,):
            if isinstance(item, Jaxpr):
                yield item
