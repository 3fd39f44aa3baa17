"""The TPU of this machine and who holds it, seen from outside: device files are looked at and never opened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from tutor.protocol import Record

DEV, PROC = Path("/dev"), Path("/proc")
PCI = Path("/sys/bus/pci/devices")
RUNNER = "tutor.judge.device"

GOOGLE = "0x1ae0"
PCI_CHIPS = {"0x005e": "v4", "0x0062": "v5p", "0x0063": "v5e", "0x006f": "v6e", "0x0076": "tpu7x"}
"""PCI identities as JAX has them (`jax._src.hardware_utils`)."""
OTHER_TPUS = frozenset({"0x0027", "0x0056", "0x007c", "0x0083"})
"""TPUs that no figures are known of here. Google's network card and disk have the same vendor and are none."""


class Holder(Record, frozen=True):
    """A process that has TPU device files open. `module` is what it runs, if it is one of ours."""

    pid: int
    command: str
    paths: list[str]
    module: str | None = None


class Devices(Record, frozen=True):
    """TPU device files and who has them open. `complete` is false where other users' processes cannot be seen."""

    paths: list[str]
    holders: list[Holder]
    complete: bool


def device_files(dev: Path = DEV, pci: Path = PCI) -> list[str]:
    """The TPU device files below `dev`, by number.

    Any device that is handed to a virtual machine has a file in `vfio`, so one counts only if its group is a TPU's;
    where the PCI devices cannot be seen (in some containers), all of them count."""
    groups = _vfio_groups(pci)
    vfio = [p for p in (dev / "vfio").glob("*") if p.name.isdigit() and (groups is None or p.name in groups)]
    found = [p for p in [*dev.glob("accel[0-9]*"), *vfio] if not p.is_dir()]
    return [str(p) for p in sorted(found, key=lambda p: (p.name.isdigit(), _number(p.name), p.name))]


def find_device(dev: Path = DEV, pci: Path = PCI) -> str | None:
    """The first TPU of this machine as a device path; None if there is none."""
    return next(iter(device_files(dev, pci)), None)


def local_chip(pci: Path = PCI) -> str | None:
    """Our name for the TPU in this machine, by its PCI identity; None without one, or for one that is not known."""
    return next((PCI_CHIPS[identity] for identity, _ in _tpus(pci) if identity in PCI_CHIPS), None)


def chips_here(others: Sequence[str], pci: Path = PCI) -> tuple[str, ...]:
    """The chip to estimate for where none was named: the one of this machine, else the first of `others`."""
    here = local_chip(pci)
    return (here,) if here is not None else tuple(others[:1])


def _tpus(pci: Path) -> Iterator[tuple[str, Path]]:
    """PCI identity and folder of every TPU."""
    for folder in sorted(pci.glob("*")):
        try:
            vendor, device = ((folder / name).read_text().strip() for name in ("vendor", "device"))
        except OSError:
            continue
        if vendor == GOOGLE and (device in PCI_CHIPS or device in OTHER_TPUS):
            yield device, folder


def _vfio_groups(pci: Path) -> set[str] | None:
    """The names that TPUs have in `/dev/vfio`; None where that cannot be told."""
    if not any(pci.glob("*")):
        return None
    links = [folder / "iommu_group" for _, folder in _tpus(pci)]
    if links and not any(link.is_symlink() for link in links):
        return None
    return {link.readlink().name for link in links if link.is_symlink()}


def _number(name: str) -> int:
    digits = name.removeprefix("accel")
    return int(digits) if digits.isdigit() else 0


def devices(dev: Path = DEV, proc: Path = PROC, pci: Path = PCI) -> Devices:
    """TPU device files below `dev`, and the processes of `proc` that have one open."""
    paths = device_files(dev, pci)
    holders: list[Holder] = []
    complete = True
    for folder in sorted((p for p in proc.glob("[0-9]*") if paths), key=lambda p: int(p.name)):
        try:
            open_here = _open_in(folder / "fd")
        except PermissionError:
            complete = False
            continue
        held = sorted(open_here & set(paths))
        if held:
            holders.append(Holder(int(folder.name), _command(folder), held, _module(folder)))
    return Devices(paths, holders, complete)


def in_words(holder: Holder) -> str:
    """`process 20 (python train.py)`."""
    if holder.module == RUNNER:
        return f"process {holder.pid} (another timing of the tutor's)"
    return f"process {holder.pid} ({holder.command})"


def _open_in(folder: Path) -> set[str]:
    """What the files in a process's `fd` are. A process, and a file in it, may be gone at any moment."""
    found: set[str] = set()
    with suppress(FileNotFoundError, ProcessLookupError):
        for entry in folder.iterdir():
            with suppress(OSError):
                found.add(str(entry.readlink()))
    return found


def _words(folder: Path) -> list[str]:
    try:
        return [word.decode("utf-8", "replace") for word in (folder / "cmdline").read_bytes().split(b"\0") if word]
    except OSError:
        return []


def _command(folder: Path) -> str:
    """What the process was started as, cut; its short name where that cannot be read."""
    if words := _words(folder):
        text = " ".join([Path(words[0]).name, *words[1:]])
        return text if len(text) <= 80 else text[:79] + "…"
    try:
        return (folder / "comm").read_text(errors="replace").strip()
    except OSError:
        return "?"


def _module(folder: Path) -> str | None:
    words = _words(folder)
    module = next((after for word, after in pairwise(words) if word == "-m"), None)
    return module if module is not None and module.partition(".")[0] == "tutor" else None
