# SPDX-License-Identifier: Apache-2.0
"""Operators of an ONNX file as a file of their own, for the host."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from onnx import ModelProto, TensorProto, ValueInfoProto, helper, numpy_helper

from halyard.model import HostPart
from halyard.onnx.graph import packed
from halyard.onnx.reading.network import Network, Node
from halyard.onnx.reading.shape_inference import without_shape

FORMAT = "ONNX"

# From that version on an initializer is no input that might be given.
_LEAST_IR_VERSION = 4

# Elements that arrays between parts can have.
_CROSSING = frozenset(
    {
        TensorProto.BOOL,
        TensorProto.DOUBLE,
        TensorProto.FLOAT,
        TensorProto.FLOAT16,
        TensorProto.INT8,
        TensorProto.INT16,
        TensorProto.INT32,
        TensorProto.INT64,
        TensorProto.UINT8,
        TensorProto.UINT16,
        TensorProto.UINT32,
        TensorProto.UINT64,
    }
)


def crosses(network: Network, name: str) -> bool:
    """Whether the value can be handed from one part to another."""
    return network.element(name) in _CROSSING


def host_part(network: Network, nodes: Sequence[Node], outputs: Sequence[str]) -> HostPart:
    made = {name for node in nodes for name in node.outputs}
    read = dict.fromkeys(name for node in nodes for name in node.reads)
    inputs = [name for name in read if name not in made and name not in network.constants]
    model = _empty(network)
    model.graph.node.extend(node.proto for node in nodes)
    _hold(model, network, (name for name in read if name not in made))
    model.graph.input.extend(_described(network, name) for name in inputs)
    kinds = {node.operator for node in nodes if node.has_graphs}
    if kinds and "Scan" not in kinds:
        # A branch that these shapes never lead into may contradict them. ONNX Runtime does not scan
        # what has none.
        for info in model.graph.input:
            info.type.CopyFrom(without_shape(info.type))
    model.graph.output.extend(_described(network, name) for name in outputs)
    labels = tuple(node.label for node in nodes)
    shapes = {name: network.types[name].shape for name in inputs if name in network.types}
    return HostPart(packed(model), FORMAT, tuple(inputs), tuple(outputs), labels, shapes)


def given_part(network: Network, outputs: Sequence[str]) -> HostPart:
    """Outputs that no operator computes: constants, and inputs."""
    model = _empty(network)
    inputs = [name for name in outputs if name not in network.constants]
    names = {name: f"{name}/given" for name in outputs}
    for name in outputs:
        model.graph.node.append(helper.make_node("Identity", [names[name]], [name]))
        if name in network.constants:
            tensor = _tensor(network, name)
            tensor.name = names[name]
            model.graph.initializer.append(tensor)
        else:
            described = _described(network, name)
            described.name = names[name]
            model.graph.input.append(described)
        model.graph.output.append(_described(network, name))
    return HostPart(packed(model), FORMAT, tuple(inputs), tuple(outputs))


def whole_part(network: Network, outputs: Sequence[str]) -> HostPart:
    """The file as it is, for inputs of the shapes that they have."""
    model = ModelProto()
    model.CopyFrom(network.model)
    inputs = network.inputs
    for info in model.graph.input:
        if info.name in inputs:
            info.type.CopyFrom(network.protos[info.name])
    labels = tuple(node.label for node in network.nodes)
    return HostPart(packed(model), FORMAT, tuple(inputs), tuple(outputs), labels)


def _empty(network: Network) -> ModelProto:
    model = ModelProto(
        ir_version=max(network.model.ir_version, _LEAST_IR_VERSION),
        opset_import=network.model.opset_import,
        producer_name="Halyard",
    )
    model.graph.name = network.name
    return model


def _hold(model: ModelProto, network: Network, names: Iterable[str]) -> None:
    model.graph.initializer.extend(
        _tensor(network, name) for name in names if name in network.constants
    )


def _tensor(network: Network, name: str) -> TensorProto:
    return numpy_helper.from_array(network.constants[name], name)


def _described(network: Network, name: str) -> ValueInfoProto:
    """With its shape only where that is sure: the engine holds values to it."""
    info = ValueInfoProto(name=name)
    proto = network.protos.get(name)
    if proto is not None:
        # A value that NNAPI computes has the shape that it was mapped with.
        producer = network.producers.get(name)
        mapped = producer is not None and producer.number not in network.refused
        sure = name in network.certain or (mapped and name in network.types)
        info.type.CopyFrom(proto if sure else without_shape(proto))
    return info
