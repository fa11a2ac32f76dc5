# SPDX-License-Identifier: Apache-2.0
"""MediaPipe's custom operators, as far as their meaning is public and NNAPI has words for it. Their
options are the structures of TFLite's C API, byte by byte."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

import numpy as np

from halyard.errors import NotExpressible
from halyard.model import TensorType
from halyard.model.arguments import same_padding
from halyard.proto import halyard_pb2 as pb
from halyard.tflite.reading.file import Operator
from halyard.tflite.reading.mapper import Mapper

# TfLitePadding.
_SAME, _VALID = 1, 2
_MOST_STRIDE = 2**15
# Each place of a window is a slice of the image.
_MOST_PLACES = 64
# Added to an index so that it is the same when it is cut off.
_ABOVE = 0.1


@dataclass(frozen=True)
class _Window:
    padding: int
    stride_w: int
    stride_h: int
    filter_w: int = 1
    filter_h: int = 1


def transposed_convolution(mapper: Mapper, operator: Operator) -> None:
    """Convolution2DTransposeBias, of floats."""
    given = _window(operator, 3)
    data, filters, added = (mapper.input(operator, place) for place in range(3))
    shapes = mapper.shape(data), mapper.shape(filters), mapper.shape(added)
    (image, weights, bias), output = shapes, mapper.shape(mapper.output(operator))
    _refuse_others(mapper, operator, (data, filters, added))
    if (len(image), len(weights)) != (4, 4) or bias != weights[:1] or image[3] != weights[3]:
        raise NotExpressible(f"it is of {', '.join(str(list(each)) for each in shapes)}")
    whole = (
        given.stride_h * (image[1] - 1) + weights[1],
        given.stride_w * (image[2] - 1) + weights[2],
    )
    if len(output) != 4 or (output[0], output[3]) != (image[0], weights[0]):
        raise NotExpressible(f"its output is {list(output)}")
    # MediaPipe's own kernel and LiteRT's have other extents of SAME where an input's is odd: both
    # cut off what the file says, half of it before.
    pads = [whole[0] - output[1], whole[1] - output[2]]
    most = (weights[1] - 1, weights[2] - 1) if given.padding == _SAME else (0, 0)
    if not (0 <= pads[0] <= most[0] and 0 <= pads[1] <= most[1]):
        raise NotExpressible(f"its output is {list(output)}, of {whole[0]} by {whole[1]}")
    builder = mapper.builder
    top, left = pads[0] // 2, pads[1] // 2
    inputs = [mapper.operand(each) for each in (data, filters, added)]
    inputs += map(builder.int32, (left, pads[1] - left, top, pads[0] - top))
    inputs += map(builder.int32, (given.stride_w, given.stride_h, 0))
    inputs.append(builder.boolean(False))
    mapper.emit(pb.OPERATION_TYPE_TRANSPOSE_CONV_2D, inputs, operator)


def pooling_with_places(mapper: Mapper, operator: Operator) -> None:
    """MaxPoolingWithArgmax2D: where in its window each largest number is, too, of equals the first,
    as a float."""
    given = _window(operator, 5)
    source = mapper.input(operator, 0)
    _refuse_others(mapper, operator, (source,))
    values, places = mapper.output(operator, 0), mapper.output(operator, 1)
    shape, result = mapper.shape(source), mapper.shape(values)
    if len(shape) != 4 or len(result) != 4 or mapper.shape(places) != result:
        raise NotExpressible(f"it makes {list(result)} of {list(shape)}")
    builder, name = mapper.builder, mapper.name(operator)
    sides = ((1, given.stride_h, given.filter_h), (2, given.stride_w, given.filter_w))
    pads = [(0, 0)] * 4
    for axis, stride, size in sides:
        if given.padding == _SAME:
            pads[axis] = same_padding(shape[axis], size, stride)
        whole = shape[axis] + sum(pads[axis])
        if (whole - size) // stride + 1 != result[axis]:
            raise NotExpressible(f"it makes {list(result)} of {list(shape)}")
    floats = pb.OPERAND_TYPE_TENSOR_FLOAT32
    lengths = tuple(extent + sum(pair) for extent, pair in zip(shape, pads, strict=True))
    image = mapper.operand(source)
    if lengths != shape:
        amounts = mapper.constant(
            f"{name}/paddings",
            TensorType(pb.OPERAND_TYPE_TENSOR_INT32, (4, 2)),
            np.array(pads, np.int32),
        )
        lowest = builder.float32(float(np.finfo(np.float32).min))
        image = mapper.emit_inner(
            pb.OPERATION_TYPE_PAD_V2,
            [image, amounts, lowest],
            f"{name}/padded",
            TensorType(floats, lengths),
        )
    kind = TensorType(floats, result)
    window = (given.stride_w, given.stride_h, given.filter_w, given.filter_h)
    inputs = [image, builder.int32(_VALID), *map(builder.int32, window), builder.int32(0)]
    mapper.emit_to(pb.OPERATION_TYPE_MAX_POOL_2D, inputs, [values])
    largest = mapper.operands[values]
    at = _whole(mapper, f"{name}/first", kind, _ABOVE)
    for place in reversed(range(given.filter_h * given.filter_w)):
        row, column = divmod(place, given.filter_w)
        begin = [0, row, column, 0]
        end = [
            result[0],
            row + given.stride_h * (result[1] - 1) + 1,
            column + given.stride_w * (result[2] - 1) + 1,
            result[3],
        ]
        bounds = (begin, end, [1, given.stride_h, given.stride_w, 1])
        vectors = [mapper.vector(f"{name}/bounds", each) for each in bounds]
        none = [builder.int32(0)] * 3
        taken = mapper.emit_inner(
            pb.OPERATION_TYPE_STRIDED_SLICE, [image, *vectors, *none], f"{name}/{place}", kind
        )
        truth = replace(kind, type=pb.OPERAND_TYPE_TENSOR_BOOL8)
        here = mapper.emit_inner(
            pb.OPERATION_TYPE_EQUAL, [taken, largest], f"{name}/is_{place}", truth
        )
        number = _whole(mapper, f"{name}/number_{place}", kind, place + _ABOVE)
        inputs = [here, number, at]
        if place:
            at = mapper.emit_inner(pb.OPERATION_TYPE_SELECT, inputs, f"{name}/at_{place}", kind)
        else:
            mapper.emit_to(pb.OPERATION_TYPE_SELECT, inputs, [places])


def unpooling(mapper: Mapper, operator: Operator) -> None:
    """MaxUnpooling2D, whose windows lie side by side: each number goes to its place in its window,
    and the others are zeros."""
    given = _window(operator, 5)
    values, places = mapper.input(operator, 0), mapper.input(operator, 1)
    _refuse_others(mapper, operator, (values, places))
    shape, output = mapper.shape(values), mapper.shape(mapper.output(operator))
    block = given.filter_w
    if {given.filter_h, given.stride_h, given.stride_w} != {block}:
        raise NotExpressible("its windows are not squares that lie side by side")
    if len(shape) != 4 or output != (shape[0], shape[1] * block, shape[2] * block, shape[3]):
        raise NotExpressible(f"it makes {list(output)} of {list(shape)}")
    builder, name = mapper.builder, mapper.name(operator)
    kind = TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, shape)
    truth = replace(kind, type=pb.OPERAND_TYPE_TENSOR_BOOL8)
    numbers = mapper.emit_inner(
        pb.OPERATION_TYPE_FLOOR, [mapper.operand(places)], f"{name}/numbers", kind
    )
    zeros = _whole(mapper, f"{name}/zeros", kind, 0.0)
    parts = []
    for place in range(block * block):
        number = builder.numbers(f"{name}/number_{place}", np.array([place], np.float32))
        here = mapper.emit_inner(
            pb.OPERATION_TYPE_EQUAL, [numbers, number], f"{name}/is_{place}", truth
        )
        inputs = [here, mapper.operand(values), zeros]
        part = mapper.emit_inner(pb.OPERATION_TYPE_SELECT, inputs, f"{name}/part_{place}", kind)
        parts.append(part)
    deep = replace(kind, dimensions=(*shape[:3], shape[3] * block * block))
    joined = mapper.emit_inner(
        pb.OPERATION_TYPE_CONCATENATION, [*parts, builder.int32(3)], f"{name}/joined", deep
    )
    mapper.emit(pb.OPERATION_TYPE_DEPTH_TO_SPACE, [joined, builder.int32(block)], operator)


def _whole(mapper: Mapper, name: str, kind: TensorType, value: float) -> int:
    """SELECT has one shape."""
    return mapper.constant(name, kind, np.full(kind.dimensions, value, np.float32))


def _window(operator: Operator, count: int) -> _Window:
    """Of the first so many numbers of the options; a pool has an activation behind them."""
    data = operator.custom_options
    if len(data) < 4 * count:
        raise NotExpressible(f"its options have {len(data)} bytes, and {4 * count} are wanted")
    found = _Window(*struct.unpack_from(f"<{count}i", data))
    steps = (found.stride_w, found.stride_h, found.filter_w, found.filter_h)
    if not all(0 < each < _MOST_STRIDE for each in steps):
        raise NotExpressible(f"its strides and window are {steps}")
    if found.filter_w * found.filter_h > _MOST_PLACES:
        raise NotExpressible(f"its window has {found.filter_w * found.filter_h} places")
    if found.padding not in (_SAME, _VALID):
        raise NotExpressible(f"its padding is {found.padding}, which is no scheme")
    # The activation is behind a pool's window, and behind a convolution's strides.
    if len(data) >= 4 * count + 4:
        (activation,) = struct.unpack_from("<i", data, 4 * count)
        if activation:
            raise NotExpressible(f"its fused activation is {activation}")
    return found


def _refuse_others(mapper: Mapper, operator: Operator, inputs: tuple[int, ...]) -> None:
    for index in (*inputs, *operator.outputs):
        if mapper.type_of(index).type != pb.OPERAND_TYPE_TENSOR_FLOAT32:
            tensor = mapper.tensor(index)
            raise NotExpressible(f"{tensor.shown!r} is {tensor.type_name}, and it is of floats")
