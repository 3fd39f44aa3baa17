"""What may be run and compiled: artifacts of the right kind and size, and nothing else."""

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

from tests.warm import Warm, stage
from tutor.judge import scan as limits
from tutor.judge.scan import scan
from tutor.sets import find_set, load_set

X = jax.ShapeDtypeStruct((8, 128), jnp.float32)


def artifact(function, *names: str, platform: str = "cpu") -> bytes:
    unchecked = [jax.export.DisabledSafetyCheck.custom_call(name) for name in names]
    return bytes(jax.export.export(jax.jit(function), platforms=[platform], disabled_checks=unchecked)(X).serialize())


def stranger(name: str):
    return lambda x: jax.ffi.ffi_call(name, jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def codes(data: bytes, **how) -> list[str]:
    return [found.code for found in scan(data, "case", **how)]


def test_an_ordinary_program_is_let_through():
    assert codes(artifact(lambda x: jnp.sin(x) @ x.T)) == []


@pytest.mark.parametrize(
    "name", ["xla_ffi_python_cpu_callback", "xla_python_cpu_callback", "lapack_spotrf_ffi", "e\0vil"]
)
@pytest.mark.parametrize("platform", ["cpu", "tpu"])
def test_calls_to_code_outside_are_refused(name, platform):
    data = artifact(stranger(name), name, platform=platform)
    [found] = scan(data, "small")
    assert (found.code, found.case) == ("KT810", "small")
    assert name.partition("\0")[0] in found.message


def test_empty_memory_is_let_through_on_a_tpu_only_and_only_if_it_is_nothing_else():
    assert codes(artifact(lambda x: (x, jnp.empty((8, 128))), platform="tpu")) == []
    of_nothing = lambda x: (x, jax.ffi.ffi_call("AllocateBuffer", X)())  # noqa: E731
    assert codes(artifact(of_nothing, "AllocateBuffer", platform="tpu")) == ["KT810"]  # it says more than a plain one
    for platform in ("cpu", "tpu"):
        assert codes(artifact(stranger("AllocateBuffer"), "AllocateBuffer", platform=platform)) == ["KT810"]


def test_a_call_inside_a_branch_of_a_loop_is_found():
    def nested(x):
        body = lambda i, c: jax.lax.cond(i > 3, stranger("evil"), jnp.sin, c)  # noqa: E731
        return jax.lax.fori_loop(0, 9, body, x)

    assert codes(artifact(nested, "evil")) == ["KT810"]


def test_a_file_of_the_users_own_may_do_linear_algebra():
    data = artifact(lambda x: jnp.linalg.cholesky(x @ x.T + jnp.eye(8)))
    assert codes(data, own=True) == []
    assert codes(artifact(stranger("evil"), "evil"), own=True) == ["KT810"]


@pytest.mark.parametrize("data", [b"", b"rubbish", b"\0" * 4096, bytes(range(256)) * 64])
def test_what_is_no_program_is_said_to_be_none(data):
    assert codes(data) == ["KT812"]


def test_a_program_that_was_cut_or_changed_is_refused_or_is_a_program():
    whole = artifact(jnp.sin)
    for at in range(0, len(whole), max(1, len(whole) // 40)):
        assert codes(whole[:at]) == ["KT812"]


def test_too_large_in_every_way(monkeypatch):
    table = np.random.default_rng(0).random((256, 1024), np.float32)
    data = artifact(lambda x: x + jnp.asarray(table)[:8, :128])
    assert codes(data) == []
    monkeypatch.setattr(limits, "MOST_CONSTANT_BYTES", table.nbytes - 1)
    [found] = scan(data, "case")
    assert found.code == "KT811"
    assert "1,048,576 bytes of constants" in found.message
    monkeypatch.setattr(limits, "MOST_OPERATIONS", 3)
    assert codes(data) == ["KT811", "KT811"]
    monkeypatch.setattr(limits, "MOST_BYTES", 100)
    [found] = scan(data, "case")
    assert "MiB of data" in found.message


def test_a_constant_that_is_one_number_counts_as_one():
    assert codes(artifact(lambda x: x + jnp.full((4096, 4096), 2.0)[:8, :128])) == []


FORGED = """
import jax
import jax.export
honest = jax.export.export

def export(function, platforms):
    def evil(*arguments):
        return jax.ffi.ffi_call("evil", jax.ShapeDtypeStruct((8, 128), "float32"))(*arguments)
    unchecked = [jax.export.DisabledSafetyCheck.custom_call("evil")]
    return honest(jax.jit(evil), platforms=platforms, disabled_checks=unchecked)

jax.export.export = export
"""
GARBLED = """
import jax.export
jax.export.Exported.serialize = lambda self: bytearray(b"no program")
"""


@pytest.mark.parametrize(("forgery", "code"), [(FORGED, "KT810"), (GARBLED, "KT812")])
def test_what_an_attempt_forges_reaches_neither_the_judge_nor_the_compiler(warm: Warm, forgery, code):
    exercise = load_set(find_set()).exercise("any_sync_copy")
    verdict = warm.check(exercise, exercise.reference.read_bytes() + forgery.encode(), "forged.py")
    for name in ("interpret", "lower"):
        result = stage(verdict, name)
        assert (result.status, {found.code for found in result.findings}) == ("failed", {code}), result
    assert stage(verdict, "compile").status == "skipped"
    assert verdict.compile == []
    assert not verdict.passed
