# SPDX-License-Identifier: Apache-2.0
"""Operators of 8 bits that NNAPI computes with real numbers only, or with other scales: between
DEQUANTIZE and QUANTIZE, which is a step from TFLite's integers at most."""

from __future__ import annotations

from collections.abc import Sequence

from halyard.model import TensorType
from halyard.proto import halyard_pb2 as pb
from halyard.tflite.reading.file import Operator
from halyard.tflite.reading.mapper import Mapper


def real_type(mapper: Mapper, index: int) -> TensorType:
    return TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, mapper.type_of(index).dimensions)


def has_8_bits(mapper: Mapper, index: int) -> bool:
    return mapper.type_of(index).type in (
        pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM,
        pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM_SIGNED,
    )


def real_operand(mapper: Mapper, index: int) -> int:
    """Of the numbers that a tensor's bytes stand for; its own where it holds such."""
    operand = mapper.operand(index)
    if not has_8_bits(mapper, index):
        return operand
    name = f"{mapper.tensor(index).name}/real"
    return mapper.emit_inner(
        pb.OPERATION_TYPE_DEQUANTIZE, [operand], name, real_type(mapper, index)
    )


def emit_real(mapper: Mapper, operation: int, inputs: Sequence[int], operator: Operator) -> None:
    """An operation on real numbers, and its result in the bytes of the operator's output."""
    output = mapper.output(operator)
    if not has_8_bits(mapper, output):
        mapper.emit(operation, inputs, operator)
        return
    name = f"{mapper.name(operator)}/real"
    found = mapper.emit_inner(operation, inputs, name, real_type(mapper, output))
    mapper.emit(pb.OPERATION_TYPE_QUANTIZE, [found], operator)


def is_requantised(mapper: Mapper, operator: Operator) -> bool:
    """Whether its first input and its output have other scales."""
    before = mapper.tensor(mapper.input(operator, 0))
    after = mapper.tensor(mapper.output(operator))
    return (before.scales, before.zero_points) != (after.scales, after.zero_points)
