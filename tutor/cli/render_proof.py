"""What `set check` says of programs and of an exercise, line by line. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tutor.cli.text import one_line, paint, plural, wrap
from tutor.ladder.mutation import Share
from tutor.ladder.proof import MARGIN, Margins, Proved, first_error
from tutor.protocol import Record

INDENT = "      "


class Outcome(Record, frozen=True):
    """What came of one exercise: how many programs ran, and in a word each what is not as it must be."""

    slug: str
    programs: int
    failed: tuple[str, ...]


def sign(good: bool, color: bool) -> str:
    """The mark before a line."""
    return paint("ok", "green", color) if good else paint("!!", "red", color)


def program_lines(one: Proved, command: str, hidden: Collection[str], width: int, color: bool) -> list[str]:
    """One program; where it is not as it must be: why, its first error, and how to see the rest.

    `command` judges it again by itself; `hidden` are the cases which that does not run."""
    program = one.program
    good = one.problem is None
    outcome = f"{program.stage} {program.code}" if program.stage else "passes"
    wanted = outcome if good else f"must be {outcome}" if program.stage else "must pass"
    time = "proved" if one.kept else f"{one.verdict.seconds:5.2f} s"
    lines = [f"  {sign(good, color)}  {one_line(program.name):34} {wanted:22} {time}"]
    if one.problem is None:
        return lines
    lines += wrap(f"It {one.problem}.", width, INDENT)
    found = first_error(one.verdict)
    if found is not None:
        stage, error = found
        place: list[str] = [stage]
        if error.case:
            place.append(f"hidden case {error.case}" if error.case in hidden else f"case {error.case}")
        if error.line is not None:
            place.append(f"line {error.line}")
        lines += wrap(f"{error.code} {one_line(error.title)} ({one_line(', '.join(place))})", width, INDENT)
        if error.case in hidden:
            lines += wrap("`check` runs the public cases only; make this one public to see more of it.", width, INDENT)
    lines.append(INDENT + one_line(command))
    return lines


def marked_lines(text: str, width: int, color: bool, mark: str = "!!") -> list[str]:
    """Something wrong (or, with another mark, doubtful), wrapped."""
    first, *rest = wrap(text, width, INDENT, whole_words=True)
    return [f"  {paint(mark, 'red' if mark == '!!' else 'yellow', color)}  {first.lstrip()}", *rest]


def share_line(found: Share, color: bool) -> str:
    """How many mutants the cases notice."""
    words = f"  {sign(found.good, color)}  mutants: {found.killed} of {found.total - found.equivalent} killed"
    words += f" ({found.share:.0%})"
    return words + (f", {found.equivalent} more are equivalent" if found.equivalent else "")


def wide(measured: Margins) -> bool:
    """Whether both margins are as wide as they must be."""
    return all(margin is None or margin >= MARGIN for margin in (measured.right, measured.wrong))


def margin_lines(measured: Margins, width: int, color: bool) -> list[str]:
    """How far right and wrong answers are from the bound of the relative L2 error."""
    if measured.right is None and measured.wrong is None:
        return [f"  {sign(True, color)}  margins: no numbers to compare"]
    words = f"margins: {_right(measured.right)}; {_wrong(measured.wrong)}"
    if wide(measured):
        return [f"  {sign(True, color)}  {words}"]
    return marked_lines(f"{words}. Each must be at least {MARGIN}x away.", width, color)


def _right(margin: float | None) -> str:
    if margin is None:
        return "right answers show no error"
    if margin < 1:
        return "a right answer is outside the bound"
    return f"right answers {_times(margin)} inside the bound"


def _wrong(margin: float | None) -> str:
    if margin is None:
        return "no wrong numbers to compare with it"
    if margin == 0:
        return "a wrong answer has no error at all"
    if margin < 1:
        return f"a wrong answer is inside the bound (its error is {margin:.0%} of it)"
    return f"wrong ones {_times(margin)} outside"


def _times(margin: float) -> str:
    return f"{margin:.2f}x" if margin < 100 else f"{margin:,.0f}x"


def summary(outcomes: Sequence[Outcome], width: int) -> list[str]:
    """The last words: how much was proved, and what was not."""
    count = sum(one.programs for one in outcomes)
    bad = [f"{one.slug} ({', '.join(one.failed)})" for one in outcomes if one.failed]
    words = f"{plural(len(outcomes), 'exercise')}, {plural(count, 'program')} judged: "
    return wrap(words + (f"not as it must be: {'; '.join(bad)}." if bad else "all as it must be."), width)
