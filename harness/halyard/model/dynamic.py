# SPDX-License-Identifier: Apache-2.0
"""One model for several shapes of its inputs: what differs between the models for each is left
unspecified, as NNAPI has it from HAL 1.2 on, and the driver infers it when it executes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from halyard.errors import NotExpressible
from halyard.model.operands import Array, byte_size, constants, is_constant, label, operation_name
from halyard.proto import halyard_pb2 as pb

# Of a constant that a message shows.
_SHOWN = 8


def opened(models: Sequence[pb.Model], names: Sequence[str]) -> pb.Model:
    """The first with the dimensions unspecified in which the others differ. `names`: what each is
    for, to tell. NotExpressible where an operation's constants or its kind depend on the shapes:
    which, and in what."""
    merging = _Merging(models, names)
    merging.walk()
    return merging.result


class _Merging:
    def __init__(self, models: Sequence[pb.Model], names: Sequence[str]) -> None:
        self._models = models
        self._names = names
        self._values = [constants(model) for model in models]
        # Of each of the others: its operand by the first one's.
        self._places: list[dict[int, int]] = [{} for _ in models[1:]]
        self.result = pb.Model()
        self.result.CopyFrom(models[0])

    def walk(self) -> None:
        self._check_alike()
        main = self._models[0].main
        for place, index in enumerate(main.input_indexes):
            others: list[int] = [model.main.input_indexes[place] for model in self._models[1:]]
            self._same_value(index, others, f"input {place}")
        for number, operation in enumerate(main.operations):
            alike = [model.main.operations[number] for model in self._models[1:]]
            for place, index in enumerate(operation.inputs):
                self._read(number, place, index, [each.inputs[place] for each in alike])
            for place, index in enumerate(operation.outputs):
                written = [each.outputs[place] for each in alike]
                self._same_value(index, written, self._at(number))
        for places, model in zip(self._places, self._models[1:], strict=True):
            if [places.get(index) for index in main.output_indexes] != [*model.main.output_indexes]:
                raise NotExpressible("it gives other values in another order")

    def _check_alike(self) -> None:
        """Inputs, outputs and the kinds of operations."""
        first = self._models[0]
        for model, name in zip(self._models[1:], self._names[1:], strict=True):
            between = f"between {self._names[0]} and {name}"
            for number, (one, other) in enumerate(
                zip(first.main.operations, model.main.operations, strict=False)
            ):
                if one.type != other.type or len(one.inputs) != len(other.inputs):
                    raise NotExpressible(
                        f"{self._at(number)} is {operation_name(other.type)} in the other, "
                        f"{between}"
                    )
            if len(first.main.operations) != len(model.main.operations):
                raise NotExpressible(
                    f"it becomes {len(first.main.operations)} and {len(model.main.operations)} "
                    f"operations, {between}"
                )
            if [each.SerializeToString() for each in first.referenced] != [
                each.SerializeToString() for each in model.referenced
            ]:
                raise NotExpressible(f"its control flow differs {between}")
            if len(first.main.input_indexes) != len(model.main.input_indexes):
                raise NotExpressible(f"it reads other inputs {between}")

    def _same_value(self, index: int, others: Sequence[int], what: str) -> None:
        """A computed or given operand: leaves open in which dimensions they differ."""
        first = self._models[0].main.operands[index]
        operand = self.result.main.operands[index]
        for model, places, name, other in zip(
            self._models[1:], self._places, self._names[1:], others, strict=True
        ):
            places[index] = other
            found = model.main.operands[other]
            alike = (found.type, found.scale, found.zero_point, len(found.dimensions))
            if alike != (first.type, first.scale, first.zero_point, len(first.dimensions)):
                raise NotExpressible(
                    f"{what} has another type or rank for {name} than for {self._names[0]}"
                )
            for axis, extent in enumerate(found.dimensions):
                if extent != first.dimensions[axis]:
                    operand.dimensions[axis] = 0

    def _read(self, number: int, place: int, index: int, others: Sequence[int]) -> None:
        first = self._models[0].main.operands[index]
        if is_constant(first):
            values = [self._values[0][index]]
            for model, held, other in zip(self._models[1:], self._values[1:], others, strict=True):
                operand = model.main.operands[other]
                if not is_constant(operand) or operand.type != first.type:
                    self._refuse(number, place, "is a constant for one and none for another")
                values.append(held[other])
            if any(
                each.shape != values[0].shape or each.tobytes() != values[0].tobytes()
                for each in values
            ):
                self._write(number, place, values)
            return
        for places, other in zip(self._places, others, strict=True):
            if places.setdefault(index, other) != other:
                self._refuse(number, place, "is another value for one than for another")

    def _write(self, number: int, place: int, values: Sequence[Array]) -> None:
        """A RESHAPE finds one extent itself."""
        operation = self.result.main.operations[number]
        shapes = {each.shape for each in values}
        if operation.type == pb.OPERATION_TYPE_RESHAPE and place == 1 and len(shapes) == 1:
            apart = np.any([each != values[0] for each in values], axis=0)
            if apart.sum() == 1 and -1 not in values[0]:
                operation.inputs[place] = self._constant(
                    operation.inputs[place], np.where(apart, -1, values[0])
                )
                return
        told = " and ".join(
            f"{_shown(each)} for {name}" for each, name in zip(values, self._names, strict=True)
        )
        self._refuse(number, place, f"has to be a constant, and is {told}")

    def _constant(self, like: int, values: Array) -> int:
        """One more operand: others may share the one that there is."""
        main = self.result.main
        content = np.ascontiguousarray(values, "<i4").tobytes()
        operand = main.operands.add()
        operand.CopyFrom(main.operands[like])
        operand.lifetime = pb.OPERAND_LIFE_TIME_CONSTANT_COPY
        held = self.result.operand_values
        padding = bytes(-len(held) % 4)
        operand.location.CopyFrom(
            pb.DataLocation(offset=len(held) + len(padding), length=byte_size(operand))
        )
        self.result.operand_values = held + padding + content
        return len(main.operands) - 1

    def _refuse(self, number: int, place: int, what: str) -> None:
        raise NotExpressible(f"{self._at(number)}: its input {place} {what}")

    def _at(self, number: int) -> str:
        main = self._models[0].main
        names = [main.operands[index].name for index in main.operations[number].outputs]
        return label(self._models[0], number) + (f" {names[0]!r}" if names and names[0] else "")


def _shown(values: Array) -> str:
    if values.size == 1:
        return str(values.item())
    if values.size > _SHOWN:
        return f"{values.dtype}{list(values.shape)}"
    return str(values.tolist())


def extents(shapes: Mapping[str, Sequence[int]]) -> str:
    """ "x=1,32 y=1,32": what messages call a model for such inputs."""
    return " ".join(f"{name}={','.join(map(str, shape))}" for name, shape in shapes.items())
