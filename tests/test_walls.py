"""The walls of the house: which process may import what. Each probe has a twin that proves it can fail."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tutor

PACKAGE = Path(tutor.__file__).parent
VERBS = [f"tutor.cli.{path.stem}" for path in sorted((PACKAGE / "cli").glob("[!_]*.py"))]
FRONTS = [
    *VERBS,
    "tutor.grade.run",
    "tutor.grade.exports",
    "tutor.ladder.check",
    "tutor.ladder.proof",
    "tutor.sets",
    "tutor.record",
    "tutor.findings",
]
WORKERS = ["tutor.stage.jobs", "tutor.judge.jobs", "tutor.jaxpr.facts", "tutor.workers.forkserver"]

JAX = {"jax", "jaxlib", "libtpu"}
SCREEN = {"textual", "rich"}


def imported_by(*modules: str) -> set[str]:
    """Every module that is loaded once `modules` have been imported in a fresh interpreter."""
    code = f"import sys, {', '.join(modules)}; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def packages(*modules: str) -> set[str]:
    """The top-level packages among them."""
    return {name.partition(".")[0] for name in imported_by(*modules)}


def private_names(source: str) -> set[str]:
    """The private names of JAX that this Python text reaches: `jax._src` and anything of jaxlib."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute):
            names = [ast.unparse(node)]
        found |= {name for name in names if name.startswith(("jax._src", "jaxlib.")) or name == "jaxlib"}
    return found


def test_no_front_imports_jax_or_before_it_must_the_screen():
    assert not packages(*FRONTS) & (JAX | SCREEN)


def test_the_screen_does_not_import_jax():
    assert not packages("tutor.tui.app", "tutor.tui.screens.main", "tutor.tui.commands") & JAX


@pytest.mark.parametrize("module", WORKERS)
def test_no_worker_imports_the_screen(module):
    assert not packages(module) & (SCREEN | {"click"})


def test_the_probe_sees_jax_where_it_is():
    assert "jax" in packages("tutor.judge.jobs")


def test_the_probe_sees_textual_where_it_is():
    assert packages("tutor.tui.app") >= SCREEN


def test_the_process_that_opens_the_chip_cannot_run_an_oracle():
    loaded = imported_by("tutor.judge.device.__main__", "tutor.judge.device.runner")
    assert not {"tutor.judge.oracle", "tutor.judge.timed", "tutor.judge.given"} & loaded
    assert "tutor.judge.oracle" in imported_by("tutor.judge.jobs"), "the probe sees it where it is"


def test_the_judge_never_imports_the_stager():
    assert not [name for name in imported_by("tutor.judge.jobs") if name.startswith("tutor.stage")]


def test_the_probe_sees_the_stager_where_it_is():
    assert "tutor.stage.attempt" in imported_by("tutor.stage.jobs")


def test_private_jax_names_live_in_one_file():
    guilty = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if private_names(path.read_text())}
    assert guilty == {"jaxpr/compat.py"}


@pytest.mark.parametrize(
    ("source", "private"),
    [
        ("import jax\njax._src.core.Jaxpr", True),
        ("from jax._src import core", True),
        ("from jaxlib.mlir import ir", True),
        ("import jaxlib", True),
        ("def f():\n    from jax import _src", True),
        ("import jax.numpy as jnp  # not jax._src\nversion = 'jaxlib'", False),
    ],
)
def test_the_probe_tells_private_names_from_public_ones(source, private):
    assert bool(private_names(source)) is private
