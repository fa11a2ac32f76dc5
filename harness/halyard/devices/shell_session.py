# SPDX-License-Identifier: Apache-2.0
"""One shell on a device for all that is typed, or all that a script holds: adb's shell_v2, in which
each packet says what it carries, and the end of the input reaches the shell."""

import contextlib
import os
import select
import shutil
import signal
import struct
import termios
import tty
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Protocol

from halyard.errors import HalyardError

_STDIN, _STDOUT, _STDERR, _EXIT, _CLOSE_STDIN, _WINDOW_SIZE = range(6)
_HEAD = struct.Struct("<BI")
# Bytes of input at a time: less than any device's packets take.
_CHUNK = 3072
# More than a device sends in one packet.
_LARGEST = 2**20
# Seconds between two looks at a stream that can't be waited for.
_LOOK_AGAIN = 0.05
# How a shell ends whose exit code did not come.
_NO_EXIT_CODE = 255


class Stream(Protocol):
    """The stream of an adb connection. Nothing is written before the last write was taken."""

    def fileno(self) -> int | None:
        """The descriptor that becomes readable when there is output; None where that can't be
        told."""
        ...

    def write(self, data: bytes) -> None: ...

    def read(self) -> tuple[bool, bytes] | None:
        """Whether the last write was taken, and data; None at the end. Waits where there is a
        fileno, which is to be readable; else it gives (False, nothing) after a moment."""
        ...


# Given the bytes of stdout, and of stderr.
Sink = Callable[[bytes, bytes], None]


def converse(stream: Stream, source: int, sink: Sink) -> int:
    """Takes the input from a descriptor to the shell, and its output to `sink`, until it ends; its
    exit code."""
    with _terminal(source) as resized:
        return _Conversation(stream, source, sink, resized).run()


def destination(source: int) -> str:
    """The service to open: on a terminal of its own where the input comes from one."""
    if not os.isatty(source):
        return "shell,v2,raw:"
    return f"shell,v2,TERM={os.environ.get('TERM') or 'dumb'},pty:"


class _Conversation:
    def __init__(self, stream: Stream, source: int, sink: Sink, resized: list[bool]) -> None:
        self._stream = stream
        self._source = source
        self._sink = sink
        self._resized = resized
        self._received = bytearray()
        self._exit_code = _NO_EXIT_CODE
        self._may_write = True
        self._has_input = True
        self._waiting: list[bytes] = []

    def run(self) -> int:
        while True:
            if self._resized:
                self._resized.clear()
                size = shutil.get_terminal_size()
                self._queue(_WINDOW_SIZE, f"{size.lines}x{size.columns},0x0\0".encode())
            if self._may_write and self._waiting:
                self._stream.write(self._waiting.pop(0))
                self._may_write = False
            if not self._wait():
                return self._exit_code

    def _wait(self) -> bool:
        """For the next that happens; whether the stream goes on."""
        descriptor = self._stream.fileno()
        # Input that is typed ahead stays where it is until the device has taken the earlier input.
        sources = [self._source] if self._has_input and not self._waiting else []
        streams = [descriptor] if descriptor is not None else []
        readable, _, _ = select.select(
            [*sources, *streams], [], [], None if descriptor is not None else _LOOK_AGAIN
        )
        if self._source in readable:
            data = os.read(self._source, _CHUNK)
            self._has_input = bool(data)
            self._queue(_STDIN if data else _CLOSE_STDIN, data)
        if descriptor is None or descriptor in readable:
            came = self._stream.read()
            if came is None:
                return False
            taken, data = came
            self._may_write = self._may_write or taken
            self._received += data
            for kind, content in self._packets():
                self._take(kind, content)
        return True

    def _queue(self, kind: int, content: bytes) -> None:
        self._waiting.append(_HEAD.pack(kind, len(content)) + content)

    def _packets(self) -> Iterator[tuple[int, bytes]]:
        while len(self._received) >= _HEAD.size:
            kind, length = _HEAD.unpack_from(self._received)
            if length > _LARGEST:
                raise HalyardError(f"the device's shell says that {length} bytes come at once")
            if len(self._received) < _HEAD.size + length:
                return
            content = bytes(self._received[_HEAD.size : _HEAD.size + length])
            del self._received[: _HEAD.size + length]
            yield kind, content

    def _take(self, kind: int, content: bytes) -> None:
        if kind == _STDOUT:
            self._sink(content, b"")
        elif kind == _STDERR:
            self._sink(b"", content)
        elif kind == _EXIT and content:
            self._exit_code = content[0]


@contextlib.contextmanager
def _terminal(source: int) -> Iterator[list[bool]]:
    """Keys go to the device as they are, Ctrl-C among them. What it gives holds something when the
    size of the terminal is to be told."""
    resized: list[bool] = []
    if not os.isatty(source):
        yield resized
        return

    def note(_number: int, _frame: FrameType | None) -> None:
        resized.append(True)

    resized.append(True)
    modes = termios.tcgetattr(source)
    before = signal.signal(signal.SIGWINCH, note)
    try:
        # Keys that were typed ahead stay.
        tty.setraw(source, termios.TCSADRAIN)
        yield resized
    finally:
        signal.signal(signal.SIGWINCH, before)
        termios.tcsetattr(source, termios.TCSADRAIN, modes)
