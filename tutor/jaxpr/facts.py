"""The facts about one traced case: what rules, tables and the screen know of its kernels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import starmap

from tutor.jaxpr.accesses import accesses
from tutor.jaxpr.arrays import Array
from tutor.jaxpr.compat import Jaxpr, Var, closed
from tutor.jaxpr.fingerprint import fingerprint
from tutor.jaxpr.kernels import KERNEL_PRIMITIVES, KernelParts
from tutor.jaxpr.names import clean
from tutor.jaxpr.nest import Level, Node, count, read_kernel
from tutor.jaxpr.notation import parameter
from tutor.jaxpr.operations import operations
from tutor.jaxpr.outside import KernelCall, Program, Source, primitives, read_program
from tutor.jaxpr.traffic import OFF_CHIP, operand_walks, traffic
from tutor.jaxpr.walks import block_laws, block_walks, staged
from tutor.protocol import Alias, ArraySpec, CaseFacts, CaseSpec, Dot, Kernel, KernelFacts, Operand, Role


def case_facts(jaxpr: Jaxpr, case: CaseSpec, values: Mapping[str, Array] | None, file_name: str) -> CaseFacts:
    """What the trace of one case says.

    `values` are the contents of inputs that index maps and loop bounds may read, by input name; without them, what
    depends on data is None. `file_name` is the learner's file, as given to `compile`. Starts no backend.

    Raises ValueError if the trace has another number of inputs than the case."""
    jaxpr = closed(jaxpr)
    if len(case.inputs) != len(jaxpr.invars):
        raise ValueError(f"case {case.name} has {len(case.inputs)} inputs, its trace has {len(jaxpr.invars)}")
    program = read_program(jaxpr, file_name, [spec.name for spec in case.inputs], values)
    kernels = [_kernel(program, i, case.name, file_name) for i in range(len(program.kernels))]
    return CaseFacts(
        case=case.name,
        kernels=kernels,
        outside=program.outside,
        outputs=_outputs(jaxpr, case),
        modes=_modes(program, kernels),
        jaxpr_sha256=fingerprint(jaxpr),
    )


def _outputs(jaxpr: Jaxpr, case: CaseSpec) -> list[ArraySpec]:
    names = [spec.name for spec in case.outputs]
    return [
        ArraySpec(names[i] if i < len(names) else f"out{i}", [int(n) for n in v.aval.shape], str(v.aval.dtype))
        for i, v in enumerate(jaxpr.outvars)
    ]


# ---------------------------------------------------------------- one kernel


def _kernel(program: Program, number: int, case: str, file_name: str) -> KernelFacts:
    call = program.kernels[number]
    parts = call.parts
    level = read_kernel(parts.jaxpr, parts.names, file_name)
    steps = None if None in call.grid else math.prod(g for g in call.grid if g is not None)
    moved_outputs = {s.output[1] for s in program.outputs if s.output and s.output[0] == number and s.moved}
    walks = operand_walks(parts, call.grid, call.values[: len(parts.prefetch)])
    named = {level.refs[ref].name: walk for ref, walk in walks.items()}
    outputs = {level.refs[ref].name: i for i, ref in enumerate(parts.outputs)}
    moved = traffic(level, parts, call.grid, steps, call.values, walks)
    kernel = Kernel(
        name=clean(parts.name),
        primitive=parts.primitive,
        facts_case=case,
        grid=list(call.grid),
        operands=_operands(call, level),
        accesses=accesses(level),
        loads=count(level, "load"),
        stores=count(level, "store"),
        accumulates=count(level, "accumulate"),
        copies=count(level, "copy_start"),
        bytes_in=moved.read,
        bytes_out=moved.written,
    )
    return KernelFacts(
        kernel=kernel,
        inside=primitives(level),
        dots=list(map(_dot, (n for n in level.walk() if n.eqn.primitive.name == "dot_general"))),
        aliases=[
            Alias(call.sources[i].argument, level.refs[(parts.prefetch + parts.inputs)[i]].name, o)
            for i, o in sorted(parts.aliases.items())
        ],
        steps=steps,
        interpret=parts.interpret,
        line=call.place.line if call.place else None,
        output_arguments=[_flows_to(program.outputs, (number, i)) for i in range(len(parts.outputs + call.written))],
        walks=block_walks(named, outputs, moved_outputs),
        vmem_limit_bytes=getattr(call.node.eqn.params.get("compiler_params"), "vmem_limit_bytes", None),
        laws=block_laws(named, outputs, moved_outputs),
        staged=staged(named),
        operations=operations(level, parts, call.grid, steps, call.values),
    )


def _operands(call: KernelCall, level: Level) -> list[Operand]:
    """The kernel's Refs in order, then what `run_scoped` allocates inside (semaphores excepted)."""
    parts = call.parts
    groups: list[tuple[Role, tuple[Var, ...]]] = [
        ("prefetch", parts.prefetch), ("input", parts.inputs), ("output", parts.outputs), ("scratch", parts.scratch)
    ]  # fmt: skip
    refs: list[tuple[Role, Var]] = [
        ("output" if var in call.written else role, var) for role, group in groups for var in group
    ]
    found = [_operand(parts, level, role, var, _at(call.sources, i), i) for i, (role, var) in enumerate(refs)]
    scoped = (ref for ref in level.scratch() if ref.space != "semaphore")
    return found + [
        Operand(ref.name, None, "scratch", ref.space, None, list(map(int, ref.shape)), ref.dtype) for ref in scoped
    ]


def _at(sources: tuple[Source, ...], i: int) -> str | None:
    return sources[i].argument if i < len(sources) else None


def _operand(parts: KernelParts, level: Level, role: Role, var: Var, argument: str | None, i: int) -> Operand:
    ref, mapping = level.refs[var], parts.mapping(var)
    blocked = mapping is not None and ref.space not in OFF_CHIP
    return Operand(
        name=ref.name,
        argument=argument,
        role=role,
        space=ref.space,
        block_shape=list(mapping.block_shape) if mapping and blocked else None,
        shape=[int(n) for n in (mapping.array_shape if mapping else ref.shape)],
        dtype=str(mapping.dtype) if mapping else ref.dtype,
        alias=parts.aliases.get(i) if role in ("prefetch", "input") else None,
    )


def _dot(node: Node) -> Dot:
    lhs, rhs = node.eqn.invars[:2]
    precision = node.eqn.params.get("precision")
    return Dot(
        str(lhs.aval.dtype), str(rhs.aval.dtype), str(node.eqn.outvars[0].aval.dtype),
        None if precision is None else parameter(precision), node.place.line if node.place else None,
    )  # fmt: skip


def _flows_to(outputs: list[Source], output: tuple[int, int]) -> int | None:
    return next((i for i, source in enumerate(outputs) if source.output == output), None)


# ---------------------------------------------------------------- what to simulate


def _modes(program: Program, kernels: list[KernelFacts]) -> list[str]:
    """The hazard modes that this case needs (DESIGN 4)."""
    kinds = {a.kind for k in kernels for a in k.kernel.accesses}
    modes = ["on_wait"]
    if kinds & {"copy_start", "copy_wait", "semaphore"}:
        modes.append("eager")
    if any(starmap(_splits, ((call.parts, call.grid) for call in program.kernels))):
        modes.append("two_cores")
    return modes


def _splits(parts: KernelParts, grid: tuple[int | None, ...]) -> bool:
    """Whether two cores would share the grid: an axis is parallel, and parallel axes form a prefix. Those that `vmap`
    adds are lowered as parallel ones."""
    if parts.primitive in KERNEL_PRIMITIVES[1:]:
        return len(grid) > 0
    parallel = [s == "parallel" for s in parts.axis_semantics]
    return any(parallel) and parallel == sorted(parallel, reverse=True)
