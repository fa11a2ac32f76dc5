# SPDX-License-Identifier: Apache-2.0
"""Runs a model, operation by operation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from halyard.model import Array, constant, constants, dtype_of, operation_name
from halyard.programs.operations import form as operation_form
from halyard.programs.operations import places as operation_places
from halyard.proto import halyard_pb2 as pb

# Each family registers its operations.
from halyard.reference import (  # noqa: F401
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
from halyard.reference.control_flow import branch, repeat
from halyard.reference.tensor import REGISTRY, Call, NotInReference, Raw, Tensor, encode

_EXACT: np.dtype[Any] = np.dtype(np.float64)
_SINGLE: np.dtype[Any] = np.dtype(np.float32)


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


def trace(
    model: pb.Model, inputs: Sequence[Array], known: Mapping[int, Array] | None = None
) -> dict[int, Array]:
    """The values of all operands of the main subgraph, by index, computed in float32.

    The first dimension of the inputs may be another than the model's: a batch of inputs. `known`
    are the model's constants, where they have been read already.
    """
    operands = model.main.operands
    pairs = zip(model.main.input_indexes, inputs, strict=True)
    given = [Tensor.like(operands[index], array) for index, array in pairs]
    declared = math.prod(operands[model.main.input_indexes[0]].dimensions)
    interpreter = _Interpreter(model, _SINGLE, inputs[0].size // declared, known)
    values = interpreter.values(model.main, given)
    return {index: value.stored for index, value in values.items() if value is not None}


def evaluate(
    model: pb.Model,
    operation: pb.Operation,
    tensors: Mapping[int, Array],
    outputs: int = 1,
    batch: int = 1,
) -> list[Array]:
    """So many outputs of an operation of the main subgraph, which has no operands for them yet:
    float32, or int32 where the operation gives nothing else. `tensors` are the values of tensors
    among its inputs, by operand, and `batch` how many inputs they are for at a time."""
    values: dict[int, Tensor | None] = {
        index: Tensor.like(model.main.operands[index], array) for index, array in tensors.items()
    }
    for index in operation.inputs:
        operand = model.main.operands[index]
        if operand.lifetime == pb.OPERAND_LIFE_TIME_NO_VALUE:
            values[index] = None
        elif index not in values:
            values[index] = Tensor.like(operand, constant(model, operand))
    call = _call(model.main, operation, values, [pb.Operand()] * outputs, _SINGLE, batch)
    results = _results(call)
    types = operation_form(call.name, _types(model.main, operation)).outputs
    found = []
    for number, result in enumerate(results):
        whole = types[min(number, len(types) - 1)].types == {pb.OPERAND_TYPE_TENSOR_INT32}
        stored = result.stored if isinstance(result, Raw) else result
        found.append(np.asarray(stored, np.int32 if whole else np.float32))
    return found


def _shape(operand: pb.Operand, given: pb.InputValue, count: int) -> tuple[int, ...]:
    shape = tuple(given.dimensions or operand.dimensions)
    if shape.count(0) == 1 and count:
        known = int(np.prod([extent for extent in shape if extent]))
        shape = tuple(extent or count // known for extent in shape)
    return shape


class _Interpreter:
    def __init__(
        self,
        model: pb.Model,
        precision: np.dtype[Any] = _EXACT,
        batch: int = 1,
        known: Mapping[int, Array] | None = None,
    ) -> None:
        """`known`: the constants of the main subgraph, where they have been read already."""
        self._model = model
        self._precision = precision
        self._batch = batch
        self._known = known

    def run(self, subgraph: pb.Subgraph, inputs: Sequence[Tensor | None]) -> list[Tensor]:
        values = self.values(subgraph, inputs)
        outputs = []
        for index in subgraph.output_indexes:
            value = values[index]
            assert value is not None
            outputs.append(value)
        return outputs

    def values(
        self, subgraph: pb.Subgraph, inputs: Sequence[Tensor | None]
    ) -> dict[int, Tensor | None]:
        """Of all operands, by index."""
        is_main = subgraph is self._model.main
        known = self._known if is_main and self._known is not None else None
        if known is None:
            known = constants(self._model, subgraph)
        values: dict[int, Tensor | None] = dict(zip(subgraph.input_indexes, inputs, strict=True))
        for index, operand in enumerate(subgraph.operands):
            if index in known:
                values[index] = Tensor.like(operand, known[index])
            elif operand.lifetime == pb.OPERAND_LIFE_TIME_NO_VALUE:
                values[index] = None
        for operation in subgraph.operations:
            results = self._operation(subgraph, operation, values)
            values.update(zip(operation.outputs, results, strict=True))
        return values

    def _operation(
        self,
        subgraph: pb.Subgraph,
        operation: pb.Operation,
        values: dict[int, Tensor | None],
    ) -> list[Tensor]:
        name = operation_name(operation.type)
        if name in ("IF", "WHILE"):
            return self._control_flow(name, subgraph, operation, values)
        outputs = [subgraph.operands[index] for index in operation.outputs]
        call = _call(subgraph, operation, values, outputs, self._precision, self._batch)
        results = _results(call)
        return [encode(operand, result) for operand, result in zip(outputs, results, strict=True)]

    def _control_flow(
        self,
        name: str,
        subgraph: pb.Subgraph,
        operation: pb.Operation,
        values: dict[int, Tensor | None],
    ) -> list[Tensor]:
        places = operation_places(name, _types(subgraph, operation), len(operation.outputs))
        operands = {
            each: [operation.inputs[place] for place in found]
            for each, found in places.inputs.items()
        }

        def graph(which: str) -> pb.Subgraph:
            [index] = operands[which]
            return self._model.referenced[subgraph.operands[index].location.offset]

        rest = [values[index] for index in operands["inputs"]]
        if name == "IF":
            condition = values[operands["condition"][0]]
            assert condition is not None
            return branch(condition, graph("then_model"), graph("else_model"), rest, self.run)
        return repeat(
            graph("condition_model"), graph("body_model"), rest, len(operation.outputs), self.run
        )


def _types(subgraph: pb.Subgraph, operation: pb.Operation) -> tuple[int, ...]:
    return tuple(subgraph.operands[index].type for index in operation.inputs)


def _call(
    subgraph: pb.Subgraph,
    operation: pb.Operation,
    values: Mapping[int, Tensor | None],
    outputs: Sequence[pb.Operand],
    precision: np.dtype[Any],
    batch: int,
) -> Call:
    """NotInReference for an operation that is not here."""
    name = operation_name(operation.type)
    if name not in REGISTRY:
        raise NotInReference(name)
    places = operation_places(name, _types(subgraph, operation), len(outputs))
    inputs = {
        each: [values[operation.inputs[place]] for place in found]
        for each, found in places.inputs.items()
    }
    return Call(name, inputs, outputs, precision, batch)


def _results(call: Call) -> Sequence[Array | Raw]:
    with np.errstate(all="ignore"):
        return REGISTRY[call.name](call)
