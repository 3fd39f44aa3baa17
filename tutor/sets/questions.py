"""What a predict exercise adds to its lesson: the kernels, to be read and not edited, and the questions."""

from __future__ import annotations

from collections.abc import Sequence

from tutor.sets.manifest import Question


def with_kernels(lesson: str, kernels: str, questions: Sequence[Question]) -> str:
    """The lesson as Markdown, then `kernels.py`, then every question with its id.

    Where a question is about a line, the kernels have line numbers."""
    asked = "\n".join(f"- `{question.id}`: {question.ask.strip()}" for question in questions)
    if any(question.quantity.startswith("line.") for question in questions):
        shown = "\n".join(f"{number:4}  {line}".rstrip() for number, line in enumerate(kernels.splitlines(), 1))
        block = f"```text\n{shown}\n```"
    else:
        block = f"```python\n{kernels.rstrip()}\n```"
    return f"{lesson.rstrip()}\n\n## The kernels\n\n{block}\n\n## The questions\n\n{asked}\n"
