"""Words for what goes wrong at a ref: stores, refs used as arrays, indices, semaphores (KT113, 116, 117, 120, 123)."""

from __future__ import annotations

import re

from tutor.stage.explain.table import Clue, Row, Words, code_name


def dtypes_differ(c: Clue) -> Words:
    ref = c.reading.stored_ref(c.place)
    name, want, got = code_name(ref, "The ref"), c.group("ref"), c.group("value")
    return Words(
        f"{name} holds {want}, but the value stored in it is {got}. A store never converts: the value must already "
        "have the dtype of the ref.",
        f"Cast the value: `.astype({ref}.dtype)`." if ref else "Cast the value to the ref's dtype with `.astype(…)`.",
        ref,
    )


def shapes_differ(c: Clue) -> Words:
    ref = c.reading.stored_ref(c.place)
    whole, want, got = c.group("ref"), c.group("want"), c.group("value")
    name = code_name(ref, "the ref")
    part = f"all of {name}" if whole == want else f"a part of {name} (whose shape is {whole})"
    message = (
        f"The store goes to {part}, which takes shape {want}, but the value has shape {got}. A store does not "
        "broadcast and does not cut: both shapes must be equal."
    )
    hint = "Give the value the shape of what you index, with `jnp.broadcast_to`, a reshape, or other indices."
    if sorted(_numbers(want)) == sorted(_numbers(got)) and want != got:
        hint = "The same lengths in another order: transpose the value, or swap the lengths in the block shape."
    elif len(_numbers(want)) != len(_numbers(got)):
        hint = "The ranks differ: a reduction needs `keepdims=True`, or index the extra axis away with `[0]`."
    return Words(message, hint, ref)


def ref_as_array(c: Clue) -> Words | None:
    ref = c.reading.bare_ref(c.place)
    if c.kind in ("ValueError", "TypeError") and c.match.re.pattern in _NEEDS_A_NAME and ref is None:
        return None
    name = ref or "ref"
    subject = code_name(ref, "The name") + (" is a Ref: a place in memory, not the value that lies there")
    message = f"{subject}. Arithmetic, jnp functions and methods need the value, and reading it is a load of its own."
    if "_iter" in c.text or "iterable" in c.text:
        message = f"{subject}. It cannot be looped over; index it with each row's number instead."
    return Words(message, f"Write `{name}[...]` to load the whole block.", ref)


def ref_into_ref(c: Clue) -> Words:
    ref, target = c.reading.bare_ref(c.place), c.reading.stored_ref(c.place)
    if ref is None:
        statement = c.reading.statement(c.place)
        ref = getattr(getattr(statement, "value", None), "id", None)
    source = code_name(ref, "what stands on the right")
    return Words(
        f"{source} is a Ref: a place in memory, and a place cannot be stored in {code_name(target, 'another ref')}. "
        "Load its value first.",
        f"Write `{ref or 'ref'}[...]` on the right.",
        ref,
    )


def array_as_ref(c: Clue) -> Words:
    return Words(
        f"`{c.group('what')}` works on a Ref, but it is given an array. A value that was loaded is no longer a place "
        "in memory.",
        "Pass the ref itself (without `[...]`), or work on the value with jnp functions.",
    )


def item_assignment(c: Clue) -> Words:
    return Words(
        "The name on the left is an array, a value that was loaded or computed, and arrays cannot be changed in place. "
        "Only a Ref can be stored to.",
        "Store through a ref (an output or a scratch), or build a new array with `jnp.where` or `x.at[…].set(…)`.",
        code="KT110",
    )


def outside_slice(c: Clue) -> Words:
    ref = c.reading.loaded_ref(c.place) or c.reading.stored_ref(c.place)
    start, dim, size = c.group("start"), c.group("dim"), c.group("size")
    stride = c.group("stride")
    span = f"the slice that starts at {start}"
    if size:
        last = int(start) + (int(size) - 1) * int(stride or 1)
        span = f"the slice of {size} elements from {start} (the last is {last})"
    return Words(
        f"{code_name(ref, 'The ref')} has length {dim} on this axis, but {span} reaches outside. Indices count from 0 "
        "inside the block, not in the whole array.",
        "Keep start + size within the block, or make the block larger.",
        ref,
    )


def outside_index(c: Clue) -> Words:
    ref = c.reading.loaded_ref(c.place) or c.reading.stored_ref(c.place)
    return Words(
        f"{code_name(ref, 'The ref')} has length {c.group('dim')} on this axis, so its indices are 0 to "
        f"{int(c.group('dim')) - 1}, but the index is {c.group('start')}.",
        "Index inside the block; the block is what the BlockSpec cut out of the array.",
        ref,
    )


def too_many_indices(c: Clue) -> Words:
    ref = c.reading.loaded_ref(c.place) or c.reading.stored_ref(c.place)
    shape = c.group("shape")
    return Words(
        f"{code_name(ref, 'The ref')} has shape {shape}, that is {len(_numbers(shape))} axes, but it is given more "
        "indices than that. A block dimension of `None` is squeezed: the kernel does not see that axis.",
        "Leave the extra indices out.",
        ref,
    )


def not_a_dma_semaphore(c: Clue) -> Words:
    return Words(
        "A copy is waited for with a DMA semaphore, but this one is a regular semaphore. A DMA semaphore counts the "
        "bytes that a copy moves, a regular one counts signals; they are two kinds and neither stands in for the "
        "other.",
        "Write `pltpu.SemaphoreType.DMA` in `scratch_shapes` (or in `run_scoped`).",
        c.reading.semaphore_ref(c.place),
    )


def wrong_semaphore(c: Clue) -> Words:
    got = c.group("got").rstrip(".")
    which = "a DMA semaphore, which only copies signal" if "dma" in got else f"a ref of kind {got}"
    return Words(
        f"`pl.semaphore_{c.group('what')}` works on a regular semaphore, but it is given {which}.",
        "Use `copy.wait()` for a DMA semaphore, or declare `pltpu.SemaphoreType.REGULAR`.",
        c.reading.semaphore_ref(c.place),
    )


def semaphore_shape(c: Clue) -> Words:
    ref, shape = c.reading.semaphore_ref(c.place), c.group("shape")
    return Words(
        f"{code_name(ref, 'The semaphore')} has shape {shape}, so it is an array of semaphores (or not a semaphore at "
        "all), and an operation works on a single one.",
        f"Choose one with `{ref or 'sem'}.at[i]`, or declare it without a shape.",
        ref,
    )


def no_semaphore(c: Clue) -> Words:
    return Words(
        "A semaphore is needed here, but what is passed is no semaphore.",
        "Declare `pltpu.SemaphoreType.DMA` (copies) or `.REGULAR` (signals) in `scratch_shapes` and pass that ref.",
        c.reading.semaphore_ref(c.place),
    )


def copy_needs_refs(c: Clue) -> Words:
    return Words(
        "A copy moves memory to memory, so its source and its destination must both be refs; one of them is a value. "
        "`ref[...]` loads a value, `ref.at[...]` names a part of the memory.",
        "Pass the ref itself, or a part of it as `ref.at[…]`.",
    )


def _numbers(shape: str) -> list[str]:
    return re.findall(r"-?\d+", shape)


_TWO_TRACERS = r"unsupported operand type\(s\) for .*'DynamicJaxprTracer' and 'DynamicJaxprTracer'"
_NEEDS_A_NAME = {
    r"Only scalar arrays can be converted to Python scalars",
    r"truth value of an array with more than one element",
    r"is not iterable",
    _TWO_TRACERS,
}

ROWS: tuple[Row, ...] = (
    Row(
        r"Invalid dtype for `\w+`\. Ref dtype: (?P<ref>\S+?)\. Value (?:dtype|shape): (?P<value>\S+?)\.",
        "KT113",
        dtypes_differ,
    ),
    Row(
        r"Invalid shape for `\w+`\. Ref shape: (?P<ref>\(.*?\))\. "
        r"(?:Expected shape: (?P<want>\(.*?\))\. )?Value shape: (?P<value>\(.*?\))\.",
        "KT120",
        shapes_differ,
    ),
    Row(r"Cannot store a Ref into another Ref", "KT117", ref_into_ref),
    Row(r"'AbstractRef' object has no attribute", "KT117", ref_as_array),
    Row(r"got a Ref of type|Attempting to pass a Ref|Ref<", "KT117", ref_as_array),
    Row(r"Only scalar arrays can be converted to Python scalars", "KT117", ref_as_array),
    Row(r"truth value of an array with more than one element", "KT117", ref_as_array),
    Row(r"is not iterable", "KT117", ref_as_array),
    Row(_TWO_TRACERS, "KT117", ref_as_array),  # an array plus a Ref
    Row(r"Can only call `(?P<what>\w+)` on a `Ref`|`(?P<op>\w+)` must be called on `Ref`", "KT117", array_as_ref),
    Row(r"do not support in-place item assignment", "KT110", item_assignment),
    Row(
        r"Out of bound slice: start=(?P<start>-?\d+)"
        r"(?:, size=(?P<size>\d+), stride=(?P<stride>\d+))?, dim=(?P<dim>\d+)",
        "KT123",
        outside_slice,
    ),
    Row(r"Out of bound indexer: idx=(?P<start>-?\d+), dim=(?P<dim>\d+)", "KT123", outside_index),
    Row(r"`indices` must not be longer than `shape`.*shape=(?P<shape>\(.*?\))", "KT123", too_many_indices),
    Row(r"requires a DMA semaphore, but got a regular", "KT116", not_a_dma_semaphore),
    Row(r"Must (?P<what>\w+) semaphores of the following types.*Got (?P<got>[\w.]+)", "KT116", wrong_semaphore),
    Row(r"on a non-\(\)-shaped semaphore: (?P<shape>\(.*?\))", "KT116", semaphore_shape),
    Row(r"on a non-semaphore Ref|semaphore must be a Ref|semaphore to be a reference", "KT116", no_semaphore),
    Row(r"DMA source/destination arguments must be Refs", "KT117", copy_needs_refs),
)
