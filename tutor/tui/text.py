"""Showing text that we did not write, and numbers that people can read."""

from __future__ import annotations

import re

# C0 and C1 controls could drive the terminal; bidirectional overrides show text in another order than Python reads it.
_CONTROLS = {code: 0x2400 + code for code in range(0x20)} | {0x7F: 0x2421}
_CONTROLS |= dict.fromkeys([*range(0x80, 0xA0), *range(0x200B, 0x2010), *range(0x2028, 0x202F)], 0xFFFD)
_CONTROLS |= dict.fromkeys([*range(0x2066, 0x206A), 0xFEFF, *range(0xD800, 0xE000)], 0xFFFD)
_UNSAFE = re.compile("[" + "".join(f"\\u{code:04x}" for code in sorted(_CONTROLS)) + "]")


def visible(text: str, *, keep: str = "") -> str:
    """`text` with every character that could move the cursor or reorder the line shown as one visible sign.

    The length does not change, so columns stay right. Characters in `keep` (such as a newline) are left alone."""
    return _UNSAFE.sub(lambda m: m[0] if m[0] in keep else chr(_CONTROLS[ord(m[0])]), text)


def size(count: int | None) -> str:
    """Bytes for people: `512 B`, `64 KiB`, `1.5 MiB`; `×?` if the count depends on data."""
    if count is None:
        return "×?"
    amount, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.0f} {unit}" if amount == int(amount) else f"{amount:.1f} {unit}"


def many(count: int | None, one: str, plural: str | None = None) -> str:
    """`1 load`, `2 loads`, `×? loads`."""
    words = one if count == 1 else plural or one + "s"
    return f"{'×?' if count is None else count} {words}"


def seconds(value: float) -> str:
    """`0.31 s` below ten seconds, else `12.3 s`."""
    return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"


def dims(shape: list[int | None] | list[int] | None) -> str:
    """`128×256`; a dimension that is squeezed or unknown is `·`; a scalar is `()`; nothing is `-`."""
    if shape is None:
        return "-"
    return "×".join("·" if size is None else str(size) for size in shape) or "()"


def short_dtype(name: str) -> str:
    """`bfloat16` is `bf16`, as a jaxpr writes it."""
    for word, letter in (("bfloat", "bf"), ("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c")):
        if name.startswith(word):
            return letter + name.removeprefix(word)
    return name
