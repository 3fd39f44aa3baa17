"""`inspect` on files that are right, wrong, or not what it needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.warm import Warm, findings, stage
from tests.workers.jailed import HERE
from tutor.ladder.inspect import config_of, open_worker
from tutor.protocol import Finding, Limits, StageName, Verdict

HEAD = """\
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl

def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] + 1

def run(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

"""
ARGS = "def make_args(): return (np.ones((8, 128), np.float32),)\n"


@pytest.fixture
def inspect(warm: Warm, tmp_path: Path):
    def judged(text: str, *, target: StageName | None = "load", function: str = "run", jail: bool = False) -> Verdict:
        return warm.inspect(
            tmp_path / "mine.py", text.encode(), target=target, function=function, jail=jail, chips=("v5e",)
        )

    return judged


def only(verdict: Verdict) -> Finding:
    (found,) = findings(verdict)
    return found


@pytest.mark.parametrize(
    ("text", "code", "line", "words"),
    [
        (HEAD, "KT131", None, "make_args"),
        (HEAD + "def make_args(): return (np.zeros(3)[7],)\n", "KT131", 10, "IndexError"),
        (HEAD + "def make_args(): raise SystemExit(3)\n", "KT131", 10, "SystemExit"),
        (HEAD + "def make_args(): return (np.array(['a']),)\n", "KT131", 10, "dtype"),
        (HEAD + "def make_args(): return 1, 2, 3\n", "KT105", 7, "3 arguments"),
        (HEAD + ARGS + "def reference(x): return x.wrong\n", "KT129", 11, "AttributeError"),
        (HEAD + ARGS + "def reference(x): x + 1\n", "KT129", 11, "nothing"),
        (HEAD + ARGS + "TOL = 1e-3\n", "KT130", 11, "rtol"),
        (HEAD + ARGS + "TOL = dict(rtol=-1)\n", "KT130", 11, "from 0 up"),
        (HEAD + ARGS + "TOL = dict(tol=1)\n", "KT130", 11, "rtol"),
        (HEAD + ARGS + "CONFIG = {'jax_no_such_thing': 1}\n", "KT130", 11, "jax_no_such_thing"),
        (HEAD + ARGS + "CONFIG = {'jax_enable_x64': 1 == 1}\n", "KT130", 11, "written out"),
        (HEAD + ARGS + "CONFIG = ['jax_enable_x64']\n", "KT130", 11, "written out"),
        ("import no_such_module_here\n" + HEAD + ARGS, "KT109", 1, "PYTHONPATH"),
        ("def run(x:\n", "KT101", 1, ""),
        (HEAD.replace("def run", "def walk") + ARGS, "KT104", None, "inspect FILE:FUNCTION"),
        ("import os; os._exit(3)\n", "KT108", None, "exit code 3"),
    ],
)
def test_what_a_file_must_have(inspect, text: str, code: str, line: int | None, words: str) -> None:
    verdict = inspect(text, target=None)
    found = only(verdict)
    assert (found.code, found.line) == (code, line)
    assert words in f"{found.message} {found.hint}"
    assert not verdict.passed
    assert [s.status for s in verdict.stages] == ["failed"] + ["skipped"] * (len(verdict.stages) - 1)


def test_the_numbers_of_a_tolerance_are_numpys(inspect) -> None:
    """|error| <= atol + rtol * |wanted|, for floats and for integers."""
    wanted = HEAD + ARGS + "def reference(x): return np.full_like(x, 2.1)\n"
    assert stage(inspect(wanted, target="interpret"), "interpret").status == "failed"
    assert inspect(wanted + "TOL = dict(rtol=0, atol=0.11)\n", target="interpret").passed
    assert inspect(wanted + "TOL = dict(rtol=0.05)\n", target="interpret").passed
    assert not inspect(wanted + "TOL = dict(atol=0.05)\n", target="interpret").passed
    integers = HEAD + "def make_args(): return (np.ones((8, 128), np.int32),)\ndef reference(x): return x + 2\n"
    assert not inspect(integers, target="interpret").passed
    assert inspect(integers + "TOL = dict(atol=1)\n", target="interpret").passed


def test_another_function_with_a_static_argument(inspect) -> None:
    text = HEAD + (
        "def scaled(x, how, by=2):\n    assert how == 'up'\n    return run(x) * by\n"
        "def make_args(): return np.ones((8, 128)), 'up', 3\n"
        "def reference(x, how, by): return (x + 1) * by\n"
    )
    assert inspect(text, target="interpret", function="scaled").passed


def test_without_a_reference_the_two_must_agree(inspect) -> None:
    alias = HEAD.replace(
        "(kernel, out_shape",
        "(kernel, grid=(6,), in_specs=[pl.BlockSpec((8, 128), lambda i: (jnp.maximum(i - 2, 0), 0))], "
        "out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)), input_output_aliases={0: 0}, out_shape",
    )
    verdict = inspect(alias + "def make_args(): return (np.ones((48, 128), np.float32),)\n", target=None)
    assert stage(verdict, "interpret").status == "failed"
    assert "KT212" in [f.code for f in stage(verdict, "interpret").findings]


def test_without_a_reference_nan_out_of_nothing_is_doubtful(inspect) -> None:
    text = HEAD.replace("x_ref[...] + 1", "jnp.log(x_ref[...] - 2)")
    verdict = inspect(text + ARGS, target=None)
    (doubt,) = [f for f in findings(verdict) if f.severity == "warning"]
    assert (doubt.code, doubt.severity) == ("KT202", "warning")
    assert verdict.passed
    nan = "def make_args(): return (np.full((8, 128), np.nan, np.float32),)\n"
    assert not [f for f in findings(inspect(text + nan, target=None)) if f.severity != "note"]


def test_too_large_to_simulate(inspect) -> None:
    """The count and the advice, and no failure; with a reference the numbers are confirmed by interpret."""
    text = HEAD.replace(
        "(kernel, out_shape",
        "(kernel, grid=(300,), in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))], "
        "out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)), out_shape",
    )
    text += "def make_args(): return (np.ones((2400, 128), np.float32),)\n"
    alone = inspect(text, target=None)
    hazards = stage(alone, "hazards")
    assert hazards.status == "unavailable"
    assert "300 grid steps x 2 accesses = 600" in (hazards.reason or "")
    assert "smaller arguments" in (hazards.reason or "")
    assert stage(alone, "interpret").status == "unavailable"
    assert alone.passed  # no stage failed, and without a reference nothing more is asked
    assert inspect(text + "def reference(x): return x + 1\n", target=None).passed


LONG = """\
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def kernel(n_ref, x_hbm, o_ref):
    pltpu.sync_copy(x_hbm, o_ref)
    def body(i, carry):
        o_ref[...] = o_ref[...] + 1
        return carry
    jax.lax.fori_loop(0, n_ref[0], body, 0)

def run(n, x):
    spaces = [pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pl.ANY)]
    return pl.pallas_call(kernel, in_specs=spaces, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(n, x)

def make_args(): return np.array([1_000_000], np.int32), np.ones((8, 128), np.float32)
"""


def test_a_simulation_that_is_slow_is_not_said_to_hang(warm: Warm, tmp_path: Path, monkeypatch) -> None:
    """It waits for a copy, so it could hang; but it was at work all the time."""
    monkeypatch.setattr("tutor.ladder.hazards.RUN_LIMITS", Limits(wall_seconds=5))
    verdict = warm.inspect(tmp_path / "mine.py", LONG.encode(), only=["load", "trace", "hazards"], chips=("v5e",))
    assert stage(verdict, "hazards").status == "unavailable"
    assert "had not come to an end" in (stage(verdict, "hazards").reason or "")


def test_no_kernel_at_all(inspect) -> None:
    verdict = inspect("import numpy as np\ndef run(x): return x + 1\n" + ARGS, target="structure")
    assert [f.code for f in findings(verdict)] == ["KT111"]


def test_the_jail_shows_the_folder_of_the_file_and_no_other(
    warm: Warm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    for folder, name in ((here, "beside_it"), (elsewhere, "helper_of_mine")):
        folder.mkdir()
        (folder / f"{name}.py").write_text("ONE = 1\n")
    monkeypatch.chdir(elsewhere)
    own = ("from beside_it import ONE\n" + HEAD + ARGS).encode()
    assert warm.inspect(here / "mine.py", own, target="trace", jail=True).passed
    text = ("from helper_of_mine import ONE\n" + HEAD + ARGS).encode()
    assert warm.inspect(here / "mine.py", text, target="trace").passed
    refused = only(warm.inspect(here / "mine.py", text, target="trace", jail=True))
    assert refused.code == "KT109"
    assert "--jail" in (refused.hint or "")


@pytest.mark.skipif(not any(why is None for why in HERE.values()), reason=f"neither tier A nor B here: {HERE}")
@pytest.mark.parametrize("asks", ["open('{here}/new', 'w')", "open('/etc/passwd')", "import os; os.fork()"])
def test_what_the_jail_refuses_is_said_in_plain_words(warm: Warm, tmp_path: Path, asks: str) -> None:
    asks = asks.format(here=tmp_path)
    at_once = f"\n{asks}\n"
    traced = f"import numpy as np\n\ndef run(x):\n    {asks}\n" + ARGS
    for text, line, target in ((at_once, 2, "load"), (traced, 4, "trace")):
        found = only(warm.inspect(tmp_path / "mine.py", text.encode(), target=target, jail=True))
        assert (found.code, found.line) == ("KT815", line)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("package", [True, False])
def test_relative_imports_work_in_a_package(warm: Warm, tmp_path: Path, package: bool) -> None:
    folder = tmp_path / "outer" / "inner"
    folder.mkdir(parents=True)
    (folder / "tiles.py").write_text("ROWS = 8\n")
    (tmp_path / "outer" / "names.py").write_text("LANES = 128\n")
    if package:
        (folder / "__init__.py").touch()
        (tmp_path / "outer" / "__init__.py").touch()
    text = "from .tiles import ROWS\nfrom ..names import LANES\n" + HEAD
    text += "def make_args(): return (np.ones((ROWS, LANES), np.float32),)\n"
    verdict = warm.inspect(folder / "mine.py", text.encode(), target="load", chips=("v5e",))
    if package:
        assert verdict.passed
    else:
        assert (only(verdict).code, only(verdict).line) == ("KT109", 1)
        assert "__init__.py" in only(verdict).message


BESIDE = """\
import jax.numpy as jnp

def kernel(x_ref, o_ref, sem):
    {body}
"""
DRIVER = """\
import jax, numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from bodies import kernel
def run(x):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.SemaphoreType.REGULAR])(x)  # the call
def make_args(): return (np.ones((8, 128), np.float32),)
"""


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("o_ref[...] = x_ref[...] @ x_ref", "KT117"),
        ("o_ref[0, 0] = x_ref[0, 0]", "KT505"),
        ("x_ref[...] = x_ref[...] + 1", "KT331"),
        ("o_ref[...] = x_ref[pl.ds(o_ref[0, 0].astype(int) * 0 + 4, 8)]", "KT402"),
    ],
)
def test_lines_of_another_file_are_said_in_words(warm: Warm, tmp_path: Path, body: str, code: str) -> None:
    """The kernel stands beside the file that is inspected, which has no line to show but that of the call."""
    (tmp_path / "bodies.py").write_text("from jax.experimental import pallas as pl\n" + BESIDE.format(body=body))
    stages: list[StageName] = ["load", "trace", "interpret", "structure", "hazards", "lower"]
    verdict = warm.inspect(tmp_path / "mine.py", DRIVER.encode(), only=stages, chips=("v5e",))
    found = next(f for f in findings(verdict) if f.code == code)
    assert "line 5 of" in found.message and "bodies.py" in found.message
    assert found.line in (None, 6, 7)


def test_config_is_read_and_not_run() -> None:
    assert config_of(b"CONFIG = {'jax_enable_x64': True}\n") == {"jax_enable_x64": True}
    assert config_of(b"CONFIG: dict = dict(jax_enable_x64=True)\n") == {"jax_enable_x64": True}
    assert config_of(b"x = 1\n") == {}
    assert config_of(b"def broken(:\n") == {}
    assert isinstance(config_of(b"CONFIG = dict(a=[1])\n"), Finding)


def test_the_open_worker_keeps_all_but_what_changes_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_DATA", "there")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("JAX_ENABLE_X64", "1")
    monkeypatch.setenv("XLA_FLAGS", "--xla_nonsense")
    environment = open_worker()._environment
    assert environment is not None
    assert environment["MY_DATA"] == "there"
    assert environment["PYTHONPATH"] == "/somewhere"
    assert not {"JAX_ENABLE_X64", "XLA_FLAGS"} & set(environment)
