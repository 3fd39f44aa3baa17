"""The range of versions of JAX that a set asks for."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version
from itertools import zip_longest

from tutor.sets.errors import SetError
from tutor.sets.loading import ExerciseSet

_PART = re.compile(r"\s*(==|!=|>=|<=|~=|>|<)\s*([\d.]+?)(\.\*)?\s*")


class WrongJax(SetError):
    """The set is made for another JAX than the one that is installed."""

    code = "jax_version"


def require_jax(exercises: ExerciseSet) -> None:
    """`WrongJax` if the installed JAX is not in the set's range. (Where there is none, the workers say so.)"""
    try:
        found = version("jax")
    except PackageNotFoundError:
        return
    wanted = exercises.manifest.jax
    if not in_range(found, wanted):
        words = f"The set {exercises.id} is made for jax {wanted}, and jax {found} is installed."
        raise WrongJax(words, f'`pip install "jax{wanted}"` installs one that fits, if this kerneltutor runs with it.')


def in_range(version: str, wanted: str) -> bool:
    """Whether `version` satisfies a range such as ">=0.12,<0.13". Only release numbers count, not suffixes."""
    found = _PART.fullmatch
    have = _numbers(version)
    return all(_holds(have, *m.groups()) for part in wanted.split(",") if (m := found(part)))


def _holds(have: list[int], operator: str, text: str, star: str | None) -> bool:
    want = _numbers(text)
    if star:
        return (have[: len(want)] == want) == (operator == "==")
    if operator == "~=":
        return _compare(have, want) >= 0 and have[: len(want) - 1] == want[:-1]
    sign = _compare(have, want)
    return {"==": sign == 0, "!=": sign != 0, ">=": sign >= 0, "<=": sign <= 0, ">": sign > 0, "<": sign < 0}[operator]


def _compare(a: list[int], b: list[int]) -> int:
    pairs = [(x or 0, y or 0) for x, y in zip_longest(a, b)]
    left, right = [x for x, _ in pairs], [y for _, y in pairs]
    return (left > right) - (left < right)


def _numbers(version: str) -> list[int]:
    release = re.match(r"\d+(\.\d+)*", version)
    return [int(n) for n in release[0].split(".")] if release else []
