"""Numbers as they stand in sentences."""

from __future__ import annotations


def two_digits(value: float) -> str:
    """A size with two significant digits, and none of them in an exponent: `0.034`, `2.5`, `410`, `12000`."""
    return f"{float(f'{value:.2g}'):.10f}".rstrip("0").rstrip(".")
