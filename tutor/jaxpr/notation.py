"""How the parts of an equation are written: types, atoms, indices and parameters, in a notation close to JAX's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from tutor.jaxpr.compat import Constant, Dim, JaxprEqn, View, index_steps, is_ref, space
from tutor.jaxpr.names import clean

type Piece = tuple[str, str | None]
"""A piece of text and the role of its span, if it has one."""

SHORT = {
    "float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16",
    "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8", "int4": "i4", "int2": "i2",
    "uint64": "u64", "uint32": "u32", "uint16": "u16", "uint8": "u8", "uint4": "u4", "uint2": "u2",
    "complex64": "c64", "complex128": "c128",
}  # fmt: skip

UNSAID = frozenset({
    "jaxpr", "call_jaxpr", "fun_jaxpr", "body_jaxpr", "cond_jaxpr", "branches", "jaxprs", "tree", "args_tree",
    "ft_in", "ft_out", "sharding", "out_sharding", "in_shardings", "out_shardings", "in_layouts", "out_layouts",
    "donated_invars", "ctx_mesh", "keep_unused", "inline", "compiler_options_kvs", "weak_type", "body_nconsts",
    "cond_nconsts", "num_consts", "num_carry", "jvp_jaxpr_fun", "fwd_jaxpr_thunk", "bwd", "ref_transforms",
    "device_id_type", "linear", "grid_mapping", "out_avals", "meshes", "external_meshes", "backend", "_split_transpose",
    "index_map", "accuracy", "eviction_policy", "cache_modifier", "is_volatile", "unroll", "out_tree", "out_trees",
    "symbolic_zeros", "out_type", "input_output_aliases", "mesh",
})  # fmt: skip
"""Parameters that say nothing to a reader of a kernel: bodies (shown below), layouts, bookkeeping."""

LONGEST_PARAMETER = 72


@lru_cache(maxsize=256)
def short_dtype(dtype: Any) -> str:
    """`f32`, `bf16`, `i32`, `bool`, … as jaxprs write them."""
    return SHORT.get(name := str(dtype), name)


def type_text(aval: Any) -> str:
    """`f32[8,128]` for an array or what a Ref holds."""
    return f"{short_dtype(getattr(aval, 'dtype', aval))}[{','.join(map(str, getattr(aval, 'shape', ())))}]"


def binder(var: Any, name: str) -> list[Piece]:
    """A variable where it is bound, with its type."""
    if is_ref(var):
        where = space(var.aval)
        kind = f"space.{where}"
        return [(name, kind), (":Ref<", "type"), (where, kind), (">{" + type_text(var.aval) + "}", "type")]
    return [(name, "variable"), (":" + type_text(var.aval), "type")]


def literal(value: Any) -> Piece:
    """A constant. Arrays show their type only."""
    shape = getattr(value, "shape", ())
    if isinstance(value, int) and not isinstance(value, bool):
        return (str(int(value)), "literal")  # JAX's own integers show their type when asked for text
    return (clean(str(value)) if shape == () else f"<{type_text(value)}>", "literal")


def index_pieces(view: View, atom: Callable[[Any], Piece]) -> Iterator[Piece]:
    """The indices after a Ref's name: `[...]`, `[i, 0:8, :]`, one bracket for each step of `.at[]`."""
    steps = index_steps(view)
    if not any(isinstance(s, str) or not all(d.whole for d in s) for s in steps):
        if view.ref.aval.shape:
            yield ("[...]", None)
        return
    for step in steps:
        if isinstance(step, str):
            yield ("{" + clean(step) + "}", "param")
        elif len(steps) == 1 or not all(d.whole for d in step):
            yield ("[", None)
            for i, dim in enumerate(step):
                if i:
                    yield (",", None)
                yield from _dim_pieces(dim, atom)
            yield ("]", None)


def _dim_pieces(dim: Dim, atom: Callable[[Any], Piece]) -> Iterator[Piece]:
    if dim.whole:
        yield (":", None)
        return
    start: Piece = (str(dim.start), "literal") if isinstance(dim.start, int) else atom(dim.start)
    if dim.squeezed:
        yield start
        return
    if not isinstance(dim.start, int) or dim.size is None:
        yield from (start, (":", None), start, (f"+{dim.size if dim.size is not None else '?'}", None))
    else:
        yield (f"{dim.start or ''}:{dim.start + dim.size * dim.stride}", "literal")
    if dim.stride != 1:
        yield (f":{dim.stride}", None)


def parameters(eqn: JaxprEqn) -> str:
    """The parameters worth reading as `name=value …`; long values are folded to `…`."""
    parts = []
    for name, value in eqn.params.items():
        if name in UNSAID or value is None or value is False or (isinstance(value, tuple | str) and not value):
            continue
        text = clean(parameter(value), 400)
        parts.append(f"{clean(name)}={text if len(text) <= LONGEST_PARAMETER else '…'}")
    return " ".join(parts)


def parameter(value: Any) -> str:
    """One parameter's value. Arrays show their type only."""
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"<{type_text(value)}>"
    if isinstance(value, tuple):
        inner = [parameter(v) for v in value]
        if inner and all(i == inner[0] for i in inner) and type(value[0]).__name__ == "Precision":
            return inner[0]
        return "(" + ",".join(inner) + ("," if len(inner) == 1 else "") + ")"
    if type(value).__name__ in ("Precision", "DotAlgorithmPreset", "GatherScatterMode"):
        return str(value.name)
    if callable(value) and not isinstance(value, type):
        return str(getattr(value, "__name__", type(value).__name__))
    return str(value)


def is_constant(atom: Any) -> bool:
    """Whether an atom is written as its value."""
    return isinstance(atom, Constant)
