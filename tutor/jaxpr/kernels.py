"""A kernel equation, taken apart: which Ref plays which role, how arrays are cut into blocks, what aliases what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tutor.jaxpr.compat import Jaxpr, JaxprEqn, Var, block_dim, closed, space, written
from tutor.jaxpr.equations import Atom
from tutor.protocol import Space

KERNEL_PRIMITIVES = ("pallas_call", "mpmd_map")


@dataclass(frozen=True)
class Mapping:
    """How one input or output is cut into blocks. `block_shape` has one entry for each array dimension (None where
    the dimension is squeezed); `sizes` has 1 there. `element` marks dimensions whose index counts elements, not blocks.
    Where `known` is false (gathers, bounded slices), nothing may be concluded about positions. `padded`: blocks may
    reach over the array's edge into padding (`pl.Element`)."""

    origin: str
    block_shape: tuple[int | None, ...]
    sizes: tuple[int, ...]
    element: tuple[bool, ...]
    known: bool
    array_shape: tuple[int, ...]
    dtype: Any
    space: Space
    index_map: Jaxpr
    padded: bool = False


@dataclass(frozen=True)
class KernelParts:
    """One kernel body with its operands sorted by role, all in the body's own variables.

    `operands` are the equation's atoms for prefetch and inputs, in order. `aliases` maps a position among these to
    an output's position. `grid` has None for a dynamic bound; `pl.kernel` has no grid and no `mappings`. `vmapped` are
    the grid axes that `jax.vmap` put there: `program_id` and `dimension_semantics` do not count them."""

    primitive: str
    name: str
    jaxpr: Jaxpr
    grid: tuple[int | None, ...]
    prefetch: tuple[Var, ...]
    inputs: tuple[Var, ...]
    outputs: tuple[Var, ...]
    scratch: tuple[Var, ...]
    operands: tuple[Atom, ...]
    mappings: tuple[Mapping, ...]
    aliases: dict[int, int]
    semantics: tuple[str, ...]
    interpret: bool
    names: dict[Var, str]
    vmapped: tuple[int, ...] = ()

    @property
    def own_axes(self) -> tuple[int, ...]:
        """The grid axes that the kernel knows of: `program_id(i)` runs along the i-th of them."""
        return tuple(axis for axis in range(len(self.grid)) if axis not in self.vmapped)

    @property
    def axis_semantics(self) -> tuple[str, ...]:
        """What `dimension_semantics` says of every axis of the grid. Those that `jax.vmap` adds are lowered as parallel
        ones. Empty where nothing is said and nothing added."""
        own = iter(self.semantics)
        axes = range(len(self.grid)) if self.semantics or self.vmapped else ()
        return tuple("parallel" if axis in self.vmapped else next(own, "arbitrary") for axis in axes)

    @property
    def aliased(self) -> dict[Var, Var]:
        """Input Ref -> the output Ref with which it shares a buffer."""
        refs = self.prefetch + self.inputs
        return {refs[i]: self.outputs[o] for i, o in self.aliases.items()}

    def unchanged[T](self, values: Sequence[T | None]) -> tuple[T | None, ...]:
        """What the operands hold, with None for those that the kernel itself writes: there it holds at first only."""
        refs, changed = self.prefetch + self.inputs, written(self.jaxpr)
        return tuple(None if ref in changed else value for ref, value in zip(refs, values, strict=False))

    def mapping(self, ref: Var) -> Mapping | None:
        """The blocks of an input or output."""
        return dict(zip(self.inputs + self.outputs, self.mappings, strict=False)).get(ref)


def kernel_parts(eqn: JaxprEqn) -> tuple[KernelParts, ...]:
    """The bodies of a kernel equation: one for `pallas_call`, one for each mesh of `mpmd_map`."""
    return (_pallas_call(eqn),) if eqn.primitive.name == "pallas_call" else tuple(_mpmd(eqn))


def _pallas_call(eqn: JaxprEqn) -> KernelParts:
    params = eqn.params
    gm, jaxpr = params["grid_mapping"], closed(params["jaxpr"])
    refs = list(jaxpr.invars)
    n0, n1 = gm.num_index_operands, gm.num_index_operands + gm.num_inputs
    n2 = n1 + gm.num_outputs
    dynamic = gm.num_dynamic_grid_bounds
    return KernelParts(
        "pallas_call", _name(params, jaxpr), jaxpr, tuple(g if isinstance(g, int) else None for g in gm.grid),
        tuple(refs[:n0]), tuple(refs[n0:n1]), tuple(refs[n1:n2]), tuple(refs[n2:]),
        tuple(eqn.invars[dynamic:]), tuple(_mapping(bm) for bm in gm.block_mappings),
        dict(params["input_output_aliases"]), _semantics(params), bool(params["interpret"]), _names(jaxpr),
        tuple(gm.vmapped_dims),
    )  # fmt: skip


def _mpmd(eqn: JaxprEqn) -> Iterator[KernelParts]:
    params = eqn.params
    n_in, n_out = len(eqn.invars), len(eqn.outvars)
    for jaxpr in map(closed, params["jaxprs"]):
        refs = list(jaxpr.invars)
        yield KernelParts(
            "mpmd_map", _name(params, jaxpr), jaxpr, (), (), tuple(refs[:n_in]), tuple(refs[n_in : n_in + n_out]),
            tuple(refs[n_in + n_out :]), tuple(eqn.invars), (), dict(params["input_output_aliases"]),
            _semantics(params), bool(params["interpret"]), _names(jaxpr),
        )  # fmt: skip


def _name(params: dict[str, Any], jaxpr: Jaxpr) -> str:
    return str(params.get("name") or getattr(jaxpr.debug_info, "func_name", None) or "kernel")


def _names(jaxpr: Jaxpr) -> dict[Var, str]:
    names = list(jaxpr.debug_info.arg_names or ())
    return {v: str(names[i]) if i < len(names) and names[i] else f"ref{i}" for i, v in enumerate(jaxpr.invars)}


def _semantics(params: dict[str, Any]) -> tuple[str, ...]:
    found = getattr(params.get("compiler_params"), "dimension_semantics", None) or ()
    return tuple(str(getattr(s, "value", s)).lower() for s in found)


def _mapping(bm: Any) -> Mapping:
    dims = [block_dim(d) for d in bm.block_shape]
    return Mapping(
        origin=str(bm.origin),
        block_shape=tuple(None if d.squeezed else d.size for d in dims),
        sizes=tuple(d.size for d in dims),
        element=tuple(d.element for d in dims),
        known=all(d.known for d in dims) and not bm.transforms,
        array_shape=tuple(bm.array_aval.shape),
        dtype=bm.array_aval.dtype,
        space=space(bm.transformed_block_aval),
        index_map=closed(bm.index_map_jaxpr),
        padded=any(d.padded for d in dims),
    )


def with_semantics_of_all_axes(eqn: JaxprEqn, params: dict[str, Any]) -> dict[str, Any]:
    """Kernel parameters whose `dimension_semantics` count the axes that `jax.vmap` put into the grid, which the
    simulator of TPU memory expects. Lowering puts them in by itself."""
    (parts, *more) = kernel_parts(eqn)
    given: Any = params.get("compiler_params")
    if more or not parts.vmapped or not hasattr(given, "dimension_semantics"):
        return params
    return params | {"compiler_params": replace(given, dimension_semantics=parts.axis_semantics)}


def without_semantics(params: dict[str, Any]) -> dict[str, Any]:
    """Kernel parameters whose compiler parameters say nothing about `dimension_semantics`."""
    given: Any = params.get("compiler_params")
    if getattr(given, "dimension_semantics", None) is None:
        return params
    return params | {"compiler_params": replace(given, dimension_semantics=None)}
