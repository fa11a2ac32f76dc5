# SPDX-License-Identifier: Apache-2.0
"""Operators that reduce axes, choose among elements, and multiply matrices."""

from __future__ import annotations

from dataclasses import replace

from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.schema_py_generated import TensorType as Type

from halyard.errors import NotExpressible
from halyard.model.arguments import Activation
from halyard.proto import halyard_pb2 as pb
from halyard.tflite.reading.file import Operator
from halyard.tflite.reading.mapper import Handler, Mapper
from halyard.tflite.reading.operator_options import options
from halyard.tflite.reading.real_numbers import (
    emit_real,
    has_8_bits,
    is_requantised,
    real_operand,
)
from halyard.tflite.reading.shaping import axis_of
from halyard.tflite.reading.weights import refuse_hybrid

_REAL_ONLY = (pb.OPERATION_TYPE_REDUCE_SUM, pb.OPERATION_TYPE_REDUCE_PROD)


def reduction(operation: int) -> Handler:
    def handler(mapper: Mapper, operator: Operator) -> None:
        keep = bool(options(operator, schema.ReducerOptionsT).keepDims)
        source, axes = mapper.input(operator, 0), mapper.input(operator, 1)
        rank = len(mapper.shape(source))
        if rank == 0:
            raise NotExpressible("it reduces a number, which has no axes in NNAPI either")
        found = sorted({axis_of(each, rank) for each in mapper.integers(axes, "axes")})
        output = mapper.output(operator)
        after = mapper.tensor(output)
        if not found:
            raise NotExpressible("it reduces no axis")
        builder = mapper.builder
        # SUM and PROD have real numbers only, and the others the scale of their input.
        through = has_8_bits(mapper, source) and (
            operation in _REAL_ONLY or is_requantised(mapper, operator)
        )
        operand = real_operand(mapper, source) if through else mapper.operand(source)
        inputs = [operand, builder.vector(f"{after.name}/axes", found)]
        # MEAN, which is older, has a number for a truth value.
        mean = operation == pb.OPERATION_TYPE_MEAN
        inputs.append(builder.int32(int(keep)) if mean else builder.boolean(keep))
        if through:
            emit_real(mapper, operation, inputs, operator)
        else:
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
    """Of equals TFLite has the first one first, and NNAPI the last one: it is given each row from
    its end, and the places are counted from there."""
    count = mapper.integer(mapper.input(operator, 1), "count")
    source, builder, name = mapper.input(operator, 0), mapper.builder, mapper.name(operator)
    kind = mapper.type_of(source)
    length, axis = kind.dimensions[-1], len(kind.dimensions) - 1
    backwards = mapper.vector(f"{name}/backwards", range(length - 1, -1, -1))
    given = [mapper.operand(source), builder.int32(axis), backwards]
    reversed_ = mapper.emit_inner(pb.OPERATION_TYPE_GATHER, given, f"{name}/reversed", kind)
    values, places = mapper.output(operator, 0), mapper.output(operator, 1)
    found = builder.operation_n(
        pb.OPERATION_TYPE_TOPK_V2,
        [reversed_, builder.int32(count)],
        [
            (name, mapper.type_of(values)),
            (f"{name}/places_from_the_end", mapper.type_of(places)),
        ],
    )
    mapper.operands[values] = found[0]
    last = mapper.vector(f"{name}/last", [length - 1])
    none = builder.int32(Activation.NONE)
    mapper.emit_to(pb.OPERATION_TYPE_SUB, [last, found[1], none], [places])


def batch_matmul(mapper: Mapper, operator: Operator) -> None:
    given = options(operator, schema.BatchMatMulOptionsT)
    first, second = mapper.input(operator, 0), mapper.input(operator, 1)
    refuse_hybrid(mapper, first, second)
    builder = mapper.builder
    rank = max(len(mapper.shape(first)), len(mapper.shape(second)))
    inputs = [
        _of_rank(mapper, first, rank),
        _of_rank(mapper, second, rank),
        builder.boolean(bool(given.adjX)),
        builder.boolean(bool(given.adjY)),
    ]
    mapper.emit(pb.OPERATION_TYPE_BATCH_MATMUL, inputs, operator)


def _of_rank(mapper: Mapper, index: int, rank: int) -> int:
    """With ones before its axes: both factors have the same number in NNAPI."""
    operand, kind = mapper.operand(index), mapper.type_of(index)
    dimensions = (1,) * (rank - len(kind.dimensions)) + kind.dimensions
    if dimensions == kind.dimensions:
        return operand
    name = f"{mapper.tensor(index).name}/ranked"
    into = mapper.vector(f"{name}/shape", dimensions)
    ranked = replace(kind, dimensions=dimensions)
    return mapper.emit_inner(pb.OPERATION_TYPE_RESHAPE, [operand, into], name, ranked)


def embedding_lookup(mapper: Mapper, operator: Operator) -> None:
    table = mapper.input(operator, 1)
    refuse_hybrid(mapper, mapper.output(operator), table)
    mapper.emit(pb.OPERATION_TYPE_EMBEDDING_LOOKUP, mapper.operands_of(operator), operator)
