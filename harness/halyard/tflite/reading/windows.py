# SPDX-License-Identifier: Apache-2.0
"""Poolings, resizing, and what exchanges space for depth or batches."""

from __future__ import annotations

from dataclasses import replace

from ai_edge_litert import schema_py_generated as schema

from halyard.errors import NotExpressible
from halyard.model.budget import excerpt
from halyard.proto import halyard_pb2 as pb
from halyard.tflite.reading.file import Operator
from halyard.tflite.reading.mapper import Handler, Mapper
from halyard.tflite.reading.operator_options import fused, options, padding


def pool(operation: int) -> Handler:
    def handler(mapper: Mapper, operator: Operator) -> None:
        given = options(operator, schema.Pool2DOptionsT)
        sizes = given.strideW, given.strideH, given.filterWidth, given.filterHeight
        builder = mapper.builder
        inputs = [
            mapper.operand(mapper.input(operator, 0)),
            builder.int32(padding(given).value),
            *map(builder.int32, sizes),
            builder.int32(fused(given)),
        ]
        mapper.emit(operation, inputs, operator)

    return handler


def resize(operation: int, kind: type) -> Handler:
    def handler(mapper: Mapper, operator: Operator) -> None:
        given = options(operator, kind)
        size = mapper.integers(mapper.input(operator, 1), "size")
        if len(size) != 2 or min(size) < 1:
            raise NotExpressible(f"its size is {size}")
        builder = mapper.builder
        height, width = size
        inputs = [mapper.operand(mapper.input(operator, 0)), *map(builder.int32, (width, height))]
        how = [bool(given.alignCorners), bool(given.halfPixelCenters)]
        # Of bilinear resizing, HAL 1.0 knows no more than the size.
        if any(how) or operation != pb.OPERATION_TYPE_RESIZE_BILINEAR:
            inputs.append(builder.boolean(False))
        if any(how):
            inputs += map(builder.boolean, how)
        mapper.emit(operation, inputs, operator)

    return handler


def depth(operation: int, kind: type) -> Handler:
    """Between space and depth."""

    def handler(mapper: Mapper, operator: Operator) -> None:
        block = mapper.builder.int32(options(operator, kind).blockSize)
        mapper.emit(operation, [mapper.operand(mapper.input(operator, 0)), block], operator)

    return handler


def space_to_batch(mapper: Mapper, operator: Operator) -> None:
    inputs = [mapper.operand(mapper.input(operator, 0))]
    for place, what in ((1, "block"), (2, "paddings")):
        mapper.integers(mapper.input(operator, place), what)
        inputs.append(mapper.numbers(operator.inputs[place], what))
    mapper.emit(pb.OPERATION_TYPE_SPACE_TO_BATCH_ND, inputs, operator)


def batch_to_space(mapper: Mapper, operator: Operator) -> None:
    """NNAPI crops nothing: a SLICE behind does."""
    crops = mapper.integers(mapper.input(operator, 2), "crops")
    block = mapper.integers(mapper.input(operator, 1), "block")
    source = mapper.input(operator, 0)
    inputs = [mapper.operand(source), mapper.numbers(mapper.input(operator, 1), "block")]
    if not any(crops):
        mapper.emit(pb.OPERATION_TYPE_BATCH_TO_SPACE_ND, inputs, operator)
        return
    shape = mapper.shape(source)
    if len(shape) != 4 or len(block) != 2 or len(crops) != 4 or min(block) < 1 or min(crops) < 0:
        raise NotExpressible(f"of {list(shape)}, with blocks {block} and crops {excerpt(crops)}")
    batches, height, width, channels = shape
    whole = (batches // (block[0] * block[1]), height * block[0], width * block[1], channels)
    name, output = mapper.name(operator), mapper.output(operator)
    kind = replace(mapper.type_of(source), dimensions=whole)
    joined = mapper.emit_inner(pb.OPERATION_TYPE_BATCH_TO_SPACE_ND, inputs, f"{name}/whole", kind)
    begin = mapper.vector(f"{name}/begin", [0, crops[0], crops[2], 0])
    size = mapper.vector(f"{name}/size", mapper.shape(output))
    mapper.emit(pb.OPERATION_TYPE_SLICE, [joined, begin, size], operator)


def l2_normalization(mapper: Mapper, operator: Operator) -> None:
    if fused(options(operator, schema.L2NormOptionsT)):
        raise NotExpressible("it has a fused activation, which NNAPI's has not")
    inputs = [mapper.operand(mapper.input(operator, 0))]
    mapper.emit(pb.OPERATION_TYPE_L2_NORMALIZATION, inputs, operator)


def local_response(mapper: Mapper, operator: Operator) -> None:
    given = options(operator, schema.LocalResponseNormalizationOptionsT)
    builder = mapper.builder
    inputs = [
        mapper.operand(mapper.input(operator, 0)),
        builder.int32(given.radius),
        *map(builder.float32, (given.bias, given.alpha, given.beta)),
    ]
    mapper.emit(pb.OPERATION_TYPE_LOCAL_RESPONSE_NORMALIZATION, inputs, operator)
