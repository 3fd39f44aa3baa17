"""What lateness costs: from a given moment, the same for the same input, and never less for more lateness."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tutor.sets import ManifestError, load_set
from tutor.sets.late import DAY, Lateness, late, late_all, span
from tutor.sets.manifest import Late, LateDates

DUE = datetime.datetime(2030, 1, 31, 23, 59, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))
POLICY = Late(due=DUE.isoformat(), grace="15m", percent_per_day=20, late_days=2)


def after(**span: float) -> datetime.datetime:
    return DUE + datetime.timedelta(**span)


@pytest.mark.parametrize(
    ("when", "left", "factor", "seconds", "charged"),
    [
        (after(days=-3), 2, 1.0, 0, 0),
        (after(), 2, 1.0, 0, 0),
        (after(seconds=0.25), 2, 1.0, 1, 0),
        (after(minutes=15), 2, 1.0, 900, 0),
        (after(minutes=15, seconds=1), 0, 0.8, 901, 0),
        (after(minutes=15, seconds=1), 2, 1.0, 901, 1),
        (after(days=1), 0, 0.8, DAY, 0),
        (after(days=1, seconds=1), 0, 0.6, DAY + 1, 0),
        (after(days=3), 2, 0.8, 3 * DAY, 2),
        (after(days=40), 0, 0.0, 40 * DAY, 0),
    ],
)
def test_late(when: datetime.datetime, left: int, factor: float, seconds: int, charged: int) -> None:
    found = late(POLICY, "scale", when, left)
    assert (found.factor, found.late_seconds, found.days_charged) == (pytest.approx(factor), seconds, charged)


def test_words() -> None:
    assert late(POLICY, "scale", after(days=2, hours=3, minutes=9), 2) == Lateness(
        0.8, 2 * DAY + 3 * 3600 + 540, 2, "2 d 3 h late, 2 days taken from the bank, 20 % off for 1 day."
    )
    assert late(POLICY, "scale", after(minutes=5)).reason == "5 min late, which is within the grace of 15m."


def test_the_close_is_hard() -> None:
    policy = Late(due=DUE.isoformat(), closes=after(days=1).isoformat(), grace="3d", percent_per_day=10, late_days=9)
    assert late(policy, "scale", after(days=1), 9).factor == 1.0
    shut = late(policy, "scale", after(days=1, seconds=0.001), 9)
    assert (shut.factor, shut.days_charged) == (0.0, 0)
    assert "2030-02-01 23:59 UTC+01:00" in shut.reason


def test_a_set_without_dates() -> None:
    assert late(Late(), "scale", after(days=900), 0) == Lateness(1.0, 0, 0, "No due date.")


def test_a_time_zone_is_needed_and_none_is_preferred() -> None:
    with pytest.raises(ValueError, match="time zone"):
        late(POLICY, "scale", datetime.datetime(2030, 1, 31))
    there = after(hours=5).astimezone(datetime.timezone(datetime.timedelta(hours=-9)))
    assert late(POLICY, "scale", there, 0) == late(POLICY, "scale", after(hours=5), 0)


def test_an_exercise_has_dates_of_its_own() -> None:
    policy = Late(due=DUE.isoformat(), percent_per_day=10, exercise={"guess": LateDates(due=after(days=5).isoformat())})
    assert late(policy, "guess", after(days=2)).factor == 1.0
    assert late(policy, "scale", after(days=2)).factor == pytest.approx(0.8)


def test_the_bank_goes_to_the_earliest_due_date_first() -> None:
    policy = Late(
        due=DUE.isoformat(), percent_per_day=10, late_days=3,
        exercise={"second": LateDates(due=after(days=1).isoformat())},
    )  # fmt: skip
    found = late_all(policy, {"second": after(days=3), "first": after(days=2), "also_first": after(days=1)})
    assert list(found) == ["second", "first", "also_first"]
    assert [(one.days_charged, one.factor) for one in found.values()] == [
        (1, pytest.approx(0.9)),  # two days late, and one day was left
        (2, 1.0),
        (1, 1.0),  # a late day moves the due date for all that is due then
    ]


def test_exercises_that_are_due_together_share_late_days_in_words_too() -> None:
    policy = Late(due=DUE.isoformat(), percent_per_day=10, late_days=1)
    found = late_all(policy, {"good": after(hours=2), "bad": after(hours=2)}, earned=["good"])
    assert found["good"].reason == found["bad"].reason
    assert (
        found["good"].reason
        == "2 h late, 1 day taken from the bank (once for all that was due then), nothing taken off."
    )
    assert [(one.factor, one.days_charged) for one in found.values()] == [(1.0, 1), (1.0, 0)]


def test_nothing_is_charged_for_what_earned_nothing_and_the_words_say_so() -> None:
    policy = Late(due=DUE.isoformat(), percent_per_day=10, late_days=1, closes=after(days=3).isoformat(),
                  exercise={"next": LateDates(due=after(days=1).isoformat())})  # fmt: skip
    found = late_all(policy, {"bad": after(days=1, hours=1), "next": after(days=1, hours=1)}, earned=["next"])
    assert found["bad"].reason == "1 d 1 h late, 20 % off for 2 days. No late day is spent on it: it earned nothing."
    assert (found["next"].factor, found["next"].days_charged) == (1.0, 1)  # what was not spent is there for it
    shut = late_all(policy, {"bad": after(days=4)}, earned=[])["bad"]
    assert shut.factor == 0.0 and "late day" not in shut.reason


MOMENTS = st.integers(-3 * DAY, 12 * DAY).map(lambda s: DUE + datetime.timedelta(seconds=s))
POLICIES = st.builds(
    Late,
    due=st.just(DUE.isoformat()),
    closes=st.none() | st.integers(0, 9 * DAY).map(lambda s: (DUE + datetime.timedelta(seconds=s)).isoformat()),
    grace=st.integers(0, 200).map(lambda m: f"{m}m"),
    percent_per_day=st.floats(0, 100),
    late_days=st.integers(0, 6),
)


@given(POLICIES, MOMENTS, MOMENTS, st.integers(0, 6))
def test_later_is_never_better(policy: Late, a: datetime.datetime, b: datetime.datetime, left: int) -> None:
    early, latest = (late(policy, "scale", when, left) for when in sorted((a, b)))
    assert 1.0 >= early.factor >= latest.factor >= 0.0
    assert early.late_seconds <= latest.late_seconds


@given(POLICIES, MOMENTS, st.integers(0, 6))
def test_grace_costs_nothing_and_the_bank_is_never_overdrawn(policy: Late, when: datetime.datetime, left: int) -> None:
    found = late(policy, "scale", when, left)
    assert 0 <= found.days_charged <= left
    assert found.factor <= late(policy, "scale", when, left + 1).factor
    within = (when - DUE).total_seconds() <= span(policy.grace)
    if within and not (policy.closes and when > datetime.datetime.fromisoformat(policy.closes)):
        assert (found.factor, found.days_charged) == (1.0, 0)


@given(
    POLICIES,
    st.dictionaries(st.sampled_from("abcdef"), st.tuples(MOMENTS, st.integers(0, 3)), min_size=1),
    st.randoms(),
)
def test_order_of_exercises_does_not_matter(
    policy: Late, work: dict[str, tuple[datetime.datetime, int]], rng: random.Random
) -> None:
    dates = {s: LateDates(due=(DUE + datetime.timedelta(days=n)).isoformat()) for s, (_, n) in work.items()}
    own = Late(percent_per_day=policy.percent_per_day, late_days=policy.late_days, exercise=dates)
    names = list(work)
    found = late_all(own, {slug: work[slug][0] for slug in names})
    rng.shuffle(names)
    assert late_all(own, {slug: work[slug][0] for slug in names}) == found
    spent = {dates[slug].due: 0 for slug in work}
    for slug, one in found.items():
        spent[dates[slug].due] = max(spent[dates[slug].due], one.days_charged)
    assert sum(spent.values()) <= own.late_days


DUE_KEY = 'due = "2030-01-31T12:00:00Z"\n'


@pytest.mark.parametrize(
    ("table", "message", "hint"),
    [
        ('due = "2030-01-31"', "late.due: needs a time and a time zone", ""),
        ("due = 2030-01-31T12:00:00", "late.due: needs a time and a time zone", ""),
        ('due = "soon"', "late.due: must be a date, as in 2030-01-31T23:59:00+01:00", ""),
        (DUE_KEY + 'grace = "15 minutes"', "late.grace: must be a span of time", ""),
        (DUE_KEY + "grace = 15", "late.grace: must be text, not a whole number", ""),
        (DUE_KEY + "percent_per_day = 101", "late.percent_per_day: must be a number from 0", ""),
        (DUE_KEY + "percent_per_day = nan", "late.percent_per_day: must be a number from 0", ""),
        (DUE_KEY + "percent_a_day = 10", "late.percent_a_day: is not a known key.", '"percent_per_day"'),
        (DUE_KEY + "percent_per_day = 1\nlate_days = -1", "late.late_days: must not be negative", ""),
        (DUE_KEY + "late_days = 2", "late.late_days: needs percent_per_day", ""),
        ("percent_per_day = 10", "late.percent_per_day: needs a due date", ""),
        (DUE_KEY + 'closes = "2030-01-31T11:00:00Z"', "late.closes: is before the due date", ""),
        (
            'exercise = { scal = { due = "2030-01-31T12:00:00Z" } }',
            "late.exercise.scal: there is no exercise",
            '"scale"',
        ),
        ('exercise = { scale = { dew = "x" } }', "late.exercise.scale.dew: is not a known key.", '"due"'),
    ],
)
def test_mistakes(tiny: Path, edit: Callable[..., None], table: str, message: str, hint: str) -> None:
    edit("exercises/set.toml", 'chips = ["v5e"]', f'chips = ["v5e"]\n\n[late]\n{table}')
    with pytest.raises(ManifestError) as caught:
        load_set(tiny)
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")


def test_a_date_may_be_written_without_quotes(tiny: Path, edit: Callable[..., None]) -> None:
    edit("exercises/set.toml", 'chips = ["v5e"]', 'chips = ["v5e"]\nlate = { due = 2030-01-31T23:59:00+01:00 }')
    assert late(load_set(tiny).manifest.late, "scale", after(seconds=1)).late_seconds == 1
