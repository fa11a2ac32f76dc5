# SPDX-License-Identifier: Apache-2.0
"""Operators that reduce axes, choose among elements, and multiply matrices."""

from __future__ import annotations

from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.schema_py_generated import TensorType as Type

from halyard.errors import NotExpressible
from halyard.proto import halyard_pb2 as pb
from halyard.tflite.reading.file import Operator
from halyard.tflite.reading.mapper import Handler, Mapper
from halyard.tflite.reading.options import options
from halyard.tflite.reading.shaping import axis_of
from halyard.tflite.reading.weights import refuse_hybrid


def reduction(operation: int) -> Handler:
    def handler(mapper: Mapper, operator: Operator) -> None:
        keep = bool(options(operator, schema.ReducerOptionsT).keepDims)
        source, axes = mapper.input(operator, 0), mapper.input(operator, 1)
        rank = len(mapper.shape(source))
        if rank == 0:
            raise NotExpressible("it reduces a number, which has no axes in NNAPI either")
        found = sorted({axis_of(each, rank) for each in mapper.integers(axes, "axes")})
        output = mapper.output(operator)
        before, after = mapper.tensor(source), mapper.tensor(output)
        if (before.scales, before.zero_points) != (after.scales, after.zero_points):
            raise NotExpressible("it is quantised anew, and NNAPI's keeps scale and zero point")
        if not found:
            raise NotExpressible("it reduces no axis")
        builder = mapper.builder
        inputs = [mapper.operand(source), builder.vector(f"{after.name}/axes", found)]
        # MEAN, which is older, has a number for a truth value.
        mean = operation == pb.OPERATION_TYPE_MEAN
        inputs.append(builder.int32(int(keep)) if mean else builder.boolean(keep))
        mapper.emit(operation, inputs, operator)

    return handler


def extremum_place(operation: int) -> Handler:
    """ARG_MAX and ARG_MIN."""

    def handler(mapper: Mapper, operator: Operator) -> None:
        source = mapper.input(operator, 0)
        rank = len(mapper.shape(source))
        axis = axis_of(mapper.integer(mapper.input(operator, 1), "axis"), rank)
        if mapper.tensor(mapper.output(operator)).type != Type.INT32:
            kind = mapper.tensor(mapper.output(operator)).type_name
            raise NotExpressible(f"its result is {kind}, and NNAPI's is INT32")
        mapper.emit(operation, [mapper.operand(source), mapper.builder.int32(axis)], operator)

    return handler


def top_k(mapper: Mapper, operator: Operator) -> None:
    count = mapper.integer(mapper.input(operator, 1), "count")
    inputs = [mapper.operand(mapper.input(operator, 0)), mapper.builder.int32(count)]
    mapper.emit(pb.OPERATION_TYPE_TOPK_V2, inputs, operator)


def batch_matmul(mapper: Mapper, operator: Operator) -> None:
    given = options(operator, schema.BatchMatMulOptionsT)
    first, second = mapper.input(operator, 0), mapper.input(operator, 1)
    refuse_hybrid(mapper, first, second)
    builder = mapper.builder
    inputs = [
        mapper.operand(first),
        mapper.operand(second),
        builder.boolean(bool(given.adjX)),
        builder.boolean(bool(given.adjY)),
    ]
    mapper.emit(pb.OPERATION_TYPE_BATCH_MATMUL, inputs, operator)


def embedding_lookup(mapper: Mapper, operator: Operator) -> None:
    table = mapper.input(operator, 1)
    refuse_hybrid(mapper, mapper.output(operator), table)
    mapper.emit(pb.OPERATION_TYPE_EMBEDDING_LOOKUP, mapper.operands_of(operator), operator)
