"""The instructor's report: one HTML file, in which nothing of a student's is ever markup, and no script runs."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tutor.grade.names import readable
from tutor.grade.tally import Tally
from tutor.sets.loading import ExerciseSet
from tutor.sets.manifest import Late


def page(exercises: ExerciseSet, tally: Tally, names: dict[str, str], notes: list[str]) -> str:
    """The whole page. `names` are the students' files, to link to them."""
    style = (files("tutor.grade") / "templates" / "report.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return _environment().get_template("report.html").render(
        title=exercises.title,
        set_id=exercises.id,
        sha256=exercises.public_sha256,
        policy=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
        style=Markup(style),
        tally=tally,
        statuses=tally.present,
        titles={exercise.slug: exercise.title for exercise in exercises.exercises},
        names=names,
        notes=notes,
        late=late_words(exercises.manifest.late),
    )  # fmt: skip


def late_words(policy: Late) -> list[str]:
    """A late policy, in words."""
    words = [f"{name} {date}" for name, date in (("due", policy.due), ("closes", policy.closes)) if date]
    for slug, own in policy.exercise.items():
        words += [f"{slug} {name} {date}" for name, date in (("due", own.due), ("closes", own.closes)) if date]
    if not words:
        return ["no dates, so nothing is late"]
    off = f"{policy.percent_per_day:g} % off a day" if policy.percent_per_day else "lateness takes nothing off"
    bank = [f"late days of each student: {policy.late_days}"] if policy.late_days else []
    return [*words, f"grace {policy.grace}", off, *bank]


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("tutor.grade"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: _shown(value) if type(value) is str else value,
    )


def _shown(text: str) -> str:
    return "\n".join(readable(line) for line in text.splitlines())
