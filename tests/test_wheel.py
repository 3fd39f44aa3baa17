"""The wheel: built, installed into a plain environment, and used from outside the checkout."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import msgspec
import pytest

from tutor.protocol import Verdict
from tutor.workers.jail import why_not

ROOT = Path(__file__).resolve().parent.parent
BUILD = "import sys, hatchling.build; print(hatchling.build.build_wheel(sys.argv[1]))"
SET = "tutor/builtin"


def files_below(folder: str) -> set[str]:
    """Every file of the checkout that a wheel must carry, relative to the checkout."""
    paths = (ROOT / folder).rglob("*")
    return {path.relative_to(ROOT).as_posix() for path in paths if path.is_file() and "__pycache__" not in path.parts}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel of this checkout, made by the build backend that pyproject.toml names."""
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(folder)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return folder / done.stdout.split()[-1]


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """The `kerneltutor` of an environment that has the wheel. Its dependencies are the running environment's: a .pth
    file names their folder, and the editable install there is not seen, since a .pth file inside that folder is not
    read."""
    home = tmp_path_factory.mktemp("plain")
    venv.create(home, with_pip=True)
    pip = [home / "bin" / "python", "-I", "-m", "pip", "install", "-q", "--no-deps", "--no-index"]
    subprocess.run([*pip, wheel], check=True, stdin=subprocess.DEVNULL)
    (site,) = home.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin" / "kerneltutor"


@pytest.fixture
def run(installed, tmp_path):
    """Runs the installed program in an empty folder, with a workspace and a history of its own."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    environment |= {"KERNELTUTOR_WORKSPACE": str(tmp_path / "work"), "KERNELTUTOR_DATA": str(tmp_path / "data")}

    def call(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        env = environment | variables
        return subprocess.run([installed, *arguments], cwd=folder, env=env, capture_output=True, text=True, timeout=120)

    return call


def test_the_wheel_holds_every_file_and_nothing_else(wheel):
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    packaged = files_below("tutor") | {f"{SET}/{name}" for name in files_below("exercises") | files_below("solutions")}
    packaged |= {name.replace("tests", SET, 1) for name in files_below("tests/exploits")}
    assert names == packaged
    for needed in ("tutor/py.typed", "tutor/tui/screens/main.tcss", "tutor/findings/pages/KT101.toml"):
        assert needed in names
    assert f"{SET}/exercises/set.toml" in names


def test_the_installed_program_is_the_wheel_not_the_checkout(installed):
    code = "import tutor, tutor.sets; print(tutor.__file__); print(tutor.sets.find_set())"
    done = subprocess.run([installed.with_name("python"), "-I", "-c", code], capture_output=True, text=True, check=True)
    package, root = map(Path, done.stdout.split())
    assert package.is_relative_to(installed.parent.parent)
    assert root == package.parent / "builtin"


def test_list_and_show_from_outside_the_checkout(run):
    listed = run("list")
    assert listed.returncode == 0, listed.stderr
    for slug in ("f32_accumulator", "zeros_alias", "any_sync_copy"):
        assert slug in listed.stdout
    shown = run("show", "f32_accumulator")
    assert shown.returncode == 0, shown.stderr
    assert "float32" in shown.stdout
    assert run("show", "no_such_exercise").returncode == 2
    assert run("explain", "KT101").returncode == 0


def test_the_reference_passes_from_outside_the_checkout(run, installed):
    (reference,) = installed.parent.parent.glob(
        f"lib/python*/site-packages/{SET}/solutions/*/*any_sync_copy/reference.py"
    )
    checked = run("check", "any_sync_copy", str(reference), "--json")
    verdict = msgspec.json.decode(checked.stdout, type=Verdict)
    assert verdict.passed, checked.stdout
    assert checked.returncode == 0


@pytest.mark.skipif(why_not("A") is not None and why_not("B") is not None, reason="no jail here")
def test_an_attempt_cannot_read_the_solutions_inside_the_package(run, installed, tmp_path):
    (reference,) = installed.parent.parent.glob(
        f"lib/python*/site-packages/{SET}/solutions/*/*any_sync_copy/reference.py"
    )
    attempt = tmp_path / "attempt.py"
    attempt.write_text(f"exec(open({str(reference)!r}).read())\n")
    for tier in ("A", "B"):
        if why_not(tier) is None:
            checked = run(
                "check", "any_sync_copy", str(attempt), "--stage", "load", "--json", KERNELTUTOR_ISOLATION=tier
            )
            verdict = msgspec.json.decode(checked.stdout, type=Verdict)
            assert verdict.environment.isolation == tier, verdict.stages[0].findings
            assert [found.code for found in verdict.stages[0].findings] == ["KT815"]
