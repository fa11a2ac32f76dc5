# SPDX-License-Identifier: Apache-2.0
"""From an ONNX file to a Conversion: what NNAPI runs, and what ONNX Runtime runs on the host."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from onnx import ModelProto, ValueInfoProto, helper, numpy_helper
from onnx.utils import Extractor

from halyard.errors import HalyardError, NotExpressible
from halyard.model import Conversion, HostPart, NnapiPart, Source, TensorInfo, Unmapped
from halyard.model.read_options import ReadOptions
from halyard.model.shapes import OpenDimensions
from halyard.onnx.graph import packed
from halyard.onnx.reading.dynamic_quantization import with_real_numbers
from halyard.onnx.reading.file import model_of
from halyard.onnx.reading.input_ranges import ranges_of
from halyard.onnx.reading.mapper import Mapper
from halyard.onnx.reading.network import MAX_VALUE_BYTES, Network, Node, network_of
from halyard.onnx.reading.operators import OPERATORS
from halyard.onnx.reading.quantities import quantization_of
from halyard.onnx.reading.signatures import refusals
from halyard.proto import halyard_pb2 as pb

FORMAT = "ONNX"


# Weights may be of any size; what becomes of them is looked at.
@np.errstate(all="ignore")
def converted(content: bytes, path: Path, options: ReadOptions) -> Conversion:
    """HalyardError for what is no ONNX file, or has values of unknown shape at its ends."""
    model, notes = with_real_numbers(model_of(content, path))
    try:
        network = network_of(model, options.shapes)
        network.refused = refusals(network, OPERATORS)
        inputs, outputs = (_ends(network, names) for names in (network.inputs, network.outputs))
    except OpenDimensions as error:
        raise OpenDimensions(f"{path}: {error}", error.options) from error
    except HalyardError as error:
        raise HalyardError(f"{path}: {error}") from error
    if not network.nodes:
        raise HalyardError(f"{path}: no operator of it is left that computes from an input")
    if not network.name:
        network.model.graph.name = path.stem
    mapping = _Mapping(network)
    mapping.run(network.nodes)
    parts: Sequence[NnapiPart | HostPart]
    try:
        if mapping.unmapped:
            parts, whole = _cut(network, mapping)
        else:
            part = mapping.part(network.inputs, network.outputs)
            parts, whole = [part], part.model
    except (NotExpressible, ValueError) as error:
        raise HalyardError(f"{path}: it can't be cut into parts: {error}") from error
    return Conversion(
        Source(path, FORMAT),
        whole,
        parts,
        inputs,
        outputs,
        tuple(mapping.unmapped.values()),
        tuple(notes),
        ranges_of(network),
    )


def _ends(network: Network, names: Sequence[str]) -> tuple[TensorInfo, ...]:
    """In the types of the file."""
    infos = []
    for name in names:
        kind = network.type(name)
        try:
            dtype = np.dtype(helper.tensor_dtype_to_np_dtype(kind.element))
        except KeyError as error:
            raise HalyardError(f"{name!r} is of a type without numbers") from error
        if math.prod(kind.shape) * dtype.itemsize > MAX_VALUE_BYTES:
            raise HalyardError(f"{name!r} takes more than {MAX_VALUE_BYTES} bytes")
        infos.append(TensorInfo(name, dtype, kind.shape, *_steps(network, name)))
    return tuple(infos)


def _steps(network: Network, name: str) -> tuple[float, int]:
    """Scale and zero point, where the graph has them for the value."""
    try:
        found = quantization_of(network, name)
    except NotExpressible:
        return 0.0, 0
    return found.scale, found.zero_point


@dataclass
class _Mapping:
    """A model in the making, from some of the operators."""

    network: Network
    unmapped: dict[int, Unmapped] = field(default_factory=dict)  # by the operator's number

    def __post_init__(self) -> None:
        self.mapper = Mapper(self.network)

    def run(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            if node.number not in self.mapper.absorbed:
                try:
                    self._map(node)
                except NotExpressible as error:
                    self.unmapped[node.number] = Unmapped(node.label, str(error))
                # Attributes that go with no shape: onnx checks some of them, and no others.
                except (ValueError, ArithmeticError, LookupError) as error:
                    reason = f"it contradicts itself ({type(error).__name__}: {error})"
                    self.unmapped[node.number] = Unmapped(node.label, reason)

    def _map(self, node: Node) -> None:
        if node.number in self.network.refused:
            raise NotExpressible(self.network.refused[node.number])
        read = [name for name in node.outputs if self.network.is_read(name)]
        for name in (*node.inputs, *read):
            if name:
                self.network.type(name)
        self.mapper.ranges.require_32_bits(node)
        OPERATORS[node.operator].handler(self.mapper, node)

    def part(self, order: Sequence[str], outputs: Sequence[str]) -> NnapiPart:
        """The finished model, whose inputs are in that order so far as it has them."""
        mapper = self.mapper
        taken: set[int] = set()
        results = [mapper.result(name, taken) for name in outputs]
        model = mapper.builder.build(results)
        names = [name for name in dict.fromkeys(order) if name in mapper.inputs]
        by_name = dict(zip(mapper.inputs, model.main.input_indexes, strict=True))
        model.main.input_indexes[:] = [by_name[name] for name in names]
        return NnapiPart(
            model, tuple(names), tuple(outputs), mapper.tensor_names, mapper.permutations
        )


# ---- parts --------------------------------------------------------------------------------------


def _cut(network: Network, mapping: _Mapping) -> tuple[Sequence[NnapiPart | HostPart], pb.Model]:
    """Stages, each on one side: even ones NNAPI's, odd ones the host's."""
    stages = _stages(network, mapping)
    produced = {
        name: stages[node.number] for node in network.nodes for name in node.outputs if name
    }
    wanted = list(network.outputs)
    parts: list[NnapiPart | HostPart] = []
    # From the last on: a stage gives what later ones have been found to take.
    for stage in sorted(set(stages.values()), reverse=True):
        nodes = [node for node in network.nodes if stages[node.number] == stage]
        outputs = [name for name in dict.fromkeys(wanted) if produced.get(name) == stage]
        part: NnapiPart | HostPart
        if stage % 2:
            part = _host_part(network, nodes, outputs)
        elif outputs:
            part = _nnapi_part(network, nodes, outputs)
        else:
            continue
        wanted += part.inputs
        parts.insert(0, part)
    return parts, _side_by_side(network, parts, stages)


def _stages(network: Network, mapping: _Mapping) -> Mapping[int, int]:
    """Of each operator, by number. Those that one has taken in go with it."""
    leader = {node.number: node.number for node in network.nodes}
    leader |= mapping.mapper.absorbed
    groups: dict[int, list[Node]] = {}
    for node in network.nodes:
        groups.setdefault(leader[node.number], []).append(node)
    stages: dict[int, int] = {}
    # A group takes in what follows its first operator alone, so that this order is one of theirs
    # only where what else they read comes before: else the stage is found when that is known.
    waiting = dict(groups)
    while waiting:
        left = len(waiting)
        for number, nodes in list(waiting.items()):
            before = [
                leader[producer.number]
                for node in nodes
                for name in node.inputs
                if (producer := network.producers.get(name)) is not None
                and producer.number in leader
                and leader[producer.number] != number
            ]
            if all(each in stages for each in before):
                host = number in mapping.unmapped
                stages[number] = max([int(host), *(_after(stages[each], host) for each in before)])
                del waiting[number]
        if len(waiting) == left:
            raise NotExpressible("its operators wait for each other")
    return {number: stages[first] for number, first in leader.items()}


def _after(stage: int, host: bool) -> int:
    return stage if bool(stage % 2) == host else stage + 1


def _nnapi_part(network: Network, nodes: Sequence[Node], outputs: Sequence[str]) -> NnapiPart:
    mapping = _Mapping(network)
    mapping.run(nodes)
    if mapping.unmapped:
        raise NotExpressible("; ".join(each.text() for each in mapping.unmapped.values()))
    for name in outputs:
        # What an output is made of may come in as well.
        mapping.mapper.operand(name)
    return mapping.part([*network.inputs, *mapping.mapper.inputs], outputs)


def _host_part(network: Network, nodes: Sequence[Node], outputs: Sequence[str]) -> HostPart:
    made = {name for node in nodes for name in node.outputs}
    for node in nodes:
        if node.reads_around():
            raise NotExpressible(f"{node.label} has a graph that reads values around it")
    read = dict.fromkeys(name for node in nodes for name in node.inputs if name)
    inputs = [name for name in read if name not in made and name not in network.constants]
    extracted = Extractor(_described(network)).extract_model(inputs, list(outputs))
    return HostPart(
        packed(extracted),
        FORMAT,
        tuple(inputs),
        tuple(outputs),
        tuple(node.label for node in nodes),
    )


def _described(network: Network) -> ModelProto:
    """The model with the types that were found, which cuts go by, and with what was computed."""
    model = ModelProto()
    model.CopyFrom(network.model)
    known = {info.name for info in (*model.graph.input, *model.graph.output)}
    model.graph.ClearField("value_info")
    for info in model.graph.input:
        info.type.CopyFrom(network.protos[info.name])
    model.graph.ClearField("node")
    model.graph.node.extend(node.proto for node in network.nodes)
    known.update(tensor.name for tensor in model.graph.initializer)
    for name, proto in network.protos.items():
        if name in network.constants and name in network.uses and name not in known:
            model.graph.initializer.append(numpy_helper.from_array(network.constants[name], name))
        elif name not in known and name not in network.constants:
            model.graph.value_info.append(ValueInfoProto(name=name, type=proto))
    return model


def _side_by_side(
    network: Network, parts: Sequence[NnapiPart | HostPart], stages: Mapping[int, int]
) -> pb.Model:
    """All that NNAPI runs as one model. What the host computes comes in."""
    own = [part for part in parts if isinstance(part, NnapiPart)]
    if not own:
        return pb.Model(name=network.name)
    mapping = _Mapping(network)
    mapping.run([node for node in network.nodes if stages[node.number] % 2 == 0])
    outputs = [name for part in own for name in part.outputs]
    for name in outputs:
        mapping.mapper.operand(name)
    return mapping.part([*network.inputs, *mapping.mapper.inputs], outputs).model
