# SPDX-License-Identifier: Apache-2.0
"""Activations: those that NNAPI has, and those that are composed of its arithmetic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from halyard.errors import NotExpressible
from halyard.model.arguments import Activation
from halyard.onnx.reading.arithmetic import Arithmetic
from halyard.onnx.reading.clipping import FUSED, limits
from halyard.onnx.reading.elementwise import operands
from halyard.onnx.reading.mapper import PLAIN, Fits, Layout, Mapper
from halyard.onnx.reading.network import Node
from halyard.onnx.reading.pooling import unchanged
from halyard.onnx.reading.quantities import Quantization
from halyard.onnx.reading.spreading import filled
from halyard.proto import halyard_pb2 as pb

_LIMITING = {
    Activation.RELU: pb.OPERATION_TYPE_RELU,
    Activation.RELU1: pb.OPERATION_TYPE_RELU1,
    Activation.RELU6: pb.OPERATION_TYPE_RELU6,
}

# From here on tanh(softplus(x)) is 1; of half precision what is to be divided ends before it.
_MISH_END: Mapping[int, float] = {
    pb.OPERAND_TYPE_TENSOR_FLOAT32: 20.0,
    pb.OPERAND_TYPE_TENSOR_FLOAT16: 5.5,
}

# The standard's defaults of alpha and gamma.
_SELU_ALPHA = 1.67326319217681884765625
_SELU_GAMMA = 1.05070102214813232421875

# So large that a product with it is 1 or more, or -1 or less, for what is no zero.
_HUGE = 3e38
_LARGEST_HALF = 65504.0


def clip(mapper: Mapper, node: Node) -> None:
    """Relu too."""
    data, (low, high) = node.input(0), limits(mapper.network, node)
    plan = mapper.plan(node, [data], quantizes=True, fits=unchanged)
    fuse = FUSED.get((low, high))
    if fuse is None and plan.quantized:
        plan = mapper.plan(node, [data])
    if not plan.quantized:
        mapper.require_real(data)
    inputs, layout = operands(mapper, plan.inputs)
    if fuse is not None:
        mapper.define(plan.output, _LIMITING[fuse], inputs, layout)
    elif math.isinf(low) and math.isinf(high):
        mapper.alias(plan.output, plan.inputs[0])
    else:
        result = inputs[0]
        bounds = [
            (pb.OPERATION_TYPE_MAXIMUM, low),
            (pb.OPERATION_TYPE_MINIMUM, high),
        ]
        bounds = [each for each in bounds if not math.isinf(each[1])]
        for operation, bound in bounds[:-1]:
            result = mapper.step(operation, [result, mapper.number(bound, result)])
        operation, bound = bounds[-1]
        mapper.define(plan.output, operation, [result, mapper.number(bound, result)], layout)
    mapper.absorb(node, plan)


def _is_probability(_: Sequence[Quantization], output: Quantization) -> bool:
    return output.scale == 1 / 256 and output.zero_point == output.lowest


def _is_tanh(_: Sequence[Quantization], output: Quantization) -> bool:
    return output.scale == 1 / 128 and output.zero_point == output.lowest + 128


def sigmoid(mapper: Mapper, node: Node) -> None:
    _named(mapper, node, pb.OPERATION_TYPE_LOGISTIC, _is_probability)


def tanh(mapper: Mapper, node: Node) -> None:
    _named(mapper, node, pb.OPERATION_TYPE_TANH, _is_tanh)


def hard_swish(mapper: Mapper, node: Node) -> None:
    _named(mapper, node, pb.OPERATION_TYPE_HARD_SWISH, None)


def _named(mapper: Mapper, node: Node, operation: int, fits: Fits | None) -> None:
    data = node.input(0)
    plan = mapper.plan(node, [data], quantizes=True, fits=fits)
    if not plan.quantized:
        mapper.require_real(data)
    inputs, layout = operands(mapper, plan.inputs)
    mapper.define(plan.output, operation, inputs, layout)
    mapper.absorb(node, plan)


def softmax(mapper: Mapper, node: Node) -> None:
    """LogSoftmax too. Before version 13 it takes all dimensions from its axis on as one."""
    data = node.input(0)
    logarithm = node.operator == "LogSoftmax"
    shape = mapper.shape(data)
    axis = node.integer("axis", -1 if node.opset >= 13 else 1) % max(len(shape), 1)
    flattens = node.opset < 13 and math.prod(shape[axis + 1 :]) != 1
    plan = mapper.plan(node, [data], quantizes=not logarithm, fits=_is_probability)
    if not plan.quantized:
        mapper.require_real(data)
    layout = PLAIN if flattens else mapper.layout_of(plan.inputs)
    source = mapper.operand(plan.inputs[0], layout)
    if flattens:
        rows = (math.prod(shape[:axis]), math.prod(shape[axis:]))
        source = mapper.reshaped(source, rows, f"{plan.output}/rows")
    place = 1 if flattens else mapper.axis(data, axis, layout)
    operation = pb.OPERATION_TYPE_LOG_SOFTMAX if logarithm else pb.OPERATION_TYPE_SOFTMAX
    inputs = [source, mapper.real(1.0, source), mapper.builder.int32(place)]
    mapper.define(plan.output, operation, inputs, layout, mapper.builder.operand(source).dimensions)
    mapper.absorb(node, plan)


def leaky_relu(mapper: Mapper, node: Node) -> None:
    data = node.input(0)
    mapper.require_real(data)
    [source], layout = operands(mapper, [data])
    slope = mapper.number(node.real("alpha", 0.01), source)
    mapper.define(node.outputs[0], pb.OPERATION_TYPE_PRELU, [source, slope], layout)


def prelu(mapper: Mapper, node: Node) -> None:
    mapper.require_real(*node.inputs)
    inputs, layout = operands(mapper, node.inputs)
    mapper.define(node.outputs[0], pb.OPERATION_TYPE_PRELU, inputs, layout)


def elu(mapper: Mapper, node: Node) -> None:
    mapper.require_real(node.input(0))
    [source], layout = operands(mapper, [node.input(0)])
    alpha = mapper.real(node.real("alpha", 1.0), source)
    mapper.define(node.outputs[0], pb.OPERATION_TYPE_ELU, [source, alpha], layout)


def selu(mapper: Mapper, node: Node) -> None:
    """An ELU and a factor."""
    arithmetic, source, layout = _source(mapper, node)
    alpha = mapper.real(node.real("alpha", _SELU_ALPHA), source)
    curve = mapper.step(pb.OPERATION_TYPE_ELU, [source, alpha])
    arithmetic.finish_mul(node.outputs[0], curve, node.real("gamma", _SELU_GAMMA), layout)


def celu(mapper: Mapper, node: Node) -> None:
    """max(0, x) + min(0, α (exp(x / α) - 1)): an ELU of α where that is not negative."""
    arithmetic, source, layout = _source(mapper, node)
    alpha = node.real("alpha", 1.0)
    if alpha <= 0:
        raise NotExpressible(f"its alpha is {alpha}, and an ELU with a positive one is known")
    curve = mapper.step(
        pb.OPERATION_TYPE_ELU, [arithmetic.mul(source, 1 / alpha), mapper.real(alpha, source)]
    )
    # A positive value is not to be rounded by the division.
    below = mapper.step(pb.OPERATION_TYPE_MINIMUM, [curve, mapper.number(0.0, curve)])
    ramp = arithmetic.unary(pb.OPERATION_TYPE_RELU, source)
    none = mapper.builder.int32(Activation.NONE)
    mapper.define(node.outputs[0], pb.OPERATION_TYPE_ADD, [ramp, below, none], layout)


def softsign(mapper: Mapper, node: Node) -> None:
    arithmetic, source, layout = _source(mapper, node)
    size = arithmetic.add(arithmetic.unary(pb.OPERATION_TYPE_ABS, source), 1.0)
    none = mapper.builder.int32(Activation.NONE)
    mapper.define(node.outputs[0], pb.OPERATION_TYPE_DIV, [source, size, none], layout)


def thresholded_relu(mapper: Mapper, node: Node) -> None:
    """By a choice: a product with 0 would make NaN of infinite numbers."""
    _, source, layout = _source(mapper, node)
    limit = mapper.number(node.real("alpha", 1.0), source)
    above = mapper.step(
        pb.OPERATION_TYPE_GREATER, [source, limit], kind=pb.OPERAND_TYPE_TENSOR_BOOL8
    )
    zeros = filled(mapper, mapper.like(source), 0)
    mapper.define(node.outputs[0], pb.OPERATION_TYPE_SELECT, [above, source, zeros], layout)


def _source(mapper: Mapper, node: Node) -> tuple[Arithmetic, int, Layout]:
    mapper.require_real(node.input(0))
    [source], layout = operands(mapper, [node.input(0)])
    return Arithmetic(mapper), source, layout


def hard_sigmoid(mapper: Mapper, node: Node) -> None:
    """A limit of 0 and 6 on six times as much; HARD_SWISH where its own input is weighed by it."""
    data = node.input(0)
    alpha, beta = node.real("alpha", 0.2), node.real("beta", 0.5)
    following = mapper.network.sole_use(node.outputs[0])
    if (
        following is not None
        and following.operator == "Mul"
        and data in following.inputs
        and np.isclose(alpha, 1 / 6)
        and beta == 0.5
    ):
        mapper.require_real(data)
        inputs, layout = operands(mapper, [data])
        mapper.define(following.outputs[0], pb.OPERATION_TYPE_HARD_SWISH, inputs, layout)
        mapper.absorbed[following.number] = node.number
        return
    arithmetic, source, layout = _source(mapper, node)
    scaled = arithmetic.add(arithmetic.mul(source, 6 * alpha), 6 * beta, Activation.RELU6)
    arithmetic.finish_mul(node.outputs[0], scaled, 1 / 6, layout)


def _sign(mapper: Mapper, arithmetic: Arithmetic, source: int) -> int:
    """Of numbers whose functions are next to nothing where the factor does not make one of them. It
    must not be infinite in FLOAT16, of which zero has no product."""
    half = mapper.builder.operand(source).type == pb.OPERAND_TYPE_TENSOR_FLOAT16
    return arithmetic.mul(source, _LARGEST_HALF if half else _HUGE, Activation.RELU1)


def erf(mapper: Mapper, node: Node) -> None:
    arithmetic, source, layout = _source(mapper, node)
    sign = _sign(mapper, arithmetic, source)
    size = arithmetic.erf_of_size(arithmetic.unary(pb.OPERATION_TYPE_ABS, source))
    arithmetic.finish_mul(node.outputs[0], size, sign, layout)


def gelu(mapper: Mapper, node: Node) -> None:
    arithmetic, source, layout = _source(mapper, node)
    if node.word("approximate", "none") == "tanh":
        cube = arithmetic.mul(arithmetic.mul(source, source), source)
        inner = arithmetic.add(source, arithmetic.mul(cube, 0.044715))
        angle = arithmetic.mul(inner, math.sqrt(2 / math.pi))
        bend = arithmetic.unary(pb.OPERATION_TYPE_TANH, angle)
    else:
        scaled = arithmetic.mul(source, math.sqrt(0.5))
        sign = _sign(mapper, arithmetic, scaled)
        size = arithmetic.erf_of_size(arithmetic.unary(pb.OPERATION_TYPE_ABS, scaled))
        bend = arithmetic.mul(size, sign)
    share = arithmetic.mul(arithmetic.add(bend, 1.0), 0.5)
    arithmetic.finish_mul(node.outputs[0], share, source, layout)


def quick_gelu(mapper: Mapper, node: Node) -> None:
    """ONNX Runtime's: x sigmoid(α x)."""
    arithmetic, source, layout = _source(mapper, node)
    scaled = arithmetic.mul(source, node.real("alpha", 1.702))
    share = arithmetic.unary(pb.OPERATION_TYPE_LOGISTIC, scaled)
    arithmetic.finish_mul(node.outputs[0], share, source, layout)


def softplus(mapper: Mapper, node: Node) -> None:
    """max(x, 0) + log(1 + exp(-|x|)), which does not overflow."""
    arithmetic, source, layout = _source(mapper, node)
    size = arithmetic.unary(pb.OPERATION_TYPE_ABS, source)
    small = arithmetic.unary(pb.OPERATION_TYPE_EXP, arithmetic.mul(size, -1.0))
    tail = arithmetic.unary(pb.OPERATION_TYPE_LOG, arithmetic.add(small, 1.0))
    ramp = arithmetic.unary(pb.OPERATION_TYPE_RELU, source)
    none = mapper.builder.int32(Activation.NONE)
    mapper.define(node.outputs[0], pb.OPERATION_TYPE_ADD, [ramp, tail, none], layout)


def mish(mapper: Mapper, node: Node) -> None:
    """x tanh(softplus(x)), whose factor is n / (n + 2) of n = e^x (e^x + 2)."""
    arithmetic, source, layout = _source(mapper, node)
    end = mapper.number(_MISH_END[mapper.like(source).type], source)
    power = arithmetic.unary(
        pb.OPERATION_TYPE_EXP, mapper.step(pb.OPERATION_TYPE_MINIMUM, [source, end])
    )
    n = arithmetic.mul(power, arithmetic.add(power, 2.0))
    none = mapper.builder.int32(Activation.NONE)
    share = mapper.step(pb.OPERATION_TYPE_DIV, [n, arithmetic.add(n, 2.0), none])
    arithmetic.finish_mul(node.outputs[0], share, source, layout)
