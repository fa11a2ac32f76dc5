# SPDX-License-Identifier: Apache-2.0
"""Variables of VAR_HANDLE, as streaming models keep what they heard: they become inputs and outputs
of the model, so that the program that runs it hands them on."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.schema_py_generated import BuiltinOperator as Code

from halyard.errors import NotExpressible
from halyard.model import Array
from halyard.tflite.graph import made, packed
from halyard.tflite.reading.file import File, Graph, Operator

_ACCESS = frozenset({Code.READ_VARIABLE, Code.ASSIGN_VARIABLE})


@dataclass(frozen=True)
class Held:
    """A variable, by its places among the graph's inputs and outputs: none where it is never read
    before it is assigned, or never assigned. `initial` is what it is before the first run."""

    input: int | None
    output: int | None
    initial: Array | None


_OPERATORS = frozenset({Code.VAR_HANDLE, Code.CALL_ONCE, *_ACCESS})

# The container and the name that several handles of one variable share.
_Key = tuple[bytes, bytes]


def has_variables(file: File) -> bool:
    return any(operator.code in _OPERATORS for operator in file.graphs[0].operators)


def with_states(file: File) -> tuple[bytes, list[Held]]:
    """The file without variables: each that is read is an input, with what it is at first, and each
    that is assigned an output. NotExpressible where they can't be."""
    return _Rewriting(file).result()


@dataclass
class _Variable:
    """`current`: the tensor that has its value at this place of the graph."""

    name: str
    initial: Array | None = None
    input: int | None = None
    current: int | None = None
    assigned: bool = False


@dataclass
class _Rewriting:
    file: File
    handles: dict[int, _Key] = field(default_factory=dict)
    variables: dict[_Key, _Variable] = field(default_factory=dict)
    # Tensors that stand for others now.
    same: dict[int, int] = field(default_factory=dict)

    def result(self) -> tuple[bytes, list[Held]]:
        file, graph = self.file, self.file.graphs[0]
        model = file.content
        main = copy.copy(model.subgraphs[0])
        main.tensors = list(main.tensors)
        self._refuse_others(graph)
        kept = []
        for operator, written in zip(graph.operators, main.operators, strict=True):
            if operator.code == Code.CALL_ONCE:
                self._initialise(operator)
            elif operator.code == Code.VAR_HANDLE:
                self.handles[operator.outputs[0]] = _key(operator)
            elif operator.code == Code.READ_VARIABLE:
                self._read(graph, main, operator)
            elif operator.code == Code.ASSIGN_VARIABLE:
                variable = self._variable(operator)
                value = operator.inputs[1]
                variable.current, variable.assigned = self.same.get(value, value), True
            else:
                changed = copy.copy(written)
                changed.inputs = [self.same.get(each, each) for each in operator.inputs]
                kept.append(changed)
        main.operators = kept
        states = self._states(graph, main)
        whole = made(
            schema.ModelT,
            **{**vars(model), "subgraphs": [main, *model.subgraphs[1:]], "signatureDefs": None},
        )
        return packed(whole), states

    def _states(self, graph: Graph, main: Any) -> list[Held]:
        inputs = list(graph.inputs)
        outputs = [self.same.get(each, each) for each in graph.outputs]
        states = []
        for variable in self.variables.values():
            before = after = None
            if variable.input is not None:
                before = len(inputs)
                inputs.append(variable.input)
            if variable.assigned and variable.current is not None:
                after = len(outputs)
                outputs.append(variable.current)
            states.append(Held(before, after, variable.initial))
        main.inputs, main.outputs = inputs, outputs
        return states

    def _refuse_others(self, graph: Graph) -> None:
        once = {
            int(operator.options.initSubgraphIndex)
            for operator in graph.operators
            if operator.code == Code.CALL_ONCE and operator.options is not None
        }
        for number, other in enumerate(self.file.graphs[1:], 1):
            if number not in once and any(each.code in _ACCESS for each in other.operators):
                raise NotExpressible(f"its subgraph {number} has variables, too")

    def _initialise(self, operator: Operator) -> None:
        index = -1 if operator.options is None else int(operator.options.initSubgraphIndex)
        if not 0 < index < len(self.file.graphs):
            raise NotExpressible(f"CALL_ONCE names subgraph {index}")
        graph = self.file.graphs[index]
        handles: dict[int, _Key] = {}
        for each in graph.operators:
            if each.code == Code.VAR_HANDLE:
                handles[each.outputs[0]] = _key(each)
                continue
            if each.code != Code.ASSIGN_VARIABLE or len(each.inputs) != 2:
                raise NotExpressible(
                    f"its subgraph {index}, which begins with {each.kind}, is no list of constants "
                    "for variables"
                )
            key, values = handles.get(each.inputs[0]), graph.tensors[each.inputs[1]].values
            if key is None or values is None:
                raise NotExpressible(f"its subgraph {index} assigns what is computed")
            self.variables.setdefault(key, _Variable(_shown(key))).initial = values

    def _variable(self, operator: Operator) -> _Variable:
        key = self.handles.get(operator.inputs[0]) if operator.inputs else None
        if key is None:
            raise NotExpressible(f"{operator.kind} is of no variable that is known")
        return self.variables.setdefault(key, _Variable(_shown(key)))

    def _read(self, graph: Graph, main: Any, operator: Operator) -> None:
        variable, output = self._variable(operator), operator.outputs[0]
        if variable.current is None:
            tensor = graph.tensors[output]
            shape = tensor.shape if variable.initial is None else variable.initial.shape
            if tensor.dtype is None or any(extent < 1 for extent in shape):
                raise NotExpressible(
                    f"the variable {variable.name!r}, {tensor.type_name}{list(shape)}, has no "
                    "shape that is known"
                )
            if variable.initial is None:
                self.file.budget.take_bytes(tensor.byte_size, "its variables")
                variable.initial = np.full(
                    shape, tensor.zero_points[0] if tensor.zero_points else 0, tensor.dtype
                )
            added = copy.copy(main.tensors[output])
            added.name, added.shape, added.buffer = variable.name, list(shape), 0
            added.shapeSignature = None
            main.tensors.append(added)
            variable.input = variable.current = len(main.tensors) - 1
        self.same[output] = variable.current


def _key(operator: Operator) -> _Key:
    given = operator.options
    names = [getattr(given, each, None) or b"" for each in ("container", "sharedName")]
    found = [each if isinstance(each, bytes) else str(each).encode() for each in names]
    return found[0], found[1] or str(operator.number).encode()


def _shown(key: _Key) -> str:
    return key[1].decode(errors="replace")
