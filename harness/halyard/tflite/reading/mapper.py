# SPDX-License-Identifier: Apache-2.0
"""From a TFLite graph to the operands and operations of an NNAPI model, operator by operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from ai_edge_litert.schema_py_generated import TensorType as Type

from halyard.errors import NotExpressible
from halyard.model import Array, ModelBuilder, TensorType, dtype_of, operation_name, type_name
from halyard.model.budget import excerpt
from halyard.programs import operations
from halyard.proto import halyard_pb2 as pb
from halyard.tflite.graph import OMITTED
from halyard.tflite.reading.file import File, Graph, Operator, Tensor

_PLAIN_TYPES = {
    Type.FLOAT32: pb.OPERAND_TYPE_TENSOR_FLOAT32,
    Type.FLOAT16: pb.OPERAND_TYPE_TENSOR_FLOAT16,
    Type.INT32: pb.OPERAND_TYPE_TENSOR_INT32,
    Type.BOOL: pb.OPERAND_TYPE_TENSOR_BOOL8,
}
_QUANTISED_TYPES = {
    Type.UINT8: pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM,
    Type.INT8: pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM_SIGNED,
    Type.INT16: pb.OPERAND_TYPE_TENSOR_QUANT16_SYMM,
}
# Those that RESHAPE takes, and so can be handed on as they are.
_RESHAPED = frozenset(
    {
        pb.OPERAND_TYPE_TENSOR_FLOAT32,
        pb.OPERAND_TYPE_TENSOR_FLOAT16,
        pb.OPERAND_TYPE_TENSOR_INT32,
        pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM,
        pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM_SIGNED,
    }
)

NO_OPERATION = "NNAPI has no such operation"

# Maps an operator. NotExpressible, with a sentence, where NNAPI has no word for it.
Handler = Callable[["Mapper", Operator], None]


@dataclass
class Mapped:
    """The mapping of an operator: `operations` of the model, none where it is a constant now, or
    the reason why it has no mapping."""

    operator: Operator
    operations: range = range(0)
    reason: str = ""


@dataclass
class Mapper:
    """Of one graph. `operands` are those of the builder by the tensors that they hold."""

    file: File
    graph: Graph
    handlers: Mapping[int, Handler]
    # The graphs that this one is called from, itself included: a file may have them in a circle.
    callers: tuple[int, ...] = (0,)
    builder: ModelBuilder = field(default_factory=lambda: ModelBuilder(""))
    operands: dict[int, int] = field(default_factory=dict)
    folded: dict[int, Array] = field(default_factory=dict)
    # The models that other graphs have become, or why they have not.
    subgraphs: dict[int, pb.Model | str] = field(default_factory=dict)

    def run(self) -> list[Mapped]:
        for index in self.graph.inputs:
            # An input of a type that NNAPI has not is for the operators that are not mapped.
            if self.tensor(index).data is None and _expressible(self.tensor(index)):
                self.operands[index] = self.builder.input(
                    self.tensor(index).name, self.type_of(index)
                )
        return [self._map(operator) for operator in self.graph.operators]

    def _map(self, operator: Operator) -> Mapped:
        before = len(self.builder.main.operations)
        try:
            handler = self.handlers.get(operator.code)
            if handler is None:
                raise NotExpressible(NO_OPERATION)
            handler(self, operator)
            self._check_forms(before)
            self.file.budget.take_nodes(len(self.builder.main.operations) - before)
        except NotExpressible as error:
            self.builder.rewind(before)
            for index in operator.outputs:
                self.operands.pop(index, None)
            return Mapped(operator, reason=str(error))
        return Mapped(operator, range(before, len(self.builder.main.operations)))

    def _check_forms(self, first: int) -> None:
        """That the driver knows operations with such operands."""
        main = self.builder.main
        for operation in main.operations[first:]:
            name = operation_name(operation.type)
            types = tuple(main.operands[index].type for index in operation.inputs)
            try:
                operations.form(name, types)
            except ValueError as error:
                shown = ", ".join(map(type_name, types))
                raise NotExpressible(f"NNAPI has no {name} of {shown}") from error

    # ---- tensors --------------------------------------------------------------------------------

    def tensor(self, index: int) -> Tensor:
        return self.graph.tensors[index]

    def input(self, operator: Operator, place: int) -> int:
        """The tensor of an input that has to be there."""
        if place >= len(operator.inputs) or operator.inputs[place] == OMITTED:
            raise NotExpressible(f"its input {place} is left out")
        return operator.inputs[place]

    def has(self, operator: Operator, place: int) -> bool:
        return place < len(operator.inputs) and operator.inputs[place] != OMITTED

    def output(self, operator: Operator, place: int = 0) -> int:
        if place >= len(operator.outputs):
            raise NotExpressible(f"its output {place} is left out")
        return operator.outputs[place]

    def shape(self, index: int) -> tuple[int, ...]:
        tensor = self.tensor(index)
        if tensor.is_empty:
            raise NotExpressible(f"{tensor.shown!r}, {list(tensor.shape)}, has no elements")
        if not tensor.is_known:
            raise NotExpressible(
                f"the shape of {tensor.shown!r} is known only when it runs: {list(tensor.shape)}"
            )
        return tensor.shape

    def values(self, index: int) -> Array | None:
        """Of a constant, be it one of the file or what operators on constants come to."""
        folded = self.folded.get(index)
        return self.tensor(index).values if folded is None else folded

    def folded_inputs(self, operators: Sequence[Operator]) -> dict[int, Array]:
        """The results of operators on constants that these read."""
        indexes = {index for operator in operators for index in operator.inputs}
        return {index: self.folded[index] for index in sorted(indexes & self.folded.keys())}

    def fold(self, index: int, values: Array) -> None:
        """Makes what an operator computes a constant."""
        tensor = self.tensor(index)
        self.file.budget.take_bytes(values.nbytes, "what its constants come to")
        if tensor.dtype is None or tensor.dtype != values.dtype or tensor.shape != values.shape:
            raise NotExpressible(
                f"{tensor.shown!r} would be {values.dtype}{list(values.shape)}, and the file says "
                f"{tensor.type_name}{list(tensor.shape)}"
            )
        self.folded[index] = values

    def integers(self, index: int, what: str) -> list[int]:
        """Of a constant vector, or a constant number: axes, sizes."""
        values = self.values(index)
        if values is None:
            raise NotExpressible(f"its {what} is computed, and NNAPI wants a constant")
        if values.dtype.kind not in "iu":
            raise NotExpressible(f"its {what} is of type {self.tensor(index).type_name}")
        self.file.budget.take_numbers(values.size, f"its {what}")
        found = [int(each) for each in values.reshape(-1)]
        if any(abs(each) >= 2**31 for each in found):
            raise NotExpressible(f"its {what} is {excerpt(found)}, and NNAPI has 32 bits")
        return found

    def numbers(self, index: int, what: str) -> int:
        """The operand of a tensor of integers, which NNAPI wants in 32 bits."""
        if self.values(index) is None or self.tensor(index).type == Type.INT32:
            return self.operand(index)
        values = np.array(self.integers(index, what), "<i4")
        shape = self.shape(index) or (1,)
        kind = TensorType(pb.OPERAND_TYPE_TENSOR_INT32, shape)
        return self.constant(self.tensor(index).name, kind, values)

    def integer(self, index: int, what: str) -> int:
        found = self.integers(index, what)
        if len(found) != 1:
            raise NotExpressible(f"its {what} has {len(found)} values, and one is wanted")
        return found[0]

    def type_of(self, index: int) -> TensorType:
        """NNAPI has no tensors without dimensions: a number is a vector of one."""
        return _operand_type(self.tensor(index), self.shape(index))

    def quantised(self, index: int) -> bool:
        return self.tensor(index).type in _QUANTISED_TYPES

    def is_float(self, index: int) -> bool:
        return self.tensor(index).type in (Type.FLOAT32, Type.FLOAT16)

    def operand(self, index: int) -> int:
        """Of a tensor that is read. What the host computes is an input of the model."""
        if index not in self.operands:
            tensor, kind = self.tensor(index), self.type_of(index)
            values = self.values(index)
            if values is None and tensor.is_variable:
                # A run begins with states of zero.
                self.file.budget.take_bytes(tensor.byte_size, "its states")
                values = np.full(kind.dimensions, kind.zero_point, tensor.dtype)
            if values is not None:
                self.operands[index] = self.constant(tensor.name, kind, values)
            else:
                self.operands[index] = self.builder.input(tensor.name, kind)
        return self.operands[index]

    def operands_of(self, operator: Operator) -> list[int]:
        """Of all its inputs."""
        return [self.operand(self.input(operator, each)) for each in range(len(operator.inputs))]

    def constant(self, name: str, kind: TensorType, values: Array) -> int:
        """A constant tensor, whose truth values become bytes, and numbers vectors of one."""
        self.file.budget.take_bytes(values.nbytes, "its constants")
        converted = np.ascontiguousarray(values.astype(dtype_of(kind.type)))
        return self.builder.constant(name, kind, converted.reshape(kind.dimensions))

    def vector(self, name: str, values: Sequence[int]) -> int:
        return self.builder.vector(name, values)

    def name(self, operator: Operator) -> str:
        return self.tensor(self.output(operator)).name

    # ---- operations -----------------------------------------------------------------------------

    def emit(self, operation: int, inputs: Sequence[int], operator: Operator) -> None:
        """An operation that computes the operator's outputs."""
        self.emit_to(operation, inputs, operator.outputs)

    def emit_to(self, operation: int, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """One that computes these tensors."""
        kinds = [(self.tensor(index).name, self.type_of(index)) for index in outputs]
        found = self.builder.operation_n(operation, inputs, kinds)
        self.operands.update(zip(outputs, found, strict=True))

    def emit_inner(
        self, operation: int, inputs: Sequence[int], name: str, output: TensorType
    ) -> int:
        """One on the way, whose result is no tensor of the file."""
        return self.builder.operation(operation, inputs, name, output)

    # ---- outputs --------------------------------------------------------------------------------

    def computed_outputs(self) -> list[int]:
        """The graph's outputs, each computed and there once, as NNAPI wants them."""
        found: list[int] = []
        for place, index in enumerate(self.graph.outputs):
            operand = self.operands.get(index)
            if operand is None or operand in found or not self.is_computed(index):
                operand = self.hand_on(index, self.output_name(place))
            found.append(operand)
        return found

    def output_name(self, place: int) -> str:
        return f"{self.tensor(self.graph.outputs[place]).name}/output_{place}"

    def is_computed(self, index: int) -> bool:
        """Whether an operation does it, of NNAPI's or the host's."""
        tensor = self.tensor(index)
        return not (
            index in self.graph.inputs
            or index in self.folded
            or tensor.data is not None
            or tensor.is_variable
        )

    def hand_on(self, index: int, name: str) -> int:
        """A copy of a tensor: an output of NNAPI's is computed, and is no other output."""
        kind = self.type_of(index)
        if kind.type == pb.OPERAND_TYPE_TENSOR_BOOL8:
            both = [self.operand(index)] * 2
            return self.emit_inner(pb.OPERATION_TYPE_LOGICAL_OR, both, name, kind)
        if kind.type not in _RESHAPED:
            raise NotExpressible(
                f"{name!r} is handed on as it is, which NNAPI can't do with its type"
            )
        shape = self.vector(f"{name}/shape", kind.dimensions)
        inputs = [self.operand(index), shape]
        return self.emit_inner(pb.OPERATION_TYPE_RESHAPE, inputs, name, kind)


def _expressible(tensor: Tensor) -> bool:
    try:
        _operand_type(tensor, tensor.shape)
    except NotExpressible:
        return False
    return tensor.is_known


def _operand_type(tensor: Tensor, shape: tuple[int, ...]) -> TensorType:
    dimensions = shape or (1,)
    plain = _PLAIN_TYPES.get(tensor.type)
    if plain is not None:
        return TensorType(plain, dimensions)
    quantised = _QUANTISED_TYPES.get(tensor.type)
    if quantised is None:
        raise NotExpressible(f"{tensor.shown!r} is {tensor.type_name}, which NNAPI has not")
    if len(tensor.scales) > 1:
        if tensor.type != Type.INT8 or any(tensor.zero_points):
            raise NotExpressible(
                f"{tensor.shown!r} has scales per channel, which NNAPI has for INT8 without zero "
                "points only"
            )
        return TensorType(
            pb.OPERAND_TYPE_TENSOR_QUANT8_SYMM_PER_CHANNEL,
            dimensions,
            channel_scales=tensor.scales,
            channel_dim=tensor.axis,
        )
    scale = tensor.scales[0] if tensor.scales else 0.0
    zero_point = tensor.zero_points[0] if tensor.zero_points else 0
    if quantised == pb.OPERAND_TYPE_TENSOR_QUANT16_SYMM and (zero_point != 0 or scale == 0):
        raise NotExpressible(
            f"{tensor.shown!r} is INT16, which NNAPI has with a scale and no zero point only"
        )
    # Integers that are no quantised numbers count in steps of one.
    return TensorType(quantised, dimensions, scale or 1.0, zero_point if scale else 0)
