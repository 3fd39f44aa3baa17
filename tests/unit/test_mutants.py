"""Mutants of a reference: which are made, that each is a program of its own, and what a survivor needs."""

from __future__ import annotations

import ast

import msgspec
import pytest

from tutor.ladder.mutants import mutants
from tutor.ladder.mutation import Killed, Share, share

KERNEL = '''
"""A sum, a - b in its docstring."""

import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref, *, rows=4 + 4):
    k = pl.program_id(1)

    @pl.when(k == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    o_ref[...] += jnp.sum(jnp.where(k < 3, x_ref[...], 0), axis=1, keepdims=True)


def run(x):
    m, n = x.shape
    return pl.pallas_call(
        kernel,
        grid=(m // 8, n // 128),
        in_specs=[pl.BlockSpec((8, 128), lambda i, k: (i, k))],
        out_specs=pl.BlockSpec((8, 1), lambda i, k: (i, 0)),
        out_shape=jnp.zeros((m, 1), jnp.float32),
    )(x)
'''


def names(source: str = KERNEL) -> list[str]:
    return [mutant.name for mutant in mutants(source)]


@pytest.mark.parametrize(
    "name",
    [
        "operator: k == 0 -> k != 0",
        "operator: m // 8 -> m * 8",
        "index map: lambda i, k: (i, k) -> lambda i, k: (i + 1, k)",
        "index map: lambda i, k: (i, 0) -> lambda i, k: (i, 1)",
        "initialisation: o_ref[...] = jnp.zeros_like(o_ref) -> nothing",
        "mask: jnp.where(k < 3, x_ref[...], 0) -> x_ref[...]",
        "dtype: jnp.float32 -> jnp.bfloat16",
        "loop bound: grid=(m // 8, n // 128) -> grid=(m // 8, n // 128 - 1)",
    ],
)
def test_each_kind_is_made(name: str) -> None:
    assert name in names()


def test_whole_initialisation_is_dropped() -> None:
    assert any(name.startswith("initialisation: @pl.when(k == 0)") for name in names())


def test_defaults_and_docstrings_stay() -> None:
    assert not any("4 + 4" in name or "a - b" in name for name in names())


def test_sources_are_different_programs() -> None:
    sources = [mutant.source for mutant in mutants(KERNEL)]
    assert len(set(sources)) == len(sources) > 15
    plain = ast.unparse(ast.parse(KERNEL))
    for source in sources:
        assert ast.unparse(ast.parse(source)) != plain


def test_names_are_unique_and_do_not_follow_lines() -> None:
    assert len(set(names())) == len(names())
    assert names() == names("\n\n\n" + KERNEL)


def test_same_change_twice_is_numbered() -> None:
    found = names("def f(a, b):\n    x = a + b\n    return x * (a + b)\n")
    assert "operator: a + b -> a - b" in found and "operator: a + b -> a - b (2)" in found


def test_only_the_reference_itself_changes_in_one_place() -> None:
    before = ast.unparse(ast.parse(KERNEL)).splitlines()
    for mutant in mutants(KERNEL):
        if mutant.name.startswith(("operator", "index map", "dtype")):
            after = mutant.source.splitlines()
            changed = [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
            assert len(changed) == 1, mutant.name


def killed(name: str, stage: str | None, reason: str | None = None) -> Killed:
    return msgspec.convert({"name": name, "stage": stage, "code": None, "reason": reason}, Killed)


def test_survivor_needs_a_reason() -> None:
    outcomes = [killed("a", "interpret"), killed("b", None), killed("c", None, "costs time only")]
    found = share(outcomes)
    assert found == Share(total=3, killed=1, equivalent=1, undeclared=("b",))
    assert found.share == 0.5 and not found.good


def test_all_others_killed_is_good() -> None:
    assert share([killed(str(i), "interpret") for i in range(9)] + [killed("c", None, "why")]).good
    assert share([]).good
