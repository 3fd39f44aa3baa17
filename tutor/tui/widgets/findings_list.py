"""What the judges found, in plain words, one entry a finding. The raw message is folded under it."""

from __future__ import annotations

from textual.binding import Binding
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tutor.protocol import Finding, StageName
from tutor.tui import text
from tutor.tui.model import Run, findings

_TONES = {"error": ("!!", "$text-error"), "warning": ("! ", "$text-warning"), "note": ("i ", "$text-accent")}


class FindingsList(OptionList):
    """Enter goes to the learner's line, `r` unfolds the raw message, `?` opens the page of the code."""

    BINDINGS = [
        Binding("enter", "select", "Go to line", tooltip="Go to the line that this finding is about"),
        Binding("r", "raw", "Raw message", tooltip="Show or fold the message of JAX itself"),
        Binding("question_mark", "why", "Why", key_display="?", tooltip="Open the page of this finding"),
    ]

    class LineWanted(Message):
        """The learner wants to see the line of this finding."""

        def __init__(self, finding: Finding) -> None:
            self.finding = finding
            super().__init__()

    class PageWanted(Message):
        """The learner wants to know more about this finding."""

        def __init__(self, finding: Finding) -> None:
            self.finding = finding
            super().__init__()

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)
        self._found: list[tuple[StageName, Finding]] = []
        self._open: set[int] = set()

    @property
    def current(self) -> Finding | None:
        """The finding under the cursor."""
        index = self._index
        return None if index is None else self._found[index][1]

    @property
    def _index(self) -> int | None:
        option = self.highlighted_option
        return int(option.id) if option is not None and option.id is not None else None

    def show(self, run: Run) -> None:
        """Show the findings of a run, or one line that says where it stands."""
        found = findings(run)
        if run.trouble is None and found and found == self._found:
            return
        at = self._index or 0
        self._found, self._open = found, set()
        self.clear_options()
        if run.trouble is not None:
            self.add_option(Option(_trouble(run.trouble), disabled=True))
        for index in range(len(found)):
            self.add_options([*([None] if index else []), Option(self._prompt(index), id=str(index))])
        if not found and run.trouble is None:
            self.add_option(Option(_standing(run), disabled=True))
        if found:
            self.highlighted = self.get_option_index(str(min(at, len(found) - 1)))
        self.refresh_bindings()

    def _prompt(self, index: int) -> Content:
        stage, finding = self._found[index]
        sign, tone = _TONES[finding.severity]
        parts = [
            Content.assemble((f"{sign} ", f"bold {tone}"), (text.visible(finding.title), "bold")),
            prose(finding.message),
        ]
        if finding.hint:
            parts.append(prose(finding.hint).stylize("italic"))
        where = [f"line {finding.line}"] if finding.line else []
        where += [finding.code, stage]
        where += [f"case {finding.case}"] if finding.case else []
        parts.append(Content.styled(text.visible(" · ".join(where)), "$quiet"))
        if finding.raw and index in self._open:
            parts.append(Content.styled(text.visible(finding.raw, keep="\n"), "$quiet"))
        return Content("\n").join(parts)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        finding = self.current
        match action:
            case "select":
                return finding is not None and finding.line is not None
            case "why":
                return finding is not None
            case "raw":
                return finding is not None and bool(finding.raw)
        return True

    def on_option_list_option_highlighted(self) -> None:
        self.refresh_bindings()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if self.current is not None:
            self.post_message(self.LineWanted(self.current))

    def action_raw(self) -> None:
        index = self._index
        if index is not None:
            self._open ^= {index}
            self.replace_option_prompt(str(index), self._prompt(index))

    def action_why(self) -> None:
        if self.current is not None:
            self.post_message(self.PageWanted(self.current))


def prose(words: str) -> Content:
    """Plain words, with what stands between backticks in the colour of code."""
    pieces = text.visible(words, keep="\n").split("`")
    if len(pieces) % 2 == 0:  # a backtick without a partner: all of it is plain
        return Content("`".join(pieces))
    return Content("").join(
        Content.styled(f"`{piece}`", "$syntax-call") if index % 2 else Content(piece)
        for index, piece in enumerate(pieces)
    )


def _standing(run: Run) -> Content:
    if run.running:
        return Content.styled("Checking …", "$quiet")
    if run.passed:
        own = run.verdict is not None and run.verdict.exercise is None  # a file of the user's own has no next one
        rest = "" if own else " F6 goes on when you are ready."
        return Content.assemble(("Passed.", "bold $text-success"), rest)
    if run.cancelled:
        return Content.styled("The check was cancelled. F5 checks again.", "$quiet")
    if run.verdict is not None:
        return Content.styled("Not passed, and nothing more to say: look at the ladder.", "$quiet")
    return Content.styled("Nothing checked yet. Save, or press F5.", "$quiet")


def _trouble(words: str) -> Content:
    last = words.strip().splitlines()[-1] if words.strip() else ""
    return Content.assemble(
        ("The tutor itself failed", "bold $text-warning"),
        "\nThis is our fault, not yours. Your text is safe. F5 tries again.\n",
        (text.visible(last), "$quiet"),
    )
