"""Kernels for the tests of the Mosaic interpreter: artifacts, and modules that no JAX would write."""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.export
import numpy as np

from tutor.jaxpr import compat
from tutor.jaxpr.normalise import CPU_ARTIFACT, TPU_ARTIFACT
from tutor.judge.mosaic.program import Program, Ran
from tutor.workers.arrays import Array


def exported(entry: Callable[..., Any], *arguments: Any, platform: str = "tpu") -> jax.export.Exported:
    """The artifact of a function, as the stager makes it."""
    with compat.target():
        jaxpr = jax.make_jaxpr(entry)(*arguments)
        rebinding = TPU_ARTIFACT if platform == "tpu" else CPU_ARTIFACT
        return jax.export.export(jax.jit(rebinding.as_function(jaxpr)), platforms=[platform])(*arguments)


def as_it_is(entry: Callable[..., Any], *arguments: Any) -> jax.export.Exported:
    """The artifact of a function whose calls of functions and loops stay what they are."""
    with compat.target():
        return jax.export.export(jax.jit(entry), platforms=["tpu"])(*arguments)


def ran(artifact: jax.export.Exported, inputs: Sequence[Array], **options: Any) -> Ran:
    """What the interpreter makes of a TPU artifact."""
    return Program(artifact).run(inputs, **options)


def on_cpu(entry: Callable[..., Any], *inputs: Array) -> list[Array]:
    """What interpret mode makes of a function."""
    call = jax.jit(exported(entry, *inputs, platform="cpu").call)
    return [np.asarray(leaf) for leaf in jax.tree.leaves(call(*inputs))]


def edited(artifact: jax.export.Exported, *changes: tuple[str, str]) -> jax.export.Exported:
    """A TPU artifact in whose Mosaic modules words are replaced by others. Each must be there."""
    with compat.mlir.make_ir_context() as context:
        context.allow_unregistered_dialects = True
        compat.tpu_dialect.register_dialect(context)
        module = compat.ir.Module.parse(artifact.mlir_module())
        for call in [op for op in compat.operations(module.operation) if op.name == "stablehlo.custom_call"]:
            config = json.loads(call.attributes["backend_config"].value)
            body = compat.ir.Module.parse(base64.b64decode(config["custom_call_config"]["body"]))
            text = body.operation.get_asm(enable_debug_info=False, print_generic_op_form=True)
            for old, new in changes:
                assert old in text, f"{old} is not in\n{text}"
                text = text.replace(old, new)
            config["custom_call_config"]["body"] = base64.b64encode(text.encode()).decode()
            call.attributes["backend_config"] = compat.ir.StringAttr.get(json.dumps(config))
        data = compat._export._module_to_bytecode(module)
    return dataclasses.replace(artifact, mlir_module_serialized=data)
