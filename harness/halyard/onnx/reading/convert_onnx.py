# SPDX-License-Identifier: Apache-2.0
"""From an ONNX file to a Conversion: what NNAPI runs, and what ONNX Runtime runs on the host."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from onnx import helper

from halyard.errors import HalyardError, NotExpressible
from halyard.model import Conversion, HostPart, NnapiPart, Source, TensorInfo, Unmapped
from halyard.model.preparation import WHOLE, troubles
from halyard.model.read_options import ReadOptions
from halyard.model.shapes import OpenDimensions
from halyard.model.side_by_side import side_by_side
from halyard.model.tensors import OPEN
from halyard.onnx.graph import packed
from halyard.onnx.reading.cutting import FORMAT, given_part, host_part, whole_part
from halyard.onnx.reading.dynamic_quantization import with_real_numbers
from halyard.onnx.reading.file import model_of
from halyard.onnx.reading.input_ranges import ranges_of
from halyard.onnx.reading.mapper import Mapper
from halyard.onnx.reading.network import MAX_VALUE_BYTES, Network, Node, network_of
from halyard.onnx.reading.operators import OPERATORS
from halyard.onnx.reading.quantities import quantization_of
from halyard.onnx.reading.quantized_lstm import with_real_lstms
from halyard.onnx.reading.shape_inference import is_ranked
from halyard.onnx.reading.signatures import refusals
from halyard.onnx.reading.stages import Between, stages_of


# Weights may be of any size; what becomes of them is looked at.
@np.errstate(all="ignore")
def converted(content: bytes, path: Path, options: ReadOptions) -> Conversion:
    """HalyardError for what is no ONNX file, or has values at its ends that are no numbers."""
    model = model_of(content, path)
    try:
        # An LSTM's inputs and states are rounded in the file, and not here: no result tells by how
        # much that is, so that it is compared with what does not round them either.
        model, notes = with_real_lstms(model)
        compared = packed(model) if notes else None
        model, more = with_real_numbers(model)
        notes += more
        network = network_of(model, options.shapes)
        inputs = tuple(_end(network, name) for name in network.inputs)
        outputs = tuple(_end(network, name) for name in network.outputs)
        if not network.name:
            network.model.graph.name = path.stem
        network.refused = refusals(network, OPERATORS)
        reading = _Reading(network)
        parts = reading.parts()
    except OpenDimensions as error:
        raise OpenDimensions(f"{path}: {error}", error.options) from error
    except (HalyardError, ValueError) as error:
        raise HalyardError(f"{path}: {error}") from error
    own = [part for part in parts if isinstance(part, NnapiPart)]
    whole = own[0].model if len(own) == len(parts) == 1 else side_by_side(network.name, own)
    return Conversion(
        Source(path, FORMAT, compared=compared),
        whole,
        parts,
        inputs,
        outputs,
        reading.unmapped,
        tuple(notes),
        ranges_of(network),
    )


def _end(network: Network, name: str) -> TensorInfo:
    """An input or output in the type of the file."""
    element = network.element(name)
    kind = network.protos[name].WhichOneof("value") if name in network.protos else None
    if kind not in (None, "tensor_type"):
        raise HalyardError(f"{name!r} is a {kind.removesuffix('_type')}, and no tensor of numbers")
    try:
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(element))
    except KeyError as error:
        raise HalyardError(f"{name!r} is of a type without numbers") from error
    if dtype == np.object_:
        raise HalyardError(f"{name!r} is of a type without numbers")
    shape = _shape(network, name)
    if math.prod(abs(extent) for extent in shape) * dtype.itemsize > MAX_VALUE_BYTES:
        raise HalyardError(f"{name!r} takes more than {MAX_VALUE_BYTES} bytes")
    return TensorInfo(name, dtype, shape, *_steps(network, name))


def _shape(network: Network, name: str) -> tuple[int, ...]:
    """As far as it is known before the model runs."""
    if name in network.types:
        return network.types[name].shape
    proto = network.protos[name]
    if not is_ranked(proto):
        return (OPEN,)
    return tuple(
        extent.dim_value if extent.HasField("dim_value") else OPEN
        for extent in proto.tensor_type.shape.dim
    )


def _steps(network: Network, name: str) -> tuple[float, int]:
    """Scale and zero point, where the graph has them for the value."""
    try:
        found = quantization_of(network, name)
    except NotExpressible:
        return 0.0, 0
    return found.scale, found.zero_point


class _Blamed(Exception):
    """Operators that are the host's after all, by number, and outputs, by name, each with the
    reason."""

    def __init__(self, reasons: Mapping[int | str, str]) -> None:
        super().__init__(reasons)
        self.reasons = reasons


@dataclass
class _Mapping:
    """A model in the making, from some of the operators."""

    network: Network
    unmapped: dict[int, str] = field(default_factory=dict)  # by the operator's number
    # Of each operation: the operator that asked for it, or the output.
    origins: list[int | str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.mapper = Mapper(self.network)

    def run(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            if node.number not in self.mapper.absorbed:
                try:
                    self._map(node)
                except NotExpressible as error:
                    self.unmapped[node.number] = str(error)
                # Attributes that go with no shape: onnx checks some of them, and no others.
                except (ValueError, ArithmeticError, LookupError, TypeError) as error:
                    reason = f"it contradicts itself ({type(error).__name__}: {error})"
                    self.unmapped[node.number] = reason
                self._note(node.number)

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
        """The finished model. Inputs that are in the order come first, in it. _Blamed where NNAPI
        can't give an output as the file has it."""
        mapper = self.mapper
        taken: set[int] = set()
        results = []
        for name in outputs:
            origin = self._origin(name)
            try:
                results.append(mapper.result(name, taken))
            except (NotExpressible, ValueError) as error:
                raise _Blamed({origin: str(error)}) from error
            self._note(origin)
        model = mapper.builder.build(results)
        names = [name for name in dict.fromkeys([*order, *mapper.inputs]) if name in mapper.inputs]
        by_name = dict(zip(mapper.inputs, model.main.input_indexes, strict=True))
        model.main.input_indexes[:] = [by_name[name] for name in names]
        return NnapiPart(
            model, tuple(names), tuple(outputs), mapper.tensor_names, mapper.permutations
        )

    def _origin(self, output: str) -> int | str:
        """Who is to blame for it: the operator that computes it, if one does."""
        producer = self.network.producers.get(output)
        if producer is None or output in self.network.constants:
            return output
        return self.mapper.absorbed.get(producer.number, producer.number)

    def _note(self, origin: int | str) -> None:
        """That operations since the last time are there for it."""
        count = len(self.mapper.builder.main.operations) - len(self.origins)
        self.origins.extend([origin] * count)


class _Reading:
    """Whatever NNAPI can't run, for whichever reason, is the host's: each that is found is noted in
    the network, and all is mapped anew. At the worst the host runs the file as it is."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._unmapped: dict[int | str, Unmapped] = {}
        self._whole = ""  # why the model is the host's as a whole

    @property
    def unmapped(self) -> tuple[Unmapped, ...]:
        """In the order of the file."""
        numbers = [node.number for node in self._network.nodes]
        found = [self._unmapped[each] for each in numbers if each in self._unmapped]
        found += [each for key, each in self._unmapped.items() if isinstance(key, str)]
        return (*found, *([Unmapped("the model", self._whole)] if self._whole else []))

    def parts(self) -> list[NnapiPart | HostPart]:
        network = self._network
        outputs = list(dict.fromkeys(network.outputs))
        if not network.nodes:
            self._whole = "no operator of it computes from an input"
            return [given_part(network, outputs)]
        try:
            while True:
                try:
                    return self._prepared(outputs)
                except _Blamed as found:
                    self._bar(found.reasons)
        except (NotExpressible, ValueError) as error:
            self._whole = f"it runs on the host as a whole: {error}"
            return [whole_part(network, outputs)]

    def _bar(self, reasons: Mapping[int | str, str]) -> None:
        known = len(self._unmapped)
        labels = {node.number: node.label for node in self._network.nodes}
        for key, reason in reasons.items():
            if key not in self._unmapped:
                label = labels[key] if isinstance(key, int) else f"output {key!r}"
                self._unmapped[key] = Unmapped(label, reason)
            if isinstance(key, int):
                self._network.refused.setdefault(key, reason)
        if len(self._unmapped) == known:
            raise NotExpressible("; ".join(reasons.values()))

    def _prepared(self, outputs: Sequence[str]) -> list[NnapiPart | HostPart]:
        """Parts that the driver prepares."""
        network = self._network
        mapping = _Mapping(network)
        mapping.run(network.nodes)
        found = dict(mapping.unmapped)
        fresh = found.keys() - self._unmapped.keys()
        if fresh:
            self._bar({number: found[number] for number in found if number in fresh})
            # Nodes that one of them had absorbed stand alone now.
            if not fresh.isdisjoint(mapping.mapper.absorbed.values()):
                return self._prepared(outputs)
        try:
            stages = stages_of(network, mapping.mapper.absorbed)
        except Between as between:
            raise _Blamed({number: str(between) for number in between.numbers}) from between
        if found or any(isinstance(key, str) for key in self._unmapped):
            made = self._cut(stages, outputs)
        else:
            # Also what is an input or a constant, as copies.
            made = [(mapping.part(network.inputs, outputs), mapping.origins)]
        self._check(made)
        return [part for part, _ in made]

    def _check(self, made: Sequence[tuple[NnapiPart | HostPart, Sequence[int | str]]]) -> None:
        """_Blamed for what the driver does not prepare."""
        own = [(part.model, origins) for part, origins in made if isinstance(part, NnapiPart)]
        reasons: dict[int | str, str] = {}
        answers = troubles([model for model, _ in own])
        for (_, origins), answer in zip(own, answers, strict=True):
            for number, reason in answer.items():
                if number == WHOLE:
                    raise NotExpressible(reason)
                reasons.setdefault(origins[number], reason)
        # A part that reads from another one may be right as soon as that is the host's.
        first = {key: reasons[key] for key in reasons if not self._rests_on(key, reasons)}
        if reasons:
            raise _Blamed(first or reasons)

    def _rests_on(self, key: int | str, others: Mapping[int | str, str]) -> bool:
        network = self._network
        node = next((each for each in network.nodes if each.number == key), None)
        producers = [network.producers.get(name) for name in node.reads] if node else []
        return any(each is not None and each.number in others for each in producers)

    def _cut(
        self, stages: Mapping[int, int], outputs: Sequence[str]
    ) -> list[tuple[NnapiPart | HostPart, Sequence[int | str]]]:
        network = self._network
        produced = {
            name: stages[node.number]
            for node in network.nodes
            for name in node.outputs
            if name and name not in network.constants
        }
        wanted = list(outputs)
        parts: list[tuple[NnapiPart | HostPart, Sequence[int | str]]] = []
        # From the last on: a stage gives what later ones have been found to take.
        for stage in sorted(set(stages.values()), reverse=True):
            nodes = [node for node in network.nodes if stages[node.number] == stage]
            given = [name for name in dict.fromkeys(wanted) if produced.get(name) == stage]
            if not given:
                continue
            if stage % 2:
                part: NnapiPart | HostPart = host_part(network, nodes, given)
                parts.insert(0, (part, ()))
            else:
                part, origins = self._nnapi_part(nodes, given)
                parts.insert(0, (part, origins))
            wanted += part.inputs
        # Inputs go through as they are, if there are parts that values go by.
        left = [name for name in outputs if name not in produced]
        if any(name in network.constants for name in left) or (left and len(parts) < 2):
            parts.append((given_part(network, left), ()))
        return parts

    def _nnapi_part(
        self, nodes: Sequence[Node], outputs: Sequence[str]
    ) -> tuple[NnapiPart, Sequence[int | str]]:
        network = self._network
        mapping = _Mapping(network)
        mapping.run(nodes)
        if mapping.unmapped:
            raise _Blamed(dict(mapping.unmapped.items()))
        # Values that an output is made of may come in as well.
        part = mapping.part(network.inputs, outputs)
        return part, mapping.origins
