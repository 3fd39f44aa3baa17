"""What the cases say together: an error that grows with a size, or what the wrong cases have in common."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import combinations, pairwise, permutations
from typing import NamedTuple

from tutor.findings import finding
from tutor.protocol import CaseResult, CaseSpec, Finding

SMALL = 0.3
"""A relative L2 error below this can be rounding that adds up; above, the numbers are simply wrong."""
GROWTH = 1.5
"""The factor between the smallest and the largest error that counts as growth."""
STEEPEST = 8
"""Rounding that adds up grows with the number of additions at most. An error that grows so many times faster than the
size is a mistake that small sizes do not show."""
DIP = 0.6
"""An error may fall by this factor from one size to the next: other sizes and block sizes vary with it."""


def across_cases(cases: Sequence[CaseResult], findings: Sequence[Finding], specs: Sequence[CaseSpec]) -> list[Finding]:
    """`findings` with one in front where the cases together tell more than each alone (KT214, KT203)."""
    spec_of = {spec.name: spec for spec in specs}
    seen = [_Seen(case, spec_of[case.name]) for case in cases if case.name in spec_of]
    failed = [s for s in seen if s.case.status == "failed"]
    if not failed:
        return list(findings)
    grows = _grows(seen)
    if grows is not None:
        return [grows, *(found for found in findings if found.code != "KT201")]  # it says all that these said, and why
    return [_differs(seen), *findings] if len(failed) < len(seen) else list(findings)


class _Seen(NamedTuple):
    case: CaseResult
    spec: CaseSpec

    @property
    def failed(self) -> bool:
        return self.case.status == "failed"

    @property
    def error(self) -> float | None:
        return self.case.error.relative_l2 if self.case.error else None


def _grows(seen: Sequence[_Seen]) -> Finding | None:
    """KT214: the error is small but grows with one size, as rounding does that adds up."""
    known = [(s, s.error) for s in seen if s.error is not None]
    if len(known) < 2 or any(error > SMALL for _, error in known):
        return None
    best: tuple[float, str, list[tuple[int, float]]] | None = None
    for name in _size_names(seen):
        points = _worst_by_size(known, name)
        errors = [error for _, error in points]
        if (
            len(points) < 2
            or errors[0] <= 0
            or errors[-1] < max(errors)
            or any(b < DIP * a for a, b in pairwise(errors))
        ):
            continue
        growth, reach = errors[-1] / errors[0], points[-1][0] / max(points[0][0], 1)
        if growth > STEEPEST * reach:
            continue
        score = growth * (1 + reach / 1e6)
        if growth >= GROWTH and (best is None or score > best[0]):
            best = score, name, points
    if best is None:
        return None
    _, name, points = best
    shown = ", ".join(f"{error:.1e} at {name} = {size}" for size, error in points)
    message = (
        f"The error grows with `{name}`: {shown}. Rounding that adds up does this: every addition to a narrow sum "
        "rounds, and each error is carried on into the next."
    )
    worst = max((s for s in seen if s.failed), key=lambda s: s.error or 0.0)
    hint = "Keep the running sum in float32 and cast it once, when it is complete."
    return finding("KT214", message, case=worst.spec.name, hint=hint)


def _worst_by_size(known: Sequence[tuple[_Seen, float]], name: str) -> list[tuple[int, float]]:
    worst: dict[int, float] = {}
    for s, error in known:
        size = s.spec.sizes.get(name)
        if size is not None:
            worst[size] = max(worst.get(size, 0.0), error)
    return sorted(worst.items())


def _differs(seen: Sequence[_Seen]) -> Finding:
    """KT203: some cases are right, some wrong, and perhaps one property parts them."""
    wrong, right = [s for s in seen if s.failed], [s for s in seen if not s.failed]
    names = ", ".join(f"`{s.spec.name}`" for s in wrong[:4])
    message = f"{len(right)} of {len(seen)} cases are right and {len(wrong)} wrong ({names})."
    why = _what_parts(wrong, right)
    if why is not None:
        message += f" What the wrong ones have in common, and none of the right ones: {why}."
    hint = "Work the wrong case through by hand, one grid step after the other, on its own sizes."
    return finding("KT203", message, case=wrong[0].spec.name, hint=hint)


def _what_parts(wrong: Sequence[_Seen], right: Sequence[_Seen]) -> str | None:
    """The first property of the sizes that all wrong cases have and no right one."""
    names = _size_names([*wrong, *right])

    def parts(relation: Callable[[int, int], bool], a: str, b: str) -> bool:
        def holds(s: _Seen) -> bool:
            return relation(s.spec.sizes[a], s.spec.sizes[b])

        return all(map(holds, wrong)) and not any(map(holds, right))

    for a, b in permutations(names, 2):
        if parts(_no_multiple, a, b):
            return f"`{a}` is not a multiple of `{b}`"
        if parts(_smaller, a, b):
            return f"`{a}` is smaller than `{b}`"
    for a in names:
        ours, theirs = [s.spec.sizes[a] for s in wrong], [s.spec.sizes[a] for s in right]
        if min(ours) > max(theirs):
            return f"`{a}` is {min(ours)} or more (the right ones have at most {max(theirs)})"
        if max(ours) < min(theirs):
            return f"`{a}` is {max(ours)} or less (the right ones have at least {min(theirs)})"
    for a, b in combinations(names, 2):
        if parts(operator.ne, a, b):
            return f"`{a}` and `{b}` differ"
    return None


def _no_multiple(a: int, b: int) -> bool:
    return 1 < b < a and a % b != 0


def _smaller(a: int, b: int) -> bool:
    return b > 1 and a < b


def _size_names(seen: Sequence[_Seen]) -> list[str]:
    """The sizes that every case has, and that are not the same in all."""
    common = set.intersection(*(set(s.spec.sizes) for s in seen)) if seen else set()
    return sorted(n for n in common if len({s.spec.sizes[n] for s in seen}) > 1) or sorted(common)
