# SPDX-License-Identifier: Apache-2.0
"""Quantisation parameters of a graph's tensors by QuantizeLinear and DequantizeLinear: which of its
real values are bytes, and their scales and zero points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from onnx import TensorProto

from halyard.errors import NotExpressible
from halyard.model import Array
from halyard.onnx.reading.network import Network, Node
from halyard.proto import halyard_pb2 as pb

_TYPES: dict[int, pb.OperandType] = {
    TensorProto.UINT8: pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM,
    TensorProto.INT8: pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM_SIGNED,
}


# Operators that compute nothing, and how many tensors are looked at from one to the next.
_MOVING = frozenset(
    {
        "DepthToSpace",
        "Expand",
        "Flatten",
        "Gather",
        "GatherND",
        "Identity",
        "Reshape",
        "Slice",
        "SpaceToDepth",
        "Split",
        "Squeeze",
        "Tile",
        "Transpose",
        "Unsqueeze",
    }
)
_MAX_MOVED = 64


@dataclass(frozen=True)
class Quantization:
    """Of a whole tensor."""

    type: int  # a pb.OperandType
    scale: float
    zero_point: int

    @property
    def is_signed(self) -> bool:
        return self.type == pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM_SIGNED

    @property
    def lowest(self) -> int:
        return -128 if self.is_signed else 0


@dataclass(frozen=True)
class Weights:
    """A constant that a file holds as whole numbers. Scales and zero points are one, or one for
    each extent of the axis."""

    values: Array
    scales: Array
    zero_points: Array
    axis: int

    @property
    def is_symmetric(self) -> bool:
        return not self.zero_points.any()


def quantization_of(network: Network, name: str) -> Quantization:
    """Of a tensor of bytes: as it was quantised, or else as it is read, before and behind what
    moves its bytes too. NotExpressible where neither says, or both do and differ."""
    found: list[Quantization] = []
    waiting, seen = [name], {name}
    while waiting and len(seen) <= _MAX_MOVED:
        each = waiting.pop()
        near = [*_sources(network, each), *_results(network, each)]
        waiting += [other for other in near if other not in seen]
        seen.update(near)
        found += _said(network, each)
    if not found:
        raise NotExpressible(f"{name!r} are bytes that no operator says the scale of")
    if any(each != found[0] for each in found):
        raise NotExpressible(f"{name!r} is read in another scale than it was written in")
    return found[0]


def _said(network: Network, name: str) -> list[Quantization]:
    """By the operators that write and read the tensor."""
    producer = _understood(network, network.producers.get(name), "QuantizeLinear")
    found = [] if producer is None else [_described(network, producer)]
    for each in network.uses.get(name, []):
        use = _understood(network, each, "DequantizeLinear")
        if use is not None and use.input(0) == name:
            found.append(_described(network, use))
    return found


def _sources(network: Network, name: str) -> list[str]:
    """The tensor whose bytes were moved to this one."""
    producer = network.producers.get(name)
    return [producer.input(0)] if producer is not None and _moves(network, producer) else []


def _results(network: Network, name: str) -> list[str]:
    return [
        output
        for use in network.uses.get(name, [])
        if _moves(network, use) and use.input(0) == name
        for output in use.outputs
        if output
    ]


def _moves(network: Network, node: Node) -> bool:
    """Whether the bytes of its first input are those of its outputs."""
    return node.operator in _MOVING and node.number not in network.refused


def _understood(network: Network, node: Node | None, operator: str) -> Node | None:
    """The node if it is such an operator, and one that is understood."""
    if node is None or node.operator != operator or node.number in network.refused:
        return None
    return node


def source_of(network: Network, name: str) -> str | None:
    """The 8-bit tensor that a real one is made of, where it is one that NNAPI has a type for."""
    producer = _understood(network, network.producers.get(name), "DequantizeLinear")
    if producer is None:
        return None
    source = producer.input(0)
    try:
        quantization_of(network, source)
    except NotExpressible:
        return None
    return source


def weights_of(network: Network, name: str) -> Weights | None:
    """The whole numbers that a constant was dequantised from."""
    node = _understood(network, network.producers.get(name), "DequantizeLinear")
    if node is None or name not in network.constants:
        return None
    values = network.constants[node.input(0)]
    scales, zero_points = _parameters(network, node)
    if scales.ndim > 1:
        return None
    axis = node.integer("axis", 1) % max(values.ndim, 1)
    if scales.size > 1 and scales.size != values.shape[axis]:
        return None
    return Weights(values, scales.reshape(-1), zero_points.reshape(-1), axis)


def _parameters(network: Network, node: Node) -> tuple[Array, Array]:
    """Scales and zero points of either operator."""
    scale = network.constants.get(node.input(1))
    if scale is None:
        raise NotExpressible("its scale is computed")
    if not node.input(2):
        return scale, np.zeros(scale.shape, np.int64)
    zero_point = network.constants.get(node.input(2))
    if zero_point is None:
        raise NotExpressible("its zero point is computed")
    return scale, zero_point.astype(np.int64)


def _described(network: Network, node: Node) -> Quantization:
    scale, zero_point = _parameters(network, node)
    if scale.size != 1:
        raise NotExpressible("it has a scale for each channel, which NNAPI has for weights alone")
    quantised = node.outputs[0] if node.operator == "QuantizeLinear" else node.input(0)
    element = network.type(quantised).element
    if element not in _TYPES:
        name = TensorProto.DataType.Name(element)
        raise NotExpressible(f"it is quantised to {name}, and NNAPI has UINT8 and INT8")
    value = float(scale.reshape(-1)[0])
    if not np.isfinite(value) or value <= 0:
        raise NotExpressible(f"its scale is {value}")
    return Quantization(_TYPES[element], value, int(zero_point.reshape(-1)[0]))
