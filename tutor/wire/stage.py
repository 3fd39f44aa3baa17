"""The jobs of the stager, which runs the attempt's own Python."""

from __future__ import annotations

from typing import Literal

from tutor.protocol import CaseSpec, Limits, Record

HazardMode = Literal["on_wait", "eager", "two_cores"]
HAZARD_MODES: tuple[HazardMode, ...] = ("on_wait", "eager", "two_cores")
type ConfigValue = bool | int | float | str | None


class OwnFile(Record, frozen=True):
    """How a file that is inspected runs: with its own `make_args`, and JAX set as its `CONFIG` says.

    `import_from` are folders to import modules from, `folder` is the working directory; in the jail it is the run's.
    `package` is the package that the file is in, for its relative imports; empty if it is in none."""

    config: dict[str, ConfigValue] = {}
    import_from: list[str] = []
    folder: str | None = None
    package: str = ""


class Attempt(Record, frozen=True):
    """The learner's file as it was when the run began. `path` is only a name for messages and tracebacks.

    `own`: an inspected file. Its entry is called on the arrays of its `make_args`, flat and in order; whatever else
    `make_args` gives is the same in every call."""

    source: bytes
    path: str
    entry: str
    own: OwnFile | None = None


class PrepareJob(Record, frozen=True, tag="prepare"):
    """Load an inspected file, and run its `make_args` and `reference`."""

    attempt: Attempt
    limits: Limits = Limits()


class TraceJob(Record, frozen=True, tag="trace"):
    """Load the attempt and trace every case. `values` are `.npz` bytes of a case's integer inputs, for index maps.

    `whole`: the marked jaxpr is of the whole program with its index maps, not of the kernels alone."""

    attempt: Attempt
    cases: list[CaseSpec]
    values: dict[str, bytes] = {}
    limits: Limits = Limits()
    whole: bool = False
    chip: str = "v5e"


class ArtifactJob(Record, frozen=True, tag="artifacts"):
    """Export `platforms` artifacts of every case; each is sent as soon as it is made.

    A TPU artifact is made for each of `chips`; chips under which the program traces alike share one."""

    attempt: Attempt
    cases: list[CaseSpec]
    platforms: list[Literal["cpu", "tpu"]]
    limits: Limits = Limits()
    chips: tuple[str, ...] = ("v5e",)


class HazardJob(Record, frozen=True, tag="hazards"):
    """Run one case in the TPU simulator in one mode, on these inputs."""

    attempt: Attempt
    case: CaseSpec
    mode: HazardMode
    inputs: bytes
    limits: Limits = Limits()
    chip: str = "v5e"


class KernelsJob(Record, frozen=True, tag="kernels"):
    """Load the author's kernels of a predict exercise and trace the functions `names`, each on its own arguments.

    `file.entry` is not used. With a `mode`, the first of them is run in the simulator instead. `whole`: the marked
    jaxpr shows index maps too."""

    file: Attempt
    names: list[str]
    mode: HazardMode | None = None
    limits: Limits = Limits()
    whole: bool = False
