"""A worker in the best jail that proves itself here."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import msgspec

from tutor.ladder.bytecode import compile_ahead
from tutor.ladder.isolation import Isolation, prove
from tutor.ladder.worker import Worker, WorkerDied, clean_environment
from tutor.protocol import TIERS, Tier
from tutor.sets import builtin_root
from tutor.sets.finding import ENTRY_POINTS
from tutor.wire import Denial, Hello
from tutor.workers.jail import jailed_command, why_not
from tutor.workers.kernel import KNOWN_MACHINE
from tutor.workers.view import worker_view

FORCED = "KERNELTUTOR_ISOLATION"


class NotIsolated(WorkerDied):
    """The one tier that was asked for does not prove itself here; `tail` says why."""


class JailedWorker(Worker):
    """A worker whose server stands in a jail. Each time it is started it tries the tiers in turn, and takes the first
    of which a run has proved that it denies what it must. `isolation` is what came of that.

    `tier`: that one or none (`NotIsolated`). `shown`: folders that its runs may read besides."""

    def __init__(self, module: str, tier: Tier | None = None, shown: Iterable[Path] = ()) -> None:
        super().__init__(module)
        self._asked = tier
        self._shown = tuple(shown)

    async def _open(self) -> Hello:
        wanted = self._asked or _forced()
        reasons: list[str] = []
        for tier in TIERS if wanted is None else (wanted,):
            found = why_not(tier) or await self._try(tier, reasons)
            if isinstance(found, Hello):
                return found
            reasons.append(f"tier {tier}: {found}")
        await self._close()
        raise NotIsolated(self.module, "\n".join(reasons))

    async def _try(self, tier: Tier, reasons: Sequence[str]) -> Hello | str:
        """Start the server in this tier; why it may not stay, if it may not. Where nothing is asked of a tier, a server
        that does not start is a server that does not start: `WorkerDied`."""
        if tier != "C":
            await compile_ahead(self.module)
        view = worker_view(self._shown, secret_folders())
        hello: Hello | None = None
        denials: list[Denial] = []
        try:
            hello = await self._launch(jailed_command(tier, self.module, view, clean_environment()))
            denials = await prove(self._answers) if KNOWN_MACHINE else []
        except (WorkerDied, OSError) as error:
            if tier != "C":
                return _in_words(error)
            if hello is None or isinstance(error, WorkerDied):
                raise
        isolation = Isolation(tier, denials, list(reasons))
        if tier != "C" and isolation.allowed:
            return f"a run could {', '.join(isolation.allowed)}"
        self.isolation = isolation
        return msgspec.structs.replace(hello, isolation=tier)


def _in_words(error: WorkerDied | OSError) -> str:
    if isinstance(error, OSError):
        return f"it could not be tried out: {error.strerror}"
    return f"its server does not start: {error.tail or 'it gives no reason'}"


def secret_folders() -> list[Path]:
    """Folders that no worker may see, wherever they stand: the built-in set, and packages that hold sets."""
    root = builtin_root()
    return [root / "exercises", root / "solutions", *_packages_of_sets()]


@cache
def _packages_of_sets() -> tuple[Path, ...]:
    from importlib.metadata import entry_points  # slow to import

    specs = [importlib.util.find_spec(point.module.partition(".")[0]) for point in entry_points(group=ENTRY_POINTS)]
    return tuple(Path(place) for spec in specs if spec for place in spec.submodule_search_locations or ())


def _forced() -> Tier | None:
    asked = os.environ.get(FORCED, "")
    return next((tier for tier in TIERS if tier == asked), None)
