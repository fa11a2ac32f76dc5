# SPDX-License-Identifier: Apache-2.0
"""An ONNX graph before it is written, and its protobuf message.

Of ONNX's schema only the fields that are written are here: their numbers stand where they are used.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from halyard.model import Array

# Attributes are numbers, lists of whole numbers, or words.
Attribute = int | float | str | tuple[int, ...]

_IR_VERSION = 8
_OPSET = 17

_ELEMENT_TYPES = {np.dtype("<f4"): 1, np.dtype("<i4"): 6, np.dtype("<i8"): 7}


@dataclass(frozen=True)
class Node:
    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute]


@dataclass(frozen=True)
class ValueInfo:
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[np.float32] | np.dtype[np.int32]


@dataclass
class Graph:
    name: str
    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)
    inputs: list[ValueInfo] = field(default_factory=list)
    outputs: list[ValueInfo] = field(default_factory=list)

    def serialize(self) -> bytes:
        graph = b"".join(
            [
                *(_message(1, _node(node)) for node in self.nodes),
                _text(2, self.name),
                *(_message(5, _tensor(name, array)) for name, array in self.constants.items()),
                *(_message(11, _value_info(info)) for info in self.inputs),
                *(_message(12, _value_info(info)) for info in self.outputs),
            ]
        )
        opset = _text(1, "") + _integer(2, _OPSET)
        return b"".join(
            [
                _integer(1, _IR_VERSION),
                _text(2, "Halyard"),
                _message(7, graph),
                _message(8, opset),
            ]
        )


# ---- ONNX's messages ----------------------------------------------------------------------------


def _node(node: Node) -> bytes:
    return b"".join(
        [
            *(_text(1, name) for name in node.inputs),
            *(_text(2, name) for name in node.outputs),
            _text(3, node.outputs[0]),
            _text(4, node.operator),
            *(_message(5, _attribute(*item)) for item in node.attributes.items()),
        ]
    )


def _attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, float):
        return _text(1, name) + _float(2, value) + _integer(20, 1)
    if isinstance(value, int):
        return _text(1, name) + _integer(3, value) + _integer(20, 2)
    if isinstance(value, str):
        return _text(1, name) + _text(4, value) + _integer(20, 3)
    return _text(1, name) + b"".join(_integer(8, item) for item in value) + _integer(20, 7)


def _tensor(name: str, array: Array) -> bytes:
    return b"".join(
        [
            *(_integer(1, extent) for extent in array.shape),
            _integer(2, _ELEMENT_TYPES[array.dtype]),
            _text(8, name),
            _message(9, np.ascontiguousarray(array).tobytes()),
        ]
    )


def _value_info(info: ValueInfo) -> bytes:
    shape = b"".join(_message(1, _integer(1, extent)) for extent in info.shape)
    tensor_type = _integer(1, _ELEMENT_TYPES[info.dtype]) + _message(2, shape)
    return _text(1, info.name) + _message(2, _message(1, tensor_type))


# ---- protobuf's fields --------------------------------------------------------------------------


def _varint(value: int) -> bytes:
    value &= 2**64 - 1
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)
    return bytes(data)


def _integer(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(int(value))


def _float(number: int, value: float) -> bytes:
    return _varint(number << 3 | 5) + struct.pack("<f", value)


def _message(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _text(number: int, text: str) -> bytes:
    return _message(number, text.encode())


def int64(values: Sequence[int]) -> Array:
    """What ONNX has for shapes and the like."""
    return np.asarray(values, "<i8")
