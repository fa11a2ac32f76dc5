# SPDX-License-Identifier: Apache-2.0
"""Files of several messages: a varint byte count before each."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from halyard.errors import HalyardError

M = TypeVar("M", bound=Message)


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
    at = 0
    while at < len(data):
        begin, size, shift = at, 0, 0
        while True:
            if at >= len(data) or shift > 28:
                raise HalyardError(f"no message size at byte {begin} of {len(data)}")
            byte = data[at]
            at += 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        if size > len(data) - at:
            raise HalyardError(f"the message at byte {begin} is cut off")
        message = kind()
        try:
            message.ParseFromString(data[at : at + size])
        except DecodeError as error:
            raise HalyardError(f"the message at byte {begin}: {error}") from error
        yield message
        at += size
