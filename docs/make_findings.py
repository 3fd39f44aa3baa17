"""Write `findings.md`, one page of all finding codes, from the catalogue: `python docs/make_findings.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tutor.findings import codes, page

FILE = Path(__file__).parent / "findings.md"
CHAPTERS = {
    "1": "load and trace: the file and its entry",
    "2": "interpret: the numbers",
    "3": "structure: what the jaxpr says",
    "4": "hazards: the simulator of TPU memory",
    "5": "lower: from the jaxpr to Mosaic",
    "6": "compile: for a chip",
    "7": "device: on a TPU",
    "8": "grading",
    "9": "the tutor itself",
}
HEAD = """\
# Findings

Every finding has a code. Its first digit is what it is about, mostly the stage that says it.
`kerneltutor explain KTnnn` and the screen show the same text as this page, which
`python docs/make_findings.py` writes from `tutor/findings/pages`.
"""


def document() -> str:
    """The whole page as Markdown."""
    return "\n".join([HEAD, *_contents(), *(line for code in codes() for line in _entry(code))])


def _contents() -> Iterator[str]:
    for digit, words in CHAPTERS.items():
        mine = [code for code in codes() if code[2] == digit]
        if mine:
            yield f"**KT{digit}xx, {words}**\n"
            yield from (f"- [{code}](#{code.lower()}) {page(code).title}" for code in mine)
            yield ""


def _entry(code: str) -> Iterator[str]:
    shown = page(code)
    yield f"## {code}\n\n**{shown.title}**\n"
    for heading, text in shown.sections:
        yield f"*{heading}:* {text}\n"
    if shown.lesson:
        yield f"*Lesson:* `{shown.lesson}`\n"
    yield f"*The smallest example:*\n\n```python\n{shown.example.strip()}\n```\n"


if __name__ == "__main__":
    FILE.write_text(document(), encoding="utf-8")
