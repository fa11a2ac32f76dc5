# SPDX-License-Identifier: Apache-2.0
"""Operators that change shapes, and take tensors apart and put them together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ai_edge_litert import schema_py_generated as schema

from halyard.errors import NotExpressible
from halyard.model import TensorType
from halyard.model.budget import excerpt
from halyard.proto import halyard_pb2 as pb
from halyard.tflite.reading.file import Operator
from halyard.tflite.reading.mapper import Handler, Mapper
from halyard.tflite.reading.operator_options import fused, options


def axis_of(axis: int, rank: int) -> int:
    """Counted from the first one."""
    if not -rank <= axis < rank:
        raise NotExpressible(f"its axis is {axis} of {rank}")
    return axis % rank


def reshape(mapper: Mapper, operator: Operator) -> None:
    """To the shape that the file gives the result, however the operator is told it. Squeezing and
    expanding are the same."""
    source, output = mapper.input(operator, 0), mapper.output(operator)
    into = mapper.type_of(output).dimensions
    if math.prod(mapper.shape(source)) != math.prod(into):
        raise NotExpressible(f"{list(mapper.shape(source))} is no {list(into)}")
    shape = mapper.vector(f"{mapper.name(operator)}/shape", into)
    mapper.emit(pb.OPERATION_TYPE_RESHAPE, [mapper.operand(source), shape], operator)


def concatenation(mapper: Mapper, operator: Operator) -> None:
    given = options(operator, schema.ConcatenationOptionsT)
    output = mapper.output(operator)
    axis = axis_of(given.axis, len(mapper.shape(output)))
    inputs = [*mapper.operands_of(operator), mapper.builder.int32(axis)]
    if fused(given):
        raise NotExpressible("it has a fused activation, which TFLite's kernel leaves away")
    mapper.emit(pb.OPERATION_TYPE_CONCATENATION, inputs, operator)


def split(mapper: Mapper, operator: Operator) -> None:
    source = mapper.input(operator, 1)
    axis = mapper.integer(mapper.input(operator, 0), "axis")
    builder = mapper.builder
    inputs = [
        mapper.operand(source),
        builder.int32(axis_of(axis, len(mapper.shape(source)))),
        builder.int32(len(operator.outputs)),
    ]
    mapper.emit(pb.OPERATION_TYPE_SPLIT, inputs, operator)


def split_unevenly(mapper: Mapper, operator: Operator) -> None:
    """SPLIT_V: a SLICE for each output."""
    source = mapper.input(operator, 0)
    shape = mapper.shape(source)
    axis = axis_of(mapper.integer(mapper.input(operator, 2), "axis"), len(shape))
    at = 0
    for output in operator.outputs:
        begin = [0] * len(shape)
        begin[axis] = at
        size = mapper.shape(output)
        at += size[axis] if len(size) == len(shape) else shape[axis]
        _slice(mapper, source, begin, size, output)
    if at != shape[axis]:
        raise NotExpressible(f"its outputs have {at} of {shape[axis]} along axis {axis}")


def pack(mapper: Mapper, operator: Operator) -> None:
    """Each input with one axis more, put together."""
    given = options(operator, schema.PackOptionsT)
    output = mapper.output(operator)
    shape = mapper.shape(output)
    axis = axis_of(given.axis, len(shape))
    one = (*shape[:axis], 1, *shape[axis + 1 :])
    name = mapper.name(operator)
    parts = []
    for place in range(len(operator.inputs)):
        source = mapper.input(operator, place)
        kind = replace(mapper.type_of(source), dimensions=one)
        if math.prod(mapper.shape(source)) != math.prod(one):
            raise NotExpressible(f"{list(mapper.shape(source))} is no {list(one)}")
        parts.append(_reshaped(mapper, mapper.operand(source), f"{name}/part_{place}", kind))
    axis_operand = mapper.builder.int32(axis)
    mapper.emit(pb.OPERATION_TYPE_CONCATENATION, [*parts, axis_operand], operator)


def unpack(mapper: Mapper, operator: Operator) -> None:
    """SPLIT, and each part without the axis."""
    given = options(operator, schema.UnpackOptionsT)
    source = mapper.input(operator, 0)
    shape = mapper.shape(source)
    axis = axis_of(given.axis, len(shape))
    if shape[axis] != len(operator.outputs):
        raise NotExpressible(f"{len(operator.outputs)} outputs of {shape[axis]}")
    name = mapper.name(operator)
    kind = replace(mapper.type_of(source), dimensions=(*shape[:axis], 1, *shape[axis + 1 :]))
    builder = mapper.builder
    parts = builder.operation_n(
        pb.OPERATION_TYPE_SPLIT,
        [mapper.operand(source), builder.int32(axis), builder.int32(shape[axis])],
        [(f"{name}/part_{place}", kind) for place in range(shape[axis])],
    )
    for part, output in zip(parts, operator.outputs, strict=True):
        into = mapper.vector(f"{name}/shape", mapper.type_of(output).dimensions)
        mapper.emit_to(pb.OPERATION_TYPE_RESHAPE, [part, into], [output])


def slice_(mapper: Mapper, operator: Operator) -> None:
    source = mapper.input(operator, 0)
    begin = mapper.integers(mapper.input(operator, 1), "begin")
    output = mapper.output(operator)
    _slice(mapper, source, begin, mapper.shape(output), output)


def gather(mapper: Mapper, operator: Operator) -> None:
    given = options(operator, schema.GatherOptionsT)
    if given.batchDims:
        raise NotExpressible(f"it has {given.batchDims} batch dimensions, and NNAPI has none")
    source, indices = mapper.input(operator, 0), mapper.input(operator, 1)
    shape = mapper.shape(source)
    axis = axis_of(given.axis, len(shape))
    inputs = [
        mapper.operand(source),
        mapper.builder.int32(axis),
        mapper.numbers(indices, "indices"),
    ]
    if mapper.shape(indices):
        mapper.emit(pb.OPERATION_TYPE_GATHER, inputs, operator)
        return
    kind = replace(mapper.type_of(source), dimensions=(*shape[:axis], 1, *shape[axis + 1 :]))
    name = f"{mapper.name(operator)}/one"
    one = mapper.emit_inner(pb.OPERATION_TYPE_GATHER, inputs, name, kind)
    into = mapper.vector(f"{name}/shape", mapper.type_of(mapper.output(operator)).dimensions)
    mapper.emit(pb.OPERATION_TYPE_RESHAPE, [one, into], operator)


def with_numbers(operation: int, what: str) -> Handler:
    """Of a tensor and a constant of integers: paddings, multiples, the order of axes."""

    def handler(mapper: Mapper, operator: Operator) -> None:
        source, amounts = mapper.input(operator, 0), mapper.input(operator, 1)
        mapper.integers(amounts, what)
        inputs = [mapper.operand(source), mapper.numbers(amounts, what)]
        mapper.emit(operation, inputs, operator)

    return handler


def reverse(mapper: Mapper, operator: Operator) -> None:
    """An operation for each axis: NNAPI's reverses one."""
    source = mapper.input(operator, 0)
    rank = len(mapper.shape(source))
    axes = [axis_of(each, rank) for each in mapper.integers(mapper.input(operator, 1), "axes")]
    if len(set(axes)) != len(axes):
        raise NotExpressible(f"it reverses an axis twice: {excerpt(axes)}")
    name, kind = mapper.name(operator), mapper.type_of(source)
    if not axes:
        into = mapper.vector(f"{name}/shape", kind.dimensions)
        mapper.emit(pb.OPERATION_TYPE_RESHAPE, [mapper.operand(source), into], operator)
        return
    at = mapper.operand(source)
    for axis in axes[:-1]:
        inputs = [at, mapper.vector(f"{name}/axis", [axis])]
        at = mapper.emit_inner(pb.OPERATION_TYPE_REVERSE, inputs, f"{name}/axis_{axis}", kind)
    inputs = [at, mapper.vector(f"{name}/axis", axes[-1:])]
    mapper.emit(pb.OPERATION_TYPE_REVERSE, inputs, operator)


def pad_with(mapper: Mapper, operator: Operator) -> None:
    """PADV2, whose value is a scalar in NNAPI."""
    source, amounts = mapper.input(operator, 0), mapper.input(operator, 1)
    values = mapper.values(mapper.input(operator, 2))
    if values is None or values.size != 1:
        raise NotExpressible("its value is computed, and NNAPI wants a constant")
    mapper.integers(amounts, "paddings")
    builder = mapper.builder
    value = values.reshape(-1)[0]
    inputs = [
        mapper.operand(source),
        mapper.numbers(amounts, "paddings"),
        builder.float32(float(value)) if mapper.is_float(source) else builder.int32(int(value)),
    ]
    mapper.emit(pb.OPERATION_TYPE_PAD_V2, inputs, operator)


def mirror_pad(mapper: Mapper, operator: Operator) -> None:
    mode = options(operator, schema.MirrorPadOptionsT).mode
    amounts = mapper.input(operator, 1)
    mapper.integers(amounts, "paddings")
    inputs = [
        mapper.operand(mapper.input(operator, 0)),
        mapper.numbers(amounts, "paddings"),
        mapper.builder.int32(mode),
    ]
    mapper.emit(pb.OPERATION_TYPE_MIRROR_PAD, inputs, operator)


def fill(mapper: Mapper, operator: Operator) -> None:
    dimensions = mapper.input(operator, 0)
    values = mapper.values(mapper.input(operator, 1))
    mapper.integers(dimensions, "shape")
    if values is None or values.size != 1:
        raise NotExpressible("its value is computed, and NNAPI wants a constant")
    if values.dtype.kind not in "fi":
        raise NotExpressible(f"its value is {values.dtype}, and NNAPI fills with others")
    builder = mapper.builder
    value = values.reshape(-1)[0]
    scalar = (
        builder.float32(float(value)) if values.dtype.kind == "f" else builder.int32(int(value))
    )
    mapper.emit(pb.OPERATION_TYPE_FILL, [mapper.numbers(dimensions, "shape"), scalar], operator)


def _slice(
    mapper: Mapper, source: int, begin: Sequence[int], size: Sequence[int], output: int
) -> None:
    shape = mapper.shape(source)
    pairs = list(zip(begin, size, shape, strict=False))
    if not len(begin) == len(size) == len(shape) or any(
        at < 0 or at + count > extent for at, count, extent in pairs
    ):
        raise NotExpressible(f"{list(size)} from {list(begin)} on is not in {list(shape)}")
    name = mapper.tensor(output).name
    inputs = [
        mapper.operand(source),
        mapper.vector(f"{name}/begin", begin),
        mapper.vector(f"{name}/size", size),
    ]
    mapper.emit_to(pb.OPERATION_TYPE_SLICE, inputs, [output])


def _reshaped(mapper: Mapper, operand: int, name: str, kind: TensorType) -> int:
    shape = mapper.vector(f"{name}/shape", kind.dimensions)
    return mapper.emit_inner(pb.OPERATION_TYPE_RESHAPE, [operand, shape], name, kind)
