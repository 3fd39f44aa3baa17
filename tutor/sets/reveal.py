"""When the reference solution may be seen."""

from __future__ import annotations

import datetime

from tutor.sets.manifest import Reveal


def why_hidden(reveal: Reveal, *, solved: bool, tries: int, now: datetime.datetime) -> str | None:
    """Why the solution is not shown yet, in words for the learner; None if it may be shown. `now` has a time zone."""
    match reveal.when:
        case "never":
            return "This set never shows its solutions."
        case "date":
            opens = opening(reveal.date or "")
            return None if now >= opens else f"The solution can be seen from {opens:%Y-%m-%d %H:%M} {opens:%Z} on."
        case "tries":
            left = (reveal.tries or 1) - tries
            plural = "attempt" if left == 1 else "attempts"
            return (
                None
                if solved or left <= 0
                else f"The solution can be seen after a pass, or after {left} more {plural}."
            )
        case "pass":
            return None if solved else "The solution can be seen once your attempt has passed."


def opening(date: str) -> datetime.datetime:
    """The moment that a date in `set.toml` names; without a time zone it is in UTC, so that all learners agree."""
    moment = datetime.datetime.fromisoformat(date)
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
