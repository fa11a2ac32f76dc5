# SPDX-License-Identifier: Apache-2.0
"""A conformance case."""

from __future__ import annotations

from dataclasses import dataclass

from halyard.cases.check import ExpectedOutput, Multinomial, Verdict, check
from halyard.model import is_tensor, operation_name, type_name
from halyard.proto import halyard_pb2 as pb


@dataclass(frozen=True)
class Case:
    """A model with one set of inputs, what has to come out of it, and what the official suite says
    of it. It does not matter where it was written: as golden data, as a spec, in a test."""

    name: str
    spec: str
    test_case: pb.TestCase
    expected: tuple[ExpectedOutput, ...]
    # The lowest that can carry the case.
    hal_version: pb.HalVersion
    # Any failure of prepare or execute passes, success does not.
    expect_failure: bool
    tags: frozenset[str]
    # Forms with other operand lifetimes that the official suite has of this case, too.
    lifetime_variants: tuple[tuple[str, ...], ...]
    # The official suite's names of them.
    lifetime_names: tuple[str, ...] = ()
    multinomial: Multinomial | None = None
    # Operands of the main subgraph that no derived form may compute inside the model, and constants
    # that none may feed as an input.
    never_internal: frozenset[int] = frozenset()
    never_input: frozenset[int] = frozenset()
    # The official suite has no form of it that leaves its outputs' dimensions open.
    shapes_must_be_known: bool = False

    @property
    def operations(self) -> frozenset[str]:
        """The names of the operations in all of the model's subgraphs."""
        model = self.test_case.model
        return frozenset(
            operation_name(operation.type)
            for subgraph in (model.main, *model.referenced)
            for operation in subgraph.operations
        )

    @property
    def types(self) -> frozenset[str]:
        """The names of the types of all tensors, as FLOAT32 or QUANT8_ASYMM."""
        model = self.test_case.model
        return frozenset(
            type_name(operand.type)
            for subgraph in (model.main, *model.referenced)
            for operand in subgraph.operands
            if is_tensor(operand.type)
        )

    @property
    def forms(self) -> frozenset[tuple[str, str]]:
        """Each operation with the type that it computes with: ("ADD", "FLOAT32")."""
        model = self.test_case.model
        return frozenset(
            (operation_name(operation.type), _computed_type(subgraph, operation))
            for subgraph in (model.main, *model.referenced)
            for operation in subgraph.operations
        )

    def check(self, result: pb.CaseResult) -> Verdict:
        """The official check of what a device made of the case."""
        return check(self.expected, self.expect_failure, self.multinomial, result)


# Of axes, indices and conditions, unless the operation has nothing else.
_STEERING = frozenset({pb.OPERAND_TYPE_TENSOR_INT32, pb.OPERAND_TYPE_TENSOR_BOOL8})


def _computed_type(subgraph: pb.Subgraph, operation: pb.Operation) -> str:
    """That of the first tensor among its inputs that holds numbers to compute with."""
    types = [
        subgraph.operands[index].type
        for index in operation.inputs
        if index < len(subgraph.operands)
    ]
    tensors = [each for each in types if is_tensor(each)]
    numbers = [each for each in tensors if each not in _STEERING]
    first = (numbers or tensors or types)[:1]
    return type_name(first[0]) if first else "none"
