# SPDX-License-Identifier: Apache-2.0
"""Products of whole numbers whose scales are found while the model runs, as ONNX Runtime's dynamic
quantiser writes them: DynamicQuantizeLinear, MatMulInteger or ConvInteger, Cast, and Mul by both
scales.

NNAPI has no such products. What they come to is a product of real numbers: the input, rounded to
256 steps of a scale that its extremes say, and weights that are dequantised. The graph is written
so before it is mapped, in operators of ONNX: the rounded input is the DequantizeLinear of what
DynamicQuantizeLinear gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper

from halyard.errors import NotExpressible
from halyard.onnx.reading.arithmetic import Arithmetic
from halyard.onnx.reading.elementwise import operands
from halyard.onnx.reading.fused_gemm import with_plain_gemms
from halyard.onnx.reading.mapper import Mapper
from halyard.onnx.reading.network import Node
from halyard.onnx.reading.spreading import filled
from halyard.proto import halyard_pb2 as pb

_PRODUCTS = {"MatMulInteger": "MatMul", "ConvInteger": "Conv"}
# Since when DequantizeLinear has a scale for each channel.
_PER_CHANNEL = 13

_STEPS = 255.0
# A float32 that it is added to loses its fraction, rounded half to even.
_ROUNDING = 12582912.0  # 1.5 * 2^23


@dataclass(frozen=True)
class _Product:
    """`result`: the operator whose output is the real product; `between`: those on the way.
    `summand`: a bias in whole numbers, which is added before the product is scaled by `scales`."""

    node: NodeProto
    result: NodeProto
    between: Sequence[NodeProto]
    source: NodeProto  # DynamicQuantizeLinear
    scale: str  # of the weights
    per_channel: bool
    summand: str = ""
    scales: str = ""


@dataclass
class _Rewriting:
    model: ModelProto
    producers: dict[str, NodeProto] = field(default_factory=dict)
    uses: dict[str, list[NodeProto]] = field(default_factory=dict)
    constants: dict[str, Sequence[int]] = field(default_factory=dict)  # their extents

    def __post_init__(self) -> None:
        graph = self.model.graph
        for node in graph.node:
            self.producers.update(dict.fromkeys(node.output, node))
            for name in node.input:
                self.uses.setdefault(name, []).append(node)
        self.constants = {each.name: tuple(each.dims) for each in graph.initializer}
        self.outputs = {each.name for each in graph.output}
        self.opset = max(
            (each.version for each in self.model.opset_import if each.domain in ("", "ai.onnx")),
            default=0,
        )

    def sole_use(self, name: str, operator: str) -> NodeProto | None:
        uses = self.uses.get(name, [])
        if len(uses) != 1 or name in self.outputs or uses[0].op_type != operator:
            return None
        return uses[0]

    def product(self, node: NodeProto) -> _Product | None:
        """None where an operator is not used as the quantiser writes it."""
        if node.op_type not in _PRODUCTS or node.domain or len(node.input) < 3:
            return None
        source = self.producers.get(node.input[0])
        if source is None or source.op_type != "DynamicQuantizeLinear":
            return None
        if node.input[0] != source.output[0] or node.input[2] != source.output[2]:
            return None
        added = self.sole_use(node.output[0], "Add")
        cast = self.sole_use(node.output[0] if added is None else added.output[0], "Cast")
        if cast is None or helper.get_node_attr_value(cast, "to") != TensorProto.FLOAT:
            return None
        between, scaled = [cast], self.sole_use(cast.output[0], "Mul")
        summand = ""
        if added is not None:
            between, summand = [added, cast], _other(added, node.output[0])
        if scaled is None:
            return None
        # By the product of both scales, or by one after the other.
        other = _other(scaled, cast.output[0])
        maker = self.producers.get(other)
        if maker is not None and maker.op_type == "Mul" and source.output[1] in maker.input:
            weight = _other(maker, source.output[1])
        elif added is not None:
            return None
        else:
            last = self.sole_use(scaled.output[0], "Mul")
            factors = {other, _other(last, scaled.output[0])} if last is not None else set()
            if last is None or len(factors) != 2 or source.output[1] not in factors:
                return None
            [weight] = factors - {source.output[1]}
            between, scaled = [cast, scaled], last
        per_channel = self._per_channel(node, weight)
        if per_channel is None:
            return None
        scales = other if summand else ""
        return _Product(node, scaled, between, source, weight, per_channel, summand, scales)

    def _per_channel(self, node: NodeProto, scale: str) -> bool | None:
        """Whether the weights have a scale for each output; None where DequantizeLinear has no word
        for what they have."""
        weights, extents = self.constants.get(node.input[1]), self.constants.get(scale)
        zero_point = _zero_point(node)
        if weights is None or extents is None:
            return None
        if zero_point and self.constants.get(zero_point) != extents:
            return None
        if extents in ((), (1,)):
            return False
        matrix = node.op_type == "MatMulInteger" and len(weights) == 2
        return True if matrix and extents == weights[1:] and self.opset >= _PER_CHANNEL else None


def _other(node: NodeProto, name: str) -> str:
    return next((each for each in node.input if each != name), "")


def _zero_point(node: NodeProto) -> str:
    return node.input[3] if len(node.input) > 3 else ""


def with_real_numbers(model: ModelProto) -> tuple[ModelProto, list[str]]:
    """The model with products of real numbers in their places, and what is to be said of it."""
    notes: list[str] = []
    for written in (_with_real_products, with_plain_gemms):
        model, more = written(model)
        notes += more
    return model, notes


def _with_real_products(model: ModelProto) -> tuple[ModelProto, list[str]]:
    rewriting = _Rewriting(model)
    found = [each for node in model.graph.node if (each := rewriting.product(node)) is not None]
    if not found:
        return model, []
    results = {id(each.result): each for each in found}
    gone = {id(node) for each in found for node in (each.node, *each.between)}
    rounded: dict[str, str] = {}
    nodes: list[NodeProto] = []
    for node in model.graph.node:
        product = results.get(id(node))
        if product is not None:
            nodes += _real(product, rounded)
        elif id(node) not in gone:
            nodes.append(node)
    written = ModelProto()
    written.CopyFrom(model)
    written.graph.ClearField("node")
    written.graph.node.extend(nodes)
    return written, [_note(each.node) for each in found]


def _real(product: _Product, rounded: dict[str, str]) -> list[NodeProto]:
    """`rounded`: the inputs that are written already, by their whole numbers."""
    made = []
    source, node, name = product.source, product.node, product.result.output[0]
    data = rounded.get(source.output[0])
    if data is None:
        data = rounded[source.output[0]] = f"{source.output[0]}/rounded"
        made.append(helper.make_node("DequantizeLinear", source.output, [data], name=data))
    weights, zero_point = f"{name}/weights", _zero_point(node)
    inputs = [node.input[1], product.scale, *([zero_point] if zero_point else [])]
    made.append(helper.make_node("DequantizeLinear", inputs, [weights], name=weights))
    if product.per_channel:
        made[-1].attribute.append(helper.make_attribute("axis", 1))
    output = f"{name}/product" if product.summand else name
    real = helper.make_node(_PRODUCTS[node.op_type], [data, weights], [output], name=node.name)
    real.attribute.extend(node.attribute)
    made.append(real)
    if product.summand:
        words = [f"{name}/{word}" for word in ("summand", "bias")]
        summand = helper.make_node("Cast", [product.summand], words[:1], name=words[0])
        summand.attribute.append(helper.make_attribute("to", TensorProto.FLOAT))
        made += [
            summand,
            helper.make_node("Mul", [words[0], product.scales], words[1:], name=words[1]),
            helper.make_node("Add", [output, words[1]], [name], name=name),
        ]
    return made


def _note(node: NodeProto) -> str:
    return (
        f"{node.op_type} {node.name!r}: computed with FLOAT32, its weights dequantised and its "
        "input rounded to 8 bits as the file says; sums are rounded as FLOAT32 are, those of the "
        "file are exact"
    )


def rounding(mapper: Mapper, node: Node) -> None:
    """DynamicQuantizeLinear with the DequantizeLinear of what it gives. NNAPI has no tensors whose
    scale is computed: the whole numbers are there as real ones, and never as bytes."""
    steps_name, scale_name, zero_point = node.outputs
    bytes_of = [steps_name, zero_point]
    uses = {use.number: use for name in bytes_of for use in mapper.network.uses.get(name, [])}
    readers = [f"output {name!r}" for name in bytes_of if name in mapper.network.outputs]
    readers += [
        use.label
        for use in uses.values()
        if use.operator != "DequantizeLinear" or list(use.inputs) != list(node.outputs)
    ]
    if readers:
        raise NotExpressible(
            "its scale is computed, and NNAPI's 8-bit tensors have constant ones; no product of "
            f"the quantiser's form reads it, but {readers[0]}"
        )
    mapper.require_real(node.input(0))
    arithmetic = Arithmetic(mapper)
    [source], layout = operands(mapper, [node.input(0)])
    none = mapper.builder.int32(0)
    extents = mapper.builder.operand(source).dimensions
    axes, ones = mapper.builder.vector("", range(len(extents))), [1] * len(extents)
    keep = mapper.builder.boolean(True)

    def binary(operation: int, a: int, b: int) -> int:
        dims = np.broadcast_shapes(*(tuple(mapper.like(each).dimensions) for each in (a, b)))
        return mapper.step(operation, [a, b, none], dims)

    def extreme(reduction: int, bound: int) -> int:
        found = mapper.step(reduction, [source, axes, keep], ones)
        return mapper.step(bound, [found, mapper.number(0.0, found)])

    def whole(value: int) -> int:
        up = arithmetic.add(value, _ROUNDING)
        return binary(pb.OPERATION_TYPE_SUB, up, mapper.number(_ROUNDING, up))

    low = extreme(pb.OPERATION_TYPE_REDUCE_MIN, pb.OPERATION_TYPE_MINIMUM)
    high = extreme(pb.OPERATION_TYPE_REDUCE_MAX, pb.OPERATION_TYPE_MAXIMUM)
    span = binary(pb.OPERATION_TYPE_SUB, high, low)
    step = binary(pb.OPERATION_TYPE_DIV, span, mapper.number(_STEPS, span))
    # An empty tensor, like one of zeros, has the scale one.
    flat = mapper.step(
        pb.OPERATION_TYPE_EQUAL,
        [span, mapper.number(0.0, span)],
        kind=pb.OPERAND_TYPE_TENSOR_BOOL8,
    )
    kind = mapper.like(span)
    choices = [flat, filled(mapper, kind, 1), step]
    scale = mapper.emit(pb.OPERATION_TYPE_SELECT, choices, f"{scale_name}/scale", kind)
    if mapper.network.is_read(scale_name):
        mapper.define_as(scale_name, scale)
    first = whole(binary(pb.OPERATION_TYPE_DIV, low, scale))
    last = arithmetic.add(first, _STEPS)
    steps = whole(binary(pb.OPERATION_TYPE_DIV, source, scale))
    steps = mapper.step(pb.OPERATION_TYPE_MAXIMUM, [steps, first])
    steps = mapper.step(pb.OPERATION_TYPE_MINIMUM, [steps, last])
    names = [use.outputs[0] for use in uses.values()]
    if not names:
        return
    arithmetic.finish_mul(names[0], steps, scale, layout)
    for name in names[1:]:
        mapper.alias(name, names[0])
    mapper.absorbed.update(dict.fromkeys(uses, node.number))
