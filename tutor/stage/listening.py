"""What a run says beside its results: log records of JAX, and all that is written to stdout and stderr.

Printing is caught at the level of file descriptors, because XLA and callbacks write past Python's `sys.stdout`.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from typing import IO

from tutor.stage.explain.simulator import SEMAPHORE_LINE
from tutor.stage.explain.table import clean

LINE_LIMIT = 200
_BYTES = 1 << 20


class Heard(logging.Handler):
    """Everything heard so far. Readable while listening and after."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(logging.DEBUG)
        self._file = file
        self._records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record."""
        self._records.append(record)

    def first_exception(self) -> BaseException | None:
        """The first exception that a callback logged: later ones are its echo in other threads."""
        for record in self._records:
            if record.exc_info and record.exc_info[1] is not None:
                return record.exc_info[1]
        return None

    def records(self) -> str:
        """What the simulator says about the run: log messages, and the lines that it prints itself."""
        said = [r.getMessage() for r in self._records if not r.exc_info]
        return "\n".join([*said, *(m[0] for m in re.finditer(SEMAPHORE_LINE, self._text()))])

    def printed(self, limit: int = LINE_LIMIT) -> str:
        """What the program printed: at most `limit` lines, without control characters and the simulator's own lines."""
        text = clean(re.sub(SEMAPHORE_LINE, "", self._text())).replace("\r", "\n")
        lines = text.splitlines()
        if len(lines) > limit:
            lines = [*lines[:limit], f"… and {len(lines) - limit} more lines"]
        return "\n".join(lines)

    def _text(self) -> str:
        _flush()
        with contextlib.suppress(ValueError):
            size = os.fstat(self._file.fileno()).st_size
            return os.pread(self._file.fileno(), min(size, _BYTES), 0).decode("utf-8", "replace")
        return self._kept

    _kept = ""

    def keep(self) -> None:
        """Read all that was written, before the file goes away."""
        self._kept = self._text()


@contextlib.contextmanager
def listening() -> Iterator[Heard]:
    """Listen to log records, stdout and stderr of this process while the block runs; nothing of it is shown."""
    roots = [logging.getLogger(), logging.getLogger("jax")]
    with tempfile.TemporaryFile() as file:
        heard = Heard(file)
        saved = {fd: os.dup(fd) for fd in (1, 2)}
        before = [(logger, list(logger.handlers), logger.propagate) for logger in roots]
        _flush()
        try:
            for fd in saved:
                os.dup2(file.fileno(), fd)
            for logger in roots:
                logger.handlers = [heard]
            roots[1].propagate = False
            with (
                open(1, "w", closefd=False) as out,
                open(2, "w", closefd=False) as err,
                contextlib.redirect_stdout(out),
                contextlib.redirect_stderr(err),
            ):
                yield heard
        finally:
            heard.keep()
            for logger, handlers, propagate in before:
                logger.handlers, logger.propagate = handlers, propagate
            for fd, copy in saved.items():
                os.dup2(copy, fd)
                os.close(copy)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(ValueError, OSError, AttributeError):
            stream.flush()
