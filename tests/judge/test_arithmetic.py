"""The arithmetic of the program for the CPU and of that for the TPU: the same wherever both come of one jaxpr."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import pytest
from jax import lax
from jax.experimental import pallas as pl

from tutor.jaxpr.arithmetic import arithmetic, disagreements
from tutor.jaxpr.compat import target
from tutor.jaxpr.normalise import CPU_ARTIFACT, TPU_ARTIFACT

SHAPE = jax.ShapeDtypeStruct((16, 128), jnp.float32)
HONEST: dict[str, Callable[[Any], Any]] = {
    "exp2": jnp.exp2,
    "log1p": jnp.log1p,
    "sign": jnp.sign,
    "round": jnp.round,
    "reciprocal": lambda x: 1 / x,
    "power": lambda x: x**5,
    "remainder": lambda x: x % 3.0,
    "sigmoid": jax.nn.sigmoid,
    "gelu": jax.nn.gelu,
    "softplus": jax.nn.softplus,
    "softmax": jax.nn.softmax,
    "erf": lax.erf,
    "variance": lambda x: x - jnp.var(x, axis=1, keepdims=True),
    "any": lambda x: jnp.where(jnp.any(x > 0), x, 0),
    "argmax": lambda x: jnp.argmax(x, axis=1, keepdims=True).astype(jnp.float32) + x,
    "integers": lambda x: (x.astype(jnp.int32) * 3 // 2 + 5).astype(jnp.float32),
    "bf16": lambda x: jax.nn.sigmoid(x.astype(jnp.bfloat16)).astype(jnp.float32),
    "product": lambda x: jnp.dot(x, x.T) @ x,
    "row times matrix": lambda x: jnp.dot(x[:1], x.T) @ x + x,
    "loop": lambda x: lax.fori_loop(0, 4, lambda i, c: c * 1.5 + x, x),
}


def counted(function: Callable[[Any], Any], platform: str) -> Any:
    """The arithmetic of a kernel that stores `function` of what it reads."""

    def kernel(x_ref: Any, o_ref: Any) -> None:
        o_ref[...] = function(x_ref[...])

    with target():
        jaxpr = jax.make_jaxpr(pl.pallas_call(kernel, out_shape=SHAPE))(SHAPE)
        rebinding = TPU_ARTIFACT if platform == "tpu" else CPU_ARTIFACT
        return arithmetic(jax.export.export(jax.jit(rebinding.as_function(jaxpr)), platforms=[platform])(SHAPE))


@pytest.mark.parametrize("name", HONEST)
def test_one_program_agrees_with_itself(name: str) -> None:
    assert disagreements(counted(HONEST[name], "cpu"), counted(HONEST[name], "tpu")) == []


@pytest.mark.parametrize(
    ("cpu", "tpu"),
    [
        (lambda x: x * 2.5, lambda x: x * 3.5),
        (lambda x: x + x, lambda x: x),
        (lambda x: x, lambda x: jnp.exp(x)),
        (lambda x: jnp.dot(x, x.T) @ x, lambda x: x),
        (lambda x: x / 3.0, lambda x: x * 3.0),
    ],
)
def test_two_programs_do_not(cpu: Callable[[Any], Any], tpu: Callable[[Any], Any]) -> None:
    assert disagreements(counted(cpu, "cpu"), counted(tpu, "tpu"))
