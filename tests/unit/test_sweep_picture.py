"""A sweep in words: what is best from 10 % on, what overflows, and a map that needs no colours."""

from __future__ import annotations

import msgspec
import pytest

from tutor.cli.render_tune import render_sweep
from tutor.ladder.sweep_picture import best, conclusion, heat, heat_lines, ranked, rows, title
from tutor.protocol import AttemptId, Schedule, Sweep, Tuned

MIB = 1 << 20


def schedule(us: float) -> Schedule:
    return Schedule(us, us / 8, "memory", 8 * MIB, 0.5, 0.0, {}, [])


def tuned(bm: int, bn: int, us: float | None, **more: object) -> Tuned:
    known = {"vmem_bytes": MIB, "vmem_limit_bytes": 16 * MIB, "schedule": schedule(us)} if us else {}
    return Tuned("v5e", {"bm": bm, "bn": bn}, **({"status": "passed"} | known | more))  # type: ignore[arg-type]


def sweep(*tried: Tuned, **more: object) -> Sweep:
    plain: dict[str, object] = {
        "set": "s", "exercise": "copy", "attempt": AttemptId("copy.py", "0"), "case": "large", "chips": ["v5e"],
        "own": {"bm": 64, "bn": 128}, "defaults": {"bm": 8, "bn": 128}, "planned": 6, "possible": 6,
        "parameters": {"bm": [64, 256], "bn": [128, 512, 1024]}, "tried": list(tried), "complete": True,
    }  # fmt: skip
    return Sweep(**(plain | more))  # type: ignore[arg-type]


WHOLE = sweep(
    tuned(64, 128, 300.0),
    tuned(256, 1024, None, status="overflow", code="KT602", reason="Too much VMEM"),
    tuned(64, 512, 140.0),
    tuned(256, 128, 100.0),
    tuned(256, 512, None, status="refused", code="KT327", reason="Blocks that no step writes"),
    reference={"v5e": schedule(120.0)},
)


def test_fastest_first_and_what_has_no_time_last() -> None:
    assert [one.values["bn"] for one in ranked(WHOLE, "v5e")] == [128, 512, 128, 1024, 512]
    assert [row.cells[-1] for row in rows(WHOLE, "v5e")] == [
        "", "reference", "", "as called", "KT602 VMEM", "KT327 refused",
    ]  # fmt: skip


def test_faster_only_from_ten_percent() -> None:
    assert "bm=256, bn=128, an estimated 100 µs, about 3 times faster" in conclusion(WHOLE, "v5e")
    near = sweep(tuned(64, 128, 109.0), tuned(256, 128, 100.0))
    assert conclusion(near, "v5e").startswith("No choice is more than 10 % faster")
    assert "within 15 %" in conclusion(near, "v5e")


def test_measured_times_win() -> None:
    timed = sweep(tuned(64, 128, 100.0, device_us=90.0), tuned(256, 128, 50.0, device_us=200.0))
    first = best(timed, "v5e")
    assert first is not None and first.values["bm"] == 64
    assert "estimate" not in conclusion(timed, "v5e")


def test_a_time_is_never_compared_with_an_estimate() -> None:
    """The attempt as it is called could not be measured, so nothing is said of how much faster another one is."""
    timed = sweep(
        tuned(64, 128, 300.0), tuned(256, 128, 100.0, device_us=900.0), reference={"v5e": schedule(50.0)},
        notes=["wrong numbers"],
    )  # fmt: skip
    said = conclusion(timed, "v5e")
    assert said == "The fastest: bm=256, bn=128, measured 900 µs. What the case asks for was not measured."
    assert [row.cells[-1] for row in rows(timed, "v5e")] == ["", "reference", "as called"]
    assert title(timed, "v5e").endswith("times measured here of those that looked fastest")
    assert "Only what was measured has run" in render_sweep(timed) and "Not measured: wrong numbers" in render_sweep(
        timed
    )


def test_nothing_known_yet() -> None:
    assert heat(sweep(), "v5e") is None and best(sweep(), "v5e") is None
    assert "None of the block sizes" in conclusion(sweep(tuned(64, 128, None, status="refused")), "v5e")
    assert "0 of 6 tried" in render_sweep(sweep(complete=False))


def test_the_map_says_everything_without_colour() -> None:
    picture = heat(WHOLE, "v5e")
    assert picture is not None
    kinds = [[cell.kind for cell in row] for row in picture.cells]
    assert kinds == [["passed", "passed", "untried"], ["passed", "refused", "overflow"]]
    text = "\n".join(heat_lines(picture))
    assert "[░ 3]" in text and "▒ 1.4" not in text and "▓ 1.4" in text and "█ 1" in text
    assert "VMEM" in text and "no" in text and "·" in text


def test_a_third_keyword_stands_at_the_best() -> None:
    def three(bk: int, us: float) -> Tuned:
        one = tuned(64, 128, us)
        return msgspec.structs.replace(one, values={**one.values, "bk": bk})

    cube = sweep(
        three(1, 10.0), three(2, 5.0),
        own={"bm": 64, "bn": 128, "bk": 1}, parameters={"bm": [64, 256], "bn": [128, 512, 1024], "bk": [1, 2]},
    )  # fmt: skip
    picture = heat(cube, "v5e")
    assert picture is not None and picture.fixed == {"bk": 2} and (picture.down, picture.across) == ("bm", "bn")
    assert picture.cells[0][0].ratio == 1.0


@pytest.mark.parametrize("width", [50, 80, 100])
def test_text(width: int) -> None:
    text = render_sweep(WHOLE, width=width)
    assert max(map(len, text.splitlines())) <= width
    assert "Nothing was run" in text and "\x1b" not in text


def test_names_from_the_program_are_data() -> None:
    """A keyword is an identifier; what else comes from the learner is shown with its control characters as signs."""
    wicked = sweep(tuned(64, 128, None, status="refused", reason="\x1b[2J"))
    assert "\x1b" not in render_sweep(wicked)
