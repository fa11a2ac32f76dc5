# SPDX-License-Identifier: Apache-2.0
"""Runs a model, operation by operation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halyard.model import dtype_of, is_constant, operation_name
from halyard.proto import halyard_pb2 as pb

# Each family registers its operations.
from tests.reference import (  # noqa: F401
    activation,
    convolution,
    detection,
    elementwise,
    lookup,
    lstm,
    matrix,
    normalization,
    pooling,
    quantization,
    quantized_lstm,
    random,
    recurrent,
    reduction,
    regions,
    reshaping,
    resize,
    selection,
    slicing,
)
from tests.reference.control_flow import branch, repeat
from tests.reference.tensor import REGISTRY, Array, Call, NotInReference, Tensor, encode

# Operations that came with the AIDL interface, for messages that do not name them.
_AIDL_NAMES = {102: "BATCH_MATMUL", 103: "PACK", 104: "MIRROR_PAD", 105: "REVERSE"}


def operations() -> frozenset[str]:
    """The names of the operations that the reference has."""
    return frozenset(REGISTRY) | {"IF", "WHILE"}


def run(model: pb.Model, inputs: Sequence[pb.InputValue | None]) -> list[Array]:
    """The outputs of a model, in their shapes and storage types. NotInReference where it has an
    operation that is not here."""
    values: list[Tensor | None] = []
    for index, given in zip(model.main.input_indexes, inputs, strict=True):
        if given is None or given.has_no_value:
            values.append(None)
            continue
        operand = model.main.operands[index]
        data = np.frombuffer(given.data, dtype_of(operand.type))
        values.append(Tensor.like(operand, data.reshape(_shape(operand, given, data.size))))
    return [value.stored for value in _Interpreter(model).run(model.main, values)]


def _shape(operand: pb.Operand, given: pb.InputValue, count: int) -> tuple[int, ...]:
    shape = tuple(given.dimensions or operand.dimensions)
    if shape.count(0) == 1 and count:
        known = int(np.prod([extent for extent in shape if extent]))
        shape = tuple(extent or count // known for extent in shape)
    return shape


class _Interpreter:
    def __init__(self, model: pb.Model) -> None:
        self._model = model

    def run(self, subgraph: pb.Subgraph, inputs: Sequence[Tensor | None]) -> list[Tensor]:
        values: dict[int, Tensor | None] = dict(zip(subgraph.input_indexes, inputs, strict=True))
        for index, operand in enumerate(subgraph.operands):
            if is_constant(operand):
                values[index] = Tensor.like(operand, self._constant(operand))
            elif operand.lifetime == pb.OPERAND_LIFE_TIME_NO_VALUE:
                values[index] = None
        for operation in subgraph.operations:
            results = self._operation(subgraph, operation, values)
            values.update(zip(operation.outputs, results, strict=True))
        outputs = []
        for index in subgraph.output_indexes:
            value = values[index]
            assert value is not None
            outputs.append(value)
        return outputs

    def _constant(self, operand: pb.Operand) -> Array:
        place = operand.location
        reference = operand.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_REFERENCE
        pool = self._model.pools[place.pool_index] if reference else self._model.operand_values
        data = np.frombuffer(
            pool[place.offset : place.offset + place.length], dtype_of(operand.type)
        )
        return data.reshape(tuple(operand.dimensions))

    def _operation(
        self,
        subgraph: pb.Subgraph,
        operation: pb.Operation,
        values: dict[int, Tensor | None],
    ) -> list[Tensor]:
        name = _AIDL_NAMES.get(operation.type, operation_name(operation.type))
        outputs = [subgraph.operands[index] for index in operation.outputs]
        if name in ("IF", "WHILE"):
            return self._control_flow(name, subgraph, operation, values)
        if name not in REGISTRY:
            raise NotInReference(name)
        call = Call(name, [values[index] for index in operation.inputs], outputs)
        with np.errstate(all="ignore"):
            results = REGISTRY[name](call)
        return [encode(operand, result) for operand, result in zip(outputs, results, strict=True)]

    def _control_flow(
        self,
        name: str,
        subgraph: pb.Subgraph,
        operation: pb.Operation,
        values: dict[int, Tensor | None],
    ) -> list[Tensor]:
        def graph(position: int) -> pb.Subgraph:
            operand = subgraph.operands[operation.inputs[position]]
            return self._model.referenced[operand.location.offset]

        if name == "IF":
            condition = values[operation.inputs[0]]
            rest = [values[index] for index in operation.inputs[3:]]
            assert condition is not None
            return branch(condition, graph(1), graph(2), rest, self.run)
        rest = [values[index] for index in operation.inputs[2:]]
        return repeat(graph(0), graph(1), rest, len(operation.outputs), self.run)
