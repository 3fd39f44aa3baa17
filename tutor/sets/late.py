"""What lateness costs: the `[late]` table of `set.toml`, worked out from a given moment. Nothing here reads a clock.

A submission is late from its due date on. Within `grace` that costs nothing. After it, lateness is counted in begun
days from the due date. A **late day** of the bank moves a due date by a day, for every exercise that is due then; what
no late day covers takes `percent_per_day` off. After `closes` nothing counts.
"""

from __future__ import annotations

import datetime
import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping

import msgspec

from tutor.protocol import Record
from tutor.sets.errors import Problem
from tutor.sets.manifest import Late

DAY = 86_400
_SPAN = re.compile(r"(\d{1,9})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": DAY}
_BANK = "taken from the bank"
_CLOSED = "when the exercise was closed"
_NEVER = datetime.datetime.max.replace(tzinfo=datetime.UTC)


class Lateness(Record, frozen=True):
    """What the time of one submission means for one exercise.

    `factor`: what the score is multiplied with, 0 to 1. `late_seconds`: whole seconds after the due date, rounded up,
    whether they cost anything or not; 0 if in time. `days_charged`: late days of the bank that its due date was moved
    by; exercises with one due date share them, and what earned nothing is charged none. `reason`: all that in words for
    the student."""

    factor: float
    late_seconds: int
    days_charged: int
    reason: str


def late(policy: Late, slug: str, submitted_at: datetime.datetime, days_left: int = 0) -> Lateness:
    """The lateness of one exercise, where the bank still holds `days_left` late days (as many as help are charged).

    A later `submitted_at` never has a larger factor. Raises ValueError if it has no time zone."""
    if submitted_at.tzinfo is None:
        raise ValueError("The time of a submission needs a time zone.")
    due, closes = due_date(policy, slug), closing_date(policy, slug)
    seconds = max(0, math.ceil((submitted_at - due).total_seconds())) if due else 0
    if closes is not None and submitted_at > closes:
        return Lateness(0.0, seconds, 0, f"Submitted after {_when(closes)}, {_CLOSED}: not counted.")
    if not seconds:
        return Lateness(1.0, 0, 0, "In time." if due else "No due date.")
    if seconds <= span(policy.grace):
        return Lateness(1.0, seconds, 0, f"{_long(seconds)} late, which is within the grace of {policy.grace}.")
    days = math.ceil(seconds / DAY)
    charged = min(days, days_left) if policy.percent_per_day else 0
    off = min(100.0, (days - charged) * policy.percent_per_day)
    words = [f"{_long(seconds)} late"]
    if charged:
        words.append(f"{_days(charged)} {_BANK}")
    words.append(f"{off:g} % off for {_days(days - charged)}" if off else "nothing taken off")
    return Lateness(1.0 - off / 100.0, seconds, charged, ", ".join(words) + ".")


def late_all(
    policy: Late, submitted: Mapping[str, datetime.datetime], earned: Collection[str] | None = None
) -> dict[str, Lateness]:
    """The lateness of all exercises (by slug) that one student submitted. `earned`: those that earned anything; None
    for all. Only they are charged late days; others that are due together with them share the days, and that is all.

    The bank is spent on due dates, the earliest first, whatever the order of `submitted`: so a later due date never
    changes what an earlier one was given. What is spent on a due date is as much as its latest exercise can use."""
    due_together: defaultdict[datetime.datetime, list[str]] = defaultdict(list)
    for slug in submitted:
        due_together[due_date(policy, slug) or _NEVER].append(slug)
    left = policy.late_days
    found: dict[str, Lateness] = {}
    for _, slugs in sorted(due_together.items()):
        paying = [slug for slug in slugs if earned is None or slug in earned]
        judged = {slug: late(policy, slug, submitted[slug], left) for slug in paying}
        spent = max((one.days_charged for one in judged.values()), default=0)
        for slug, one in judged.items():
            found[slug] = _shared(one) if one.days_charged and len(slugs) > 1 else one
        for slug in set(slugs) - set(paying):
            found[slug] = _unpaid(policy, late(policy, slug, submitted[slug], spent))
        left -= spent
    return {slug: found[slug] for slug in submitted}


def _shared(one: Lateness) -> Lateness:
    words = one.reason.replace(_BANK, f"{_BANK} (once for all that was due then)")
    return msgspec.structs.replace(one, reason=words)


def _unpaid(policy: Late, one: Lateness) -> Lateness:
    """Of an exercise that earned nothing, due together with others that were charged `one.days_charged`, or none."""
    words = _shared(one).reason
    if policy.late_days and one.factor < 1 and not one.days_charged and _CLOSED not in words:
        words += " No late day is spent on it: it earned nothing."
    return msgspec.structs.replace(one, days_charged=0, reason=words)


def due_date(policy: Late, slug: str) -> datetime.datetime | None:
    """When an exercise is due: its own date, else the set's; None for never."""
    own = policy.exercise.get(slug)
    return moment((own.due if own else None) or policy.due)


def closing_date(policy: Late, slug: str) -> datetime.datetime | None:
    """After when nothing counts: the exercise's own date, else the set's; None for never."""
    own = policy.exercise.get(slug)
    return moment((own.closes if own else None) or policy.closes)


def moment(text: str | None) -> datetime.datetime | None:
    """A date as the policy writes it. ValueError if it is none, or has no time zone."""
    if text is None:
        return None
    found = datetime.datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError("no time zone")
    return found


def span(text: str) -> int:
    """Seconds of a span of time such as "90s", "15m", "2h" or "1d". ValueError if it is none."""
    match = _SPAN.fullmatch(text.strip())
    if match is None:
        raise ValueError(f'"{text}" is no span of time')
    return int(match[1]) * _SECONDS[match[2]]


def check_late(policy: Late) -> Iterator[Problem]:
    """What is wrong with a `[late]` table, beyond keys and types."""
    dates: dict[tuple[str, ...], str | None] = {("late", "due"): policy.due, ("late", "closes"): policy.closes}
    for slug, own in policy.exercise.items():
        dates |= {("late", "exercise", slug, "due"): own.due, ("late", "exercise", slug, "closes"): own.closes}
    wrong = [problem for key, text in dates.items() if (problem := _date_problem(key, text))]
    yield from wrong
    try:
        span(policy.grace)
    except ValueError:
        yield Problem(
            ("late", "grace"), f'must be a span of time such as "90s", "15m", "2h", "1d", not "{policy.grace}".'
        )
    if not 0 <= policy.percent_per_day <= 100:
        yield Problem(("late", "percent_per_day"), "must be a number from 0 to 100.")
    if policy.late_days < 0:
        yield Problem(("late", "late_days"), "must not be negative.")
    elif policy.late_days and not policy.percent_per_day:
        yield Problem(
            ("late", "late_days"), "needs percent_per_day: where lateness costs nothing, a bank is of no use."
        )
    if not any(key[-1] == "due" and text for key, text in dates.items()):
        for name in ("grace", "percent_per_day", "late_days"):
            if getattr(policy, name) != getattr(Late(), name):
                yield Problem(("late", name), "needs a due date: `due` in [late], or in [late.exercise.SLUG].")
    if wrong:
        return
    for key, slug in ((("late",), ""), *((("late", "exercise", slug), slug) for slug in policy.exercise)):
        due, closes = due_date(policy, slug), closing_date(policy, slug)
        if due and closes and closes < due:
            yield Problem((*key, "closes"), "is before the due date.")


def _date_problem(key: tuple[str, ...], text: str | None) -> Problem | None:
    try:
        moment(text)
    except ValueError as error:
        example = "as in 2030-01-31T23:59:00+01:00"
        if "time zone" in str(error):
            return Problem(key, f'needs a time and a time zone, {example}, not "{text}".')
        return Problem(key, f'must be a date, {example}, not "{text}".')
    return None


def _when(date: datetime.datetime) -> str:
    return f"{date:%Y-%m-%d %H:%M} {date:%Z}"


def _days(count: int) -> str:
    return f"{count} day" if count == 1 else f"{count} days"


def _long(seconds: int) -> str:
    """A time in its two largest units, as in "1 d 3 h"."""
    sizes = [("d", DAY), ("h", 3600), ("min", 60), ("s", 1)]
    first = next(i for i, (_, size) in enumerate(sizes) if seconds >= size)
    (unit, size), *smaller = sizes[first : first + 2]
    rest = [(seconds % size // little, name) for name, little in smaller]
    return " ".join([f"{seconds // size} {unit}", *(f"{count} {name}" for count, name in rest if count)])
