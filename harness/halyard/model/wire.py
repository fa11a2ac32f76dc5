# SPDX-License-Identifier: Apache-2.0
"""Files of protobuf messages, as far as it shows whether they are whole."""

from __future__ import annotations

_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5


def is_cut_off(content: bytes) -> bool:
    """Whether a message's last field ends behind the file. False for what is no message at all."""
    at = 0
    while at < len(content):
        first = at == 0
        tag, at = _varint(content, at)
        if at > len(content):
            return not first
        if tag >> 3 == 0:
            return False
        kind = tag & 7
        if kind == _VARINT:
            _, at = _varint(content, at)
        elif kind == _LENGTH:
            length, at = _varint(content, at)
            at += length
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            at += 8 if kind == _EIGHT_BYTES else 4
        else:
            return False
    return at > len(content)


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """The number, and where the next byte is: behind the end by one where the number has none."""
    value = shift = 0
    while at < len(content):
        byte = content[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    return value, len(content) + 1
