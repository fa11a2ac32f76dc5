# SPDX-License-Identifier: Apache-2.0
"""The whole numbers in which PyTorch serialises a model for NNAPI (torch/backends/_nnapi)."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_VERSION = 1
_MAX_RANK = 16

# Where a value lies: in the model itself, or in one of the weights.
_IMMEDIATE = 0
_NUMBERED_BUFFER = 2


@dataclass(frozen=True)
class Operand:
    type: int
    dims: tuple[int, ...]
    scale: float
    zero_point: int


@dataclass(frozen=True)
class Weight:
    """So many bytes of a tensor from an offset on."""

    number: int
    offset: int
    length: int


@dataclass(frozen=True)
class Operation:
    type: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class SerializedModel:
    """`values` are those of the constants, by operand."""

    operands: Sequence[Operand]
    values: Mapping[int, bytes | Weight]
    operations: Sequence[Operation]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def parse(content: bytes) -> SerializedModel:
    """ValueError for what is no such model, or one that names what it has not."""
    reader = _Reader(content)
    version, *counts = reader.integers(6)
    if version != _VERSION:
        raise ValueError(f"its version is {version}, and {_VERSION} is read")
    operands, values, operations, inputs, outputs = counts
    if min(counts) < 0 or 4 * sum(counts) > len(content):
        raise ValueError(f"it counts {counts} where it has {len(content)} bytes")
    types = [reader.unpack("<iifi") for _ in range(operands)]
    sources = [reader.integers(3) for _ in range(values)]
    forms = [reader.integers(3) for _ in range(operations)]
    model = SerializedModel(
        [_operand(reader, *each) for each in types],
        {index: _value(reader, source, length) for index, source, length in sources},
        [Operation(kind, reader.integers(ins), reader.integers(outs)) for kind, ins, outs in forms],
        reader.integers(inputs),
        reader.integers(outputs),
    )
    reader.end()
    named = [*model.values, *model.inputs, *model.outputs]
    for operation in model.operations:
        named += [*operation.inputs, *operation.outputs]
    if any(not 0 <= index < operands for index in named):
        raise ValueError(f"it names an operand that is none of its {operands}")
    return model


class _Reader:
    def __init__(self, content: bytes) -> None:
        self._content = content
        self._place = 0

    def unpack(self, form: str) -> tuple[float, ...]:
        return struct.unpack(form, self.take(struct.calcsize(form)))

    def integers(self, count: int) -> tuple[int, ...]:
        return struct.unpack(f"<{count}i", self.take(4 * count))

    def take(self, count: int) -> bytes:
        if not 0 <= count <= len(self._content) - self._place:
            raise ValueError(f"it ends after {len(self._content)} bytes, in the middle")
        self._place += count
        return self._content[self._place - count : self._place]

    def padded(self, count: int) -> bytes:
        """Values start at whole words."""
        return self.take(count + -count % 4)[:count]

    def end(self) -> None:
        if self._place != len(self._content):
            raise ValueError(f"it has {len(self._content) - self._place} bytes after its end")


def _operand(reader: _Reader, kind: float, rank: float, scale: float, zero: float) -> Operand:
    if rank > _MAX_RANK:
        raise ValueError(f"an operand has {rank} dimensions")
    dims = reader.integers(int(rank))
    if dims and min(dims) < 0:
        raise ValueError(f"an operand has the dimensions {dims}")
    if not math.isfinite(scale):
        raise ValueError(f"an operand has the scale {scale}")
    return Operand(int(kind), dims, float(scale), int(zero))


def _value(reader: _Reader, source: int, length: int) -> bytes | Weight:
    if source == _IMMEDIATE:
        return reader.padded(length)
    if source == _NUMBERED_BUFFER and length == 12:
        return Weight(*reader.integers(3))
    raise ValueError(f"a value comes from source {source}, which is not known")
