"""A real terminal for the real program: a pty, and a screen (pyte) that shows what a person would see."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence

import pyte

CTRL_C, CTRL_Q, CTRL_S = "\x03", "\x11", "\x13"
F4, F5, F8 = "\x1bOS", "\x1b[15~", "\x1b[19~"
BACKSPACE = "\x7f"
SHIFT_DOWN = "\x1b[1;2B"
ENTER_FULL_SCREEN, LEAVE_FULL_SCREEN = b"\x1b[?1049h", b"\x1b[?1049l"


def pasted(text: str) -> str:
    """What a terminal sends when `text` is pasted."""
    return f"\x1b[200~{text}\x1b[201~"


class Terminal:
    """`command` in a terminal of its own. Leaving the context kills what still runs."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], *, width: int = 120, height: int = 40):
        self._screen = pyte.Screen(width, height)
        self._stream = pyte.ByteStream(self._screen)
        self.output = bytearray()
        self._ours, self._theirs = pty.openpty()
        self._ends = [self._ours, self._theirs]
        fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self._modes = termios.tcgetattr(self._theirs)
        self.process = subprocess.Popen(
            command,
            stdin=self._theirs,
            stdout=self._theirs,
            stderr=self._theirs,
            env={**environment, "TERM": "xterm-256color", "COLORTERM": "truecolor"},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # so that Ctrl+C is a signal
        )

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.hang_up()

    @property
    def text(self) -> str:
        """The screen as lines of text."""
        return "\n".join(line.rstrip() for line in self._screen.display)

    @property
    def restored(self) -> bool:
        """Whether the terminal's modes are as they were before the program began."""
        return termios.tcgetattr(self._theirs) == self._modes

    def send(self, keys: str) -> None:
        """Press these keys."""
        os.write(self._ours, keys.encode())

    def hang_up(self) -> None:
        """Take the terminal away, as a lost ssh connection does."""
        while self._ends:
            os.close(self._ends.pop())

    def until(self, condition: str | Callable[[str], bool], seconds: float = 120) -> str:
        """Wait until the screen shows this text, or satisfies this; the answer is the screen."""
        shows = condition if callable(condition) else lambda text: condition in text
        deadline = time.monotonic() + seconds
        while not shows(self.text):
            left = deadline - time.monotonic()
            if left <= 0 or (not self._read(min(left, 0.2)) and self.process.poll() is not None):
                raise AssertionError(f"never seen: {condition}\n{self.text}")
        return self.text

    def wait(self, seconds: float = 30) -> int:
        """Wait until the program has ended; the answer is its exit code."""
        deadline = time.monotonic() + seconds
        while self.process.poll() is None:
            if time.monotonic() > deadline:
                raise AssertionError(f"it does not end\n{self.text}")
            self._read(0.1)
        while self._read(0):
            pass
        return self.process.returncode

    def _read(self, seconds: float) -> bool:
        """Take in what the program has written; False if there was nothing."""
        ready, _, _ = select.select([self._ours], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self._ours, 1 << 16)
        except OSError:  # nobody has the other end open any more
            return False
        self.output += data
        self._stream.feed(data)
        return bool(data)
