"""Colours with one meaning each, as theme variables, so that every widget and both themes agree.

No colour stands alone: kinds of access have letters, stages have words, memory spaces have names."""

from __future__ import annotations

from textual.theme import Theme

from tutor.protocol import AccessKind
from tutor.tui.model import Phase

# Names of the theme variables for each kind of access and each memory space.
KIND_COLOURS: dict[AccessKind, str] = {
    "load": "$load",
    "store": "$store",
    "accumulate": "$accumulate",
    "copy_start": "$copy",
    "copy_wait": "$copy",
    "semaphore": "$semaphore",
}
SPACE_COLOURS = {
    "vmem": "$vmem",
    "smem": "$smem",
    "any": "$hbm",
    "hbm": "$hbm",
    "semaphore": "$semaphore",
}
SIGNS: dict[Phase, tuple[str, str]] = {
    "passed": ("ok", "$text-success"),
    "failed": ("!!", "$text-error"),
    "error": ("??", "$text-warning"),
    "running": ("..", "$text-accent"),
    "waiting": (" ·", "$quiet"),
    "skipped": ("--", "$quiet"),
    "unavailable": ("--", "$text-warning"),
}

_DARK = {
    "load": "#7cc4ff",
    "store": "#ffb86b",
    "accumulate": "#e59cff",
    "copy": "#8fe388",
    "semaphore": "#f2e07a",
    "vmem": "#66d1c9",
    "smem": "#e6c27a",
    "hbm": "#a9a4e8",
    "syntax-keyword": "#c3a6ff",
    "syntax-string": "#a8d49b",
    "syntax-number": "#f0b98d",
    "syntax-call": "#8ec7f2",
    "syntax-comment": "#75808f",
    "footer-key-foreground": "#8ec7f2",
    "quiet": "#8b95a5",
    "cursor": "#26364b",
    "border": "#343c49",
    "scrollbar": "#2b3340",
    "scrollbar-background": "#14181f",
    "scrollbar-background-hover": "#14181f",
    "scrollbar-background-active": "#14181f",
    "scrollbar-hover": "#3d4859",
    "scrollbar-active": "#4f6d8f",
    "scrollbar-corner-color": "#14181f",
}
_LIGHT = {
    "load": "#0b62a8",
    "store": "#a64b00",
    "accumulate": "#8a1fb0",
    "copy": "#1f7a2e",
    "semaphore": "#7a6200",
    "vmem": "#0a736c",
    "smem": "#875a00",
    "hbm": "#4b44a8",
    "syntax-keyword": "#6a35b5",
    "syntax-string": "#2e7031",
    "syntax-number": "#a04a10",
    "syntax-call": "#0f5c96",
    "syntax-comment": "#6b7480",
    "footer-key-foreground": "#0f5c96",
    "quiet": "#67717f",
    "cursor": "#d6e4f2",
    "border": "#c9d0d9",
    "scrollbar": "#d4dae2",
    "scrollbar-background": "#f6f7f9",
    "scrollbar-background-hover": "#f6f7f9",
    "scrollbar-background-active": "#f6f7f9",
    "scrollbar-hover": "#b9c2cd",
    "scrollbar-active": "#7d9ab8",
    "scrollbar-corner-color": "#f6f7f9",
}

DARK = Theme(
    name="tutor-dark",
    primary="#6fa8dc",
    secondary="#4f6d8f",
    accent="#8ec7f2",
    warning="#e8b45a",
    error="#f2777a",
    success="#7fce8f",
    foreground="#d7dde6",
    background="#14181f",
    surface="#181d25",
    panel="#202733",
    dark=True,
    variables=_DARK,
)
LIGHT = Theme(
    name="tutor-light",
    primary="#1d5f99",
    secondary="#7d9ab8",
    accent="#0f5c96",
    warning="#8a5a00",
    error="#b3261e",
    success="#1e7033",
    foreground="#1f2733",
    background="#f6f7f9",
    surface="#ffffff",
    panel="#e9edf2",
    dark=False,
    variables=_LIGHT,
)
# For themes that are not ours: the variables must exist, or the style sheets do not parse.
DEFAULTS = _DARK
