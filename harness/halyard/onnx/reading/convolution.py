# SPDX-License-Identifier: Apache-2.0
"""Conv, with what comes before and after it: scales of a batch normalisation, an activation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halyard.errors import NotExpressible
from halyard.model import Array, TensorType, dtype_of
from halyard.onnx.reading import quantities
from halyard.onnx.reading.filters import (
    Filter,
    bias_operand,
    is_legal_gemm,
    quantized_filter,
)
from halyard.onnx.reading.mapper import NHWC, Mapper, Plan, cast
from halyard.onnx.reading.network import Node
from halyard.onnx.reading.one_dimensional import of_image
from halyard.onnx.reading.windows import Window, pair, window
from halyard.proto import halyard_pb2 as pb

_EPSILON = 1e-5


def convolution(mapper: Mapper, node: Node) -> None:
    node = of_image(mapper, node)
    data, weights = node.input(0), _of_images(mapper.known(node.input(1), "filter"))
    bias = np.zeros(weights.shape[0], weights.dtype)
    if node.input(2):
        bias = mapper.known(node.input(2), "bias")
    moves = window(mapper, node, weights.shape[2:], node.outputs[0])
    _check(node, mapper.shape(data)[1], weights, bias)
    after: list[Node] = []
    following = mapper.network.sole_use(node.outputs[0])
    factors = None
    if following is not None and following.operator == "BatchNormalization":
        factors = _constant_normalization(mapper, following)
    if following is not None and factors is not None:
        scale, shift = factors
        weights = weights * scale.reshape(-1, 1, 1, 1).astype(weights.dtype)
        bias = (bias * scale + shift).astype(weights.dtype)
        after = [following]
    plan = mapper.plan(
        node, [data], after=after, activates=True, quantizes=not after, fits=is_legal_gemm
    )
    form = _form(mapper, node, weights, moves)
    filters = None
    if plan.quantized:
        given = mapper.quantization(plan.inputs[0])
        held = quantities.weights_of(mapper.network, mapper.root(node.input(1)))
        filters = None if held is None else quantized_filter(held, given, 0)
        if filters is None:
            plan = mapper.plan(node, [data], activates=True)
    if not plan.quantized:
        mapper.require_real(data)
    source = mapper.operand(plan.inputs[0], NHWC)
    if filters is None:
        kind = mapper.builder.operand(source).type
        filters = Filter(kind, weights)
    _emit(mapper, node, plan, form, source, filters, bias, moves)
    mapper.absorb(node, plan)


def _of_images(filters: Array) -> Array:
    """Those of signals are of one row."""
    return filters[:, :, None, :] if filters.ndim == 3 else filters


def _check(node: Node, channels: int, weights: Array, bias: Array) -> None:
    """Checks the weights' shape, which onnx's own shape inference does not."""
    wanted = weights.shape[1] * node.integer("group", 1)
    if channels != wanted:
        raise NotExpressible(f"its filter is for {wanted} channels, and its input has {channels}")
    if bias.shape != weights.shape[:1]:
        raise NotExpressible(f"its bias has the shape {bias.shape}")


@dataclass(frozen=True)
class _Form:
    operation: int
    transposition: tuple[int, int, int, int]  # of filters from ONNX's order
    channel_dim: int
    count: int  # a depth multiplier, or groups; 0 where there are none


def _form(mapper: Mapper, node: Node, weights: Array, moves: Window) -> _Form:
    group, channels = node.integer("group", 1), mapper.shape(node.input(0))[1]
    if group == 1:
        return _Form(pb.OPERATION_TYPE_CONV_2D, (0, 2, 3, 1), 0, 0)
    if group == channels and weights.shape[1] == 1:
        multiplier = weights.shape[0] // channels
        return _Form(pb.OPERATION_TYPE_DEPTHWISE_CONV_2D, (1, 2, 3, 0), 3, multiplier)
    if moves.dilations != (1, 1):
        raise NotExpressible("it has groups and is dilated, and GROUPED_CONV_2D is not")
    return _Form(pb.OPERATION_TYPE_GROUPED_CONV_2D, (0, 2, 3, 1), 0, group)


def _emit(
    mapper: Mapper,
    node: Node,
    plan: Plan,
    form: _Form,
    source: int,
    filters: Filter,
    bias: Array,
    moves: Window,
) -> None:
    whole = _of_images(filters.values)
    values = cast(whole.transpose(form.transposition), dtype_of(filters.type))
    tensor = filters.tensor(values.shape, form.channel_dim)
    builder = mapper.builder
    weights = builder.constant(f"{node.input(1)}/filter", tensor, values)
    inputs = [
        source,
        weights,
        bias_operand(mapper, f"{plan.output}/bias", bias, source, filters),
        *(builder.int32(pad) for pad in moves.pads),
        builder.int32(moves.strides[1]),
        builder.int32(moves.strides[0]),
    ]
    if form.count:
        inputs.append(builder.int32(form.count))
    inputs.append(builder.int32(plan.activation))
    if form.operation == pb.OPERATION_TYPE_GROUPED_CONV_2D:
        inputs.append(builder.boolean(False))
    elif moves.dilations != (1, 1):
        inputs.append(builder.boolean(False))
        inputs += [builder.int32(moves.dilations[1]), builder.int32(moves.dilations[0])]
    mapper.define(plan.output, form.operation, inputs, NHWC)


def transposed_convolution(mapper: Mapper, node: Node) -> None:
    node = of_image(mapper, node)
    data, weights = node.input(0), _of_images(mapper.known(node.input(1), "filter"))
    if node.integer("group", 1) != 1 or node.integers("dilations", (1, 1)) != [1, 1]:
        raise NotExpressible("it has groups or is dilated, and TRANSPOSE_CONV_2D is not")
    mapper.require_real(data)
    plan = mapper.plan(node, [data], activates=True)
    strides = pair(node.integers("strides", (1, 1)), "stride")
    begins, ends = _cut_off(mapper, node, strides, weights.shape[2:])
    source, builder = mapper.operand(data, NHWC), mapper.builder
    filters = Filter(builder.operand(source).type, weights.transpose(1, 2, 3, 0))
    values = cast(filters.values, dtype_of(filters.type))
    bias = np.zeros(weights.shape[1], weights.dtype)
    if node.input(2):
        bias = mapper.known(node.input(2), "bias")
    inputs = [
        source,
        builder.constant(f"{node.input(1)}/filter", filters.tensor(values.shape, 0), values),
        bias_operand(mapper, f"{plan.output}/bias", bias, source, filters),
        *(builder.int32(pad) for pad in (begins[1], ends[1], begins[0], ends[0])),
        builder.int32(strides[1]),
        builder.int32(strides[0]),
        builder.int32(plan.activation),
        builder.boolean(False),
    ]
    mapper.define(plan.output, pb.OPERATION_TYPE_TRANSPOSE_CONV_2D, inputs, NHWC)
    mapper.absorb(node, plan)


def _cut_off(
    mapper: Mapper, node: Node, strides: Sequence[int], kernel: Sequence[int]
) -> tuple[tuple[int, int], tuple[int, int]]:
    """The cropping of a transposed convolution's full output, at the top and the left and at the
    bottom and the right: the more at an end, the smaller its output_padding."""
    if node.integers("kernel_shape", kernel) != list(kernel):
        raise NotExpressible(f"its kernel_shape is not that of its filter, {list(kernel)}")
    extents, results = (mapper.image_dims(name)[2:] for name in (node.input(0), node.outputs[0]))
    full = [
        (extent - 1) * stride + span
        for extent, stride, span in zip(extents, strides, kernel, strict=True)
    ]
    cut = [whole - result for whole, result in zip(full, results, strict=True)]
    automatic = node.word("auto_pad", "NOTSET")
    if node.has("output_shape") or automatic in ("SAME_UPPER", "SAME_LOWER"):
        added = node.integers("output_padding", (0, 0))
        pads = [each + more for each, more in zip(cut, added, strict=True)]
        upper = automatic == "SAME_UPPER"
        begins = [each // 2 if upper else each - each // 2 for each in pads]
    elif automatic == "VALID":
        begins = [0, 0]
    else:
        begins = node.integers("pads", (0, 0, 0, 0))[:2]
    ends = [whole - begin for whole, begin in zip(cut, begins, strict=True)]
    if min(*begins, *ends) < 0:
        raise NotExpressible("its output is larger than what TRANSPOSE_CONV_2D computes")
    return (begins[0], begins[1]), (ends[0], ends[1])


# ---- batch normalisation ------------------------------------------------------------------------


def normalization(mapper: Mapper, node: Node) -> tuple[Array, Array]:
    """A batch normalisation as a factor and a summand for each channel, in double precision."""
    if any(node.outputs[1:]):
        raise NotExpressible("it gives statistics, as it does in training alone")
    words = ("scale", "bias", "mean", "variance")
    gamma, beta, mean, variance = (
        mapper.known(node.input(1 + place), word).astype(np.float64)
        for place, word in enumerate(words)
    )
    scale = gamma / np.sqrt(variance + node.real("epsilon", _EPSILON))
    return scale, beta - mean * scale


def _constant_normalization(mapper: Mapper, node: Node) -> tuple[Array, Array] | None:
    """None where it can't be a part of a convolution."""
    try:
        return normalization(mapper, node)
    except NotExpressible:
        return None


def batch_normalization(mapper: Mapper, node: Node) -> None:
    """One that no convolution took in."""
    data = node.input(0)
    mapper.require_real(data)
    scale, shift = normalization(mapper, node)
    plan = mapper.plan(node, [data], activates=True)
    layout = mapper.layout_of([data])
    source = mapper.operand(data, layout)
    operand = mapper.builder.operand(source)
    rank, channel = len(operand.dimensions), mapper.axis(data, 1, layout)
    dims = tuple(scale.size if axis == channel else 1 for axis in range(rank))
    factor, summand = (
        mapper.builder.constant(
            f"{plan.output}/{word}",
            TensorType(operand.type, dims),
            values.reshape(dims).astype(dtype_of(operand.type)),
        )
        for word, values in (("scale", scale), ("shift", shift))
    )
    none, fuse = mapper.builder.int32(0), mapper.builder.int32(plan.activation)
    scaled = mapper.step(pb.OPERATION_TYPE_MUL, [source, factor, none])
    mapper.define(plan.output, pb.OPERATION_TYPE_ADD, [scaled, summand, fuse], layout)
    mapper.absorb(node, plan)
