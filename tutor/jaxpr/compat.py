"""The one file that knows JAX's private names.

Everything else in the house reads kernels through the small records of this file, so that a JAX release that moves
a name is answered here and nowhere else. Nothing here starts a backend.
"""

from __future__ import annotations

import base64
import dataclasses
import importlib
import importlib.metadata
import json
import math
import re
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import jax
import jax.export
import numpy as np
from jax._src import effects, flattree, source_info_util, tpu_info, xla_bridge
from jax._src.core import DropVar, Jaxpr, JaxprEqn, ShapedArray, Var
from jax._src.core import Literal as Constant
from jax._src.export import _export
from jax._src.interpreters import mlir, partial_eval
from jax._src.lib import tpu as tpu_dialect
from jax._src.lib.mlir.dialects import hlo
from jax._src.named_sharding import UNSPECIFIED
from jax._src.pallas import core as pallas_core
from jax._src.pallas.mosaic import pipeline
from jax._src.state import indexing
from jax._src.state import primitives as state_primitives
from jax._src.state import types as state_types
from jaxlib.mlir import ir

from tutor.protocol import Space

__all__ = [
    "CHIPS", "BlockDim", "Chip", "Constant", "Dim", "DropVar", "Jaxpr", "JaxprEqn", "OpenKernel", "OpenProgram",
    "Position", "TpuCall", "Var", "View", "access_transforms", "backends_started", "bind", "block_dim", "closed",
    "constant", "device_mesh", "fresh", "in_other_file", "index_dims", "index_steps", "input_effect", "ir",
    "is_of_pipeline", "is_ref", "is_remote_copy", "is_unwritten", "is_users", "jaxpr_with", "mlir_modules",
    "more_scan_constants", "mosaic_modules", "name_kernels", "new_shape", "operations", "outer_module", "position",
    "preload", "read_of", "space", "store_of", "target", "target_chip", "unspecified_sharding", "versions", "view",
    "with_transforms", "without_kernels", "written_at", "written_elsewhere",
]  # fmt: skip

sys.modules.setdefault("jaxlib.mlir.dialects.stable_mosaic", ModuleType("jaxlib.mlir.dialects.stable_mosaic"))
"""MLIR looks for Python classes of an operation's dialect at every operation, and there are none of this one: with
this empty module it looks once, and a kernel is read five times as fast."""

type Atom = Any
"""A `Var` or a `Constant` (JAX's Literal)."""


# ---------------------------------------------------------------- the target


class Chip(NamedTuple):
    """A TPU generation: what JAX calls it, its TensorCores a device, and the smallest topology that libtpu accepts."""

    kind: str
    cores: int
    topology: str


CHIPS: dict[str, Chip] = {
    "v4": Chip("TPU v4", 1, "v4:1x1x1"),
    "v5e": Chip("TPU v5 lite", 1, "v5e:1x1"),
    "v5p": Chip("TPU v5", 2, "v5p:1x1x1"),
    "v6e": Chip("TPU v6 lite", 1, "v6e:1x1"),
    "tpu7x": Chip("TPU7x", 1, "tpu7x:1x1x1"),
}


@contextmanager
def target(device_kind: str = "TPU v5 lite", num_cores: int = 1) -> Iterator[None]:
    """The context in which a kernel is traced, interpreted, lowered and compiled.

    Without it, whatever asks for the chip (`sync_copy`, `emit_pipeline`, rank-1 blocks) finds a CPU and fails."""
    _ask_for_the_target()
    device = jax.sharding.AbstractDevice(device_kind=device_kind, num_cores=num_cores, platform="tpu")
    token = _TARGET.set(device)
    try:
        with jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((), (), abstract_device=device)):
            yield
    finally:
        _TARGET.reset(token)


_TARGET: ContextVar[Any] = ContextVar("target", default=None)


@cache
def _ask_for_the_target() -> None:
    """Let JAX find the target also inside `shard_map`, whose mesh of CPU devices stands in the place of what `target`
    has set."""
    kind, cores = tpu_info.get_device_kind, tpu_info.get_num_device_cores

    def targeted() -> Any:
        device = jax.sharding.get_abstract_mesh().abstract_device
        return None if device is not None and device.platform == "tpu" else _TARGET.get()

    tpu_info.get_device_kind = lambda: device.device_kind if (device := targeted()) else kind()
    tpu_info.get_num_device_cores = lambda: device.num_cores if (device := targeted()) else cores()


def target_chip(name: str) -> AbstractContextManager[Any]:
    """`target` for one of `CHIPS`."""
    chip = CHIPS[name]
    return target(chip.kind, chip.cores)


def backends_started() -> bool:
    """Whether this process has started an XLA backend. Forking after that can hang."""
    return bool(xla_bridge._backends)


# ---------------------------------------------------------------- a warm process

PRELOADED = (
    "jax.export",
    "jax._src.pallas.mosaic.pallas_call_registration",
    "jax._src.pallas.mosaic_gpu.interpret.interpret_pallas_call",
    "jax._src.pallas.mosaic.interpret.interpret_pallas_call",
    "jax.experimental.multihost_utils",
    "jax.experimental.pallas",
    "jax.experimental.pallas.tpu",
    "jaxlib.mlir.dialects.mhlo",
    "scipy.linalg",
)
"""What JAX imports only when a kernel is first lowered or interpreted: 0.8 s that a warm server pays once."""


def preload() -> None:
    """Import everything that tracing, exporting and interpreting need. Starts no backend."""
    for module in PRELOADED:
        importlib.import_module(module)


def versions() -> dict[str, str | None]:
    """The versions of jax, jaxlib and libtpu; None for what is not installed."""
    found: dict[str, str | None] = {}
    for package in ("jax", "jaxlib", "libtpu"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = None
    return found


def is_remote_copy(eqn: JaxprEqn) -> bool:
    """Whether a `dma_start` names another device."""
    *_, device_id = jax.tree.unflatten(eqn.params["tree"], eqn.invars)
    return device_id is not None


# ---------------------------------------------------------------- the lowered module


@contextmanager
def mlir_modules(exported: jax.export.Exported) -> Iterator[tuple[Any, list[tuple[Any, Any]]]]:
    """The parsed StableHLO module of a TPU artifact, and (call, Mosaic module) of every kernel in it.

    The objects live only inside the `with`; what Python sees of MLIR is not typed."""
    with mlir.make_ir_context() as context:
        context.allow_unregistered_dialects = True
        tpu_dialect.register_dialect(context)  # without it, kernels with semaphores fail to parse
        module = hlo.deserialize_portable_artifact(context, exported.mlir_module_serialized)
        found = []
        for call in operations(module.operation):
            if call.name == "stablehlo.custom_call" and "backend_config" in call.attributes:
                body = _mosaic_body(ir.StringAttr(call.attributes["backend_config"]).value)
                if body is not None:
                    found.append((call, ir.Module.parse(body)))
        yield module, found


@contextmanager
def outer_module(exported: jax.export.Exported) -> Iterator[Any]:
    """The parsed StableHLO module of an artifact; what is inside its kernels stays text. Takes a millisecond."""
    with mlir.make_ir_context() as context:
        context.allow_unregistered_dialects = True
        yield hlo.deserialize_portable_artifact(context, exported.mlir_module_serialized)


def device_mesh(exported: jax.export.Exported, devices: Sequence[Any]) -> jax.sharding.Mesh:
    """A mesh of `devices` with the axes of the program's own, which it was split over. JAX refuses another one."""
    axes = {"device": len(devices)}
    with outer_module(exported) as module:
        for operation in module.body.operations:
            if operation.operation.name == "sdy.mesh":
                own = {name: int(size) for name, size in re.findall(r'"([^"]*)"=(\d+)', str(operation))}
                if math.prod(own.values()) == len(devices):
                    axes = own
                    break
    array = np.array(devices).reshape(tuple(axes.values()))
    return jax.sharding.Mesh(array, tuple(axes))


def operations(operation: Any) -> Iterator[Any]:
    """Every MLIR operation inside `operation`, in program order, outer ones first."""
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation
                yield from operations(inner.operation)


def mosaic_modules(exported: jax.export.Exported) -> list[str]:
    """The Mosaic module of every kernel in a TPU artifact, as MLIR text with locations."""
    with mlir_modules(exported) as (_, kernels):
        return [module.operation.get_asm(enable_debug_info=True) for _, module in kernels]


# ---------------------------------------------------------------- a program with its kernels taken out


class OpenKernel(NamedTuple):
    """One kernel that was taken out: how many arrays it takes, what it gives, `aliases` from output to operand.

    `strange`: what its call says beyond a plain one, by name. `inside`: it stands in a loop or a branch of the program,
    so that nothing shows its operands. `read` is what was made of its module."""

    operands: int
    results: tuple[jax.ShapeDtypeStruct, ...]
    aliases: dict[int, int]
    strange: tuple[str, ...]
    inside: bool
    read: Any


class OpenProgram(NamedTuple):
    """A TPU artifact without its kernels, fit to run on a CPU.

    `call` takes the program's arguments, then every result of every kernel, in order, and then what the memory of
    `jnp.empty` holds (`unwritten`); it gives the program's outputs (`outputs` of them) and then every operand of every
    kernel that stands in no loop or branch."""

    call: Callable[..., Any]
    outputs: int
    kernels: list[OpenKernel]
    unwritten: list[jax.ShapeDtypeStruct]


def without_kernels(exported: jax.export.Exported, read: Callable[[Any], Any]) -> OpenProgram:
    """Take the kernels out of a TPU artifact. `read` is called with the parsed Mosaic module of each, and what it makes
    of it must hold nothing of that module, which is gone afterwards."""
    with mlir.make_ir_context() as context:
        context.allow_unregistered_dialects = True
        tpu_dialect.register_dialect(context)
        module = hlo.deserialize_portable_artifact(context, exported.mlir_module_serialized)
        functions = {ir.StringAttr(f.operation.attributes["sym_name"]).value: f.operation for f in module.body}
        main = functions["main"]
        _inline_kernels(main, functions)
        block = main.regions[0].blocks[0]
        end = block.operations[len(block.operations) - 1].operation
        shown: list[Any] = []
        taken: list[OpenKernel] = []
        for call in [op for op in operations(main) if _is_kernel_call(op)]:
            inside = call.parent != main
            taken.append(_open_kernel(call, inside, read))
            for result in call.results:
                result.replace_all_uses_with(block.add_argument(result.type, call.location))
            shown += [] if inside else list(call.operands)
            call.erase()
        unwritten = []
        for buffer in [op for op in operations(main) if is_unwritten(op)]:
            unwritten.append(jax.ShapeDtypeStruct(*_shape_and_dtype(buffer.results[0].type)))
            buffer.results[0].replace_all_uses_with(block.add_argument(buffer.results[0].type, buffer.location))
            shown = [block.arguments[-1] if value == buffer.results[0] else value for value in shown]
            buffer.erase()
        return _closed_again(exported, module, main, end, shown, taken, unwritten)


def _closed_again(
    exported: jax.export.Exported,
    module: Any,
    main: Any,
    end: Any,
    shown: list[Any],
    taken: list[OpenKernel],
    unwritten: list[jax.ShapeDtypeStruct],
) -> OpenProgram:
    block = main.regions[0].blocks[0]
    returned = [*end.operands, *shown]
    with ir.InsertionPoint(end), end.location:
        ir.Operation.create("func.return", operands=returned)
    end.erase()
    types = ir.FunctionType.get([a.type for a in block.arguments], [value.type for value in returned])
    main.attributes["function_type"] = ir.TypeAttr.get(types)
    for named in ("arg_attrs", "res_attrs"):  # names and shardings of the arguments as they were
        if named in main.attributes:
            del main.attributes[named]
    given = [*(struct for kernel in taken for struct in kernel.results), *unwritten]
    avals = [ShapedArray(struct.shape, struct.dtype) for struct in given]
    more = [ShapedArray(*_shape_and_dtype(value.type)) for value in shown]
    inputs, outputs = len(exported.in_avals), len(exported.out_avals)
    data = _export._module_to_bytecode(module)
    open_ = dataclasses.replace(
        exported,
        mlir_module_serialized=data,
        platforms=("cpu",),
        in_tree=jax.tree.structure(((0,) * (inputs + len(avals)), {})),
        in_avals=(*exported.in_avals, *avals),
        _in_named_shardings=(*exported._in_named_shardings, *(None for _ in avals)),
        in_shardings_hlo=(*exported.in_shardings_hlo, *(None for _ in avals)),
        module_kept_var_idx=(*exported.module_kept_var_idx, *range(inputs, inputs + len(avals))),
        out_tree=jax.tree.structure((0,) * (outputs + len(more))),
        out_avals=(*exported.out_avals, *more),
        _out_named_shardings=(*exported._out_named_shardings, *(None for _ in more)),
        out_shardings_hlo=(*exported.out_shardings_hlo, *(None for _ in more)),
    )
    return OpenProgram(open_.call, outputs, taken, unwritten)


def _open_kernel(call: Any, inside: bool, read: Callable[[Any], Any]) -> OpenKernel:
    body = _mosaic_body(ir.StringAttr(call.attributes["backend_config"]).value)
    results = tuple(jax.ShapeDtypeStruct(*_shape_and_dtype(result.type)) for result in call.results)
    return OpenKernel(
        operands=len(call.operands),
        results=results,
        aliases=dict(_aliases(call)),
        strange=tuple(sorted(_strange(call))),
        inside=inside,
        read=read(ir.Module.parse(body or b"")),
    )


_ALIAS = re.compile(r"output_tuple_indices = \[(\d*)\], operand_index = (\d+), operand_tuple_indices = \[\]")


def _aliases(call: Any) -> Iterator[tuple[int, int]]:
    named = "output_operand_aliases"
    for alias in call.attributes[named] if named in call.attributes else ():  # noqa: SIM401 (MLIR's map has no `get`)
        found = _ALIAS.search(str(alias))
        if found is not None:
            yield int(found[1] or 0), int(found[2])


_PLAIN_CALL = frozenset(
    {"api_version", "backend_config", "call_target_name", "has_side_effect", "kernel_name", "mhlo.frontend_attributes"}
    | {"operand_layouts", "output_operand_aliases", "result_layouts", "called_computations"}
)
_PLAIN_CONFIG = frozenset(
    {"body", "serialization_format", "needs_layout_passes", "cost_estimate", "allow_input_fusion", "collective_id"}
    | {"shape_invariant_numerics", "internal_scratch_in_bytes", "output_memory_space_colors", "debug_locations"}
    | {"input_memory_space_colors", "disable_bounds_checks", "disable_semaphore_checks", "skip_device_barrier"}
)


def _strange(call: Any) -> Iterator[str]:
    """What a kernel's call says that may change what it computes and that is not looked at anywhere else."""
    yield from set(call.attributes) - _PLAIN_CALL
    yield from (
        set(json.loads(ir.StringAttr(call.attributes["backend_config"]).value)["custom_call_config"]) - _PLAIN_CONFIG
    )
    for named in ("operand_layouts", "result_layouts"):
        for layout in call.attributes[named] if named in call.attributes else ():  # noqa: SIM401
            order = [int(n) for n in layout]
            if order != list(reversed(range(len(order)))):
                yield named


def _inline_kernels(main: Any, functions: dict[str, Any]) -> None:
    """Put the functions that hold kernels or unwritten memory where they are called, so that all stand in `main`."""
    wanted = {
        name: any(_is_kernel_call(op) or is_unwritten(op) for op in operations(f)) for name, f in functions.items()
    }
    holding = {name for name, holds in wanted.items() if holds}
    while True:  # a function that calls one that holds them holds them too
        more = {name for name, f in functions.items() if any(_callee(op) in holding for op in operations(f))}
        if more <= holding:
            break
        holding |= more
    for _ in range(MOST_INLINED):
        call = next((op for op in operations(main) if _callee(op) in holding), None)
        if call is None:
            return
        _inline(call, functions[_callee(call)])
    raise ValueError("too many calls of functions that hold kernels")


MOST_INLINED = 256


def _callee(operation: Any) -> str:
    return ir.FlatSymbolRefAttr(operation.attributes["callee"]).value if operation.name == "func.call" else ""


def _inline(call: Any, function: Any) -> None:
    block = function.regions[0].blocks[0]
    values = dict(zip(block.arguments, call.operands, strict=True))
    with ir.InsertionPoint(call):
        for op in block.operations:
            if op.operation.name == "func.return":
                for result, value in zip(call.results, op.operation.operands, strict=True):
                    result.replace_all_uses_with(values.get(value, value))
                continue
            copy = op.operation.clone()
            for inner in (copy, *operations(copy)):
                for number, operand in enumerate(inner.operands):
                    if operand in values:
                        inner.operands[number] = values[operand]
            values.update(zip(op.operation.results, copy.results, strict=True))
    call.erase()


def _is_kernel_call(operation: Any) -> bool:
    name = operation.name == "stablehlo.custom_call" and operation.attributes["call_target_name"]
    return bool(name) and ir.StringAttr(name).value == "tpu_custom_call"


def is_unwritten(operation: Any) -> bool:
    """Whether an operation of a TPU artifact is `jnp.empty`: it takes nothing, and gives memory that nobody wrote."""
    return (
        operation.name == "stablehlo.custom_call"
        and ir.StringAttr(operation.attributes["call_target_name"]).value == "AllocateBuffer"
        and not len(operation.operands)
        and len(operation.results) == 1
        and set(operation.attributes) <= {"call_target_name", "mhlo.frontend_attributes", "mhlo.sharding"}
    )


_TENSOR_DTYPES = {"bf16": "bfloat16", "f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2", "i1": "bool"}


def _shape_and_dtype(type_: Any) -> tuple[tuple[int, ...], Any]:
    tensor = ir.RankedTensorType(type_)
    name = str(tensor.element_type)
    for short, long in (("ui", "uint"), ("i", "int"), ("f", "float")):
        if name not in _TENSOR_DTYPES and re.fullmatch(rf"{short}\d+", name):
            return tuple(tensor.shape), jax.numpy.dtype(long + name.removeprefix(short))
    return tuple(tensor.shape), jax.numpy.dtype(_TENSOR_DTYPES[name])


def _mosaic_body(backend_config: str) -> bytes | None:
    try:
        return base64.b64decode(json.loads(backend_config)["custom_call_config"]["body"])
    except (ValueError, KeyError, TypeError):
        return None


# ---------------------------------------------------------------- the kernels of an artifact


class TpuCall(NamedTuple):
    """One kernel of a TPU artifact: the name given to it here, where it was called, and its own VMEM limit, if any."""

    name: str
    location: str
    vmem_limit_bytes: int | None
    looped: bool = False


def name_kernels(exported: jax.export.Exported) -> tuple[jax.export.Exported, list[TpuCall]]:
    """The artifact with every kernel named `kt0`, `kt1`, … and those kernels in program order.

    The compiler's dumps are called after these names. A kernel that is called twice stands in the list twice."""
    with mlir.make_ir_context() as context:
        module = ir.Module.parse(exported.mlir_module())
        functions = {ir.StringAttr(f.operation.attributes["sym_name"]).value: f.operation for f in module.body}
        calls = list(_named_calls(functions["main"], functions, {}, False, context))
        data = _export._module_to_bytecode(module)
    return dataclasses.replace(exported, mlir_module_serialized=data), calls


def _named_calls(
    operation: Any, functions: dict[str, Any], named: dict[str, TpuCall], looped: bool, context: Any
) -> Iterator[TpuCall]:
    for op in (
        inner.operation for region in operation.regions for block in region.blocks for inner in block.operations
    ):
        if op.name == "func.call":
            yield from _named_calls(functions[op.attributes["callee"].value], functions, named, looped, context)
        elif op.name == "stablehlo.custom_call" and op.attributes["call_target_name"].value == "tpu_custom_call":
            known = re.search(r"/(kt\d+)/pallas_call", str(op.location))
            if known is not None:
                yield named[known[1]]
                continue
            limit = _vmem_limit(op.attributes["backend_config"].value)
            call = named[f"kt{len(named)}"] = TpuCall(f"kt{len(named)}", str(op.location), limit, looped)
            op.location = ir.Location.name(f"jit(run)/{call.name}/pallas_call", context=context)
            yield call
        else:
            yield from _named_calls(op, functions, named, looped or op.name == "stablehlo.while", context)


def _vmem_limit(backend_config: str) -> int | None:
    """What `CompilerParams(vmem_limit_bytes=…)` wrote into a kernel's call. Memory space 1 is VMEM."""
    try:
        scopes = json.loads(backend_config).get("scoped_memory_configs", [])
        return next((int(scope["size"]) for scope in scopes if int(scope["memory_space"]) == 1), None)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


# ---------------------------------------------------------------- where an equation was written


class Position(NamedTuple):
    """A place in the attempt. Lines are 1-based, columns 0-based."""

    line: int
    column: int


def position(eqn: JaxprEqn, file_name: str) -> Position | None:
    """Where in the file `file_name` (as given to `compile`) the equation was written: its innermost frame there.

    Frames of JAX and of other files do not count, so a line is always a line of the attempt. JAX keeps only ten frames:
    what `sync_copy` and `emit_pipeline` write has none of the attempt left, and then the place of the enclosing
    equation is the one to use."""
    for frame in source_info_util.user_frames(eqn.source_info.traceback):
        if frame.file_name == file_name:
            return Position(frame.start_line, max(frame.start_column, 0))
    return None


def written_elsewhere(eqn: JaxprEqn, file_name: str) -> tuple[str, int] | None:
    """File and line where the equation was written, if that is code of a user's and not in `file_name`."""
    frames = [f for f in source_info_util.user_frames(eqn.source_info.traceback) if is_users(f.file_name)]
    if not frames or any(f.file_name == file_name for f in frames[:1]):
        return None
    return frames[0].file_name, frames[0].start_line


def in_other_file(where: tuple[str, int] | None) -> str:
    """A sentence on where code stands that is not in the file that is looked at; empty for None."""
    return f" (This is line {where[1]} of `{'/'.join(Path(where[0]).parts[-2:])}`.)" if where else ""


def is_users(file_name: str) -> bool:
    """Whether a file is neither JAX's nor Python's own, nor ours."""
    return source_info_util.is_user_filename(file_name) and not file_name.startswith(OURS)


OURS = (str(Path(__file__).parents[1]), sysconfig.get_path("stdlib"), "<")
"""Where frames of the machinery lie: our package, Python's library, and what is no file."""

# ---------------------------------------------------------------- refs and memory


def is_of_pipeline(jaxpr: Jaxpr) -> bool:
    """Whether a body is a function of JAX's own `emit_pipeline`."""
    return str(jaxpr.debug_info.func_src_info).partition(" at ")[2].startswith(f"{pipeline.__file__}:")


def is_ref(atom: Atom) -> bool:
    """Whether a variable holds a Ref."""
    return isinstance(atom.aval, state_types.AbstractRef)


def space(aval: Any) -> Space:
    """The memory space of a Ref's abstract value. A Ref without one is staged in VMEM."""
    name = str(getattr(aval, "memory_space", None) or "default")
    match name:
        case "any" | "smem" | "hbm":
            return name
        case "semaphore_mem":
            return "semaphore"
        case "index":
            return "smem"
    return "vmem"


@dataclass(frozen=True)
class Dim:
    """How one dimension of a Ref is indexed: `size` elements from `start`, `stride` apart.

    `squeezed` is an integer index (the dimension is gone afterwards); `size` is None if it is not static; `start` is
    an int or a `Var` (of an index array too). `extent` is the length of the dimension."""

    start: Any
    size: int | None
    stride: int
    squeezed: bool
    extent: int

    @property
    def whole(self) -> bool:
        """Whether this takes all of the dimension."""
        return not self.squeezed and self.start == 0 and self.size == self.extent and self.stride == 1


@dataclass(frozen=True)
class View:
    """A Ref with the indexing that an operation applies to it. `raw` are JAX's own transforms, in order."""

    ref: Var
    raw: tuple[Any, ...] = ()

    @cached_property
    def indexed(self) -> tuple[tuple[Dim, ...], ...] | None:
        """One tuple of dimensions for each index step (`ref.at[0][1:3]` has two), or None if something else than
        indexing (a reshape, a bitcast) stands between, so that positions cannot be told."""
        if not all(isinstance(t, indexing.NDIndexer) for t in self.raw):
            return None
        return tuple(tuple(_dim(i, n) for i, n in zip(t.indices, t.shape, strict=True)) for t in self.raw)

    @property
    def whole(self) -> bool:
        """Whether the view certainly covers every element of the Ref."""
        return self.indexed is not None and all(d.whole for dims in self.indexed for d in dims)

    @cached_property
    def _aval(self) -> Any:
        return pallas_core.TransformedRef(self.ref.aval, self.raw) if self.raw else self.ref.aval

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of what is touched."""
        return tuple(self._aval.shape)

    @property
    def dtype(self) -> Any:
        """The dtype of what is touched."""
        return self._aval.dtype

    @property
    def space(self) -> Space:
        """The memory space of the Ref."""
        return space(self.ref.aval)


def constant(atom: Any) -> int | None:
    """The integer that an index is known to be, else None."""
    value = getattr(atom, "val", atom)
    if isinstance(value, bool) or isinstance(atom, Var):
        return None
    try:
        return int(value) if getattr(value, "ndim", 0) == 0 else None
    except (TypeError, ValueError):
        return None


def _dim(index: Any, extent: int) -> Dim:
    if isinstance(index, indexing.Slice):
        return Dim(_known(index.start), constant(index.size), constant(index.stride) or 1, False, extent)
    return Dim(_known(index), 1, 1, True, extent)


def _known(atom: Any) -> Any:
    value = constant(atom)
    return atom if value is None else value


def view(ref: Any, transforms: Any = None) -> View | None:
    """A `View` of what JAX gives: a variable, a TransformedRef, or a variable beside its transforms."""
    if ref is None:
        return None
    if isinstance(ref, state_types.TransformedRef):
        return View(ref.ref, tuple(ref.transforms))
    return View(ref, tuple(transforms or ()))


def access_transforms(eqn: JaxprEqn) -> tuple[Any, ...]:
    """What a `get` or `swap` applies to its Ref, in order, as JAX's own transforms."""
    first = _first_index(eqn)
    return tuple(jax.tree.unflatten(eqn.params["tree"], eqn.invars[first:]))


def with_transforms(eqn: JaxprEqn, transforms: Sequence[Any]) -> JaxprEqn:
    """The `get` or `swap` with other transforms on its Ref."""
    leaves, tree = jax.tree.flatten(tuple(transforms))
    return eqn.replace(invars=[*eqn.invars[: _first_index(eqn)], *leaves], params=dict(eqn.params, tree=tree))


def _first_index(eqn: JaxprEqn) -> int:
    return 2 if eqn.primitive.name == "swap" else 1


def new_shape(transform: Any) -> tuple[int, ...] | None:
    """The shape that a transform reshapes its Ref to; None if it is no reshape."""
    return tuple(transform.shape) if isinstance(transform, state_types.ReshapeTransform) else None


def index_dims(transform: Any) -> tuple[Dim, ...] | None:
    """The dimensions of an index step without arrays in it; None if it is something else."""
    if not isinstance(transform, indexing.NDIndexer) or transform.int_indexer_shape:
        return None
    dims = tuple(_dim(i, n) for i, n in zip(transform.indices, transform.shape, strict=True))
    return dims if all(dim.size is not None for dim in dims) else None


# ---------------------------------------------------------------- blocks


class BlockDim(NamedTuple):
    """One dimension of a block: its size, whether it is squeezed out of the Ref, whether the index map counts elements
    instead of blocks, whether they may reach into padding, and whether this reading knows the kind at all (it does not
    know gathers and bounded slices)."""

    size: int
    squeezed: bool = False
    element: bool = False
    known: bool = True
    padded: bool = False


def block_dim(dim: Any) -> BlockDim:
    """What one entry of a block shape means."""
    match dim:
        case pallas_core.Squeezed() | None:
            return BlockDim(1, squeezed=True)
        case pallas_core.Blocked(size):
            return BlockDim(size)
        case pallas_core.Element(size):
            padded = dim.padding != (0, 0)
            return BlockDim(size, element=True, known=not padded, padded=padded)
        case int():
            return BlockDim(dim)
    return BlockDim(pallas_core.get_block_size(dim), known=False)


def closed(jaxpr: Any) -> Jaxpr:
    """The plain jaxpr of a jaxpr that may come with its constants."""
    return jaxpr if isinstance(jaxpr, Jaxpr) else jaxpr.jaxpr


# ---------------------------------------------------------------- binding again


@contextmanager
def written_at(eqn: JaxprEqn) -> Iterator[None]:
    """What is bound inside keeps the place, the mesh and the settings of `eqn`: messages name the attempt's lines."""
    names = source_info_util.current_name_stack() + eqn.source_info.name_stack
    with source_info_util.user_context(eqn.source_info.traceback, name_stack=names), eqn.ctx.manager:
        yield


def bind(eqn: JaxprEqn, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """Bind the primitive of `eqn` on `args` with other parameters; always a list of outputs."""
    with written_at(eqn):
        out = eqn.primitive.bind(*args, **eqn.primitive.get_bind_params(params))
    return list(out) if eqn.primitive.multiple_results else [out]


# ---------------------------------------------------------------- for the describing half (facts, printing)


def index_steps(view: View) -> list[tuple[Dim, ...] | str]:
    """What is applied to the Ref, in order: dimensions for an index step, or words for a reshape, bitcast, …"""
    return [
        tuple(_dim(i, n) for i, n in zip(t.indices, t.shape, strict=True))
        if isinstance(t, indexing.NDIndexer)
        else _words(t)
        for t in view.raw
    ]


def _words(transform: Any) -> str:
    name = type(transform).__name__.removesuffix("Transform").lower()
    fields = (str(getattr(transform, f)) for f in getattr(transform, "__dataclass_fields__", {}))
    return f"{name}({', '.join(fields)})"


# ---------------------------------------------------------------- rewriting


def fresh(var: Var, shape: tuple[int, ...] | None = None) -> Var:
    """A new variable of the same type, or of that dtype and this shape."""
    return Var(var.aval if shape is None else var.aval.update(shape=shape))


def read_of(eqn: JaxprEqn, where: View, out: Var) -> JaxprEqn:
    """A `get` in the place of `eqn`, of that part of a Ref."""
    leaves, tree = jax.tree.flatten(where.raw)
    return eqn.replace(
        primitive=state_primitives.get_p, invars=[where.ref, *leaves], outvars=[out], params={"tree": tree},
        effects={state_types.ReadEffect(where.ref)},
    )  # fmt: skip


def store_of(eqn: JaxprEqn, where: View, value: Atom) -> JaxprEqn:
    """A `swap` in the place of `eqn`, which stores `value` to that part of a Ref and returns what was there."""
    leaves, tree = jax.tree.flatten(where.raw)
    return eqn.replace(
        primitive=state_primitives.swap_p, invars=[where.ref, value, *leaves], params={"tree": tree},
        effects={state_types.WriteEffect(where.ref)},
    )  # fmt: skip


def input_effect(effect: Any) -> Var | None:
    """The Ref that an effect is about; None for effects on something else (printing, semaphores)."""
    return effect.input if isinstance(effect, effects.JaxprInputEffect) else None


def more_scan_constants(params: dict[str, Any], count: int) -> dict[str, Any]:
    """Parameters of a `scan` with so many more constants in front."""
    consts, carry, rows = params["ft_in"].unpack()
    return params | {"ft_in": flattree.pack((flattree.nones(len(consts) + count), carry, rows))}


def unspecified_sharding() -> Any:
    """What `jit` notes for an input whose sharding nobody gave."""
    return UNSPECIFIED


def jaxpr_with(
    jaxpr: Jaxpr, eqns: Sequence[JaxprEqn], outvars: Sequence[Atom], extra: Sequence[Var], *, scope: bool
) -> Jaxpr:
    """The jaxpr with other equations, outputs and leading inputs (constants of a `scope`); effects are recomputed."""
    constvars, invars, consts = list(jaxpr.constvars), list(jaxpr.invars), list(jaxpr.consts)
    names = jaxpr.debug_info
    if scope:
        constvars, consts = [*extra, *constvars], [*(None for _ in extra), *consts]
    elif extra:
        invars = [*extra, *invars]
        if names.arg_names is not None:
            names = names._replace(arg_names=("",) * len(extra) + tuple(names.arg_names))
    found = partial_eval.make_jaxpr_effects(constvars, invars, outvars, eqns)
    return jaxpr.replace(
        constvars=constvars, invars=invars, outvars=list(outvars), eqns=list(eqns), consts=consts, effects=found,
        debug_info=names,
    )  # fmt: skip


def written(jaxpr: Jaxpr) -> set[Var]:
    """The inputs of a jaxpr that are Refs and that it writes."""
    effects = (state_types.WriteEffect, state_types.AccumEffect)
    return {effect.input for effect in jaxpr.effects if isinstance(effect, effects)}
