"""An evaluator of kernels that counts: it runs a kernel's jaxpr step by step on NumPy buffers, and keeps a tally.

It is the oracle for the static table: it knows nothing of it, reads indices and trip counts as they come, and gives
real results, so that a wrong replay shows as wrong numbers."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import jax
import numpy as np

from tutor.jaxpr.compat import Constant, Var, closed


class Buffer:
    """The memory behind a Ref."""

    def __init__(self, array: np.ndarray, off_chip: bool = False) -> None:
        self.array = array
        self.off_chip = off_chip


class Tally:
    """What happened: per equation how often, per kind how often in each step, and bytes to and from HBM."""

    def __init__(self) -> None:
        self.runs: Counter[int] = Counter()
        self.equations: dict[int, Any] = {}
        self.steps: list[Counter[str]] = []
        self.bytes_in = 0
        self.bytes_out = 0
        self.staged: list[tuple[int, int]] = []
        """For each input and output: how many blocks the pipeline moved, and how many bytes."""

    def note(self, eqn: Any) -> None:
        self.runs[id(eqn)] += 1
        self.equations[id(eqn)] = eqn
        self.steps[-1][eqn.primitive.name] += 1

    def most(self, *primitives: str) -> int:
        """The most that one grid step did."""
        return max(sum(step[p] for p in primitives) for step in self.steps)


def run_program(jaxpr: Any, inputs: list[np.ndarray]) -> tuple[list[np.ndarray], list[tuple[Any, Tally]]]:
    """Run a whole program; its outputs, and every kernel equation in order with what it did."""
    jaxpr = closed(jaxpr)
    env = dict(zip(jaxpr.invars, inputs, strict=True))
    ran: list[tuple[Any, Tally]] = []

    def read(atom: Any) -> Any:
        return env[atom] if isinstance(atom, Var) else atom.val

    for eqn in jaxpr.eqns:
        operands = [read(v) for v in eqn.invars]
        match eqn.primitive.name:
            case "pallas_call" | "mpmd_map":
                outs, tally = run_kernel(eqn, operands)
                ran.append((eqn, tally))
            case "jit":
                outs, inner = run_program(eqn.params["jaxpr"], operands)
                ran += inner
            case _:
                found = eqn.primitive.bind(*operands, **eqn.params)
                outs = [np.asarray(o) for o in (found if eqn.primitive.multiple_results else [found])]
        env.update(zip(eqn.outvars, outs, strict=True))
    return [read(v) for v in jaxpr.outvars], ran


def run_kernel(eqn: Any, arrays: list[np.ndarray]) -> tuple[list[np.ndarray], Tally]:
    """Run a kernel equation on its operands; its outputs and what it did."""
    return _on_a_grid(eqn, arrays) if eqn.primitive.name == "pallas_call" else _on_a_core(eqn, arrays)


def _on_a_core(eqn: Any, arrays: list[np.ndarray]) -> tuple[list[np.ndarray], Tally]:
    """`pl.kernel` on a mesh of one core: one step, all arrays stay in HBM."""
    (jaxpr,) = map(closed, eqn.params["jaxprs"])
    outputs = [_garbage(v.aval) for v in eqn.outvars]
    tally = Tally()
    tally.steps.append(Counter())
    refs = [Buffer(np.array(a), True) for a in arrays] + [Buffer(a, True) for a in outputs]
    refs += [Buffer(_garbage(v.aval)) for v in jaxpr.invars[len(refs) :]]
    _Machine(tally, ()).run(jaxpr, refs)
    return outputs, tally


def _on_a_grid(eqn: Any, arrays: list[np.ndarray]) -> tuple[list[np.ndarray], Tally]:
    gm, jaxpr = eqn.params["grid_mapping"], eqn.params["jaxpr"]
    tables, inputs = arrays[: gm.num_index_operands], list(arrays[gm.num_index_operands :])
    outputs = [np.full(v.aval.shape, np.nan, v.aval.dtype) for v in eqn.outvars]
    for source, target in eqn.params["input_output_aliases"]:
        outputs[target] = inputs[source - len(tables)] = np.array(inputs[source - len(tables)])
    scratch = [Buffer(_garbage(v.aval)) for v in jaxpr.invars[len(arrays) + len(outputs) :]]
    tally = Tally()
    staged = [
        _Staged(m, a, i >= len(inputs))
        for i, (m, a) in enumerate(zip(gm.block_mappings, inputs + outputs, strict=True))
    ]
    for step in itertools.product(*map(range, gm.grid)):
        tally.steps.append(Counter())
        for operand in staged:
            operand.move(step, tables, tally)
        refs = [Buffer(t) for t in tables] + [s.window for s in staged] + scratch
        _Machine(tally, step).run(jaxpr, refs)
    for operand in staged:
        operand.write_back(tally)
    tally.staged = [(operand.moves, operand.bytes) for operand in staged]
    return outputs, tally


class _Staged:
    """One operand with its window in VMEM (or the array itself, where it stays in ANY)."""

    def __init__(self, mapping: Any, array: np.ndarray, output: bool) -> None:
        self.mapping, self.array, self.output = mapping, array, output
        self.whole = str(mapping.transformed_block_aval.memory_space) == "any"
        aval = mapping.transformed_block_aval
        self.window = Buffer(array, True) if self.whole else Buffer(_garbage(aval))
        self.at: tuple[Any, ...] | None = None
        self.moves = self.bytes = 0

    def move(self, step: tuple[int, ...], tables: list[np.ndarray], tally: Tally) -> None:
        if self.whole:
            return
        start = tuple(int(i) for i in self.mapping.compute_start_indices_interpret(step, *tables)[: self.array.ndim])
        sizes = tuple(getattr(d, "block_size", 1) for d in self.mapping.block_shape)
        at = tuple(slice(s, min(s + n, e)) for s, n, e in zip(start, sizes, self.array.shape, strict=True))
        if at == self.at:
            return
        self.write_back(tally)
        self.at = at
        if not self.output:
            part = self.array[at]
            tally.bytes_in += self.moved(part)
            block = np.full(sizes, np.nan if part.dtype.kind == "f" else 0, part.dtype)
            block[tuple(slice(0, n) for n in part.shape)] = part
            self.window.array[...] = block.reshape(self.window.array.shape)

    def write_back(self, tally: Tally) -> None:
        if not self.output or self.whole or self.at is None:
            return
        sizes = tuple(getattr(d, "block_size", 1) for d in self.mapping.block_shape)
        target = self.array[self.at]
        target[...] = self.window.array.reshape(sizes)[tuple(slice(0, n) for n in target.shape)]
        tally.bytes_out += self.moved(target)

    def moved(self, part: np.ndarray) -> int:
        self.moves += 1
        self.bytes += part.nbytes
        return part.nbytes


class _Machine:
    """Runs jaxprs of one grid step."""

    def __init__(self, tally: Tally, step: tuple[int, ...]) -> None:
        self.tally, self.step = tally, step

    def run(self, jaxpr: Any, args: list[Any], consts: list[Any] | tuple[Any, ...] = ()) -> list[Any]:
        env = dict(zip(jaxpr.constvars, consts, strict=True)) | dict(zip(jaxpr.invars, args, strict=True))

        def read(atom: Any) -> Any:
            return atom.val if isinstance(atom, Constant) else env[atom]

        for eqn in jaxpr.eqns:
            outs = self.equation(eqn, [read(v) for v in eqn.invars])
            env.update(zip(eqn.outvars, outs, strict=True))
        return [read(v) for v in jaxpr.outvars]

    def equation(self, eqn: Any, ins: list[Any]) -> list[Any]:
        params = eqn.params
        match eqn.primitive.name:
            case "get":
                self.tally.note(eqn)
                return [_view(ins[0], jax.tree_util.tree_unflatten(params["tree"], ins[1:])).copy()]
            case "swap" | "addupdate":
                self.tally.note(eqn)
                transforms = jax.tree_util.tree_unflatten(params["tree"], ins[2:])
                old = _view(ins[0], transforms).copy()
                _store(ins[0], transforms, np.asarray(ins[1]) + (old if eqn.primitive.name == "addupdate" else 0))
                return [old][: len(eqn.outvars)]
            case "dma_start" | "dma_wait":
                self.tally.note(eqn)
                if eqn.primitive.name == "dma_start":
                    self.copy(*jax.tree_util.tree_unflatten(params["tree"], ins)[:2])
                return []
            case "program_id":
                return [np.int32(self.step[params["axis"]])]
            case "cond":
                return self.run(params["branches"][int(ins[0])], ins[1:])
            case "scan":
                consts, carry, xs = (len(part) for part in params["ft_in"].unpack())
                assert not xs
                state = ins[consts:]
                for _ in range(params["length"]):
                    state = self.run(params["jaxpr"], ins[:consts] + state)
                return state[:carry]
            case "while":
                nc, nb = params["cond_nconsts"], params["body_nconsts"]
                state = ins[nc + nb :]
                while bool(self.run(params["cond_jaxpr"], ins[:nc] + state)[0]):
                    state = self.run(params["body_jaxpr"], ins[nc : nc + nb] + state)
                return state
            case "run_scoped":
                inner = params["jaxpr"]
                return self.run(inner, [Buffer(_garbage(v.aval)) for v in inner.invars], ins)
            case "jit":
                return self.run(params["jaxpr"], ins)
        outs = eqn.primitive.bind(*ins, **params)
        return [np.asarray(o) for o in (outs if eqn.primitive.multiple_results else [outs])]

    def copy(self, source: Any, target: Any) -> None:
        (source, where), (target, there) = _parts(source), _parts(target)
        data = _view(source, where).copy()
        self.tally.bytes_in += data.nbytes if source.off_chip else 0
        self.tally.bytes_out += data.nbytes if target.off_chip else 0
        _store(target, there, data)


def _garbage(aval: Any) -> np.ndarray:
    if "sem" in str(aval.dtype):
        return np.zeros(aval.shape, np.int32)
    return np.full(aval.shape, np.nan if np.dtype(aval.dtype).kind not in "iub" else 0, aval.dtype)


def _parts(ref: Any) -> tuple[Buffer, tuple[Any, ...]]:
    return (ref, ()) if isinstance(ref, Buffer) else (ref.ref, ref.transforms)


def _index(transform: Any) -> tuple[Any, ...]:
    index: list[Any] = []
    for i in transform.indices:
        if hasattr(i, "stride"):  # a slice
            start = int(i.start)
            index.append(slice(start, start + int(i.size) * i.stride, i.stride))
        else:
            index.append(int(i))
    return tuple(index)


def _view(ref: Buffer, transforms: Any) -> np.ndarray:
    view = ref.array
    for transform in transforms:
        view = view[_index(transform)]
    return np.asarray(view)


def _store(ref: Buffer, transforms: Any, value: np.ndarray) -> None:
    view = ref.array
    *outer, last = [_index(t) for t in transforms] or [(...,)]
    for index in outer:
        view = view[index]
    view[last] = value
