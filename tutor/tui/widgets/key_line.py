"""The last line: the keys that do something for what has the focus, now."""

from __future__ import annotations

from textual import events
from textual.binding import Binding
from textual.content import Content
from textual.screen import Screen
from textual.style import Style
from textual.widget import Widget

from tutor.tui.keys import KEYS


class KeyLine(Widget):
    """What fits, the keys of the focused part first; `F1 keys` is always there."""

    ALLOW_SELECT = False

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._changed)

    def on_unmount(self) -> None:
        self.screen.bindings_updated_signal.unsubscribe(self)

    def _changed(self, _: Screen[object]) -> None:
        self.refresh()

    def _possible(self) -> list[Binding]:
        """The bindings to show, one an action: what has the focus first, then the screen, then the app."""
        order = [key.action for key in KEYS]
        shown: dict[str, tuple[int, Binding]] = {}
        for active in self.screen.active_bindings.values():
            action = active.binding.action
            rank = order.index(action) if action in order else len(order) if active.node is self.app else -1
            if active.binding.show and active.enabled:
                shown.setdefault(active.binding.action, (rank, active.binding))
        return [binding for _, binding in sorted(shown.values(), key=lambda pair: pair[0])]

    def render(self) -> Content:
        items: list[Content] = []
        last: Content | None = None
        for binding in self._possible():
            item = self._item(binding)
            if binding.action.endswith("help_keys"):
                last = item
            else:
                items.append(item)
        width = self.size.width - (last.cell_length + 1 if last is not None else 0)
        line = Content("")
        for item in items:
            if line.cell_length + item.cell_length <= width:
                line += item
        gap = self.size.width - line.cell_length - (last.cell_length if last is not None else 0)
        return line + Content(" " * max(0, gap)) + last if last is not None else line

    def _item(self, binding: Binding) -> Content:
        key = self.app.get_key_display(binding)
        item = Content.assemble((f" {key} ", "bold $footer-key-foreground"), (f"{binding.description} ", "$quiet"))
        return item.stylize(Style.from_meta({"key": binding.key}))

    def on_click(self, event: events.Click) -> None:
        key = event.style.meta.get("key")
        if isinstance(key, str):
            self.app.simulate_key(key)
