"""Names that come from the learner's program, made safe to show, and each used once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

LONGEST = 60


def clean(text: str, longest: int = LONGEST) -> str:
    """`text` as one line of plain characters: control characters and everything unprintable become a middle dot."""
    if not text.isprintable():
        text = "".join(c if c.isprintable() else "·" for c in text)
    return text if len(text) <= longest else text[: longest - 1] + "…"


class NameBook:
    """Gives out names, each once: a second `sem` becomes `sem#2`."""

    def __init__(self) -> None:
        self.taken: set[str] = set()
        self._letters = _letters()

    def take(self, name: str) -> str:
        """`name`, or `name` with a number if it is taken."""
        chosen = name if name not in self.taken else next(n for i in count(2) if (n := f"{name}#{i}") not in self.taken)
        self.taken.add(chosen)
        return chosen

    def letter(self) -> str:
        """The next of `a, b, …, z, ba, …` that is not taken."""
        name = next(n for n in self._letters if n not in self.taken)
        self.taken.add(name)
        return name


def _letters() -> Iterator[str]:
    for number in count():
        name = ""
        while True:
            number, digit = divmod(number, 26)
            name = chr(ord("a") + digit) + name
            if not number:
                break
        yield name
