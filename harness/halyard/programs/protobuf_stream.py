# SPDX-License-Identifier: Apache-2.0
"""Files of several messages: a varint byte count before each."""

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from google.protobuf.message import DecodeError, Message

from halyard.errors import HalyardError

M = TypeVar("M", bound=Message)

# Bytes of the varint before a message.
_LONGEST_SIZE = 5
# protobuf's own limit.
_LARGEST = 2**31 - 1


def write(messages: Iterable[Message]) -> bytes:
    data = bytearray()
    for message in messages:
        content = message.SerializeToString()
        size = len(content)
        while size > 0x7F:
            data.append(size & 0x7F | 0x80)
            size >>= 7
        data.append(size)
        data += content
    return bytes(data)


def read(data: bytes, kind: type[M]) -> Iterator[M]:
    """The messages. HalyardError at the first that is cut off or is none."""
    stream = Stream(kind)
    yield from stream.feed(data)
    stream.end()


class Stream(Generic[M]):
    """Messages that come by and by."""

    def __init__(self, kind: type[M]) -> None:
        self._kind = kind
        self._data = bytearray()
        self._taken = 0  # bytes of the messages before

    def feed(self, data: bytes) -> Iterator[M]:
        """The messages that are complete now. HalyardError at the first that is none."""
        self._data += data
        while (head := self._head()) is not None:
            begin, size = head
            if size > len(self._data) - begin:
                return
            message = self._kind()
            try:
                message.ParseFromString(bytes(self._data[begin : begin + size]))
            except DecodeError as error:
                raise HalyardError(f"the message at byte {self._taken}: {error}") from error
            del self._data[: begin + size]
            self._taken += begin + size
            yield message

    def end(self) -> None:
        """HalyardError if the last message is cut off."""
        if self._data and self._head() is None:
            raise HalyardError(
                f"no message size at byte {self._taken} of {self._taken + len(self._data)}"
            )
        if self._data:
            raise HalyardError(f"the message at byte {self._taken} is cut off")

    def _head(self) -> tuple[int, int] | None:
        """Where the next message begins, and its size; None while that is not there."""
        size = 0
        for at, byte in enumerate(self._data[:_LONGEST_SIZE]):
            size |= (byte & 0x7F) << (7 * at)
            if byte < 0x80:
                if size > _LARGEST:
                    raise HalyardError(f"a message of {size} bytes at byte {self._taken}")
                return at + 1, size
        if len(self._data) >= _LONGEST_SIZE:
            raise HalyardError(f"no message size at byte {self._taken}")
        return None
