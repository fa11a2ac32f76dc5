# SPDX-License-Identifier: Apache-2.0
"""Facts of NNAPI operands: element types, shapes and the values of constants."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from halyard.proto import halyard_pb2 as pb

Array = npt.NDArray[Any]

_DTYPES: dict[int, np.dtype[Any]] = {
    pb.OPERAND_TYPE_FLOAT32: np.dtype("<f4"),
    pb.OPERAND_TYPE_INT32: np.dtype("<i4"),
    pb.OPERAND_TYPE_UINT32: np.dtype("<u4"),
    pb.OPERAND_TYPE_TENSOR_FLOAT32: np.dtype("<f4"),
    pb.OPERAND_TYPE_TENSOR_INT32: np.dtype("<i4"),
    pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM: np.dtype("u1"),
    pb.OPERAND_TYPE_BOOL: np.dtype("u1"),
    pb.OPERAND_TYPE_TENSOR_QUANT16_SYMM: np.dtype("<i2"),
    pb.OPERAND_TYPE_TENSOR_FLOAT16: np.dtype("<f2"),
    pb.OPERAND_TYPE_TENSOR_BOOL8: np.dtype("u1"),
    pb.OPERAND_TYPE_FLOAT16: np.dtype("<f2"),
    pb.OPERAND_TYPE_TENSOR_QUANT8_SYMM_PER_CHANNEL: np.dtype("i1"),
    pb.OPERAND_TYPE_TENSOR_QUANT16_ASYMM: np.dtype("<u2"),
    pb.OPERAND_TYPE_TENSOR_QUANT8_SYMM: np.dtype("i1"),
    pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM_SIGNED: np.dtype("i1"),
}

_SCALARS = frozenset(
    {
        pb.OPERAND_TYPE_FLOAT32,
        pb.OPERAND_TYPE_INT32,
        pb.OPERAND_TYPE_UINT32,
        pb.OPERAND_TYPE_BOOL,
        pb.OPERAND_TYPE_FLOAT16,
        pb.OPERAND_TYPE_SUBGRAPH,
        pb.OPERAND_TYPE_OEM,
    }
)

_CONSTANTS = frozenset(
    {pb.OPERAND_LIFE_TIME_CONSTANT_COPY, pb.OPERAND_LIFE_TIME_CONSTANT_REFERENCE}
)


@dataclass(frozen=True)
class TensorType:
    """The type of a tensor operand. `channel_scales` is for QUANT8_SYMM_PER_CHANNEL only."""

    type: int  # a pb.OperandType
    dimensions: tuple[int, ...]
    scale: float = 0.0
    zero_point: int = 0
    channel_scales: tuple[float, ...] = field(default=())
    channel_dim: int = 0


def dtype_of(operand_type: int) -> np.dtype[Any]:
    """The numpy type of an operand's elements. KeyError for a type that has no elements."""
    return _DTYPES[operand_type]


def is_tensor(operand_type: int) -> bool:
    return operand_type not in _SCALARS


def is_constant(operand: pb.Operand) -> bool:
    return operand.lifetime in _CONSTANTS


def byte_size(operand: pb.Operand) -> int:
    """Bytes that the operand's value takes; 0 while a dimension is unspecified."""
    return math.prod(operand.dimensions) * dtype_of(operand.type).itemsize


def constant(model: pb.Model, operand: pb.Operand) -> Array:
    """The value of a constant operand, in its shape. ValueError if it is no constant."""
    location = operand.location
    if operand.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_COPY:
        pool = model.operand_values
    elif operand.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_REFERENCE:
        pool = model.pools[location.pool_index]
    else:
        raise ValueError(f"operand {operand.name!r} is no constant")
    dtype = dtype_of(operand.type)
    values = np.frombuffer(pool, dtype, location.length // dtype.itemsize, location.offset)
    return values.reshape(tuple(operand.dimensions))


def constants(model: pb.Model, subgraph: pb.Subgraph | None = None) -> dict[int, Array]:
    """The values of a subgraph's constants, by operand index; of the main one where none is given.
    One by one each would cost a copy of its whole pool."""
    pools = [model.operand_values, *model.pools]
    values = {}
    for index, operand in enumerate((subgraph or model.main).operands):
        if is_constant(operand):
            place = operand.location
            inside = operand.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_COPY
            pool = pools[0 if inside else 1 + place.pool_index]
            dtype = dtype_of(operand.type)
            flat = np.frombuffer(pool, dtype, place.length // dtype.itemsize, place.offset)
            values[index] = flat.reshape(tuple(operand.dimensions))
    return values


def operation_name(operation_type: int) -> str:
    """ "CONV_2D"; a number for an extension's operation."""
    try:
        return pb.OperationType.Name(pb.OperationType.ValueType(operation_type)).removeprefix(
            "OPERATION_TYPE_"
        )
    except (ValueError, AttributeError):
        return str(operation_type)


def type_name(operand_type: int) -> str:
    """ "QUANT8_ASYMM", of a tensor as of a scalar; a number for an extension's type."""
    try:
        name = pb.OperandType.Name(pb.OperandType.ValueType(operand_type))
    except (ValueError, AttributeError):
        return str(operand_type)
    return name.removeprefix("OPERAND_TYPE_").removeprefix("TENSOR_")


def label(model: pb.Model, index: int) -> str:
    """ "operation 3 (CONV_2D)": what messages call an operation of the main subgraph."""
    return f"operation {index} ({operation_name(model.main.operations[index].type)})"
