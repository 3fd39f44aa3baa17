"""A new record beside the one that is there: nothing is lowered silently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

from tutor.grade.records import Flag, GradeRecord, timeless

KEPT, LOWERED = "KT837", "KT838"
Kind = Literal["new", "same", "changed", "raised", "lowered", "kept"]


@dataclass(frozen=True)
class Change:
    """What a run makes of one record. `record` is what stands now; where it is `kept`, `found` was lower."""

    kind: Kind
    record: GradeRecord
    was: GradeRecord | None
    found: GradeRecord

    @property
    def differs(self) -> bool:
        """Whether what was found is another result, and not the same with another set, other flags or other words."""
        return self.was is None or (self.found.status, self.found.score) != (self.was.status, self.was.score)

    @property
    def writes(self) -> bool:
        """Whether there is anything to write."""
        return self.was is None or timeless(self.was) != timeless(self.record)


def settle(found: GradeRecord, was: GradeRecord | None, *, by_hand: bool, accept_lower: bool) -> Change:
    """Which of two records stands.

    A score that would fall stays as it is, with a flag, unless the instructor accepts lower ones or has decided it
    `by_hand`. A fault of ours never takes the place of a result."""
    if was is None:
        return Change("new", found, None, found)
    before = _without(was, KEPT, LOWERED)
    if timeless(before) == timeless(found):
        # What was accepted as lower stays marked so; a mark that something lower was found has become untrue.
        stands = _without(was, KEPT)
        return Change("same", stands, was, found)
    ours = found.status == "infra_error" and was.verdict is not None
    lower = found.score < was.score and not by_hand
    if ours or (lower and not accept_lower):
        told = f"found {found.status} with {found.score:g}, attempt {found.attempt_sha256 or 'none'}"
        why = "Grading again failed" if ours else "Grading again gave a lower score"
        flag = Flag(KEPT, f"{why}; the earlier result stands.", told)
        return Change("kept", msgspec.structs.replace(before, flags=[*before.flags, flag]), was, found)
    if lower:
        flag = Flag(LOWERED, "Grading again lowered the score.", f"it was {was.status} with {was.score:g}")
        return Change("lowered", msgspec.structs.replace(found, flags=[*found.flags, flag]), was, found)
    return Change("raised" if found.score > was.score else "changed", found, was, found)


def _without(record: GradeRecord, *codes: str) -> GradeRecord:
    return msgspec.structs.replace(record, flags=[flag for flag in record.flags if flag.code not in codes])
