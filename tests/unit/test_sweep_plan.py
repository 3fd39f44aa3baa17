"""Which block sizes are tried: read from the syntax tree, sensible for the axes that they cut, never too many."""

from __future__ import annotations

import math

import pytest

from tutor.ladder.sweep_plan import Span, block_keywords, combinations, probes, sensible, span, thinned
from tutor.protocol import CaseFacts, Kernel, KernelFacts, Operand


def facts(*blocks: list[int | None] | None, shape: list[int] | None = None, dtype: str = "bfloat16") -> CaseFacts:
    operands = [Operand(f"r{i}", None, "input", "vmem", b, shape or [2048, 4096], dtype) for i, b in enumerate(blocks)]
    kernel = Kernel("k", "pallas_call", "c", [4], operands, [], 0, 0, 0, 0, 0, 0)
    return CaseFacts("c", [KernelFacts(kernel, [], [], [], 4, False, None)], [], [])


@pytest.mark.parametrize(
    ("signature", "found"),
    [
        ("x, *, bm=64, bn=128", {"bm": 64, "bn": 128}),
        ("x, bm=64", {"bm": 64}),
        ("x, /, *, eps=1e-5, flag=True, name='a', n=-1, none=None, bm=8", {"bm": 8}),
        ("x, b=2, /", {}),
        ("x, *, m", {}),
        ("x, *, bm=64 * 2", {}),
    ],
)
def test_keywords_with_a_whole_number(signature: str, found: dict[str, int]) -> None:
    assert block_keywords(f"def f({signature}):\n    pass\n".encode(), "f") == found


def test_the_last_definition_counts_and_a_broken_file_has_none() -> None:
    assert block_keywords(b"def f(x, *, b=1): ...\ndef f(x, *, c=2): ...", "f") == {"c": 2}
    assert block_keywords(b"def f(x, *, b=1:", "f") == {} == block_keywords(b"\xff\0", "f")
    assert block_keywords(b"def g(x, *, b=1): ...", "f") == {}


def test_a_probe_changes_one_keyword() -> None:
    assert probes({"bm": 64, "bn": 3}) == {"bm": {"bm": 32, "bn": 3}, "bn": {"bm": 64, "bn": 6}}


def test_what_a_keyword_cuts() -> None:
    base = facts([512, 256], None, [256, 512])
    assert span(base, facts([256, 256], None, [256, 512])) == Span(frozenset({2048}), 16)
    assert span(base, facts([256, 256], None, [256, 256])) == Span(frozenset({2048, 4096}), 128)
    assert span(base, base) is None
    cut = span(facts([None, 8, 64], shape=[4, 8, 64], dtype="float32"), facts([None, 4, 64], shape=[4, 8, 64]))
    assert cut == Span(frozenset({8}), 8)


@pytest.mark.parametrize(
    ("value", "cuts", "found"),
    [
        (512, Span(frozenset({2048}), 128), [128, 256, 512, 1024, 2048]),
        (512, Span(frozenset({2048, 512}), 128), [128, 256, 512]),
        (400, Span(frozenset({8000}), 8), [8, 16, 32, 64, 160, 320, 400, 800, 1600, 4000, 8000]),
        (256, Span(frozenset({8000}), 8), [8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8000]),
        (12, None, [3, 6, 12, 24, 48]),
        (7, None, [7, 14, 28]),
    ],
)
def test_sensible_values(value: int, cuts: Span | None, found: list[int]) -> None:
    assert sensible(value, cuts) == found


def test_what_divides_stays_divided() -> None:
    """A grid of `n // block` steps leaves no rest, for every axis that the keyword cuts."""
    for length in (96, 1000, 2048, 8000, 8192):
        for value in sensible(length, Span(frozenset({length, 2 * length}), 8)):
            assert length % value == 0


def test_at_most_so_many_and_the_nearest() -> None:
    values = {"bm": [16, 32, 64, 128, 256, 512, 1024], "bn": [128, 256, 512, 1024], "bk": [128, 256, 512, 1024]}
    own = {"bm": 256, "bn": 256, "bk": 512}
    kept = thinned(values, own, 32)
    assert math.prod(map(len, kept.values())) <= 32
    assert all(own[name] in some for name, some in kept.items())
    assert kept["bm"] == [128, 256, 512]
    assert thinned(values, own, 1000) == values
    assert thinned(values, own, 1) == {"bm": [256], "bn": [256], "bk": [512]}


def test_combinations_leave_other_keywords_alone() -> None:
    assert combinations({"bm": [8, 16]}, {"bm": 8, "bn": 128}) == [{"bm": 8, "bn": 128}, {"bm": 16, "bn": 128}]
