"""Rules on precision and on padding: what the numbers lose on their way."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tutor.jaxpr.checks.kernel import KernelView
from tutor.jaxpr.checks.walk import Event
from tutor.jaxpr.compat import JaxprEqn, Var
from tutor.jaxpr.flow import Use
from tutor.protocol import Finding

ADDS = frozenset({"add", "sub", "add_any"})
KEEPS_A_SUM = frozenset({"convert_element_type", "mul", "div", "neg", "reshape", "broadcast_in_dim", "squeeze", *ADDS})


def running_sum_is_narrow(kernel: KernelView) -> Iterator[Finding]:
    """KT334. A sum kept in bfloat16 is rounded to 8 bits at every step; the error grows with the number of steps."""
    for ref in kernel.data_refs(*kernel.parts.scratch, *kernel.parts.outputs, *kernel.walk.scoped):
        dtype = ref.aval.dtype
        if not _narrow(dtype):
            continue
        event = _accumulation(kernel, ref)
        if event is None:
            continue
        name = kernel.walk.name(ref)
        yield kernel.say(
            "KT334",
            f"{name} is {dtype}, and a sum is kept in it: every step reads it, adds, and rounds the result back "
            f"to {dtype}. "
            "The rounding errors add up with the number of steps.",
            severity="warning",
            event=event,
            ref=ref,
            hint="Keep the sum in a float32 VMEM scratch (int32 for integers) and cast it once, at the last step.",
        )


def _narrow(dtype: object) -> bool:
    name = str(dtype)
    return name.startswith(("bfloat16", "float16", "float8", "int8", "int16", "uint8", "uint16", "int4", "uint4"))


def _accumulation(kernel: KernelView, ref: Var) -> Event | None:
    """A store of old value plus something to the Ref that held the old value, if it happens more than once."""
    events = kernel.walk.of(ref)
    stores = {id(e.eqn): e for e in events if e.op is not None and e.op.kind == "store" and e.possible()}
    for event in events:
        assert event.op is not None
        if event.op.add and event.op.kind == "store" and _many_times(kernel, event, ref):
            return event
        if event.op.kind != "load" or not event.possible():
            continue
        target = stored_sum(kernel, event, stores)
        if target is not None and _many_times(kernel, target, ref):
            return target
    return None


def stored_sum(kernel: KernelView, load: Event, stores: dict[int, Event]) -> Event | None:
    """The store (of `stores`, by the id of its equation) of what was loaded plus something."""
    added: set[Var] = set()

    def through(use: Use) -> bool:
        name = use.eqn.primitive.name if use.eqn is not None else ""
        if name in ADDS and use.eqn is not None:
            added.update(use.eqn.outvars)
        return name in KEEPS_A_SUM

    uses = list(kernel.flow.forward(load.eqn.outvars[0], through))
    reached = {
        id(u.eqn) for v in added for u in kernel.flow.forward(v, through) if u.eqn is not None and u.position == 1
    }
    return next((stores[id(u.eqn)] for u in uses if id(u.eqn) in stores and id(u.eqn) in reached), None)


def _many_times(kernel: KernelView, event: Event, ref: Var) -> bool:
    """Whether one element certainly gets the sum of more than one step: the same block stays, or a loop repeats."""
    runs = sum(1 for e in kernel.walk.of(ref) if e.eqn is event.eqn)
    if event.repeats or runs > 1:
        return True
    if ref in kernel.walk.scoped or not kernel.walk.complete or event.active is None:
        return False
    rows = np.flatnonzero(event.active)
    if ref in kernel.parts.scratch or ref not in kernel.blocks:
        return ref in kernel.parts.scratch and len(rows) > 1
    blocks = kernel.blocks[ref][rows]
    return len(np.unique(blocks, axis=0)) < len(rows)


def product_is_rounded(kernel: KernelView) -> Iterator[Finding]:
    """KT335. The matrix unit sums in 32 bits. Asking for a narrower result is refused when lowering for TPU."""
    for event in dots(kernel):
        (out,) = event.eqn.outvars
        if np.dtype(out.aval.dtype).itemsize >= 4:
            continue
        wide = "float32" if "float" in str(out.aval.dtype) else "int32"
        yield kernel.say(
            "KT335",
            f"This product has {out.aval.dtype} results. The matrix unit sums in {wide}; rounding every product to "
            f"{out.aval.dtype} is refused by the TPU lowering, and would lose precision.",
            event=event,
            hint=f"Pass preferred_element_type=jnp.{wide}, and cast when you store.",
        )


def product_at_default_precision(kernel: KernelView) -> Iterator[Finding]:
    """KT340. By default a TPU multiplies float32 in one bfloat16 pass; precision=HIGHEST takes six passes."""
    for event in dots(kernel):
        precision = event.eqn.params.get("precision")
        asked = precision if isinstance(precision, tuple) else (precision,)
        if {str(v.aval.dtype) for v in event.eqn.invars[:2]} != {"float32"} or any(map(_is_high, asked)):
            continue
        yield kernel.say(
            "KT340",
            "Both operands of this product are float32, at default precision. A TPU rounds them to bfloat16 and "
            "multiplies "
            "in one pass, so the result has about 3 digits; interpret mode shows the exact product.",
            severity="note",
            event=event,
            hint="precision=jax.lax.Precision.HIGHEST keeps float32, for six times as many passes.",
        )


def _is_high(precision: object) -> bool:
    return precision is not None and str(precision).rsplit(".", 1)[-1].upper() not in ("DEFAULT", "NONE")


def dots(kernel: KernelView) -> Iterator[Event]:
    """Every product, once."""
    seen: set[int] = set()
    for event in kernel.walk.events:
        if event.name == "dot_general" and id(event.eqn) not in seen:
            seen.add(id(event.eqn))
            yield event


def partial_block_is_summed(kernel: KernelView) -> Iterator[Finding]:
    """KT339. The last block of an array that does not divide is padded with garbage; a sum over it takes that in."""
    for ref in kernel.data_refs(*kernel.parts.inputs):
        mapping = kernel.parts.mapping(ref)
        if mapping is None or mapping.space != "vmem" or any(mapping.element) or not mapping.known:
            continue
        kept = [i for i, size in enumerate(mapping.block_shape) if size is not None]
        padded = [i for i, axis in enumerate(kept) if mapping.array_shape[axis] % mapping.sizes[axis]]
        for event in kernel.walk.of(ref) if padded else ():
            summed = [i for i in padded if _sums_over(kernel, event, i) is not None]
            if not summed:
                continue
            axis = kept[summed[0]]
            size, block = mapping.array_shape[axis], mapping.sizes[axis]
            yield kernel.say(
                "KT339",
                f"Dimension {axis} of {kernel.walk.name(ref)} has {size} elements in blocks of {block}, so the "
                f"last block "
                f"holds {size % block} of them and {block - size % block} of garbage. The sum over this "
                f"dimension takes the "
                "garbage in unless it is masked.",
                severity="note",
                event=event,
                ref=ref,
                hint="Mask it before the sum: jnp.where(index < size, block, 0), with a broadcasted_iota for "
                "the index. "
                "For a product, mask both operands: 0 times NaN is NaN.",
            )
            break


def _sums_over(kernel: KernelView, event: Event, dimension: int) -> JaxprEqn | None:
    """The equation that sums this dimension of what was loaded, with no `where` on the way."""
    op = event.op
    if op is None or op.kind != "load" or op.mask is not None or not op.view.whole:
        return None
    padded = frozenset({dimension})
    dims: dict[Var, frozenset[int]] = {event.eqn.outvars[0]: padded}
    found: list[JaxprEqn] = []

    def through(use: Use) -> bool:
        eqn = use.eqn
        if eqn is None or found:
            return False
        here, name = dims.get(use.var, padded), eqn.primitive.name
        if name == "dot_general":
            contracted = eqn.params["dimension_numbers"][0][use.position] if use.position < 2 else ()
            if here & set(contracted):
                found.append(eqn)
            return False
        if name in ("reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "argmax", "argmin", "cumsum"):
            axes = eqn.params.get("axes", (eqn.params.get("axis"),))
            if here & set(axes):
                found.append(eqn)
            return False
        if name == "transpose":
            order = eqn.params["permutation"]
            dims[eqn.outvars[0]] = frozenset(i for i, d in enumerate(order) if d in here)
            return True
        keeps = name != "select_n" and all(getattr(v.aval, "shape", None) == use.var.aval.shape for v in eqn.outvars)
        return keeps and name not in ("swap", "masked_swap", "rev", "roll", "sort")

    def tracked(use: Use) -> bool:
        passed = through(use)
        if passed and use.eqn is not None:
            for v in use.eqn.outvars:
                dims.setdefault(v, dims.get(use.var, padded))
        return passed

    for _ in kernel.flow.forward(event.eqn.outvars[0], tracked):
        pass
    return found[0] if found else None


RULES = (running_sum_is_narrow, product_is_rounded, product_at_default_precision, partial_block_is_summed)
