"""Every key of the program in one table: the help page and the palette read it, the bindings come from it."""

from __future__ import annotations

from dataclasses import dataclass

from textual.binding import Binding


@dataclass(frozen=True)
class Key:
    """One thing to do. `keys` work everywhere; `letter` only outside text. `shown`: a candidate for the key line."""

    action: str
    keys: str
    label: str
    words: str
    letter: str | None = None
    shown: bool = True


KEYS = (
    Key("check", "f5,ctrl+r", "check", "Save and check now"),
    Key("save", "ctrl+s", "save", "Save; saving checks", shown=False),
    Key("next", "f6", "next", "Go on to the next unsolved exercise", "n"),
    Key("stop", "escape", "stop", "Stop the running check"),
    Key("hint", "f7", "hint", "Hints, one at a time", "h"),
    Key("tab('jaxpr')", "f8", "jaxpr", "The jaxpr, at the line of the cursor", "j"),
    Key("tab('grid')", "f9", "grid", "The grid, step by step, and where the result is wrong", "g"),
    Key("tab('edit')", "f4", "edit", "The editor", "e"),
    Key("tab('lesson')", "f3", "lesson", "The lesson", "l"),
    Key("exercises", "f2", "exercises", "The list of exercises", "slash"),
    Key("findings", "f10", "findings", "The findings", "f", shown=False),
    Key("why", "ctrl+t", "why", "The page of the finding that is marked", "question_mark", shown=False),
    Key("table", "f11", "table", "Show or hide the access table under the jaxpr", "t", shown=False),
    Key("whole", "", "whole", "The whole program and its index maps, or the kernels alone", "w", shown=False),
    Key("compare", "f12", "compare", "Compare with the reference or with an earlier attempt", "d", shown=False),
    Key("tab('mosaic')", "", "mosaic", "The lowered module, or what was not lowered", "m", shown=False),
    Key("tab('roofline')", "", "roof", "How fast it is beside what the chip can do", "o", shown=False),
    Key("tab('history')", "", "history", "What you tried before", "y", shown=False),
    Key("tune", "", "tune", "Tune block sizes: try others by the compiler's estimate", "u", shown=False),
    Key("solution", "", "solution", "The solution, when the set allows it", "s", shown=False),
    Key("reset", "", "reset", "Put the starter back (the replaced file is kept)", shown=False),
    Key("help_keys", "f1", "keys", "All keys and signs"),
)


def bindings() -> list[Binding]:
    """The bindings of the main screen. Keys win over the editor's own; letters and Escape do not."""
    made: list[Binding] = []
    for key in KEYS:
        for index, name in enumerate(filter(None, key.keys.split(","))):
            first = index == 0 and key.shown
            made.append(Binding(name, key.action, key.label, show=first, priority=name != "escape", tooltip=key.words))
        if key.letter is not None:
            made.append(Binding(key.letter, key.action, key.label, show=False, tooltip=key.words))
    return made


def spelled(name: str) -> str:
    """A key as people write it: `Ctrl+R`, `F5`, `Esc`, `/`."""
    names = {
        "slash": "/",
        "question_mark": "?",
        "escape": "Esc",
        "left_square_bracket": "[",
        "right_square_bracket": "]",
    }
    parts = [names.get(part, part) for part in name.split("+")]
    return "+".join(part if len(part) == 1 and len(parts) == 1 else part.title() for part in parts)


def _row(key: Key) -> tuple[str, str]:
    names = [*filter(None, key.keys.split(",")), *([key.letter] if key.letter else [])]
    return " ".join(map(spelled, names)), key.words


GROUPS: dict[str, list[tuple[str, str]]] = {
    "Everywhere (single letters: outside the editor)": [
        *(_row(key) for key in KEYS if key.keys or key.letter),
        ("Ctrl+P", "Everything, by name"),
        ("Ctrl+Q", "Quit; unsaved text is asked about. Over a page: close it"),
    ],
    "In the editor": [
        ("Escape", "Leave the editor; once more stops a running check"),
        ("Shift+Tab", "Take away one level of indentation"),
        ("Ctrl+/", "Comment the lines out or in"),
        ("Ctrl+Z Ctrl+Y", "Undo, redo"),
    ],
    "In the jaxpr": [
        ("Enter", "Go to the source line that caused this"),
        ("Space", "Fold or unfold"),
        ("[ ]", "Previous or next access to memory"),
    ],
    "In the grid": [
        ("← →", "One step back or on"),
        ("↑ ↓", "A whole row of the last axis back or on"),
        ("[ ]", "Previous or next block that moves"),
        ("b", "The step that wrote the next wrong block"),
        ("k c", "Another kernel, another case"),
    ],
    "In the roofline": [
        ("c", "Another chip"),
    ],
    "In the findings": [
        ("Enter", "Go to the line"),
        ("r", "Unfold the message of JAX itself"),
        ("?", "The page of the finding"),
    ],
}
