"""A whole TPU artifact, run: the kernels by the interpreter, what stands around them by XLA on the CPU.

The kernels are taken out once: their results are arguments, their operands outputs. The operands of a kernel are right
as soon as the results of the kernels before it are, so the program without its kernels runs once more than it has
kernels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.export
import numpy as np

from tutor.jaxpr.compat import OpenKernel, without_kernels
from tutor.judge.mosaic.grid import Kernel, run_kernel
from tutor.judge.mosaic.machine import MOST_WORK
from tutor.judge.mosaic.reading import Block, Function, functions_of
from tutor.judge.mosaic.types import Array, Type, Unknown, unwritten
from tutor.judge.tolerance import is_float


@dataclass(frozen=True)
class Ran:
    """The outputs of a run, what happened in each kernel, and the work that it took."""

    outputs: list[Array]
    happened: list[Counter[str]] = field(default_factory=list)
    work: float = 0.0


class Program:
    """A TPU artifact without its kernels, compiled once for the CPU when it is first called."""

    def __init__(self, exported: jax.export.Exported) -> None:
        opened = without_kernels(exported, _read)
        self._call = jax.jit(opened.call)
        self._outputs = opened.outputs
        self._unwritten = opened.unwritten
        self._devices = exported.nr_devices
        self.kernels = opened.kernels

    def with_results(
        self, inputs: Sequence[Array], results: Sequence[Array], *, as_interpret: bool = True
    ) -> tuple[list[Array], list[Array]]:
        """The outputs, and the operands of the kernels that show theirs, where the kernels give these results.

        `as_interpret`: what `jnp.empty` gives is zero, as on a CPU, and not what a TPU's memory happens to hold."""
        memory = [
            np.zeros(s.shape, s.dtype) if as_interpret else unwritten(s.shape, s.dtype, as_interpret=False)
            for s in self._unwritten
        ]
        everything = [np.asarray(leaf) for leaf in jax.tree.leaves(self._call(*inputs, *results, *memory))]
        return everything[: self._outputs], everything[self._outputs :]

    @property
    def rounds(self) -> bool:
        """Whether a kernel computes with floats of less than 32 bits. XLA on a CPU leaves out roundings between two
        operations, and a TPU does not."""
        return any(_rounds(f.block) for k in self.kernels if isinstance(k.read, dict) for f in k.read.values())

    def filled(self, value: int) -> list[Array]:
        """Results of every kernel that are this constant."""
        structs = [struct for kernel in self.kernels for struct in kernel.results]
        return [np.full(s.shape, value % 2 if s.dtype == bool else value, s.dtype) for s in structs]

    def run(self, inputs: Sequence[Array], *, work: float = MOST_WORK, as_interpret: bool = False) -> Ran:
        """Run it. `work`: the budget of all kernels together.

        Raises Unknown, TooMuch or Stopped; anything else is what XLA or NumPy make of a program that is none."""
        if self._devices != 1:
            raise Unknown("several devices")
        results, left, happened = self.filled(1), work, []
        first = given = 0
        for opened in self.kernels:
            kernel = _kernel(opened)
            _, operands = self.with_results(inputs, results, as_interpret=as_interpret)
            mine = [_signless(array) for array in operands[first : first + opened.operands]]
            made, machine = run_kernel(kernel, mine, work=left, as_interpret=as_interpret)
            for number, (array, struct) in enumerate(zip(made, opened.results, strict=True)):
                results[given + number] = array.view(struct.dtype)
            first, given, left = first + opened.operands, given + len(made), machine.left
            happened.append(machine.happened)
        outputs, _ = self.with_results(inputs, results, as_interpret=as_interpret)
        return Ran(outputs, happened, work - left)


def _read(module: Any) -> dict[str, Function] | Unknown:
    """The functions of a kernel, or why they cannot be run: the program without them is worth having all the same."""
    try:
        return functions_of(module)
    except Unknown as unknown:
        return unknown
    except Exception as error:  # a module that is none may make the reader stumble in any way
        return Unknown(f"a kernel that cannot be read ({type(error).__name__})")


_NO_ARITHMETIC = ("arith.constant", "arith.select", "arith.truncf", "arith.bitcast")


def _rounds(block: Block) -> bool:
    return any(
        any(map(_rounds, op.regions))
        or (op.name.startswith(("arith.", "math.")) and op.name not in _NO_ARITHMETIC and _is_narrow(op.types))
        for op in block.body
    )


def _is_narrow(types: Sequence[Type]) -> bool:
    return any(type_.dtype.itemsize < 4 and is_float(type_.dtype) for type_ in types)


def _kernel(opened: OpenKernel) -> Kernel:
    if isinstance(opened.read, Unknown):
        raise opened.read
    if opened.inside:
        raise Unknown("a kernel inside a loop or branch of the program")
    if opened.strange:
        raise Unknown(f"a kernel that is called with {opened.strange[0][:60]}")
    outputs = tuple(Type("memref", struct.shape, _signless_dtype(struct.dtype)) for struct in opened.results)
    return Kernel(opened.read, opened.aliases, outputs)


def _signless_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Mosaic's integers have no sign of their own."""
    return np.dtype(f"i{dtype.itemsize}") if dtype.kind == "u" else dtype


def _signless(array: Array) -> Array:
    return np.ascontiguousarray(array).view(_signless_dtype(array.dtype)).reshape(array.shape)
