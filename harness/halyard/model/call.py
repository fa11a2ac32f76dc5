# SPDX-License-Identifier: Apache-2.0
"""An operation of a model, whose operands are read by the names that the driver gives them."""

from __future__ import annotations

from collections.abc import Sequence

from halyard.model.operands import constant, is_constant, operation_name
from halyard.programs import operations
from halyard.proto import halyard_pb2 as pb


class Call:
    """Of the main subgraph. Names are those that --list-operations prints."""

    def __init__(self, model: pb.Model, operation: pb.Operation) -> None:
        """ValueError where the driver knows no form of the operation with such operands."""
        self.model = model
        self.operation = operation
        self.name = operation_name(operation.type)
        types = tuple(model.main.operands[index].type for index in operation.inputs)
        self._places = operations.places(self.name, types, len(operation.outputs))

    # ---- operands, by their indexes in the subgraph ---------------------------------------------

    def indexes(self, name: str) -> list[int]:
        """Of an input that stands for one or more; none where the form has it not."""
        return [self.operation.inputs[place] for place in self._places.inputs.get(name, ())]

    def index(self, name: str) -> int:
        """ValueError where the form has no such input."""
        found = self.indexes(name)
        if len(found) != 1:
            raise ValueError(f"{self.name} has no input {name} here")
        return found[0]

    def has(self, name: str) -> bool:
        """Whether an input that may be left out, or that other forms have not, is there."""
        return any(
            self.model.main.operands[index].lifetime != pb.OPERAND_LIFE_TIME_NO_VALUE
            for index in self.indexes(name)
        )

    def output_indexes(self, name: str) -> list[int]:
        return [self.operation.outputs[place] for place in self._places.outputs.get(name, ())]

    def output(self, name: str = "output") -> int:
        """ValueError where it is left away, or the form has no such output."""
        found = self.output_indexes(name)
        if len(found) != 1:
            raise ValueError(f"{self.name} has no output {name} here")
        return found[0]

    # ---- what they are --------------------------------------------------------------------------

    def operand(self, name: str) -> pb.Operand:
        return self.model.main.operands[self.index(name)]

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self.operand(name).dimensions)

    def output_shape(self, name: str = "output") -> tuple[int, ...]:
        return tuple(self.model.main.operands[self.output(name)].dimensions)

    def scalar(self, name: str, default: float | None = None) -> float:
        """Of a constant scalar; the default where the form has it not."""
        if default is not None and not self.indexes(name):
            return default
        operand = self.operand(name)
        if not is_constant(operand):
            raise ValueError(f"the {name} of {self.name} is no constant")
        return float(constant(self.model, operand).reshape(()))

    def integer(self, name: str, default: int | None = None) -> int:
        return int(self.scalar(name, default))

    def flag(self, name: str) -> bool:
        """False where the form has it not."""
        return self.scalar(name, 0) != 0


def calls(model: pb.Model, operations: Sequence[int] = ()) -> list[Call]:
    """The operations of the main subgraph; of some types, where any are given."""
    return [
        Call(model, operation)
        for operation in model.main.operations
        if not operations or operation.type in operations
    ]
