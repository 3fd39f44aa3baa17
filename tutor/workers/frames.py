"""Length-prefixed frames on pipes: 4 bytes big-endian, then that many bytes of msgpack."""

from __future__ import annotations

import os
from collections.abc import Iterator

HEADER = 4
MAX_FRAME = 512 << 20


class BadFrame(ValueError):
    """The other side announced a frame that is larger than is allowed."""


class FrameBuffer:
    """Collects bytes as they arrive and hands out whole frames."""

    def __init__(self, limit: int = MAX_FRAME) -> None:
        self._limit = limit
        self._bytes = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Add `data`; yield the body of every frame that is now whole. `BadFrame` if one is over the limit."""
        self._bytes += data
        while len(self._bytes) >= HEADER:
            size = int.from_bytes(self._bytes[:HEADER], "big")
            if size > self._limit:
                raise BadFrame(f"a frame of {size} bytes, over the limit of {self._limit}")
            if len(self._bytes) < HEADER + size:
                return
            body = bytes(self._bytes[HEADER : HEADER + size])
            del self._bytes[: HEADER + size]
            yield body


def frame(body: bytes) -> bytes:
    """`body` with its header."""
    return len(body).to_bytes(HEADER, "big") + body


def write_frame(descriptor: int, body: bytes) -> None:
    """Write one frame, whole, to a blocking descriptor."""
    write_all(descriptor, frame(body))


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of `data` to a blocking descriptor."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def read_frame(descriptor: int) -> bytes:
    """The body of the next frame of a blocking descriptor; `EOFError` if there is none."""
    return read_exactly(descriptor, int.from_bytes(read_exactly(descriptor, HEADER), "big"))


def read_exactly(descriptor: int, count: int) -> bytes:
    """So many bytes of a blocking descriptor; `EOFError` if there are fewer."""
    data = bytearray()
    while len(data) < count:
        more = os.read(descriptor, count - len(data))
        if not more:
            raise EOFError
        data += more
    return bytes(data)
