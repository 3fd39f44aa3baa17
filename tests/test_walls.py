"""The walls of the house: which process may import what. Each probe has a twin that proves it can fail."""

import subprocess
import sys

import pytest

FRONTS = [
    "tutor.cli.app",
    "tutor.ladder.check",
    "tutor.ladder.proof",
    "tutor.sets",
    "tutor.record",
    "tutor.findings",
    "tutor.tui.app",
]
WORKERS = ["tutor.stage.jobs", "tutor.judge.jobs", "tutor.jaxpr.facts", "tutor.workers.forkserver"]


def imported_by(module: str) -> set[str]:
    """The top-level packages that are loaded once `module` has been imported in a fresh interpreter."""
    code = f"import sys, {module}; print('\\n'.join({{m.partition('.')[0] for m in sys.modules}}))"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("module", FRONTS)
def test_no_front_imports_jax(module):
    assert not imported_by(module) & {"jax", "jaxlib", "libtpu"}


@pytest.mark.parametrize("module", WORKERS)
def test_no_worker_imports_textual(module):
    assert not imported_by(module) & {"textual", "rich", "click"}


def test_the_probe_sees_jax_where_it_is():
    assert "jax" in imported_by("tutor.judge.jobs")


def test_the_probe_sees_textual_where_it_is():
    assert "textual" in imported_by("tutor.tui.app")


def test_the_judge_never_imports_the_stager():
    code = "import sys, tutor.judge.jobs; print([m for m in sys.modules if m.startswith('tutor.stage')])"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_private_jax_names_live_in_one_file():
    from pathlib import Path

    import tutor

    root = Path(tutor.__file__).parent
    guilty = [
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        for text in [path.read_text()]
        if ("jax._src" in text or "jaxlib" in text.replace('"jaxlib"', "").replace("jaxlib:", ""))
        and any(
            line.lstrip().startswith(("import jax", "from jax")) and ("_src" in line or "jaxlib" in line)
            for line in text.splitlines()
        )
    ]
    assert guilty == ["jaxpr/compat.py"]
