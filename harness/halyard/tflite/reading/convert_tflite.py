# SPDX-License-Identifier: Apache-2.0
"""A .tflite file as a Conversion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from halyard.errors import HalyardError, NotExpressible
from halyard.model import (
    Conversion,
    HostPart,
    ModelBuilder,
    NnapiPart,
    Part,
    Source,
    State,
    TensorInfo,
    Unmapped,
)
from halyard.model.cut import cut
from halyard.model.partition import Group, Step, groups
from halyard.model.preparation import WHOLE, troubles
from halyard.model.read_options import ReadOptions
from halyard.proto import halyard_pb2 as pb
from halyard.tflite.bundle import is_bundle, taken
from halyard.tflite.graph import OMITTED
from halyard.tflite.reading import cutting, hybrid, signatures, variables
from halyard.tflite.reading.detection import with_shapes
from halyard.tflite.reading.file import File, read
from halyard.tflite.reading.input_ranges import ranges_of
from halyard.tflite.reading.mapper import Mapped, Mapper
from halyard.tflite.reading.operators import HANDLERS
from halyard.tflite.reading.resizing import resized, settled

FORMAT = "TFLite"


def converted(content: bytes, path: Path, options: ReadOptions) -> Conversion:
    try:
        return _selected(content, path, options)
    except HalyardError as error:
        raise HalyardError(f"{path}: {error}") from error


def _selected(content: bytes, path: Path, options: ReadOptions) -> Conversion:
    """Of what the options choose, rewritten where NNAPI has another form of it."""
    stored = content
    if is_bundle(content):
        content = taken(content, options.member)
    elif options.member:
        raise HalyardError(f"--member {options.member} is for .task files, of several models")
    file = read(content)
    known = signatures.signatures(file)
    notes = [signatures.note(known, options.signature or signatures.first(known))]
    if options.signature:
        content = signatures.chosen(file, options.signature)
        file = read(content)
    held: list[variables.Held] = []
    unheld = ""
    if variables.has_variables(file):
        try:
            content, held = variables.with_states(file)
            file = read(content)
        except NotExpressible as error:
            # They stay: the host runs the file as it is.
            unheld = str(error)
    source = Source(path, FORMAT, None if content is stored else content)
    if options.shapes:
        content = resized(content, file, options.shapes)
        file = read(content)
    elif (known_by_running := settled(content, file)) is not None:
        content = known_by_running
        file = read(content)
    wide = hybrid.widened(file)
    if wide is not None:
        content, labels = wide
        notes.append(hybrid.note(labels))
        file = read(content)
        source = replace(source, compared=content)
    if unheld:
        notes.append(f"its variables stay in the file: {unheld}")
    return _Reading(file, source, held, [each for each in notes if each]).conversion(content)


class _Reading:
    def __init__(
        self,
        file: File,
        source: Source,
        held: Sequence[variables.Held] = (),
        notes: Sequence[str] = (),
    ) -> None:
        self._graph = with_shapes(file.graphs[0])
        self._source = source
        self._held = held
        self._notes = notes
        self._infos = [self._info(index) for index in self._graph.inputs]
        builder = ModelBuilder(source.path.stem)
        self._file = replace(file, graphs=(self._graph, *file.graphs[1:]))
        self._mapper = Mapper(self._file, self._graph, HANDLERS, builder=builder)
        self._mapped = self._mapper.run()
        self._places = {tensor.name: index for index, tensor in enumerate(self._graph.tensors)}
        # Outputs that are copies, by their names.
        self._copies: dict[str, int] = {}

    def conversion(self, content: bytes) -> Conversion:
        reason = ""
        try:
            parts, model, outputs = self._valid_parts()
        except NotExpressible as error:
            # Its result can't be taken apart: LiteRT runs the file as it is.
            reason = str(error)
            outputs = [self._name(index) for index in self._graph.outputs]
            names = tuple(info.name for info in self._infos)
            operators = tuple(self._graph.label(each) for each in self._graph.operators)
            parts = [HostPart(content, FORMAT, names, tuple(outputs), operators)]
            model = pb.Model(name=self._source.path.stem)
        unmapped = [
            Unmapped(self._graph.label(each.operator), each.reason)
            for each in self._mapped
            if each.reason
        ]
        if reason and not unmapped:
            unmapped = [Unmapped("the model", reason)]
        infos = [self._info(index) for index in self._graph.outputs]
        return Conversion(
            self._source,
            model,
            parts,
            tuple(self._infos),
            tuple(
                TensorInfo(name, info.dtype, info.shape, info.scale, info.zero_point)
                for name, info in zip(outputs, infos, strict=True)
            ),
            unmapped,
            self._notes,
            ranges=ranges_of(self._graph),
            states=[self._state(each, outputs) for each in self._held],
        )

    def _state(self, held: variables.Held, outputs: Sequence[str]) -> State:
        before = "" if held.input is None else self._infos[held.input].name
        after = "" if held.output is None else outputs[held.output]
        initial = np.zeros(0) if held.initial is None else held.initial
        return State(before, after, initial)

    def _valid_parts(self) -> tuple[list[Part], pb.Model, list[str]]:
        """And the names of the outputs. What the driver finds invalid is for the host."""
        first = len(self._mapper.builder.main.operations)
        while True:
            self._mapper.builder.rewind(first)
            self._copies.clear()
            steps, origins, outputs = self._steps()
            parts, model, numbers = self._parts(steps, origins, outputs)
            if not numbers:
                return parts, model, outputs
            [found] = troubles([model])
            if not found:
                return parts, model, outputs
            if WHOLE in found:
                raise NotExpressible(found[WHOLE])
            if not self._blame({numbers[place]: reason for place, reason in found.items()}):
                raise NotExpressible("; ".join(found.values()))

    def _blame(self, reasons: Mapping[int, str]) -> bool:
        """Whether an operator is found that asked for one of the operations: it is the host's."""
        blamed = False
        for number, reason in reasons.items():
            mapped = next((each for each in self._mapped if number in each.operations), None)
            if mapped is not None:
                mapped.reason, mapped.operations = reason, range(0)
                blamed = True
        return blamed

    # ---- steps ----------------------------------------------------------------------------------

    def _steps(self) -> tuple[list[Step], list[Mapped | range], list[str]]:
        """Of the operators that are still there, and of copies that make outputs of what is none;
        what each is of the model or the file; and what the outputs are called."""
        steps: list[Step] = []
        origins: list[Mapped | range] = []
        for mapped in self._mapped:
            if mapped.reason or len(mapped.operations):
                steps.append(
                    Step(
                        self._values(mapped.operator.inputs),
                        self._values(mapped.operator.outputs),
                        not mapped.reason,
                    )
                )
                origins.append(mapped)
        if any(each.reason for each in self._mapped):
            self._refuse_shared_states()
        outputs: list[str] = []
        for place, index in enumerate(self._graph.outputs):
            name = self._name(index)
            if self._mapper.is_computed(index) and name not in outputs:
                outputs.append(name)
                continue
            before = len(self._mapper.builder.main.operations)
            copy = self._mapper.output_name(place)
            self._copies[copy] = self._mapper.hand_on(index, copy)
            steps.append(Step(self._values([index]), frozenset([copy]), mapped=True))
            origins.append(range(before, before + 1))
            outputs.append(copy)
        return steps, origins, outputs

    def _values(self, indexes: Sequence[int]) -> frozenset[str]:
        return frozenset(
            self._name(index)
            for index in indexes
            if index != OMITTED and (self._mapper.is_computed(index) or index in self._graph.inputs)
        )

    def _refuse_shared_states(self) -> None:
        for index, tensor in enumerate(self._graph.tensors):
            users = sum(index in each.inputs for each in self._graph.operators)
            if tensor.is_variable and users > 1:
                raise NotExpressible(f"several operators share the state {tensor.shown!r}")

    # ---- parts ----------------------------------------------------------------------------------

    def _parts(
        self, steps: Sequence[Step], origins: Sequence[Mapped | range], outputs: Sequence[str]
    ) -> tuple[list[Part], pb.Model, list[int]]:
        """And all that NNAPI runs, as a model of these operations of the whole."""
        names = [info.name for info in self._infos]
        try:
            found = groups(steps, names, outputs)
        except ValueError as error:
            raise NotExpressible(str(error)) from error
        self._refuse_crossing(found)
        model = self._mapper.builder.build([])
        operands = {self._name(index): each for index, each in self._mapper.operands.items()}
        operands |= self._copies
        numbers: set[int] = set()
        parts: list[Part] = []
        for group in found:
            # The model's own outputs are in the model's order.
            order = [name for name in outputs if name in group.outputs]
            order += [name for name in group.outputs if name not in order]
            if group.mapped:
                mine = {number for step in group.steps for number in _operations(origins[step])}
                numbers |= mine
                self._take(model, mine)
                alone = len(found) == 1
                parts.append(_nnapi_part(model, mine, order, operands, keep_inputs=alone))
            else:
                parts.append(self._host_part(group, order, origins))
        [*nnapi] = [part for part in parts if isinstance(part, NnapiPart)]
        if len(parts) == 1 and nnapi:
            return parts, nnapi[0].model, sorted(numbers)
        crossing = [operands[name] for part in nnapi for name in part.outputs]
        return parts, cut(model, numbers, crossing).model, sorted(numbers)

    def _take(self, model: pb.Model, operations: set[int]) -> None:
        """A part has its own copy of the model's constants."""
        main = model.main
        read = {index for number in operations for index in main.operations[number].inputs}
        copied = sum(main.operands[index].location.length for index in read)
        self._file.budget.take_bytes(copied, "the constants of its parts")

    def _host_part(
        self, group: Group, outputs: Sequence[str], origins: Sequence[Mapped | range]
    ) -> HostPart:
        places = self._places
        operators = [
            origin.operator for step in group.steps if isinstance(origin := origins[step], Mapped)
        ]
        content = cutting.cut(
            self._file,
            [operator.number for operator in operators],
            [places[name] for name in group.inputs],
            [places[name] for name in outputs],
            self._mapper.folded_inputs(operators),
        )
        labels = tuple(map(self._graph.label, operators))
        return HostPart(content, FORMAT, group.inputs, tuple(outputs), labels)

    def _refuse_crossing(self, found: Sequence[Group]) -> None:
        if len(found) < 2:
            return
        tensors = {tensor.name: tensor for tensor in self._graph.tensors}
        for group in found:
            for name in group.inputs:
                if tensors[name].dtype is None or not tensors[name].is_known:
                    kind = tensors[name].type_name
                    raise NotExpressible(
                        f"{name!r}, {kind}{list(tensors[name].shape)}, can't be handed from NNAPI "
                        "to the host or back"
                    )

    # ---- tensors --------------------------------------------------------------------------------

    def _name(self, index: int) -> str:
        return self._graph.tensors[index].name

    def _info(self, index: int) -> TensorInfo:
        tensor = self._graph.tensors[index]
        if tensor.dtype is None:
            raise HalyardError(f"{tensor.shown!r} is {tensor.type_name}, and can't be given here")
        if any(extent < 0 for extent in tensor.shape):
            raise HalyardError(
                f"{tensor.shown!r} is of shape {list(tensor.shape)}: shapes that are known only "
                "when the model runs are not taken; convert it with fixed ones"
            )
        one = len(tensor.scales) == 1 and tensor.scales[0] > 0
        return TensorInfo(
            tensor.name,
            np.dtype(tensor.dtype),
            tensor.shape,
            tensor.scales[0] if one else 0.0,
            tensor.zero_points[0] if one else 0,
        )


def _operations(origin: Mapped | range) -> range:
    return origin.operations if isinstance(origin, Mapped) else origin


def _nnapi_part(
    model: pb.Model,
    operations: set[int],
    outputs: Sequence[str],
    operands: dict[str, int],
    *,
    keep_inputs: bool,
) -> NnapiPart:
    submodel = cut(model, operations, [operands[name] for name in outputs], keep_inputs=keep_inputs)
    names = {
        submodel.operands[index]: name
        for name, index in operands.items()
        if index in submodel.operands
    }
    main = submodel.model.main
    fed = tuple(names[index] for index in main.input_indexes)
    written = {index for operation in main.operations for index in operation.outputs}
    computed = {index: name for index, name in names.items() if index in written or name in fed}
    return NnapiPart(submodel.model, fed, tuple(outputs), computed)
