# SPDX-License-Identifier: Apache-2.0
"""Operators with weights and a bias: convolutions and fully connected layers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from halyard.errors import NotExpressible
from halyard.model import TensorType
from halyard.model.arguments import Activation
from halyard.proto import halyard_pb2 as pb
from halyard.tflite.reading.file import Operator
from halyard.tflite.reading.mapper import Mapper
from halyard.tflite.reading.operator_options import fused, options, padding

_MOST_STRIDE = 2**15


def refuse_hybrid(mapper: Mapper, data: int, weights: int) -> None:
    if mapper.is_float(data) and mapper.quantised(weights):
        kinds = mapper.tensor(data).type_name, mapper.tensor(weights).type_name
        raise NotExpressible(
            f"a hybrid one, of {kinds[0]} activations and {kinds[1]} weights, which NNAPI has not"
        )


def convolution(mapper: Mapper, operator: Operator) -> None:
    given = options(operator, schema.Conv2DOptionsT)
    data, filters = mapper.input(operator, 0), mapper.input(operator, 1)
    refuse_hybrid(mapper, data, filters)
    channels = _rank_of_four(mapper, data)[3]
    outputs, _, _, depth = _rank_of_four(mapper, filters)
    scheme, activation = padding(given), fused(given)
    dilated = _dilations(mapper, given)
    builder = mapper.builder
    inputs = [
        mapper.operand(data),
        mapper.operand(filters),
        bias(mapper, operator, outputs),
        builder.int32(scheme.value),
        *_strides(mapper, given),
    ]
    if channels == depth:
        mapper.emit(
            pb.OPERATION_TYPE_CONV_2D, [*inputs, builder.int32(activation), *dilated], operator
        )
        return
    if channels % depth or dilated:
        dilation = ", dilated" if dilated else ""
        raise NotExpressible(f"{channels} channels by filters of {depth}{dilation}")
    groups = builder.int32(channels // depth)
    inputs += [groups, builder.int32(activation), builder.boolean(False)]
    mapper.emit(pb.OPERATION_TYPE_GROUPED_CONV_2D, inputs, operator)


def depthwise(mapper: Mapper, operator: Operator) -> None:
    given = options(operator, schema.DepthwiseConv2DOptionsT)
    data, filters = mapper.input(operator, 0), mapper.input(operator, 1)
    refuse_hybrid(mapper, data, filters)
    channels = _rank_of_four(mapper, data)[3]
    outputs = _rank_of_four(mapper, filters)[3]
    if outputs % channels:
        raise NotExpressible(f"{outputs} filters for {channels} channels")
    builder = mapper.builder
    inputs = [
        mapper.operand(data),
        mapper.operand(filters),
        bias(mapper, operator, outputs),
        builder.int32(padding(given).value),
        *_strides(mapper, given),
        # The file's own value is for runtimes of old, and may be anything.
        builder.int32(outputs // channels),
        builder.int32(fused(given)),
        *_dilations(mapper, given),
    ]
    mapper.emit(pb.OPERATION_TYPE_DEPTHWISE_CONV_2D, inputs, operator)


def transposed(mapper: Mapper, operator: Operator) -> None:
    given = options(operator, schema.TransposeConvOptionsT)
    filters, data = mapper.input(operator, 1), mapper.input(operator, 2)
    refuse_hybrid(mapper, data, filters)
    outputs = _rank_of_four(mapper, filters)[0]
    mapper.integers(mapper.input(operator, 0), "output shape")
    builder = mapper.builder
    inputs = [
        mapper.operand(data),
        mapper.operand(filters),
        bias(mapper, operator, outputs, data=2, weights=1, place=3),
        mapper.numbers(mapper.input(operator, 0), "output shape"),
        builder.int32(padding(given).value),
        *_strides(mapper, given),
        builder.int32(fused(given)),
        builder.boolean(False),
    ]
    mapper.emit(pb.OPERATION_TYPE_TRANSPOSE_CONV_2D, inputs, operator)


def fully_connected(mapper: Mapper, operator: Operator) -> None:
    given = options(operator, schema.FullyConnectedOptionsT)
    if given.weightsFormat != schema.FullyConnectedOptionsWeightsFormat.DEFAULT:
        raise NotExpressible("its weights are shuffled, which NNAPI has not")
    data, weights = mapper.input(operator, 0), mapper.input(operator, 1)
    refuse_hybrid(mapper, data, weights)
    if len(mapper.shape(weights)) != 2:
        raise NotExpressible(f"its weights have {len(mapper.shape(weights))} dimensions")
    units, depth = mapper.shape(weights)
    shape = mapper.shape(data)
    if math.prod(shape) % depth:
        raise NotExpressible(f"{list(shape)} by weights of {depth}")
    flat = (math.prod(shape) // depth, units)
    if len(mapper.tensor(weights).scales) > 1:
        _over_one_point(mapper, operator, flat, fused(given))
        return
    source = mapper.operand(data)
    if len(shape) < 2:
        kind = _with_shape(mapper.type_of(data), (flat[0], depth))
        source = _reshaped(mapper, source, f"{mapper.name(operator)}/flat", kind)
    inputs = [
        source,
        mapper.operand(weights),
        bias(mapper, operator, units),
        mapper.builder.int32(fused(given)),
    ]
    output = mapper.output(operator)
    if mapper.shape(output) == flat:
        mapper.emit(pb.OPERATION_TYPE_FULLY_CONNECTED, inputs, operator)
        return
    # NNAPI's result has two dimensions always.
    kind = _with_shape(mapper.type_of(output), flat)
    name = mapper.name(operator)
    result = mapper.emit_inner(pb.OPERATION_TYPE_FULLY_CONNECTED, inputs, f"{name}/flat", kind)
    into = mapper.vector(f"{name}/shape", mapper.type_of(output).dimensions)
    mapper.emit(pb.OPERATION_TYPE_RESHAPE, [result, into], operator)


def _over_one_point(
    mapper: Mapper, operator: Operator, flat: tuple[int, int], activation: Activation
) -> None:
    """Weights with a scale for each unit, which a convolution has, and FULLY_CONNECTED has not."""
    data, weights = operator.inputs[:2]
    values = mapper.values(weights)
    kind = mapper.type_of(weights)
    if values is None or kind.channel_dim != 0:
        raise NotExpressible("its weights have scales per channel, and are no constant of units")
    units, depth = values.shape
    name, builder = mapper.name(operator), mapper.builder
    pixels = replace(mapper.type_of(data), dimensions=(flat[0], 1, 1, depth))
    filters = replace(kind, dimensions=(units, 1, 1, depth))
    one, zero = builder.int32(1), builder.int32(0)
    inputs = [
        _reshaped(mapper, mapper.operand(data), f"{name}/pixels", pixels),
        mapper.constant(mapper.tensor(weights).name, filters, values),
        bias(mapper, operator, units),
        *([zero] * 4),
        one,
        one,
        builder.int32(activation),
    ]
    output = mapper.output(operator)
    if math.prod(mapper.shape(output)) != math.prod(flat):
        raise NotExpressible(f"{list(flat)} is no {list(mapper.shape(output))}")
    kind = replace(mapper.type_of(output), dimensions=(flat[0], 1, 1, units))
    result = mapper.emit_inner(pb.OPERATION_TYPE_CONV_2D, inputs, f"{name}/convolved", kind)
    into = mapper.vector(f"{name}/shape", mapper.type_of(output).dimensions)
    mapper.emit(pb.OPERATION_TYPE_RESHAPE, [result, into], operator)


def bias(
    mapper: Mapper,
    operator: Operator,
    channels: int,
    *,
    data: int = 0,
    weights: int = 1,
    place: int = 2,
) -> int:
    """Zeros where there is none. NNAPI has the scale of a quantised one by definition."""
    name = f"{mapper.name(operator)}/bias"
    source, filters = mapper.input(operator, data), mapper.input(operator, weights)
    if not mapper.quantised(source):
        if mapper.has(operator, place):
            return mapper.operand(operator.inputs[place])
        kind = TensorType(mapper.type_of(source).type, (channels,))
        return mapper.constant(name, kind, np.zeros(channels, np.float32))
    first, second = mapper.type_of(source), mapper.type_of(filters)
    # 0 stands for a scale per channel.
    scale = 0.0 if second.channel_scales else float(np.float32(first.scale * second.scale))
    kind = TensorType(pb.OPERAND_TYPE_TENSOR_INT32, (channels,), scale)
    if not mapper.has(operator, place):
        return mapper.constant(name, kind, np.zeros(channels, np.int32))
    index = operator.inputs[place]
    values = mapper.values(index)
    if values is None or values.size != channels:
        raise NotExpressible("its bias is no constant with a number for each channel")
    if values.dtype != np.int32:
        raise NotExpressible(f"its bias is {mapper.tensor(index).type_name}, and NNAPI has INT32")
    return mapper.constant(mapper.tensor(index).name, kind, values)


def _rank_of_four(mapper: Mapper, index: int) -> tuple[int, int, int, int]:
    shape = mapper.shape(index)
    if len(shape) != 4:
        raise NotExpressible(f"{mapper.tensor(index).shown!r} has {len(shape)} dimensions, not 4")
    return shape[0], shape[1], shape[2], shape[3]


def _strides(mapper: Mapper, given: object) -> list[int]:
    return [_positive(mapper, given, f"stride{side}") for side in "WH"]


def _dilations(mapper: Mapper, given: object) -> list[int]:
    """The end of the operation's inputs: nothing where there is no dilation."""
    factors = [f"dilation{side}Factor" for side in "WH"]
    if all(getattr(given, each) == 1 for each in factors):
        return []
    found = [_positive(mapper, given, each) for each in factors]
    return [mapper.builder.boolean(False), *found]


def _positive(mapper: Mapper, given: object, field: str) -> int:
    value = getattr(given, field)
    if not 0 < value < _MOST_STRIDE:
        raise NotExpressible(f"its {field} is {value}")
    return mapper.builder.int32(value)


def _with_shape(kind: TensorType, shape: tuple[int, ...]) -> TensorType:
    return TensorType(kind.type, shape, kind.scale, kind.zero_point)


def _reshaped(mapper: Mapper, operand: int, name: str, kind: TensorType) -> int:
    shape = mapper.vector(f"{name}/shape", kind.dimensions)
    return mapper.emit_inner(pb.OPERATION_TYPE_RESHAPE, [operand, shape], name, kind)
