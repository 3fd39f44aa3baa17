"""Aligning two jaxprs, and saying the difference."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tests.tui.fakes import KERNEL, line, marked
from tutor.protocol import JaxprLine, MarkedJaxpr, Span
from tutor.tui.compare_model import align, compared, difference


def jaxpr(*texts: str, source: int = 1) -> MarkedJaxpr:
    """Names of one letter are variables."""
    spans = [
        Span(n, i, i + 1, "variable")
        for n, text in enumerate(texts)
        for i, c in enumerate(text)
        if c.isalpha() and not text[i + 1 : i + 2].isalpha() and not text[:i][-1:].isalpha()
    ]
    return MarkedJaxpr("\n".join(texts), [JaxprLine(source_line=source + n) for n in range(len(texts))], spans)


ONE = jaxpr("a = get x", "b = sin a", "set y b")
TWO = jaxpr("q = get x", "r = get x", "s = cos q", "set y s")


def test_names_of_variables_do_not_matter() -> None:
    other = jaxpr("q = get x", "r = sin q", "set y r")
    assert [pair.sign for pair in align(ONE, other)] == [" ", " ", " "]


def test_what_only_one_side_has_and_what_differs() -> None:
    assert [(p.left, p.right, p.sign) for p in align(ONE, TWO)] in (
        [(0, 0, " "), (1, 1, "~"), (None, 2, ">"), (2, 3, " ")],
        [(0, 0, " "), (None, 1, ">"), (1, 2, "~"), (2, 3, " ")],
    )


def test_beside_each_other_where_there_is_room() -> None:
    both = compared(ONE, TWO, 70)
    lines = both.text.split("\n")
    assert lines[0].startswith("  a = get x ") and lines[0].endswith(" │ q = get x")
    assert lines[1].startswith("~ b = sin a ") and len({text.index("│") for text in lines}) == 1
    assert [record.source_line for record in both.lines] == [1, 2, None, 3], "lines of the other file are not ours"
    for span in both.spans:
        assert lines[span.line][span.start : span.end].isalpha()


def test_below_each_other_where_there_is_none() -> None:
    assert compared(ONE, TWO, 40).text.split("\n") == [
        "  a = get x", "< b = sin a", "> r = get x", "> s = cos q", "  set y b"
    ]  # fmt: skip


def test_a_long_line_is_cut_on_our_side_only() -> None:
    long = jaxpr("a = add " + "b " * 60)
    text = compared(long, long, 70).text
    assert text.index("…") < text.index("│") and text.endswith("b ")


TEXTS = st.lists(st.sampled_from(["a = get x", "b = sin a", "set y b", "c = mul a b"]), max_size=8)


@given(TEXTS, TEXTS)
def test_every_line_of_both_stands_there_once_and_in_order(left: list[str], right: list[str]) -> None:
    one, two = jaxpr(*left) if left else marked([]), jaxpr(*right) if right else marked([])
    pairs = align(one, two)
    assert [p.left for p in pairs if p.left is not None] == list(range(len(left)))
    assert [p.right for p in pairs if p.right is not None] == list(range(len(right)))
    for pair in pairs:
        assert (pair.sign == " ") == (
            pair.left is not None and pair.right is not None and left[pair.left] == right[pair.right]
        )
    for width in (30, 90):
        both = compared(one, two, width)
        assert len(both.lines) == (len(both.text.split("\n")) if both.text else 0)


def test_folds_are_not_kept_since_the_lines_are_others() -> None:
    head = marked([line("a {", fold_end=1), line("}")])
    assert all(record.fold_end is None for record in compared(head, head, 90).lines)


def test_the_difference_is_one_sentence() -> None:
    worse = structs.replace(KERNEL, loads=6, bytes_in=2 * 8388608)
    assert difference([worse], [KERNEL], "the reference") == (
        "Beside the reference, a grid step of yours has 2 loads more (6, not 4);"
        " the whole grid moves 8 MiB more in (16 MiB, not 8 MiB) and the same out (512 KiB)."
    )
    assert difference([KERNEL], [KERNEL], "x") == (
        "Beside x, a grid step of yours has as many loads, stores and copies;"
        " the whole grid moves the same in (8 MiB) and the same out (512 KiB)."
    )
    unknown = structs.replace(KERNEL, loads=None, bytes_out=None, copies=1)
    assert difference([unknown], [KERNEL], "x") == (
        "Beside x, a grid step of yours has ×? loads, not 4 and 1 copy more (1, not 0);"
        " the whole grid moves the same in (8 MiB) and ×? out, not 512 KiB."
    )
