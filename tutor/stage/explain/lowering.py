"""Why a kernel does not lower for TPU, in plain words (KT501 to KT513)."""

from __future__ import annotations

import re

from tutor.protocol import CaseFacts, Finding, Space
from tutor.stage.explain import tiles
from tutor.stage.explain.reading import Reading, place_at
from tutor.stage.explain.replacements import instead_of, written_as
from tutor.stage.explain.table import Clue, Row, Words, code_name, first_line, look_up, speak
from tutor.stage.explain.where import VERIFIERS, Place, chain, place_in_text, place_of, said_where


def explain_lowering(exc: BaseException, source: str, path: str, facts: CaseFacts | None = None) -> Finding:
    """As `_explained`; where the kernel stands in another file, that is said."""
    return said_where(_explained(exc, source, path, facts), exc, path)


def _explained(exc: BaseException, source: str, path: str, facts: CaseFacts | None) -> Finding:
    """One finding for what `jax.export` for `tpu` raised: the kernel is right as algebra, but not as TPU code.

    `facts` of the case, where there are any, name refs and lines that the exception does not."""
    reading, place = Reading(source), place_of(exc, path)
    kind, text = type(exc).__name__, str(exc)
    # MLIR's own message names the place; the exception that JAX makes of it has dropped the columns.
    for link in chain(exc):
        found = place_in_text(str(link), path) if type(link).__name__ == "MLIRError" else None
        if found and (place is None or place.line == found.line):
            place = found
    launch = place if reading.launches(place) else None
    inside = None if launch else place
    known = look_up(ROWS, kind, text, inside, reading, path, facts=facts, launch=launch)
    if known is not None:
        return known
    said = first_line(re.sub(r"^Pallas encountered an internal verification error.*?Error details: ", "", text))
    code = "KT511" if kind in _VERIFIERS else "KT501"
    return speak(code, _generic(said, kind), place, f"{kind}: {text}")


_VERIFIERS = (*VERIFIERS, "MLIRError")


# ---------------------------------------------------------------- memory spaces


def in_hbm(c: Clue) -> Words:
    storing = "stores" in c.text
    ref = _ref_in(c, "any", "hbm", storing=storing)
    return Words(
        f"{code_name(ref, 'The ref')} lies in ANY or HBM, and the core cannot reach into HBM: `ref[...]` on it is not "
        f"a slow {'store' if storing else 'read'}, it is no {'store' if storing else 'read'} at all. Data has to be "
        "copied between HBM and VMEM first. Interpret mode knows no memory spaces, so it does not mind.",
        "Copy with `pltpu.sync_copy(source, scratch)` and work on the VMEM scratch, or give the operand a BlockSpec "
        "so that the pipeline copies blocks for you.",
        ref,
    )


def vector_from_smem(c: Clue) -> Words:
    ref = _ref_in(c, "smem")
    return Words(
        f"{code_name(ref, 'The ref')} lies in SMEM, which is read one scalar at a time, but this line loads a whole "
        "part of it. SMEM belongs to the scalar unit; there is no vector load from it.",
        "Load single elements, such as `ref[i]`, or put the operand in VMEM.",
        ref,
    )


def vector_to_smem(c: Clue) -> Words:
    ref = c.reading.stored_ref(c.place)
    return Words(
        f"{code_name(ref, 'The ref')} lies in SMEM, which is written one scalar at a time, but this line stores a "
        "vector.",
        "Store single elements in a loop, or put the ref in VMEM.",
        ref,
    )


def scalar_to_vmem(c: Clue) -> Words:
    ref = c.reading.stored_ref(c.place)
    return Words(
        f"This line stores a scalar in {code_name(ref, 'a ref')}, which lies in VMEM. VMEM is written by vector "
        "stores only; there is no store of a single number. Interpret mode knows no memory spaces, so it does not "
        "mind.",
        "Keep the dimensions (`keepdims=True`, or `jnp.full(ref.shape, value)`) and store the array, or put the ref "
        "in SMEM.",
        ref,
    )


def masked(c: Clue) -> Words:
    return Words(
        "A masked store works on 32-bit elements that lie side by side, and this one does not fit: "
        f"{first_line(c.text)}.",
        "Load the old value, choose with `jnp.where(mask, new, old)`, and store the whole block.",
        c.reading.stored_ref(c.place),
    )


# ---------------------------------------------------------------- operations and dtypes


def primitive(c: Clue) -> Words:
    name = c.group("name")
    if name in ("pure_callback", "io_callback", "debug_callback", "callback"):
        return Words(
            f"`{name}` calls back into Python, and no Python runs beside a kernel on the chip.",
            "Remove the callback; `pl.debug_print` prints from a kernel.",
        )
    return Words(
        f"The operation `{name}` has no TPU lowering inside a kernel. jnp functions are made of such operations, and "
        "only part of them exists for the vector unit. Interpret mode runs them as ordinary JAX, so it does not mind.",
        instead_of(name),
        place=c.place or _line_of(c, name),
    )


def gather(c: Clue) -> Words:
    return Words(
        "This line picks elements by an array of indices, a gather. In a kernel only picking along one of the last "
        "two axes, with an index for every element of the result, can be lowered.",
        "Index the ref with scalars in a loop, use `jnp.take_along_axis`, or let the index map of a BlockSpec (with "
        "scalar prefetch) choose the blocks.",
        place=c.place or _line_of(c, "gather"),
        code="KT506",
    )


def unsupported(c: Clue) -> Words:
    return Words(
        f"This line asks for something that has no TPU lowering: {first_line(c.text)}",
        "Write the same thing with other operations, or do it outside the kernel.",
        code="KT506",
    )


def bits_64(c: Clue) -> Words:
    return Words(
        "A value of this line has 64 bits. A TPU core has no 64-bit numbers. They come from `jax_enable_x64`, from an "
        "explicit 64-bit dtype, or from NumPy arrays, which are float64 by default.",
        "Use 32-bit dtypes throughout, and `np.float32` for constants.",
    )


def complex_numbers(c: Clue) -> Words:
    return Words(
        "A value of this line has a dtype that vectors cannot hold, such as a complex one.",
        "Keep the real and the imaginary part in two arrays.",
        code="KT506",
    )


def unsigned_dot(c: Clue) -> Words:
    return Words(
        f"The product has a factor of dtype {c.group('dtype')}, and the matrix unit reads all integers as signed.",
        "Cast the factors to int8 or int32 before the product.",
        code="KT506",
    )


def matmul(c: Clue) -> Words:
    m = re.search(r": \(vector<[\dx]*x(\w+)>, vector<[\dx]*x(\w+)>, \S+\) -> vector<([\dx]+)x(\w+)>", c.text)
    types = f" Here {m[1]} times {m[2]} is to give {m[4]}." if m else ""
    integers = bool(m and m[4].startswith("i"))
    want = "jnp.int32" if integers else "jnp.float32"
    return Words(
        "The matrix unit adds up in 32 bits, so a product must have a 32-bit result; without `preferred_element_type` "
        f"the result takes the dtype of the factors.{types} Sums in a narrow dtype would also lose digits.",
        f"Write `jnp.dot(a, b, preferred_element_type={want})` and cast the result when you store it.",
    )


def copy_mismatch(c: Clue) -> Words:
    m = re.search(r": \(memref<([\dx]+)x(\w+?)(?:,.*?)?>, memref<([\dx]+)x(\w+?)[,>]", c.text)
    what = "element type" if "element type" in c.text else "shape"
    types = f" The source is {_shape(m[1])} of {m[2]}, the destination {_shape(m[3])} of {m[4]}." if m else ""
    return Words(
        f"A copy moves bytes as they are: source and destination must have the same shape and dtype, but the {what} "
        f"differs.{types}",
        "Make the scratch like the part that is copied, or copy a part with `ref.at[…]`. Cast after the copy.",
        place=c.place or _line_of(c, "dma_start"),
        code="KT511",
    )


def collective(c: Clue) -> Words:
    return Words(
        "The kernel talks to other devices, but it runs outside `shard_map`, so there is no mesh whose devices it "
        "could name.",
        "Call the kernel inside `jax.shard_map` over a mesh, and name devices by its axes.",
    )


def no_semaphore(c: Clue) -> Words:
    return Words(
        "A copy was started without a semaphore, so nothing could tell when it is done.",
        "Pass a `pltpu.SemaphoreType.DMA` ref, or use `pltpu.sync_copy`.",
        code="KT501",
    )


def printing(c: Clue) -> Words:
    return Words(
        f"`pl.debug_print` does not fit its arguments: {first_line(c.text)}",
        "Print scalars with one `{}` each, or one vector with a format that ends in `{}`.",
        code="KT501",
    )


def scalar_cast(c: Clue) -> Words:
    return Words(
        f"{first_line(c.text)} A scalar in a kernel has 32 bits.",
        "Cast the array to float32 or int32 before you take one element.",
        code="KT506",
    )


def float_index(c: Clue) -> Words:
    return Words(
        "A ref is indexed with a float. Indices are integers; `/` makes a float even when it divides evenly.",
        "Use `//` for the index.",
        c.reading.loaded_ref(c.place),
        code="KT501",
    )


def traced_outside(c: Clue) -> Words:
    return Words(
        "A value that belongs to the kernel is used outside of it (kept in a list, a global or a closure).",
        "Pass values through refs and return values only.",
        code="KT501",
    )


def _generic(said: str, kind: str) -> Words:
    if kind in _VERIFIERS:
        message = f"Mosaic, the compiler of TPU kernels, checked the kernel's code and refused this operation: {said}"
        return Words(message, "Look at the shapes, dtypes and memory spaces that meet on this line.")
    return Words(
        f"The kernel could not be turned into TPU code: {said}",
        "Interpret mode accepts more than a TPU does; look for an operation, dtype or memory space that is special "
        "here.",
    )


def _ref_in(c: Clue, *spaces: Space, storing: bool = False) -> str | None:
    """The ref on the line that lies in one of these memory spaces; from the source alone where there are no facts."""
    if c.facts is not None and c.place is not None:
        accesses = [
            a for k in c.facts.kernels for a in k.kernel.accesses if a.line == c.place.line and a.space in spaces
        ]
        names = {a.ref for a in accesses if (a.kind != "load") == storing} or {a.ref for a in accesses}
        if len(names) == 1:
            return names.pop()
    first, second = c.reading.loaded_ref, c.reading.stored_ref
    if storing:
        first, second = second, first
    return first(c.place) or (second(c.place) if storing else None)


def _line_of(c: Clue, primitive_name: str) -> Place | None:
    """Where an operation stands that JAX gives no line for: from the facts, or from the only call that can mean it."""
    if c.facts is not None:
        lines = {p.line for k in c.facts.kernels for p in k.inside if p.name == primitive_name and p.line}
        return Place(min(lines)) if lines else None
    found = c.reading.calls(*written_as(primitive_name))
    return place_at(found[0]) if len(found) == 1 else None


def _shape(dims: str) -> str:
    return f"({dims.replace('x', ', ')})"


ROWS: tuple[Row, ...] = (
    *tiles.ROWS,
    Row(r"(?:Loads|stores) are only allowed on VMEM and SMEM", "KT509", in_hbm),
    Row(r"Can only load scalars from SMEM", "KT504", vector_from_smem),
    Row(r"Can only store scalars to SMEM|SMEM store does not support masks", "KT513", vector_to_smem),
    Row(r"Cannot (?:store|swap) scalars to VMEM", "KT505", scalar_to_vmem),
    Row(r"masked swap|value and mask to have the same shape", "KT506", masked),
    Row(r"Unimplemented primitive in Pallas TPU lowering for \w+: (?P<name>\w+)", "KT506", primitive),
    Row(r"gather", "KT506", gather, ("NotImplementedError",)),
    Row(r"64-bit types are not supported", "KT507", bits_64),
    Row(r"failed to verify 'elementType'", "KT506", complex_numbers),
    Row(r"Unsigned integer dtype (?P<dtype>\w+) is not supported", "KT506", unsigned_dot),
    Row(r"Expected matmul acc to be 32-bit|acc to be 32-bit", "KT510", matmul),
    Row(r"Unsupported preferred_element_type", "KT510", matmul),
    Row(r"DMA source and target", "KT511", copy_mismatch),
    Row(
        r"Number of device ids must match|Cannot use communication in pallas_call|Mesh context is not set",
        "KT512",
        collective,
    ),
    Row(r"[Uu]nbound axis name|axis name .* not (?:found|bound)", "KT512", collective),
    Row(r"semaphore cannot be None", "KT501", no_semaphore),
    Row(r"format string|debug_print|placeholders", "KT501", printing),
    Row(r"32-bit element types can be converted to scalars", "KT506", scalar_cast),
    Row(r"'TypedFloat' object has no attribute", "KT501", float_index),
    Row(r"Too many leaves for PyTreeDef", "KT501", traced_outside),
    Row(
        r"not (?:yet )?(?:supported|implemented)|[Uu]nsupported|[Oo]nly .* supported",
        "KT506",
        unsupported,
        ("NotImplementedError",),
    ),
)
