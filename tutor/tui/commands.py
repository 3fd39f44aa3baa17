"""The palette: everything that is possible now, and every exercise, by name."""

from __future__ import annotations

from functools import partial

from textual.app import App
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.types import IgnoreReturnCallbackType

from tutor.tui.keys import KEYS, spelled
from tutor.tui.screens.main import MainScreen
from tutor.tui.text import visible

type _Command = tuple[str, str, IgnoreReturnCallbackType]


class Everything(Provider):
    """Actions of the main screen, the exercises, and quitting."""

    def _commands(self) -> list[_Command]:
        screen = self.screen
        if not isinstance(screen, MainScreen):
            return []
        app: App[object] = self.app
        commands: list[_Command] = []
        for key in KEYS:
            name, _, argument = key.action.partition("('")
            if screen.check_action(name, (argument.removesuffix("')"),) if argument else ()):
                keys = " ".join(spelled(each) for each in key.keys.split(",") if each)
                commands.append((key.words, keys, partial(app.run_action, key.action, screen)))
        commands.append(("Quit", "Ctrl+Q", partial(app.run_action, "app.quit")))
        commands.append(("Light or dark colours", "", partial(app.run_action, "app.toggle_colours")))
        commands += [
            (f"Open {visible(slug)}", visible(title), partial(screen.choose, slug)) for slug, title in screen.choices()
        ]
        return commands

    async def discover(self) -> Hits:
        for words, help, command in self._commands():
            yield DiscoveryHit(Content(words), command, text=words, help=help or None)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for words, help, command in self._commands():
            score = matcher.match(words)
            if score > 0:
                yield Hit(score, matcher.highlight(words), command, text=words, help=help or None)
