# SPDX-License-Identifier: Apache-2.0
"""A graph of ONNX whose types are known and whose constants are computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from onnx import (
    ModelProto,
    NodeProto,
    TensorProto,
    TypeProto,
    defs,
    helper,
    numpy_helper,
    shape_inference,
)

from halyard.errors import HalyardError, NotExpressible
from halyard.model import Array
from halyard.model.shapes import UNSAID, Shapes
from halyard.onnx.reading import extents
from halyard.onnx.reading.declared import close_inputs
from halyard.onnx.reading.folding import FOLDABLE, evaluated

# Of a value, and of all constants that are computed: a file of a few bytes may ask for anything.
MAX_VALUE_BYTES = 2**30
# Larger constants say nothing about shapes.
_MAX_SHAPE_ELEMENTS = 4096

_NO_SHAPE = "has no shape that is known before it runs"


@dataclass(frozen=True)
class Node:
    """An operator of the graph. `opset` is the version of its domain."""

    number: int
    proto: NodeProto
    opset: int

    @property
    def operator(self) -> str:
        domain = self.proto.domain
        return (
            self.proto.op_type if domain in ("", "ai.onnx") else f"{domain}::{self.proto.op_type}"
        )

    @property
    def inputs(self) -> Sequence[str]:
        return self.proto.input

    @property
    def outputs(self) -> Sequence[str]:
        return self.proto.output

    def input(self, number: int) -> str:
        """Its name; empty where it is left away."""
        return self.proto.input[number] if number < len(self.proto.input) else ""

    @property
    def label(self) -> str:
        return f"{self.number} {self.operator} {self.proto.name!r}"

    def reads_around(self) -> bool:
        """Whether it has a graph of its own that may read values of the one around it."""
        return _read_by(self.proto) != {*self.proto.input}

    @cached_property
    def attributes(self) -> Mapping[str, Any]:
        return {each.name: helper.get_attribute_value(each) for each in self.proto.attribute}

    def has(self, name: str) -> bool:
        return name in self.attributes

    def integer(self, name: str, default: int) -> int:
        return int(self.attributes.get(name, default))

    def real(self, name: str, default: float) -> float:
        return float(self.attributes.get(name, default))

    def integers(self, name: str, default: Sequence[int] = ()) -> list[int]:
        return [int(value) for value in self.attributes.get(name, default)]

    def reals(self, name: str) -> list[float]:
        return [float(value) for value in self.attributes.get(name, ())]

    def word(self, name: str, default: str) -> str:
        value = self.attributes.get(name, default)
        return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


@dataclass(frozen=True)
class ValueType:
    element: int  # of TensorProto.DataType
    shape: tuple[int, ...]


@dataclass
class Network:
    """`types` are those of values whose shapes are known; `constants` are the values of those that
    no input has a part in."""

    model: ModelProto
    nodes: list[Node] = field(default_factory=list)
    protos: dict[str, TypeProto] = field(default_factory=dict)
    types: dict[str, ValueType] = field(default_factory=dict)
    constants: dict[str, Array] = field(default_factory=dict)
    producers: dict[str, Node] = field(default_factory=dict)
    uses: dict[str, list[Node]] = field(default_factory=dict)
    # Why nodes are not understood, by their numbers: no other looks into them.
    refused: dict[int, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self.model.graph.name)

    @cached_property
    def inputs(self) -> list[str]:
        """Those that a user gives: an initializer is none, though old files list it as one."""
        given = {each.name for each in self.model.graph.initializer}
        return [each.name for each in self.model.graph.input if each.name not in given]

    @cached_property
    def outputs(self) -> list[str]:
        return [each.name for each in self.model.graph.output]

    def type(self, name: str) -> ValueType:
        """NotExpressible for a value whose shape is not known."""
        found = self.types.get(name)
        if found is None:
            raise NotExpressible(f"{name!r} {_NO_SHAPE}")
        return found

    def is_read(self, name: str) -> bool:
        """By an operator or by the user."""
        return name in self.outputs or bool(self.uses.get(name))

    def sole_use(self, name: str) -> Node | None:
        """The only operator that reads the value, once, if nobody else wants it, and if it is
        understood."""
        uses = self.uses.get(name, [])
        if len(uses) != 1 or name in self.outputs or list(uses[0].inputs).count(name) != 1:
            return None
        return None if uses[0].number in self.refused else uses[0]


def network_of(model: ModelProto, shapes: Shapes = UNSAID) -> Network:
    """HalyardError for a graph that contradicts itself, or the shapes that are asked for."""
    network = Network(model)
    graph = model.graph
    close_inputs(model, network.inputs, shapes)
    # What is inferred goes before what the file says.
    for info in (*graph.value_info, *graph.output):
        network.protos[info.name] = info.type
    for tensor in graph.initializer:
        _hold(network, tensor.name, _array(tensor))
    if graph.sparse_initializer:
        raise HalyardError("it has sparse tensors, which are not read")
    for info in graph.input:
        if info.name not in network.constants:
            network.protos[info.name] = info.type
            _note(network, info.name, network.protos[info.name])
    opsets = {each.domain or "ai.onnx": each.version for each in model.opset_import}
    for number, proto in enumerate(graph.node):
        domain = proto.domain or "ai.onnx"
        _add(network, Node(number, proto, opsets.get(domain, 0)))
    _drop_the_dead(network)
    return network


def _array(tensor: TensorProto) -> Array:
    try:
        return numpy_helper.to_array(tensor)
    except (ValueError, TypeError, KeyError) as error:
        raise HalyardError(f"tensor {tensor.name!r} is damaged: {error}") from error


def _hold(network: Network, name: str, values: Array) -> None:
    network.constants[name] = values
    element = helper.np_dtype_to_tensor_dtype(values.dtype)
    network.protos[name] = helper.make_tensor_type_proto(element, values.shape)
    network.types[name] = ValueType(element, values.shape)


def _note(network: Network, name: str, proto: TypeProto) -> None:
    """The type, where it is of a tensor whose extents are all known."""
    tensor = proto.tensor_type
    if not proto.HasField("tensor_type") or not tensor.HasField("shape"):
        return
    if all(extent.HasField("dim_value") for extent in tensor.shape.dim):
        shape = tuple(int(extent.dim_value) for extent in tensor.shape.dim)
        network.types[name] = ValueType(tensor.elem_type, shape)


def _add(network: Network, node: Node) -> None:
    network.nodes.append(node)
    for name in node.outputs:
        if name:
            network.producers[name] = node
    for name, proto in _inferred(network, node).items():
        network.protos[name] = proto
    for name in node.outputs:
        if name in network.protos:
            _note(network, name, network.protos[name])
    _fold(network, node)


def _inferred(network: Network, node: Node) -> Mapping[str, TypeProto]:
    """None where nothing is known of the operator, or of what it reads."""
    names = [name for name in node.inputs if name]
    nested = any(each.HasField("g") or each.graphs for each in node.proto.attribute)
    if nested or any(name not in network.protos for name in names):
        return {}
    try:
        opset = extents.version_to_infer_by(node.proto, node.opset)
        schema = defs.get_schema(node.proto.op_type, opset, node.proto.domain)
    except defs.SchemaError:
        return {}
    data = {
        name: numpy_helper.from_array(network.constants[name], name)
        for name in names
        if name in network.constants and network.constants[name].size <= _MAX_SHAPE_ELEMENTS
    }
    types = {name: network.protos[name] for name in names}
    try:
        found = shape_inference.infer_node_outputs(
            schema, node.proto, types, data, opset_imports=list(network.model.opset_import)
        )
    # Of the checker's or of inference, whose classes have nothing in common.
    except Exception as error:
        raise HalyardError(f"operator {node.label} contradicts itself: {error}") from error
    return extents.corrected(node.proto, types, found)


def _fold(network: Network, node: Node) -> None:
    """Computes what has no input in it. What is not computed stays an operator."""
    names = [name for name in node.inputs if name]
    if node.operator in ("Shape", "Size") and names[0] in network.types:
        shape = network.types[names[0]].shape
        if node.operator == "Shape":
            shape = shape[node.integer("start", 0) : node.integer("end", len(shape))]
            _hold(network, node.outputs[0], np.array(shape, np.int64))
        else:
            _hold(network, node.outputs[0], np.array(math.prod(shape), np.int64))
        return
    if node.operator not in FOLDABLE or any(name not in network.constants for name in names):
        return
    room = MAX_VALUE_BYTES
    for name in node.outputs:
        found = network.types.get(name)
        if found is None and node.operator != "NonZero":
            return
        # Strings and the like are of 16 bytes at most as far as this goes.
        room -= 16 * math.prod(found.shape) if found else 0
    if room < 0:
        return
    try:
        results = evaluated(node.proto, node.opset, [network.constants[name] for name in names])
    except NotExpressible:
        return
    for name, values in zip(node.outputs, results, strict=False):
        if name:
            _hold(network, name, values)


def _drop_the_dead(network: Network) -> None:
    """Leaves the operators that the outputs hang on, and whose results are not known already."""
    wanted = set(network.outputs)
    alive = []
    for node in reversed(network.nodes):
        open_outputs = [name for name in node.outputs if name and name not in network.constants]
        if any(name in wanted for name in open_outputs):
            alive.append(node)
            wanted.update(name for name in _read_by(node.proto) if name)
    network.nodes = alive[::-1]
    for node in network.nodes:
        for name in _read_by(node.proto):
            network.uses.setdefault(name, []).append(node)


def _read_by(proto: NodeProto) -> set[str]:
    """With what its graphs read from around them."""
    names = set(proto.input)
    for attribute in proto.attribute:
        for graph in (attribute.g, *attribute.graphs):
            own = {each.name for each in graph.input} | {each.name for each in graph.initializer}
            own.update(name for node in graph.node for name in node.output)
            read = {name for node in graph.node for name in _read_by(node)}
            names |= (read | {each.name for each in graph.output}) - own
    return names
