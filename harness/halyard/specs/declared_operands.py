# SPDX-License-Identifier: Apache-2.0
"""Operands as a spec declares them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Self

import numpy as np

from halyard.model import Array
from halyard.proto import halyard_pb2 as pb
from halyard.specs.operand_type import OperandType, SymmPerChannelQuantParams
from halyard.specs.session import SpecError, current


class Operand:
    """The operands of operations. Two operands are the same if their names are: a converted copy of
    a model has its own, and a spec's still means them."""

    lifetime = pb.OPERAND_LIFE_TIME_TEMPORARY_VARIABLE

    def __init__(
        self,
        name: str,
        opType: object,
        value: object = None,
        backward: object = None,
        extraParams: SymmPerChannelQuantParams | None = None,
    ) -> None:
        session = current()
        self.line = session.line()
        self.type, of_old = OperandType.of(opType, value, extraParams)
        self.name = session.operand_names.unique(name)
        self.value: list[object] | None = None
        self.mayBeInternal = True
        self.SetValue(backward if of_old else value)

    def SetValue(self, value: object) -> Self:
        if isinstance(value, np.ndarray):
            raise SpecError(f"{self.name}: a value is a flat list; .flatten().tolist() makes one")
        if value is None or isinstance(value, list | tuple):
            self.value = None if value is None else list(value)
        else:
            self.value = [value]
        return self

    def ShouldNeverBeInternal(self) -> Self:
        """No derived form may compute the operand inside the model."""
        self.mayBeInternal = False
        return self

    @property
    def has_elements(self) -> bool:
        """Whether there is a value to be converted."""
        return bool(self.value) and self.type.count != 0

    def array(self) -> Array:
        """The value in its shape. SpecError if it has another number of elements."""
        try:
            return np.array(self.value).reshape(self.type.dimensions)
        except ValueError:
            raise SpecError(
                f"{self.name}: {len(self.value or ())} values for dimensions "
                f"{list(self.type.dimensions)}"
            ) from None

    def set_array(self, values: Array) -> None:
        self.value = values.flatten().tolist()

    def copied(self) -> Self:
        """The same operand for another model. Its value is replaced and never changed in place."""
        return copy.copy(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Operand) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __lt__(self, other: Operand) -> bool:
        return self.name < other.name

    def __repr__(self) -> str:
        return self.name


class _Fed(Operand):
    """An input or an output: examples give the value."""

    def feed(self, values: Mapping[object, object]) -> None:
        if self not in values:
            raise SpecError(f"the example has no value for {self.name!r}")
        self.SetValue(values[self])


class Input(_Fed):
    lifetime = pb.OPERAND_LIFE_TIME_SUBGRAPH_INPUT


class Output(_Fed):
    lifetime = pb.OPERAND_LIFE_TIME_SUBGRAPH_OUTPUT


class IgnoredOutput(Output):
    """An output whose values are not compared."""

    def feed(self, values: Mapping[object, object]) -> None:  # noqa: ARG002 - has its own
        self.value = [0] * self.type.count


class Internal(Operand):
    """An intermediate result."""


class Parameter(Operand):
    """A constant; without a value an operand that is left out."""

    def __init__(
        self,
        name: str,
        opType: object,
        value: object,
        backward: object = None,
        extraParams: SymmPerChannelQuantParams | None = None,
    ) -> None:
        super().__init__(name, opType, value, backward, extraParams)
        if (backward if isinstance(opType, str) else value) is None:
            self.lifetime = pb.OPERAND_LIFE_TIME_NO_VALUE
        elif current().configuration.use_shm_for_weights:
            self.lifetime = pb.OPERAND_LIFE_TIME_CONSTANT_REFERENCE
        else:
            self.lifetime = pb.OPERAND_LIFE_TIME_CONSTANT_COPY


class Int32Scalar(Parameter):
    def __init__(self, name: str, value: int) -> None:
        super().__init__(name, ("INT32", []), int(value))


class Float16Scalar(Parameter):
    def __init__(self, name: str, value: float) -> None:
        super().__init__(name, ("FLOAT16", []), float(value))


class Float32Scalar(Parameter):
    def __init__(self, name: str, value: float) -> None:
        super().__init__(name, ("FLOAT32", []), float(value))


class BoolScalar(Parameter):
    def __init__(self, name: str, value: bool) -> None:
        super().__init__(name, ("BOOL", []), bool(value))


class Int32Vector(Parameter):
    def __init__(self, name: str, value: list[int]) -> None:
        super().__init__(name, ("TENSOR_INT32", [len(value)]), [int(each) for each in value])


class Float32Vector(Parameter):
    def __init__(self, name: str, value: list[float]) -> None:
        super().__init__(name, ("TENSOR_FLOAT32", [len(value)]), [float(each) for each in value])
