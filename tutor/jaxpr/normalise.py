"""Kernels made fit for the artifacts, where plain interpret mode is wrong or refuses through no fault of the learner.

All on the kernel's jaxpr:

- `program_id` inside a branch, loop or scope has no meaning to interpret mode: it is read once, at the top, and handed
  down.
- A Ref in HBM or ANY that aliases an output is one buffer with it on a TPU, and two in interpret mode: its uses become
  uses of the output.
- A masked access with a constant index is refused: it becomes a plain one, where it stays inside its Ref.
- Prints cannot be serialised: they are left out, in every body.
- An input that only gives an output its first values (it is aliased, and the kernel never uses its Ref) is cut into
  the output's blocks: interpret mode pads both buffers alike then, where the last block reaches over the edge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from tutor.jaxpr.compat import Jaxpr, JaxprEqn, Var, closed, fresh
from tutor.jaxpr.equations import Atom, Body, bodies
from tutor.jaxpr.kernels import kernel_parts, with_semantics_of_all_axes
from tutor.jaxpr.masked import without_mask
from tutor.jaxpr.rebind import DEBUG_PRIMITIVES, Params, Rebinding
from tutor.jaxpr.reshaped import without_reshaped_ref
from tutor.jaxpr.surgery import rewritten, substituted, with_bodies, with_equations

type GridQuery = tuple[str, int]
"""`program_id` or `num_programs`, and the axis."""


def for_interpret(eqn: JaxprEqn) -> Params:
    """The parameters of a kernel equation for plain interpret mode: all of these rewritings."""
    merged = iter(
        {i: o for i, o in parts.aliased.items() if i in parts.inputs and _off_chip(i)} for parts in kernel_parts(eqn)
    )

    def plain(jaxpr: Jaxpr) -> Jaxpr:
        return hoisted(_Rewriting(next(merged)).body(rewritten(jaxpr, without_mask)))

    return _first_values(_rewritten(eqn, plain), eqn)


def for_lowering(eqn: JaxprEqn) -> Params:
    """The parameters of a kernel equation for the TPU: only the prints go."""
    return _rewritten(eqn, lambda jaxpr: _Rewriting({}).body(jaxpr))


def for_simulator(eqn: JaxprEqn) -> Params:
    """The parameters of a kernel equation for the simulator of TPU memory: no reshaped Refs and no masks, where
    that can be, and `dimension_semantics` for every axis."""
    plain = _rewritten(eqn, lambda jaxpr: rewritten(rewritten(jaxpr, without_mask), without_reshaped_ref))
    return with_semantics_of_all_axes(eqn, plain)


CPU_ARTIFACT = Rebinding(True, debug=False, kernel=for_interpret)
"""How a program is evaluated for the judge's `interpret`."""

TPU_ARTIFACT = Rebinding(False, debug=False, kernel=for_lowering)
"""How a program is evaluated for `lower` and `compile`."""


def _first_values(params: Params, eqn: JaxprEqn) -> Params:
    """`params` with the blocks of every aliased input that the kernel never uses replaced by its output's."""
    if eqn.primitive.name != "pallas_call":
        return params
    jaxpr, grid_mapping = params["jaxpr"], params["grid_mapping"]
    used = {v for e in jaxpr.eqns for v in e.invars if isinstance(v, Var)}
    refs, blocks = list(jaxpr.invars), list(grid_mapping.block_mappings)
    first, operands = grid_mapping.num_index_operands, len(eqn.invars) - grid_mapping.num_dynamic_grid_bounds
    for into, out in dict(params["input_output_aliases"]).items():
        if into >= first and refs[into] not in used:
            refs[into] = fresh(refs[operands + out])
            blocks[into - first] = blocks[operands - first + out]
    same = replace(grid_mapping, block_mappings=tuple(blocks))
    return params | {"jaxpr": jaxpr.replace(invars=refs), "grid_mapping": same}


def _off_chip(ref: Var) -> bool:
    return str(ref.aval.memory_space) in ("any", "hbm")


def _rewritten(eqn: JaxprEqn, rewrite: Callable[[Jaxpr], Jaxpr]) -> Params:
    params = dict(eqn.params)
    if "jaxprs" in params:
        return params | {"jaxprs": tuple(rewrite(closed(j)) for j in params["jaxprs"])}
    return params | {"jaxpr": rewrite(closed(params["jaxpr"]))}


@dataclass(frozen=True)
class _Rewriting:
    """Leaves out prints and, in the body whose variables they are, merges aliased Refs (`merged`: input -> output)."""

    merged: dict[Var, Var]

    def body(self, jaxpr: Jaxpr, *, scope: bool = False) -> Jaxpr:
        eqns: list[JaxprEqn] = []
        same: dict[Var, Atom] = dict(self.merged)
        for eqn in jaxpr.eqns:
            if eqn.primitive.name in DEBUG_PRIMITIVES and not eqn.outvars:
                continue
            eqns.append(self._nested(eqn) if bodies(eqn) else substituted(eqn, same))
        return with_equations(jaxpr, eqns, {}, scope=scope)

    def _nested(self, eqn: JaxprEqn) -> JaxprEqn:
        """An equation with bodies. Where these are given both Refs, they must use one of their own names for both: two
        names of one Ref would again be two buffers. Where they are given the input only, it becomes the output."""
        inner = bodies(eqn)
        if any(body.role == "other" for body in inner):
            return eqn
        both = {i for i, o in self.merged.items() if i in eqn.invars and o in eqn.invars}
        new = []
        for body in inner:
            named = {outer: var for var, outer in body.outer.items() if isinstance(outer, Var)}
            pairs = ((named.get(i), named.get(o)) for i, o in self.merged.items() if i in both)
            merged = {i: o for i, o in pairs if i is not None and o is not None}
            new.append(_Rewriting(merged).body(body.jaxpr, scope=body.role == "scope"))
        renamed: dict[Var, Atom] = {i: o for i, o in self.merged.items() if i not in both}
        return with_bodies(substituted(eqn, renamed), new)


def hoisted(jaxpr: Jaxpr) -> Jaxpr:
    """The kernel body with every nested `program_id` (and `num_programs`) read once, at its top."""
    found = {query: eqn for eqn in jaxpr.eqns for query, eqn in _queries_below(eqn)}
    if not found:
        return jaxpr
    reads = {query: eqn.replace(outvars=[fresh(eqn.outvars[0])]) for query, eqn in sorted(found.items())}
    known = {query: eqn.outvars[0] for query, eqn in reads.items()}
    below = [_HandDown(known).equation(eqn) for eqn in jaxpr.eqns]
    return with_equations(jaxpr, [*reads.values(), *below], {})


def _query(eqn: JaxprEqn) -> GridQuery | None:
    name = eqn.primitive.name
    return (name, eqn.params["axis"]) if name in ("program_id", "num_programs") else None


def _queries_below(eqn: JaxprEqn) -> Iterator[tuple[GridQuery, JaxprEqn]]:
    for body in bodies(eqn):
        for inner in body.jaxpr.eqns if body.role != "other" else ():
            query = _query(inner)
            if query is not None:
                yield query, inner
            yield from _queries_below(inner)


@dataclass(frozen=True)
class _HandDown:
    """Replaces the queries in nested bodies by inputs. `known` are the enclosing body's variables for them."""

    known: dict[GridQuery, Var] = field(default_factory=dict)

    def equation(self, eqn: JaxprEqn) -> JaxprEqn:
        needed = sorted({query for query, _ in _queries_below(eqn)})
        if not needed:
            return eqn
        new = [self._body(body, needed) for body in bodies(eqn)]
        return with_bodies(eqn, new, [self.known[query] for query in needed])

    def _body(self, body: Body, needed: list[GridQuery]) -> Jaxpr:
        inputs = {query: fresh(self.known[query]) for query in needed}
        inside, same = _HandDown(inputs), {}
        eqns: list[JaxprEqn] = []
        for eqn in body.jaxpr.eqns:
            query = _query(eqn)
            if query is not None:
                same[eqn.outvars[0]] = inputs[query]
            else:
                eqns.append(inside.equation(substituted(eqn, same)))
        return with_equations(body.jaxpr, eqns, same, list(inputs.values()), scope=body.role == "scope")


def leaves_out_prints(jaxpr: Any) -> bool:
    """Whether something would print, inside or outside kernels."""
    for eqn in closed(jaxpr).eqns:
        inner = [b.jaxpr for b in bodies(eqn)]
        if eqn.primitive.name in ("pallas_call", "mpmd_map"):
            inner = [p.jaxpr for p in kernel_parts(eqn)]
        if eqn.primitive.name in DEBUG_PRIMITIVES or any(map(leaves_out_prints, inner)):
            return True
    return False
