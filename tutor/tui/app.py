"""The app shell: themes, the palette, and leaving without losing anything."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

from textual.app import App
from textual.binding import Binding

from tutor.tui.keys import spelled
from tutor.tui.ports import Checker, Course, Exercise, History
from tutor.tui.screens.ask import Ask
from tutor.tui.screens.main import MainScreen
from tutor.tui.theme import DARK, DEFAULTS, LIGHT

INTERRUPTED = 4


class TutorApp[E: Exercise](App[None]):
    """The tutor. Everything it shows is handed to it; `start` is the slug to open, else the next unsolved; with
    `check` it is checked at once."""

    TITLE = "kerneltutor"
    # The main screen is the default screen, whose own CSS_PATH Textual does not read.
    CSS_PATH = "screens/main.tcss"
    BINDINGS = [
        Binding("ctrl+q", "quit", "quit", show=False, priority=True),
        Binding("ctrl+p", "command_palette", "everything", show=True, priority=True, tooltip="Everything, by name"),
    ]
    COMMAND_PALETTE_BINDING = "ctrl+p"

    def __init__(
        self,
        course: Course[E],
        history: History[E],
        checker: Checker[E],
        *,
        start: str | None = None,
        check: bool = False,
        sides: Path | None = None,
    ) -> None:
        super().__init__()
        self.main: MainScreen[E] = MainScreen(course, history, checker, start=start, check=check, sides=sides)
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = DARK.name
        # Nothing slides or fades: over ssh that costs, and it says nothing.
        self.animation_level = "none"

    @staticmethod
    def _everything() -> type:
        # Imported when the palette is first opened: the first frame does not wait for it.
        from tutor.tui.commands import Everything

        return Everything

    COMMANDS = {_everything}

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return DEFAULTS

    def get_key_display(self, binding: Binding) -> str:
        return binding.key_display or spelled(binding.key)

    def get_default_screen(self) -> MainScreen[E]:
        return self.main

    def on_load(self) -> None:
        # A terminal that goes away must not take unsaved text with it, nor leave a program that nobody can see.
        for gone in (signal.SIGHUP, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(gone, lambda: self.exit(return_code=INTERRUPTED))

    async def action_quit(self) -> None:
        """Quit; unsaved text is asked about. With a page or a question over the screen, only that is left."""
        if self.screen is self.main:
            self.main.run_worker(self.main.quit())
        elif isinstance(self.screen, Ask):
            self.screen.action_stay()  # whoever asked waits for an answer
        else:
            self.screen.dismiss()

    def action_toggle_colours(self) -> None:
        """Change between the dark and the light theme."""
        self.theme = LIGHT.name if self.theme == DARK.name else DARK.name


def run[E: Exercise](
    course: Course[E],
    history: History[E],
    checker: Checker[E],
    *,
    start: str | None = None,
    check: bool = False,
    sides: Path | None = None,
) -> int:
    """Run the tutor in this terminal; the answer is an exit code: 0, 3 if the tutor itself failed, 4 if it was
    told to end or lost its terminal.

    However it ends, unsaved text is in its side file afterwards; `sides` is the folder for it where the workspace
    cannot be written."""
    app = TutorApp(course, history, checker, start=start, check=check, sides=sides)
    try:
        app.run()
    finally:
        app.main.keep_unsaved()
    code = app.return_code or 0
    return code if code in (0, INTERRUPTED) else 3
