# SPDX-License-Identifier: Apache-2.0
"""A graph of ONNX whose types are known and whose constants are computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np
from onnx import (
    ModelProto,
    NodeProto,
    TensorProto,
    TypeProto,
    helper,
    numpy_helper,
)

from halyard.errors import HalyardError, NotExpressible
from halyard.model import Array
from halyard.model.budget import Budget
from halyard.model.shapes import UNSAID, Shapes
from halyard.onnx.reading.branches import Branch, branch_of
from halyard.onnx.reading.declared import close_inputs
from halyard.onnx.reading.folding import FOLDABLE, evaluated
from halyard.onnx.reading.naming import names_of, read_by
from halyard.onnx.reading.runtime_types import told_by_runtime
from halyard.onnx.reading.shape_inference import inferred, merged, without_shape

# Of a value: a file of a few bytes may ask for anything.
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
    # In the file, where it does not stand in the main graph.
    place: str = ""

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
        return f"{self.place or self.number} {self.operator} {self.proto.name!r}"

    @cached_property
    def reads(self) -> Sequence[str]:
        """The values it computes from: its inputs, and those that graphs of its own read around
        them."""
        return [name for name in read_by(self.proto) if name]

    @property
    def has_graphs(self) -> bool:
        return any(each.HasField("g") or each.graphs for each in self.proto.attribute)

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
    # Values whose types follow from what the inputs are, and not from what the file declares.
    certain: set[str] = field(default_factory=set)
    producers: dict[str, Node] = field(default_factory=dict)
    uses: dict[str, list[Node]] = field(default_factory=dict)
    # For what is computed when the file is read.
    budget: Budget = field(init=False)
    # Why nodes are not understood, by their numbers: no other looks into them.
    refused: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.budget = Budget(self.model.ByteSize())

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
        """One that is named twice is one, as ONNX Runtime has it."""
        return list(dict.fromkeys(each.name for each in self.model.graph.output))

    def type(self, name: str) -> ValueType:
        """NotExpressible for a value whose shape is not known, or that is no tensor."""
        found = self.types.get(name)
        if found is not None:
            return found
        kind = self.protos[name].WhichOneof("value") if name in self.protos else None
        if kind not in (None, "tensor_type"):
            raise NotExpressible(f"{name!r} is a {kind.removesuffix('_type')}, and no tensor")
        raise NotExpressible(f"{name!r} {_NO_SHAPE}")

    def element(self, name: str) -> int:
        """Of TensorProto.DataType; 0 where it is not known, or there is no tensor."""
        return int(self.protos[name].tensor_type.elem_type) if name in self.protos else 0

    def is_read(self, name: str) -> bool:
        """By an operator or by the user."""
        return name in self.outputs or bool(self.uses.get(name))

    def sole_use(self, name: str) -> Node | None:
        """The only operator that reads the value, once, if nothing else reads it, and if it is
        understood."""
        uses = self.uses.get(name, [])
        if len(uses) != 1 or name in self.outputs or list(uses[0].inputs).count(name) != 1:
            return None
        return None if uses[0].number in self.refused else uses[0]


class _Contradiction(HalyardError):
    def __init__(self, node: Node, reason: str) -> None:
        super().__init__(f"operator {node.label} contradicts itself: {reason}")
        self.node = node
        self.reason = reason


def network_of(model: ModelProto, shapes: Shapes = UNSAID) -> Network:
    """HalyardError for a graph that contradicts itself, or the shapes that are asked for."""
    names = Network(model).inputs
    is_open = any(_is_open(info.type) for info in model.graph.input if info.name in names)
    closing = close_inputs(model, names, shapes)
    try:
        return _of_closed(model)
    except _Contradiction as error:
        if not is_open:
            raise
        given = " and ".join(f"{name!r} {list(closing.shapes[name])}" for name in names)
        raise HalyardError(
            f"its inputs can't be {given}: operator {error.node.label} does not take what comes of "
            f"them: {error.reason}"
        ) from error


def _is_open(proto: TypeProto) -> bool:
    tensor = proto.tensor_type
    return not tensor.HasField("shape") or any(
        not dim.HasField("dim_value") or dim.dim_value < 0 for dim in tensor.shape.dim
    )


def _of_closed(model: ModelProto) -> Network:
    if model.graph.sparse_initializer:
        raise HalyardError("it has sparse tensors, which are not read")
    network = _walked(model, {})
    own = {name for node in model.graph.node for name in node.output}
    unknown = [
        name
        for node in network.nodes
        for name in node.outputs
        if name in own and _is_unknown(network.protos.get(name))
    ]
    if unknown and (told := told_by_runtime(model, unknown)):
        network = _walked(model, told)
    return network


def _is_unknown(proto: TypeProto | None) -> bool:
    """Whether it says nothing of what a value is, or of its rank."""
    if proto is None or proto.WhichOneof("value") is None:
        return True
    tensor = proto.tensor_type
    return proto.HasField("tensor_type") and not (tensor.elem_type and tensor.HasField("shape"))


def _walked(model: ModelProto, told: Mapping[str, TypeProto]) -> Network:
    network = Network(model)
    for tensor in model.graph.initializer:
        _hold(network, tensor.name, _array(tensor))
    for info in model.graph.input:
        if info.name not in network.constants:
            network.protos[info.name] = info.type
            network.certain.add(info.name)
            _note(network, info.name, network.protos[info.name])
    _Walk(network, told).run()
    _drop_the_dead(network)
    return network


def _array(tensor: TensorProto) -> Array:
    try:
        return numpy_helper.to_array(tensor)
    except (ValueError, TypeError, KeyError) as error:
        raise HalyardError(f"tensor {tensor.name!r} is damaged: {error}") from error


def _hold(network: Network, name: str, values: Array) -> None:
    kind = _type_of(values)
    network.constants[name] = values
    network.protos[name] = helper.make_tensor_type_proto(kind.element, kind.shape)
    network.certain.add(name)
    network.types[name] = kind


def _type_of(values: Array) -> ValueType:
    return ValueType(helper.np_dtype_to_tensor_dtype(values.dtype), values.shape)


def _note(network: Network, name: str, proto: TypeProto) -> None:
    """The type, where it is of a tensor whose extents are all known."""
    tensor = proto.tensor_type
    if not proto.HasField("tensor_type") or not tensor.HasField("shape"):
        return
    if all(extent.HasField("dim_value") for extent in tensor.shape.dim):
        shape = tuple(int(extent.dim_value) for extent in tensor.shape.dim)
        network.types[name] = ValueType(tensor.elem_type, shape)


class _Walk:
    """Over the operators in their order, each of which is known when it is come to: what it writes
    has a type, or is computed. The branch that an If takes stands in its place where its condition
    is known."""

    def __init__(self, network: Network, told: Mapping[str, TypeProto]) -> None:
        """`told`: types that count as declared ones do, and more."""
        self._network = network
        model = network.model
        self._opsets = {each.domain or "ai.onnx": each.version for each in model.opset_import}
        self._declared = {info.name: info.type for info in model.graph.value_info}
        self._declared |= {info.name: info.type for info in model.graph.output}
        for name, proto in told.items():
            self._declared[name] = merged(proto, self._declared.get(name)) or proto
        self._names = names_of(model.graph)
        self._node_names = {node.name for node in model.graph.node}
        self._numbers = count(len(model.graph.node))

    def run(self) -> None:
        for number, proto in enumerate(self._network.model.graph.node):
            self._take(self._node(number, proto))

    def _node(self, number: int, proto: NodeProto, place: str = "") -> Node:
        return Node(number, proto, self._opsets.get(proto.domain or "ai.onnx", 0), place)

    def _take(self, node: Node) -> None:
        condition = self._network.constants.get(node.input(0)) if node.operator == "If" else None
        if condition is not None and condition.size == 1:
            taken = bool(condition.reshape(-1)[0])
            branch = branch_of(node.proto, taken, self._names, self._node_names)
            if branch is not None:
                self._take_branch(node, branch)
                return
        self._add(node)

    def _take_branch(self, node: Node, branch: Branch) -> None:
        for tensor in branch.initializers:
            _hold(self._network, tensor.name, _array(tensor))
        for number, proto in enumerate(branch.nodes):
            place = f"{node.place or node.number}.{branch.name}.{number}"
            self._take(self._node(next(self._numbers), proto, place))

    def _add(self, node: Node) -> None:
        network = self._network
        network.nodes.append(node)
        found = self._inferred(node)
        for name in node.outputs:
            if not name:
                continue
            network.producers[name] = node
            proto = merged(found.get(name), self._declared.get(name))
            if proto is not None:
                network.protos[name] = proto
                _note(network, name, proto)
        # A type that rests on a declaration alone may be wrong.
        if all(name in network.certain for name in node.reads):
            network.certain |= {
                name
                for name in node.outputs
                if name in found and merged(found[name], self._declared.get(name)) == found[name]
            }
        _fold(network, node)

    def _inferred(self, node: Node) -> Mapping[str, TypeProto]:
        """None where nothing is known of the operator, or of what it reads."""
        network = self._network
        names = [name for name in node.reads if name in network.protos]
        data = {
            name: numpy_helper.from_array(network.constants[name], name)
            for name in names
            if name in network.constants and network.constants[name].size <= _MAX_SHAPE_ELEMENTS
        }
        types = {name: network.protos[name] for name in names}
        imports = list(network.model.opset_import)
        try:
            return inferred(node.proto, node.opset, imports, types, data)
        except ValueError as error:
            if all(name in network.certain for name in names):
                raise _Contradiction(node, str(error)) from error
        # Shapes that the file merely declares may be wrong.
        types |= {name: without_shape(types[name]) for name in names if name not in network.certain}
        try:
            return inferred(node.proto, node.opset, imports, types, data)
        except ValueError:
            return {}


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
    size = 0
    for name in node.outputs:
        found = network.types.get(name)
        if found is None and node.operator != "NonZero":
            return
        # Strings and the like are of 16 bytes at most as far as this goes.
        size += 16 * math.prod(found.shape) if found else 0
    # Of a chain each value may be as large as the one before.
    if not network.budget.has_bytes(size):
        return
    try:
        results = evaluated(node.proto, node.opset, [network.constants[name] for name in names])
    except NotExpressible:
        return
    written = [each for each in zip(node.outputs, results, strict=False) if each[0]]
    # The reference does not know all versions of all operators.
    for name, values in written:
        if name in network.certain and network.types.get(name) != _type_of(values):
            return
    for name, values in written:
        _hold(network, name, values)


def _drop_the_dead(network: Network) -> None:
    """Leaves the operators that the outputs hang on, and whose results are not known already."""
    wanted = set(network.outputs)
    alive = []
    for node in reversed(network.nodes):
        open_outputs = [name for name in node.outputs if name and name not in network.constants]
        if any(name in wanted for name in open_outputs):
            alive.append(node)
            wanted.update(node.reads)
    network.nodes = alive[::-1]
    for node in network.nodes:
        for name in node.reads:
            network.uses.setdefault(name, []).append(node)
