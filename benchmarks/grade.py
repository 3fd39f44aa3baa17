"""Grading a class, beside one cold process for each submission.

    uv run python benchmarks/grade.py [--submissions N] [--jobs N] [--cold N] [--compile]

Makes a class for `squeezed_batch` (four cases that are checked, two of them hidden, and one that is timed), grades it
with the usual command, and prints submissions per minute, memory over time, and how that compares with `grade` of one
submission and `check` of one file, each in a process of its own. The mixture, in this order in every 100:

    44 right       the reference and the other right answers, each with other bytes
    22 copies      the same bytes as an earlier right or wrong one
    21 wrong       the set's own wrong answers, each with other bytes
     6 broken      syntax errors, exceptions, endless output, the starter, no function of that name
     3 missing     an empty folder, another exercise's file
     3 hostile     ends itself, takes all memory, forks without end, an archive with links and `..`, a zip bomb
     1 hangs       an endless loop while it loads, a sleep while it is traced, a wait for a copy that never starts
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import zipfile
from collections import Counter
from pathlib import Path

from tutor.sets import Exercise, find_set, load_set

SLUG = "squeezed_batch"
SHARES = {"right": 44, "copy": 22, "wrong": 21, "broken": 6, "missing": 3, "hostile": 3, "hangs": 1}
TARGET_SECONDS = 2.4
SAMPLE_SECONDS = 2.0

BROKEN = (
    "def batched_scale(x, s:\n    return x\n",
    "raise ValueError('not today')\n",
    "for _ in range(100_000):\n    print('x' * 100)\n",
    "def another(x, s):\n    return x\n",
    "def batched_scale(x, s):\n    raise RuntimeError(x.shape)\n",
)
HOSTILE = (
    "import os\nos._exit(0)\n",
    "blocks = []\nwhile True:\n    blocks.append(bytearray(1 << 26))\n",
    "import os\nfor _ in range(1000):\n    os.fork()\n",
    "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n",
)
HANGS = (
    "while True:\n    pass\n",
    "import time\n\n\ndef batched_scale(x, s):\n    time.sleep(1e6)\n",
    """\
import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, s_ref, o_ref, sem):
    pltpu.make_async_copy(x_ref, o_ref, sem).wait()
    o_ref[...] = x_ref[...] * s_ref[...]


def batched_scale(x, s):
    b, m, n = x.shape
    return pl.pallas_call(
        kernel,
        grid=(b, m // 64),
        in_specs=[
            pl.BlockSpec((None, 64, n), lambda b, i: (b, i, 0)),
            pl.BlockSpec((None, 1, n), lambda b, i: (b, 0, 0)),
        ],
        out_specs=pl.BlockSpec((None, 64, n), lambda b, i: (b, i, 0)),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.SemaphoreType.DMA],
    )(x, s)
""",
)


def make_class(folder: Path, exercise: Exercise, count: int) -> Counter[str]:
    """Write a class of `count` submissions; how many there are of each kind."""
    rng = random.Random(20260101)
    rights = [exercise.reference.read_text(), *(path.read_text() for path in exercise.rights)]  # type: ignore[union-attr]
    wrongs = [wrong.path.read_text() for wrong in exercise.wrongs]
    # Spread evenly, so that no hundred has more of one kind than another.
    kinds = [kind for kind, share in SHARES.items() for _ in range(share)]
    made: list[str] = []
    counted: Counter[str] = Counter()
    for number in range(count):
        if number % 100 == 0:
            rng.shuffle(kinds)
        kind = kinds[number % 100]
        if kind == "copy" and not made:
            kind = "right"
        counted[kind] += 1
        turn = counted[kind] - 1
        name = f"s{number:05}"
        mark = f"\n# submission {number}\n"
        if kind == "right":
            made.append(rights[turn % len(rights)] + mark)
            put(folder, name, number, made[-1])
        elif kind == "wrong":
            made.append(wrongs[turn % len(wrongs)] + mark)
            put(folder, name, number, made[-1])
        elif kind == "copy":
            put(folder, name, number, rng.choice(made))
        elif kind == "broken":
            put(
                folder,
                name,
                number,
                [*BROKEN, exercise.starter][turn % (len(BROKEN) + 1)] + (mark if turn % 6 < 5 else ""),
            )
        elif kind == "missing":
            (folder / name).mkdir()
            if turn % 2:
                (folder / name / "row_sums.py").write_text("x = 1\n")
        elif kind == "hostile":
            hostile(folder, name, turn, mark, rights[0])
        else:
            put(folder, name, number, HANGS[turn % len(HANGS)] + mark)
    return counted


def put(folder: Path, name: str, number: int, text: str) -> None:
    """One submission: a folder, a zip or a tar.gz, in turn."""
    match number % 3:
        case 0:
            (folder / name).mkdir()
            (folder / name / f"{SLUG}.py").write_text(text)
        case 1:
            with zipfile.ZipFile(folder / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr(f"work/05_{SLUG}.py", text)
        case _:
            with tarfile.open(folder / f"{name}.tar.gz", "w:gz") as archive:
                member = tarfile.TarInfo(f"{name}/{SLUG}.py")
                member.size = len(text.encode())
                archive.addfile(member, io.BytesIO(text.encode()))


def hostile(folder: Path, name: str, turn: int, mark: str, right: str) -> None:
    """A program that attacks, or an archive that does."""
    which = turn % (len(HOSTILE) + 2)
    if which < len(HOSTILE):
        put(folder, name, turn, HOSTILE[which] + mark)
    elif which == len(HOSTILE):
        with tarfile.open(folder / f"{name}.tar.gz", "w:gz") as archive:
            for place, kind in ((f"{SLUG}.py", tarfile.SYMTYPE), (f"../../{SLUG}.py", tarfile.REGTYPE)):
                member = tarfile.TarInfo(place)
                member.type, member.linkname = kind, "/etc/passwd"
                archive.addfile(member)
    else:
        with zipfile.ZipFile(folder / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"{SLUG}.py", b"\0" * (256 << 20))


class Memory(threading.Thread):
    """Resident memory of a process and of its servers, sampled while it runs, in MiB.

    `front` is the process itself, `servers` all that live for longer than one sample below it."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self.front: list[float] = []
        self.servers: list[float] = []
        self.all: list[float] = []

    def run(self) -> None:
        before: set[int] = set()
        while (own := resident(self._pid)) > 0:
            below = descendants(self._pid)
            self.front.append(own)
            self.servers.append(sum(resident(pid) for pid in below if pid in before))
            self.all.append(own + sum(map(resident, below)))
            before = set(below)
            time.sleep(SAMPLE_SECONDS)


def resident(pid: int) -> float:
    """Resident MiB of a process; 0 if there is none."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / (1 << 20)
    except (OSError, IndexError, ValueError):
        return 0.0


def descendants(pid: int) -> list[int]:
    """All processes below one."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            children = [int(child) for child in (task / "children").read_text().split()]
        except OSError:
            continue
        for child in children:
            found += [child, *descendants(child)]
    return found


def thirds(samples: list[float]) -> str:
    """The mean of each third of a run, and the peak."""
    size = max(1, len(samples) // 3)
    means = [statistics.mean(part) for i in range(3) if (part := samples[i * size : (i + 1) * size])]
    return f"{' -> '.join(f'{mean:.0f}' for mean in means)} MiB, peak {max(samples):.0f} MiB"


def command(*arguments: str) -> list[str]:
    """The program, in this interpreter."""
    return [sys.executable, "-m", "tutor", *arguments]


def main() -> None:
    """Make the class, grade it, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--cold", type=int, default=5, help="how many cold processes the medians are of")
    parser.add_argument("--compile", action="store_true", help="with the stage compile")
    parser.add_argument("--keep", type=Path, help="where to leave class and results")
    asked = parser.parse_args()
    whole = load_set(find_set())
    exercise = whole.exercise(SLUG)
    with tempfile.TemporaryDirectory() as temporary:
        home = asked.keep or Path(temporary)
        one_exercise_set(whole.root, exercise, home / "set")
        (home / "class").mkdir(parents=True)
        counted = make_class(home / "class", exercise, asked.submissions)
        print(f"{asked.submissions} submissions of {SLUG}: {', '.join(f'{n} {kind}' for kind, n in counted.items())}")
        options = ["--set", str(home / "set"), *([] if asked.compile else ["--no-compile"])]
        if asked.jobs:
            options += ["--jobs", str(asked.jobs)]
        environment = {**os.environ, "KERNELTUTOR_DATA": str(home / "data")}
        began = time.perf_counter()
        run = subprocess.Popen(
            command("grade", str(home / "class"), "--out", str(home / "out"), *options), env=environment
        )
        memory = Memory(run.pid)
        memory.start()
        code = run.wait()
        seconds = time.perf_counter() - began
        memory.join(5)
        statuses = Counter(json.loads(line)["status"] for line in (home / "out" / "records.jsonl").open())
        each = seconds / asked.submissions
        print(f"exit code {code}; {', '.join(f'{n} {status}' for status, n in statuses.most_common())}")
        print(
            f"{seconds:.0f} s: {60 / each:.1f} submissions a minute, {each:.2f} s each "
            f"({TARGET_SECONDS / each:.2f}x as fast as the target)"
        )
        print(
            f"memory of the front: {thirds(memory.front)}; of the servers: {thirds(memory.servers)}; "
            f"of all: {thirds(memory.all)}"
        )
        cold(home, exercise, options, asked.cold, each)


def one_exercise_set(root: Path, exercise: Exercise, target: Path) -> None:
    """A set of this exercise alone."""
    text = (root / "exercises" / "set.toml").read_text()
    for half in ("exercises", "solutions"):
        folder = root / half / exercise.chapter / exercise.folder.name
        for path in folder.iterdir():
            if path.is_file():
                place = target / half / exercise.chapter / folder.name / path.name
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(path.read_bytes())
    manifest = target / "exercises" / exercise.chapter / exercise.folder.name / "exercise.toml"
    lines = ["requires = []" if line.startswith("requires") else line for line in manifest.read_text().splitlines()]
    manifest.write_text("\n".join(lines) + "\n")
    (target / "exercises" / "set.toml").write_text(
        "\n".join(
            f'chapters = ["{exercise.chapter}"]' if line.startswith("chapters") else line for line in text.splitlines()
        )
    )


def cold(home: Path, exercise: Exercise, options: list[str], runs: int, each: float) -> None:
    """One process for each submission, of a right answer: grading it, and checking it."""
    assert exercise.reference is not None
    graded: list[float] = []
    checked: list[float] = []
    for number in range(runs):
        folder = home / f"cold{number}"
        (folder / "class" / "one").mkdir(parents=True)
        attempt = folder / "class" / "one" / f"{SLUG}.py"
        attempt.write_text(f"{exercise.reference.read_text()}\n# cold {number}\n")
        environment = {**os.environ, "KERNELTUTOR_DATA": str(folder / "data")}
        for arguments, taken in (
            (("grade", str(folder / "class"), "--out", str(folder / "out"), *options), graded),
            (("check", SLUG, str(attempt), *options[:2]), checked),
        ):
            began = time.perf_counter()
            subprocess.run(command(*arguments), check=True, capture_output=True, env=environment)
            taken.append(time.perf_counter() - began)
    for name, taken in (("grade of one submission", graded), ("check of one file, public cases, all stages", checked)):
        if taken:
            one = statistics.median(taken)
            print(f"a cold {name}: {one:.2f} s, {one / each:.1f}x as long")


if __name__ == "__main__":
    main()
