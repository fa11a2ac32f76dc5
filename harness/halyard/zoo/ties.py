# SPDX-License-Identifier: Apache-2.0
"""Which operands of a quantised model have one scale and zero point: what only moves values, or
picks some of them, leaves them as they are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container

from halyard.model.call import Call
from halyard.proto import halyard_pb2 as pb

# Operations whose inputs and outputs NNAPI, or TFLite, wants quantised alike.
TIED = frozenset(
    {
        pb.OPERATION_TYPE_AVERAGE_POOL_2D,
        pb.OPERATION_TYPE_CONCATENATION,
        pb.OPERATION_TYPE_MAX_POOL_2D,
        pb.OPERATION_TYPE_MEAN,
        pb.OPERATION_TYPE_PAD,
        pb.OPERATION_TYPE_RESHAPE,
        pb.OPERATION_TYPE_RESIZE_BILINEAR,
        pb.OPERATION_TYPE_SPLIT,
        pb.OPERATION_TYPE_TRANSPOSE,
    }
)


class Ties:
    """Every operand of a float model belongs to one group; most are alone in theirs."""

    def __init__(self, model: pb.Model, floats: Container[int]) -> None:
        """`floats`: the numbers of operations that are not quantised."""
        self._next: dict[int, int] = {}
        for number, operation in enumerate(model.main.operations):
            if number in floats:
                continue
            if operation.type in TIED:
                alike = [
                    index
                    for index in (*operation.inputs, *operation.outputs)
                    if _is_activation(model.main.operands[index])
                ]
                self._tie(alike)
            elif operation.type == pb.OPERATION_TYPE_LSTM:
                # States keep their scales from step to step; the output is one of them.
                call = Call(model, operation)
                state, cell = "output_state", "cell_state"
                self._tie([call.index(state), call.output(state), call.output()])
                self._tie([call.index(cell), call.output(cell)])
        self._groups: dict[int, list[int]] = defaultdict(list)
        for index in range(len(model.main.operands)):
            self._groups[self.of(index)].append(index)

    def of(self, index: int) -> int:
        """The first operand of the group that the operand is in."""
        while index in self._next:
            index = self._next[index]
        return index

    def group(self, index: int) -> list[int]:
        return self._groups[self.of(index)]

    def _tie(self, alike: list[int]) -> None:
        for index in alike[1:]:
            first, second = sorted((self.of(alike[0]), self.of(index)))
            if first != second:
                self._next[second] = first


def _is_activation(operand: pb.Operand) -> bool:
    return operand.type == pb.OPERAND_TYPE_TENSOR_FLOAT32 and operand.lifetime in (
        pb.OPERAND_LIFE_TIME_SUBGRAPH_INPUT,
        pb.OPERAND_LIFE_TIME_TEMPORARY_VARIABLE,
        pb.OPERAND_LIFE_TIME_SUBGRAPH_OUTPUT,
    )
