"""`tune` and `bench` as commands: what they refuse, what they print, and that Ctrl+C leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from tests.judge.compiling import needs_libtpu
from tutor.cli.errors import Refused
from tutor.cli.render_bench import render_bench
from tutor.cli.render_tune import render_sweep
from tutor.cli.tune import values_named
from tutor.ladder.sweep_picture import heat
from tutor.protocol import Bench, Benched, Schedule, Sweep

ROOT = Path(__file__).parents[2]
COPY = ROOT / "solutions" / "02_blocks" / "01_tile_copy" / "reference.py"
BIAS = ROOT / "solutions" / "02_blocks" / "03_broadcast_map" / "reference.py"


def command(tmp_path: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tutor", "--workspace", str(tmp_path / "ws"), *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, start_new_session=True,
        env={**os.environ, "KERNELTUTOR_DATA": str(tmp_path / "data"), "COLUMNS": "80"},
    )  # fmt: skip


def ran(tmp_path: Path, *arguments: str) -> tuple[int, str, str]:
    process = command(tmp_path, *arguments)
    output, talk = process.communicate(timeout=180)
    return process.returncode, output, talk


def children(session: int) -> list[int]:
    """Processes whose ancestor is `session`."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
    found, more = [], [session]
    while more:
        more = [pid for pid, parent in parents.items() if parent in more]
        found += more
    return found


@pytest.mark.parametrize("text", ["bm", "bm=", "=3", "bm=x", "bm=0", "bm=-8", "bm=1.5", "b m=3", "bm=99999999999"])
def test_values_that_are_none(text: str) -> None:
    with pytest.raises(Refused):
        values_named([text])


def test_values() -> None:
    assert values_named(["bm=64, 128", "bn=8", "bm=256"]) == {"bm": [64, 128, 256], "bn": [8]}


@needs_libtpu
def test_a_sweep(tmp_path: Path) -> None:
    asked = ["--param", "bm=96,512,4096", "--param", "bn=128,1024"]
    code, output, talk = ran(tmp_path, "tune", "tile_copy", str(COPY), *asked, "--json")
    assert code == 0, talk
    sweep = msgspec.json.decode(output, type=Sweep)
    found = {tuple(one.values.values()): one for one in sweep.tried}
    assert sweep.complete and sweep.own == {"bm": 512, "bn": 1024} and sweep.defaults == {"bm": 64, "bn": 128}
    assert {found[96, 128].code, found[96, 1024].code} == {"KT327"}, "8192 rows are no whole number of 96 rows"
    assert found[4096, 1024].status == "overflow" and found[4096, 1024].code == "KT602"
    known = {values: one.schedule for values, one in found.items()}
    assert known[512, 128].total_us > 1.05 * known[512, 1024].total_us
    assert known[64, 128].total_us > 2 * known[512, 1024].total_us
    assert sweep.reference["v5e"].total_us == pytest.approx(known[512, 1024].total_us, rel=0.01)
    picture = heat(sweep, "v5e")
    assert picture is not None and [[cell.kind for cell in row] for row in picture.cells] == [
        ["refused", "refused"], ["passed", "passed"], ["passed", "overflow"],
    ]  # fmt: skip


@needs_libtpu
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["broadcast_map", str(BIAS)], r"`add_bias` has no block sizes.*\*, bm=128, bn=128"),
        (["tile_copy", str(COPY), "--param", "bq=3"], "no block size bq.*It has: bm, bn"),
        (["predict_loads"], "is a predict exercise"),
    ],
)
def test_nothing_to_sweep(tmp_path: Path, arguments: list[str], said: str) -> None:
    code, output, talk = ran(tmp_path, "tune", *arguments)
    assert code == 2 and not output and re.search(said, talk, re.DOTALL)


OWN = """
import jax
import numpy as np
from jax.experimental import pallas as pl

def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2

def double(x, *, bm=64, interpret=False):
    spec = pl.BlockSpec((bm, 512), lambda i: (i, 0))
    return pl.pallas_call(
        kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), grid=(x.shape[0] // bm,),
        in_specs=[spec], out_specs=spec, interpret=interpret,
    )(x)

def make_args():
    return (np.ones((4096, 512), np.float32),)
"""


@needs_libtpu
def test_a_file_of_ones_own_is_swept_by_the_estimate(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    name = f"{tmp_path / 'own.py'}:double"
    code, output, talk = ran(tmp_path, "tune", name, "--param", "bm=8,512,96", "--json")
    assert code == 0, talk
    sweep = msgspec.json.decode(output, type=Sweep)
    found = {one.values["bm"]: one for one in sweep.tried}
    assert (sweep.set, sweep.exercise, sweep.case, sweep.chips) == (None, None, "make_args", ["v5e"])
    assert sweep.own == {"bm": 64} and set(found) == {8, 64, 96, 512}
    assert found[96].status == "refused", "4096 rows are no whole number of 96 rows"
    assert found[8].schedule.total_us > 2 * found[512].schedule.total_us
    assert render_sweep(sweep).startswith("own.py, case make_args")


@needs_libtpu
@pytest.mark.parametrize(
    ("text", "more", "said"),
    [
        (OWN.replace("bm=64, ", "").replace("bm", "64"), [], "`double` has no block sizes"),
        ("def double(:", [], r"own.py does not load. KT101.*kerneltutor inspect"),
        (OWN, ["other.py"], "other.py is one file too many"),
    ],
)
def test_a_file_of_ones_own_that_cannot_be_swept(tmp_path: Path, text: str, more: list[str], said: str) -> None:
    (tmp_path / "own.py").write_text(text)
    code, output, talk = ran(tmp_path, "tune", f"{tmp_path / 'own.py'}:double", *more)
    assert code == 2 and not output and re.search(said, talk, re.DOTALL), talk


@needs_libtpu
def test_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    process = command(tmp_path, "tune", "tile_copy", str(COPY))
    workers: list[int] = []
    for _ in range(600):  # until the stager and a compiler are there
        workers = children(process.pid)
        if len(workers) >= 2:
            break
        time.sleep(0.05)
    time.sleep(1.0)
    workers = sorted({*workers, *children(process.pid)})
    process.send_signal(signal.SIGINT)
    output, talk = process.communicate(timeout=60)
    assert process.returncode == 4 and "Interrupted" in talk and "Traceback" not in talk
    assert not output or "of" in output.splitlines()[1]
    for _ in range(100):
        if not any(Path(f"/proc/{pid}").exists() for pid in workers):
            break
        time.sleep(0.05)
    assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()]


@needs_libtpu
def test_bench(tmp_path: Path) -> None:
    code, output, talk = ran(tmp_path, "bench", "read_once", "predict_loads", "--json")
    assert code == 0, talk
    assert talk.splitlines()[0].startswith("1 reference and the same in plain JAX, for v5e")
    assert re.fullmatch(r"1 of 1, \d+ s: read_once", talk.splitlines()[1]), (
        "it says what it does where nobody sees a bar"
    )
    (row,) = msgspec.json.decode(output, type=Bench).rows
    assert row.exercise == "read_once" and row.reference is not None and row.xla is not None
    moved = 2 * 512 * 1024 * 4  # read once and written once, at 819 GB/s
    assert row.reference.total_us > moved / 819e3 and row.xla.total_us > moved / 819e3
    assert row.reference.bytes_read == 512 * 1024 * 4
    assert row.floor_us == pytest.approx(moved / 820e3, rel=0.01)


def test_a_table_without_estimates_never_invents_one() -> None:
    known = Schedule(100.0, 1.0, "memory", 1, 0.5, 0.0, {}, [])
    rows = [
        Benched("one", "v6e", "large", known, None, None, "the program calls its parts in a loop", 50.0),
        Benched("two", "v6e", "large", known, known),
    ]
    text = render_bench(Bench(set="s", chips=["v6e"], rows=rows), width=80)
    assert re.search(r"one +50 µs +100 µs +- +no estimate", text) and re.search(
        r"two +- +100 µs +100 µs +about as fast", text
    )
    assert "one, plain JAX: the program calls its parts in a loop" in text and "rough" in text
    assert max(map(len, text.splitlines())) <= 80


def test_an_estimate_is_never_compared_with_a_time() -> None:
    """Measured 20 and 40, estimated 100 and 10: each pair says something else, and the text says which is which."""
    kernel, jax = (
        Schedule(100.0, 1.0, "memory", 1, 0.5, 0.0, {}, []),
        Schedule(10.0, 1.0, "memory", 1, 0.5, 0.0, {}, []),
    )
    rows = [
        Benched("one", "v5e", "large", kernel, jax, reference_us=20.0, xla_us=40.0),
        Benched("two", "v5e", "large", kernel, jax, reference_us=20.0, measured_reason="wrong numbers"),
    ]
    text = render_bench(Bench(set="s", chips=["v5e"], rows=rows), width=120)
    assert re.search(r"kernel est\. +JAX est\. +measured +JAX meas\.", text)
    assert re.search(r"one .*2 times faster, measured", text)
    assert re.search(r"two .*10 times slower, est\.", text)
    assert "two: not measured: wrong numbers" in text and "what was measured is named so" in text
    alone = render_bench(Bench(set="s", chips=["v5e"], rows=[Benched("two", "v5e", "large", kernel, jax)]), width=80)
    assert "measured" not in alone and "how estimates of XLA's own" in " ".join(alone.split())
