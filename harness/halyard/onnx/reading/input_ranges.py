# SPDX-License-Identifier: Apache-2.0
"""Which numbers the inputs of an ONNX graph may be, by what its operators do with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onnx import GraphProto, NodeProto, TensorProto, helper

from halyard.model.input_ranges import FREE, Range, Use, ranges, single
from halyard.onnx.reading.network import Network

# By operator: the inputs whose elements its outputs have.
_CARRIED: Mapping[str, Sequence[int]] = {
    "Cast": (0,),
    "CastLike": (0,),
    "Expand": (0,),
    "Flatten": (0,),
    "Gather": (0,),
    "Identity": (0,),
    "Pad": (0,),
    "Reshape": (0,),
    "Slice": (0,),
    "Split": (0,),
    "Squeeze": (0,),
    "Tile": (0,),
    "Transpose": (0,),
    "Unsqueeze": (0,),
    "Where": (1, 2),
}
_COMPUTING = frozenset(
    {"Abs", "Add", "And", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"}
    | {"MatMul", "Max", "Mean", "Min", "Mod", "Mul", "Neg", "Not", "Or", "ReduceMax", "ReduceMean"}
    | {"ReduceMin", "ReduceSum", "Relu", "Sign", "Sub", "Sum", "Where", "Xor"}
)
_WHOLE = frozenset({TensorProto.INT32, TensorProto.INT64, TensorProto.INT8, TensorProto.UINT8})


def ranges_of(network: Network) -> dict[str, Range]:
    uses: dict[str, list[Use]] = {}
    nested = [graph for each in network.nodes for graph in _graphs_in(each.proto)]
    graph = _Around(
        network, {each.name: tuple(each.dims) for graph in nested for each in graph.initializer}
    )
    for node in _with_nested([each.proto for each in network.nodes]):
        for place, name in enumerate(node.input):
            if name and name not in network.constants:
                uses.setdefault(name, []).append(_use(graph, node, place))
    wanted = [name for name in network.inputs if _is_asked(network, name)]
    found = ranges(wanted, uses)
    # A real number is one unless something indexes with it.
    return {
        name: each
        for name, each in found.items()
        if network.type(name).element in _WHOLE or each not in (FREE, Range(0, 1))
    }


@dataclass(frozen=True)
class _Around:
    """The graph, and the shapes of constants in graphs inside."""

    network: Network
    nested: Mapping[str, Sequence[int]]

    def shape(self, name: str) -> Sequence[int] | None:
        found = self.network.types.get(name)
        return found.shape if found is not None else self.nested.get(name)

    def single(self, name: str) -> int | None:
        return single(self.network.constants.get(name))

    def is_whole(self, name: str) -> bool:
        found = self.network.types.get(name)
        return found is not None and found.element in _WHOLE


def _is_asked(network: Network, name: str) -> bool:
    element = network.type(name).element
    return element in _WHOLE or element == TensorProto.FLOAT


def _graphs_in(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            yield graph
            for each in graph.node:
                yield from _graphs_in(each)


def _with_nested(nodes: Sequence[NodeProto]) -> Iterator[NodeProto]:
    """With those of graphs inside, which read values around them by their names."""
    for node in nodes:
        yield node
        for graph in _graphs_in(node):
            yield from graph.node


def _use(graph: _Around, node: NodeProto, place: int) -> Use:
    kind = node.op_type if node.domain in ("", "ai.onnx") else ""
    asked = _asked(graph, kind, node, place)
    if asked is not None:
        return Use(asks=asked)
    carried = kind == "Concat" or place in _CARRIED.get(kind, ())
    if not carried and kind not in _COMPUTING:
        return Use()
    outputs = tuple(name for name in node.output if name)
    if kind in ("Add", "Sub") and len(node.input) == 2 and not (kind == "Sub" and place == 1):
        other = graph.single(node.input[1 - place])
        if other is not None:
            return Use(carries=outputs, offset=other if kind == "Add" else -other)
    return Use(carries=outputs) if carried else Use(computes=outputs)


def _asked(graph: _Around, kind: str, node: NodeProto, place: int) -> Range | None:
    shape = graph.shape(node.input[0])
    axis = _attribute(node, "axis", 0)
    match kind, place:
        case (("Gather" | "GatherElements" | "ScatterElements" | "Scatter"), 1):
            return _below(shape, axis)
        case (("GatherND" | "ScatterND"), 1) if shape:
            indexes = graph.shape(node.input[1])
            first = _attribute(node, "batch_dims", 0)
            count = indexes[-1] if indexes else 1
            extents = shape[first : first + count]
            return Range(0, min(extents) - 1) if extents else None
        case "OneHot", 0:
            depth = graph.single(node.input[1])
            return Range(0, depth - 1) if depth is not None else None
        case "ReverseSequence", 1:
            return _length(shape, _attribute(node, "time_axis", 0))
        case (("LSTM" | "GRU" | "RNN"), 4):
            return _length(shape, 1 if _attribute(node, "layout", 0) else 0)
        case "TopK", 1:
            return _length(shape, _attribute(node, "axis", -1))
        case (("Div" | "Mod"), 1) if graph.is_whole(node.input[1]):
            return Range(1, FREE.last)
        case "Loop", 0:
            return Range(0, 4)
        case _:
            return None


def _below(shape: Sequence[int] | None, axis: int) -> Range | None:
    if not shape or not -len(shape) <= axis < len(shape):
        return None
    return Range(0, shape[axis] - 1)


def _length(shape: Sequence[int] | None, axis: int) -> Range | None:
    below = _below(shape, axis)
    return Range(1, below.last + 1) if below is not None else None


def _attribute(node: NodeProto, name: str, default: int) -> int:
    value: Any = next(
        (helper.get_attribute_value(each) for each in node.attribute if each.name == name), default
    )
    return int(value)
