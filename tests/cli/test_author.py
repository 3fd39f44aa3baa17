"""`set check`: which exercises' mutants are drawn."""

from __future__ import annotations

import datetime

from tutor.cli.author import draw

SLUGS = [f"exercise_{i}" for i in range(20)]
DAY = datetime.date(2030, 1, 31)


def test_a_day_draws_the_same_again() -> None:
    assert draw(SLUGS, 3, DAY) == draw(reversed(SLUGS), 3, DAY)
    assert len(draw(SLUGS, 3, DAY)) == 3


def test_days_draw_others_until_all_had_their_turn() -> None:
    days = [DAY + datetime.timedelta(days=i) for i in range(60)]
    assert set.union(*(draw(SLUGS, 3, day) for day in days)) == set(SLUGS)


def test_no_more_than_there_are() -> None:
    assert draw(SLUGS[:2], 3, DAY) == set(SLUGS[:2])
    assert draw([], 3, DAY) == set()
