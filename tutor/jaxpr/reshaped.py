"""Reads and writes through a reshaped Ref, as the simulator of TPU memory can run them.

It knows slices of a Ref and nothing else. `ref.reshape(s)[i]` is the read of all of `ref` whose value is reshaped and
indexed then, and a store to all of `ref.reshape(s)` is a store of a reshaped value. A store to a part of a reshaped Ref
is left as it is, for it would have to read what nothing may have written; and so is what is cast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax import lax

from tutor.jaxpr.compat import Dim, JaxprEqn, access_transforms, fresh, index_dims, new_shape, with_transforms
from tutor.jaxpr.surgery import equations_of

type _Step = tuple[int, ...] | tuple[Dim, ...]
"""A new shape, or an index step."""


def without_reshaped_ref(eqn: JaxprEqn) -> list[JaxprEqn]:
    """The equations that do what `eqn` does without an access through a reshaped Ref, or `eqn` alone."""
    if eqn.primitive.name not in ("get", "swap"):
        return [eqn]
    transforms = access_transforms(eqn)
    at = next((i for i, t in enumerate(transforms) if new_shape(t)), None)
    if at is None:
        return [eqn]
    kept, rest = transforms[:at], [new_shape(t) or index_dims(t) for t in transforms[at:]]
    steps = [step for step in rest if step]
    if len(steps) < len(rest):
        return [eqn]
    return _read(eqn, kept, steps) if eqn.primitive.name == "get" else _store(eqn, kept, steps)


def _read(eqn: JaxprEqn, kept: Sequence[Any], steps: Sequence[_Step]) -> list[JaxprEqn]:
    (out,) = eqn.outvars
    dynamic = [d.start for step in steps for d in step if isinstance(d, Dim) and not isinstance(d.start, int)]

    def value(whole: Any, *starts: Any) -> Any:
        left = iter(starts)
        for step in steps:
            whole = _indexed(whole, step, left) if isinstance(step[0], Dim) else _shaped(whole, step)
        return _shaped(whole, out.aval.shape)

    whole = _whole(eqn, kept)
    return [whole, *equations_of(value, [whole.outvars[0], *dynamic], out)]


def _store(eqn: JaxprEqn, kept: Sequence[Any], steps: Sequence[_Step]) -> list[JaxprEqn]:
    if any(isinstance(d, Dim) for step in steps for d in step):
        return [eqn]
    old = _whole(eqn, kept)
    shape = old.outvars[0].aval.shape
    value = fresh(old.outvars[0])
    before = equations_of(lambda stored: _shaped(stored, shape), [eqn.invars[1]], value)
    store = old.replace(invars=[old.invars[0], value, *old.invars[2:]])
    (out,) = eqn.outvars
    after = equations_of(lambda was: _shaped(was, out.aval.shape), [store.outvars[0]], out)
    return [*before, store, *after]


def _whole(eqn: JaxprEqn, kept: Sequence[Any]) -> JaxprEqn:
    """The access without what reshapes. Its result has the shape that the Ref has before."""
    plain = with_transforms(eqn, kept)
    ref = eqn.invars[0].aval
    shape = ref.shape if not kept else kept[-1].get_indexer_shape()
    return plain.replace(outvars=[fresh(eqn.outvars[0], shape)])


def _indexed(value: Any, dims: Sequence[Any], starts: Any) -> Any:
    squeezed = []
    for axis, dim in enumerate(dims):
        start = dim.start if isinstance(dim.start, int) else next(starts)
        value = lax.dynamic_slice_in_dim(value, start, (dim.size - 1) * dim.stride + 1, axis)
        value = lax.slice_in_dim(value, 0, None, dim.stride, axis)
        squeezed += [axis] if dim.squeezed else []
    return lax.squeeze(value, squeezed)


def _shaped(value: Any, shape: Sequence[int]) -> Any:
    """`lax.reshape` makes no equation where the shape is that already, and here there must be one to name."""
    return lax.reshape_p.bind(value, new_sizes=tuple(shape), dimensions=None, sharding=None)
