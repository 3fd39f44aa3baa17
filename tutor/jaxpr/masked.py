"""Loads and stores under a mask, made plain where both mean the same.

Interpret mode refuses a masked access with a constant index, and the simulator of TPU memory takes the mask of some for
lanes outside of the Ref. Where an access certainly stays inside its Ref, a masked store is a load, a choice and a
store, and a masked load is a load. What may reach outside is left alone: there a mask can be what keeps it inside.
"""

from __future__ import annotations

import jax.numpy as jnp

from tutor.jaxpr.compat import JaxprEqn, View, fresh, read_of, store_of
from tutor.jaxpr.equations import operation
from tutor.jaxpr.surgery import equations_of


def without_mask(eqn: JaxprEqn) -> list[JaxprEqn]:
    """The equations that do what `eqn` does without a mask, or `eqn` alone."""
    op = operation(eqn) if eqn.primitive.name in ("masked_load", "masked_swap") else None
    if op is None or not _inside(op.view):
        return [eqn]
    (out,) = eqn.outvars
    if op.kind == "load":
        *_, other = eqn.params["args_tree"].unflatten(eqn.invars)
        if op.mask is None or other is None:
            return [read_of(eqn, op.view, out)]
        loaded = fresh(out)
        return [read_of(eqn, op.view, loaded), *equations_of(jnp.where, [op.mask, loaded, other], out)]
    if op.mask is None:
        return [store_of(eqn, op.view, op.value)]
    old, new, was = fresh(out), fresh(out), fresh(out)
    return [
        read_of(eqn, op.view, old),
        *equations_of(jnp.where, [op.mask, op.value, old], new),
        store_of(eqn.replace(outvars=[was]), op.view, new),
        *equations_of(jnp.where, [op.mask, was, op.value], out),
    ]


def _inside(view: View) -> bool:
    """Whether every index is a constant, and all that it takes lies inside the Ref."""
    if view.indexed is None:
        return False
    dims = [dim for step in view.indexed for dim in step]
    return all(
        isinstance(d.start, int) and d.size is not None and 0 <= d.start <= d.extent - (d.size - 1) * d.stride - 1
        for d in dims
    )
