"""What an artifact consists of, counted without running or compiling anything of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import jax.export

from tutor.jaxpr.compat import is_unwritten, operations, outer_module

KERNEL_CALLS = frozenset({"tpu_custom_call", "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape"})
"""Custom calls that a program of kernels makes; any other runs code that no judge has seen."""
LIBRARY_CALLS = frozenset(
    {"ApproxTopK", "Eigh", "LuDecomposition", "ProductOfElementaryHouseholderReflectors", "Qr"}
    | {"annotate_device_placement"}
)  # fmt: skip
LAPACK = "lapack_"
"""What JAX's own linear algebra calls. A program of the user's own may do that beside its kernels."""
TALK = ("stablehlo.infeed", "stablehlo.outfeed", "stablehlo.send", "stablehlo.recv")
"""Operations that talk to the host while the program runs."""


@dataclass
class Census:
    """An artifact in numbers. `foreign`: what calls code that stands outside the artifact, each by its name."""

    operations: int = 0
    kernels: int = 0
    constant_bytes: int = 0
    foreign: Counter[str] = field(default_factory=Counter)


def take_census(exported: jax.export.Exported, *, own: bool = False) -> Census:
    """Count an artifact. `own`: calls into JAX's own libraries are not foreign."""
    census, for_tpu = Census(), tuple(exported.platforms) == ("tpu",)
    with outer_module(exported) as module:
        for operation in operations(module.operation):
            census.operations += 1
            if operation.name == "stablehlo.custom_call":
                target = operation.attributes["call_target_name"].value
                census.kernels += target == "tpu_custom_call"
                # Elsewhere JAX makes zeros of `jnp.empty`.
                if not _is_known(target, own) and not (for_tpu and is_unwritten(operation)):
                    census.foreign[target] += 1
            elif operation.name == "stablehlo.constant":
                census.constant_bytes += _bytes_of(operation.attributes["value"])
            elif operation.name in TALK:
                census.foreign[operation.name] += 1
    return census


def _is_known(target: str, own: bool) -> bool:
    return target in KERNEL_CALLS or (own and (target in LIBRARY_CALLS or target.startswith(LAPACK)))


def _bytes_of(value: Any) -> int:
    """The bytes that an array of constants takes in the artifact. One number for the whole array takes none."""
    if not hasattr(value, "is_splat") or value.is_splat:
        return 0
    return len(value) * max(1, getattr(value.type.element_type, "width", 8) // 8)
