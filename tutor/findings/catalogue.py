"""One page for each finding code, kept as `pages/KTnnn.toml`, and the function that makes findings from them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

import msgspec

from tutor.protocol import Finding, Severity


class Page(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The page of one code: what `explain`, the screen and the docs show."""

    title: str
    meaning: str
    cause: str
    fix: str
    example: str
    lesson: str = ""

    @property
    def sections(self) -> list[tuple[str, str]]:
        """The parts in words, each under its heading, as every reader of the page shows them."""
        parts = (("What it means", self.meaning), ("The usual cause", self.cause), ("The fix", self.fix))
        return [(heading, text.strip()) for heading, text in parts if text.strip()]


class UnknownCode(KeyError):
    """No page has this code."""


@cache
def codes() -> tuple[str, ...]:
    """Every code that has a page, in order."""
    return tuple(sorted(p.name.removesuffix(".toml") for p in _pages().iterdir() if p.name.endswith(".toml")))


@cache
def page(code: str) -> Page:
    """The page of `code`; `UnknownCode` if there is none."""
    try:
        text = (_pages() / f"{code}.toml").read_bytes()
    except FileNotFoundError:
        raise UnknownCode(code) from None
    return msgspec.toml.decode(text, type=Page)


def finding(
    code: str,
    message: str,
    *,
    severity: Severity = "error",
    raw: str | None = None,
    line: int | None = None,
    column: int | None = None,
    ref: str | None = None,
    case: str | None = None,
    hint: str | None = None,
) -> Finding:
    """A finding of `code` with the catalogue's title. The page must exist, so no code can be without one."""
    return Finding(
        code=code, severity=severity, title=page(code).title, message=_text(message),
        raw=_text(raw), line=line, column=column, ref=_text(ref), case=case, hint=_text(hint),
    )  # fmt: skip


def _text[T: (str, str | None)](text: T) -> T:
    """The text without lone surrogates, which a program may put into its messages and UTF-8 cannot hold."""
    return text if text is None else str.encode(text, "utf-8", "backslashreplace").decode("utf-8")


def _pages() -> Traversable:
    return files("tutor.findings") / "pages"
