"""The published device times that the estimate is held against: `benchmarks/timing_points.csv`."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).parents[2] / "benchmarks" / "timing_points.csv"


class Point(NamedTuple):
    """One kernel with its block sizes, in the order bm, bn, bk, and what it took on a v5e."""

    kernel: str
    blocks: tuple[int, ...]
    us: float


def published() -> list[Point]:
    """All points, in the order of the table."""
    lines = (line for line in TABLE.read_text().splitlines() if not line.startswith("#"))
    return [
        Point(row["kernel"], tuple(int(row[name]) for name in ("bm", "bn", "bk") if row[name]), float(row["us"]))
        for row in csv.DictReader(lines)
    ]
