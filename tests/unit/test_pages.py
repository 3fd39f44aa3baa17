"""Every page of the catalogue is filled, and says only what can be there."""

from __future__ import annotations

import re

import pytest

from tutor.findings import codes, page

# Where a lesson lives that is not built in yet, its slug is still the right one to name.
SLUGS = """
    read_then_compute two_loads read_once predict_loads scalar_or_vector ref_slices
    tile_copy transpose_blocks broadcast_map ragged_edge squeezed_batch row_sums grid_order
    smem_lengths f32_accumulator bf16_drift online_softmax ragged_batch tile_rule vmem_budget
    any_sync_copy zeros_alias
"""
LESSONS = set(SLUGS.split())
NOT_PYTHON = {"KT101"}  # its example shows a syntax error


def only_comments(text: str) -> bool:
    return all(line.startswith("#") for line in text.splitlines() if line.strip())


@pytest.mark.parametrize("code", codes())
def test_page_is_filled(code: str) -> None:
    shown = page(code)
    for field in (shown.title, shown.meaning, shown.cause, shown.fix, shown.example):
        assert field.strip() and "TODO" not in field
    for sentence in (shown.meaning, shown.cause, shown.fix):
        assert sentence[0].isupper() or sentence[0] == "`"
        assert sentence.rstrip()[-1] in ".`)"
    assert shown.lesson in LESSONS | {""}


@pytest.mark.parametrize("code", [code for code in codes() if code not in NOT_PYTHON])
def test_example_is_python(code: str) -> None:
    text = page(code).example
    compile(text, code, "exec")
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize("code", codes())
def test_example_can_be_run_or_says_why_not(code: str) -> None:
    """Either a whole file for `inspect`, or an attempt at an exercise, or a comment that says why there is none."""
    text = page(code).example
    first = text.splitlines()[0]
    if only_comments(text) or first.startswith("# This needs an exercise whose rules say"):
        return
    if attempt := re.match(r"# an attempt at (\w+)$", first):
        assert attempt[1] in LESSONS
        return
    if code == "KT104":
        assert "def run(" not in text
        return
    assert "def run(" in text
    assert code in NOT_PYTHON or "def make_args(" in text


def test_titles_and_meanings_differ() -> None:
    """Two codes may share a title (two stages say the same), never their whole text."""
    meanings = [page(code).meaning for code in codes()]
    assert len(set(meanings)) == len(meanings)
