# SPDX-License-Identifier: Apache-2.0
"""Which operations take whole numbers and truth values: most of NNAPI's take real numbers alone."""

from __future__ import annotations

from halyard.proto import halyard_pb2 as pb

_COMPARISONS = {
    pb.OPERATION_TYPE_EQUAL,
    pb.OPERATION_TYPE_NOT_EQUAL,
    pb.OPERATION_TYPE_GREATER,
    pb.OPERATION_TYPE_GREATER_EQUAL,
    pb.OPERATION_TYPE_LESS,
    pb.OPERATION_TYPE_LESS_EQUAL,
}
_TAKES: dict[int, set[pb.OperationType]] = {
    pb.OPERAND_TYPE_TENSOR_INT32: _COMPARISONS
    | {
        pb.OPERATION_TYPE_ABS,
        pb.OPERATION_TYPE_ADD,
        pb.OPERATION_TYPE_ARGMAX,
        pb.OPERATION_TYPE_ARGMIN,
        pb.OPERATION_TYPE_BATCH_MATMUL,
        pb.OPERATION_TYPE_CAST,
        pb.OPERATION_TYPE_EXPAND_DIMS,
        pb.OPERATION_TYPE_GATHER,
        pb.OPERATION_TYPE_MAXIMUM,
        pb.OPERATION_TYPE_MINIMUM,
        pb.OPERATION_TYPE_MUL,
        pb.OPERATION_TYPE_NEG,
        pb.OPERATION_TYPE_RESHAPE,
        pb.OPERATION_TYPE_SELECT,
        pb.OPERATION_TYPE_SLICE,
        pb.OPERATION_TYPE_SPLIT,
        pb.OPERATION_TYPE_SUB,
        pb.OPERATION_TYPE_TILE,
        pb.OPERATION_TYPE_TOPK_V2,
    },
    pb.OPERAND_TYPE_TENSOR_BOOL8: {
        pb.OPERATION_TYPE_EQUAL,
        pb.OPERATION_TYPE_LOGICAL_AND,
        pb.OPERATION_TYPE_LOGICAL_NOT,
        pb.OPERATION_TYPE_LOGICAL_OR,
        pb.OPERATION_TYPE_NOT_EQUAL,
        pb.OPERATION_TYPE_SELECT,
    },
}

# Those that move elements, whatever they are.
_MOVING = {
    pb.OPERATION_TYPE_CONCATENATION,
    pb.OPERATION_TYPE_DEPTH_TO_SPACE,
    pb.OPERATION_TYPE_GATHER,
    pb.OPERATION_TYPE_MIRROR_PAD,
    pb.OPERATION_TYPE_PAD,
    pb.OPERATION_TYPE_RESHAPE,
    pb.OPERATION_TYPE_SLICE,
    pb.OPERATION_TYPE_SPACE_TO_DEPTH,
    pb.OPERATION_TYPE_SPLIT,
    pb.OPERATION_TYPE_STRIDED_SLICE,
    pb.OPERATION_TYPE_TILE,
    pb.OPERATION_TYPE_TRANSPOSE,
}


def moves_truth_as_bytes(operation: int, operand_type: int) -> bool:
    return operand_type == pb.OPERAND_TYPE_TENSOR_BOOL8 and operation in _MOVING


def takes(operation: int, operand_type: int) -> bool:
    """Whether the operation's first input may be of the type, as far as this is about numbers."""
    return operand_type not in _TAKES or operation in _TAKES[operand_type]
