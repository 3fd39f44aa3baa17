"""Files of answers: what is read, what is refused, and which literals are right."""

from __future__ import annotations

import pytest

from tutor.ladder.answers import MOST_BYTES, fits, read_answers, right
from tutor.ladder.predict_proof import near

IDS = ["loads", "block", "races"]


def codes(source: str | bytes) -> list[tuple[str, int | None]]:
    data = source if isinstance(source, bytes) else source.encode()
    return [(found.code, found.line) for found in read_answers(data, IDS).findings]


def test_literals_are_read_with_their_lines():
    answers = read_answers(b'"""Words."""\n\n# a comment\nloads = 4  # x\nblock = (0, -1)\nraces = False\n', IDS)
    assert not answers.findings
    assert {name: (a.value, a.written, a.line) for name, a in answers.given.items()} == {
        "loads": (4, "4", 4),
        "block": ((0, -1), "(0, -1)", 5),
        "races": (False, "False", 6),
    }


def test_an_empty_file_can_be_read():
    assert read_answers(b"", IDS) == ({}, [])


@pytest.mark.parametrize(
    "line",
    [
        "loads = 2 * 3",
        "loads = len('ab')",
        "loads = __import__('os').system('true')",
        "import os",
        "print('x')",
        "loads: int = 4",
        "loads = block = 4",
        "loads, block = 1, 2",
        "loads += 1",
        "def f(): pass",
        "unknown = 1",
        "4",
    ],
)
def test_everything_else_is_refused_with_its_line(line: str):
    assert codes(f"\n{line}\n") == [("KT128", 2)]


def test_nothing_is_run(tmp_path):
    trace = tmp_path / "ran"
    codes(f"open({str(trace)!r}, 'w')\nloads = open({str(trace)!r}, 'w')\n")
    assert not trace.exists()


def test_twice_is_said_at_the_second():
    assert codes("loads = 1\nloads = 2\n") == [("KT128", 2)]


def test_a_misspelt_id_is_offered_the_nearest():
    (found,) = read_answers(b"load = 1\n", IDS).findings
    assert "loads" in (found.hint or "")


@pytest.mark.parametrize(
    ("source", "code"),
    [
        (b"loads = (1\n", "KT101"),
        (b"loads = \xff\n", "KT102"),
        (b"loads = 1\0\n", "KT101"),
        (b"loads = " + b"-" * 30_000 + b"1\n", "KT101"),
        (b"loads = " + b"[" * 30_000 + b"\n", "KT101"),
        (b"loads = " + b"9" * 30_000 + b"\n", "KT101"),
        (b"#" * (MOST_BYTES + 1), "KT128"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_finding(source: bytes, code: str):
    assert [found for found, _ in codes(source)] == [code]


def test_what_was_written_is_shown_short():
    shown = read_answers(b"loads = '" + b"x" * 500 + b"'\n", IDS).given["loads"].written
    assert len(shown) <= 60


@pytest.mark.parametrize(
    ("value", "want"),
    [(4, 4), (0, 0), (True, True), ("VMEM ", "vmem"), ((0, 1), (0, 1)), ([0, 1], (0, 1)), (3, (3,)), ((3,), (3,))],
)
def test_right_answers(value: object, want):
    assert right(value, want)


@pytest.mark.parametrize(
    ("value", "want"),
    [
        (0, False), (1, True), (False, 0), (True, 1), (4.0, 4), ("4", 4), (None, 0), (None, False), (5, 4),
        ((0, 2), (0, 1)), ((0, 1, 0), (0, 1)), ((False, True), (0, 1)), (0, (0, 0)), ({0, 1}, (0, 1)), ("smem", "vmem"),
        (("v",), "v"), (float("nan"), 0),
    ],
)  # fmt: skip
def test_wrong_answers(value: object, want):
    assert not right(value, want)


@pytest.mark.parametrize("want", [0, 7, True, False, "vmem", "smem", (0,), (3, 0, 1)])
def test_what_is_near_an_answer_is_wrong_and_of_its_kind(want):
    form = {bool: "truth", int: "number", str: "space", tuple: "index"}[type(want)]
    others = list(near(want))
    assert others
    for other in others:
        assert fits(other, form)
        assert not right(other, want)
