# SPDX-License-Identifier: Apache-2.0
"""Values of a larger shape, for operations that do not broadcast their inputs, as SELECT. What is
large is computed while the model runs, by TILE: a file of a few bytes may ask for any shape.

Truth values are moved as bytes, as few of NNAPI's operations take them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from halyard.errors import NotExpressible
from halyard.model import ModelBuilder, TensorType, dtype_of
from halyard.proto import halyard_pb2 as pb

_BOOL8 = pb.OPERAND_TYPE_TENSOR_BOOL8
_BYTES = TensorType(pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM, (), scale=1.0)
# Of a constant that a model holds as it is.
_MAX_CONSTANT_BYTES = 4096


class Steps(Protocol):
    """The writer of operations to a model: the mapper, which moves truth values by what is here."""

    builder: ModelBuilder

    def emit(self, operation: int, inputs: Sequence[int], name: str, output: TensorType) -> int: ...

    def emit_n(
        self, operation: int, inputs: Sequence[int], outputs: Sequence[tuple[str, TensorType]]
    ) -> list[int]: ...

    def step(
        self,
        operation: int,
        inputs: Sequence[int],
        dims: Sequence[int] | None = None,
        kind: int | None = None,
    ) -> int: ...

    def reshaped(self, index: int, dims: Sequence[int], name: str) -> int: ...


def filled(mapper: Steps, tensor: TensorType, value: float) -> int:
    """The same value everywhere."""
    dtype, count = dtype_of(tensor.type), math.prod(tensor.dimensions)
    small = count * dtype.itemsize <= _MAX_CONSTANT_BYTES or tensor.type == _BOOL8
    dims = tensor.dimensions if small else (1,) * len(tensor.dimensions)
    one = TensorType(tensor.type, dims, tensor.scale, tensor.zero_point)
    index = mapper.builder.constant("", one, np.full(dims, value, dtype))
    return index if small else spread(mapper, index, tensor.dimensions)


def spread(mapper: Steps, index: int, dims: Sequence[int]) -> int:
    """An operand, broadcast to those dimensions."""
    given = tuple(mapper.builder.operand(index).dimensions)
    if given == tuple(dims):
        return index
    if len(given) > len(dims) or any(
        own not in (1, whole) for own, whole in zip(given[::-1], dims[::-1], strict=False)
    ):
        raise NotExpressible(f"{list(given)} is not broadcast to {list(dims)}")
    if mapper.builder.operand(index).type == _BOOL8:
        # TILE takes no truth values; OR with what is false everywhere does it.
        zeros = filled(mapper, TensorType(pb.OPERAND_TYPE_TENSOR_INT32, tuple(dims)), 0)
        false = mapper.step(pb.OPERATION_TYPE_NOT_EQUAL, [zeros, zeros], kind=_BOOL8)
        return mapper.step(pb.OPERATION_TYPE_LOGICAL_OR, [index, false], dims)
    full = (1,) * (len(dims) - len(given)) + given
    source = mapper.reshaped(index, full, "full")
    times = mapper.builder.vector("", [a // b for a, b in zip(dims, full, strict=True)])
    return mapper.step(pb.OPERATION_TYPE_TILE, [source, times], dims)


def as_bytes(mapper: Steps, truth: int) -> int:
    """Ones and zeros."""
    tensor = replace(_BYTES, dimensions=tuple(mapper.builder.operand(truth).dimensions))
    choices = [filled(mapper, tensor, value) for value in (1, 0)]
    return mapper.emit(pb.OPERATION_TYPE_SELECT, [truth, *choices], "bytes", tensor)


def moved_as_bytes(
    mapper: Steps,
    operation: int,
    inputs: Sequence[int],
    outputs: Sequence[tuple[str, TensorType]],
) -> list[int]:
    """An operation that moves truth values and does not take them: those are ones and zeros."""
    given = [
        as_bytes(mapper, index) if mapper.builder.operand(index).type == _BOOL8 else index
        for index in inputs
    ]
    made = [
        (f"{name}/bytes", replace(_BYTES, dimensions=kind.dimensions)) for name, kind in outputs
    ]
    zero = filled(mapper, replace(_BYTES, dimensions=(1,)), 0)
    return [
        mapper.emit(pb.OPERATION_TYPE_NOT_EQUAL, [index, zero], name, kind)
        for index, (name, kind) in zip(mapper.emit_n(operation, given, made), outputs, strict=True)
    ]
