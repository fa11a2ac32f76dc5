# SPDX-License-Identifier: Apache-2.0
"""HAL versions: their names, and the lowest one that can carry a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from halyard.errors import ConfigError
from halyard.model import is_tensor
from halyard.proto import halyard_pb2 as pb

ALL = (pb.HAL_VERSION_1_0, pb.HAL_VERSION_1_1, pb.HAL_VERSION_1_2, pb.HAL_VERSION_1_3)


def parse(text: str) -> pb.HalVersion:
    """The version named "1.0" to "1.3". ConfigError for anything else."""
    for version in ALL:
        if text == format(version):
            return version
    raise ConfigError(f"no HAL version {text!r} (one of {', '.join(map(format, ALL))})")


def format(version: int) -> str:
    """ "1.2"; "newest" for HAL_VERSION_UNSPECIFIED."""
    if version == pb.HAL_VERSION_UNSPECIFIED:
        return "newest"
    return f"{version // 10}.{version % 10}"


def required(model: pb.Model) -> pb.HalVersion:
    """The lowest HAL version that can carry the model.

    Operation codes, operand types and what a model may hold are known for every operation. Rules on
    the form of an operation (an argument or a freedom that came later) are known for those that the
    driver runs; another operation counts with the version that introduced it.
    """
    versions: list[pb.HalVersion] = [pb.HAL_VERSION_1_0]
    if model.relax_computation_float32_to_float16:
        versions.append(pb.HAL_VERSION_1_1)
    if model.extension_name_to_prefix:
        versions.append(pb.HAL_VERSION_1_2)
    if model.referenced:
        versions.append(pb.HAL_VERSION_1_3)
    for subgraph in (model.main, *model.referenced):
        versions.extend(_of_operand(operand) for operand in subgraph.operands)
        versions.extend(_of_operation(subgraph, operation) for operation in subgraph.operations)
    return max(versions)


def _of_operand(operand: pb.Operand) -> pb.HalVersion:
    if operand.type in (pb.OPERAND_TYPE_OEM, pb.OPERAND_TYPE_TENSOR_OEM_BYTE):
        return pb.HAL_VERSION_1_0
    if operand.type > pb.OPERAND_TYPE_TENSOR_QUANT8_SYMM:
        return pb.HAL_VERSION_1_3
    if operand.type > pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM:
        return pb.HAL_VERSION_1_2
    if is_tensor(operand.type) and not operand.dimensions:
        # An omitted tensor has no dimensions in any version.
        omitted = operand.lifetime == pb.OPERAND_LIFE_TIME_NO_VALUE
        return pb.HAL_VERSION_1_0 if omitted else pb.HAL_VERSION_1_2
    return pb.HAL_VERSION_1_0


def _of_operation(subgraph: pb.Subgraph, operation: pb.Operation) -> pb.HalVersion:
    rule = _RULES.get(operation.type)
    if rule is not None:
        inputs = [subgraph.operands[i] for i in operation.inputs]
        outputs = [subgraph.operands[i] for i in operation.outputs]
        version = rule(inputs, outputs)
        if version is not None:
            return version
    if operation.type == pb.OPERATION_TYPE_OEM_OPERATION:
        return pb.HAL_VERSION_1_0
    if operation.type > pb.OPERATION_TYPE_RESIZE_NEAREST_NEIGHBOR:
        extension = operation.type > 0xFFFF
        return pb.HAL_VERSION_1_2 if extension else pb.HAL_VERSION_1_3
    if operation.type > pb.OPERATION_TYPE_TRANSPOSE:
        return pb.HAL_VERSION_1_2
    if operation.type > pb.OPERATION_TYPE_TANH:
        return pb.HAL_VERSION_1_1
    return pb.HAL_VERSION_1_0


# ---- operations whose rules were relaxed later -----------------------------------------------

_Operands = Sequence[pb.Operand]
# The version that one use of an operation needs; None: the one that introduced the operation.
_Rule = Callable[[_Operands, _Operands], "pb.HalVersion | None"]


def _weighted_sum(inputs: _Operands, outputs: _Operands) -> pb.HalVersion | None:
    """Up to 1.1 a quantised output must be coarser than the sums it is made of."""
    data, weights, output = inputs[0], inputs[1], outputs[0]
    if data.type != pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM:
        return None
    product = np.float32(data.scale) * np.float32(weights.scale)
    return None if np.float32(output.scale) > product else pb.HAL_VERSION_1_2


def _arithmetic(inputs: _Operands, _: _Operands) -> pb.HalVersion | None:
    is_int32 = inputs[0].type == pb.OPERAND_TYPE_TENSOR_INT32
    return pb.HAL_VERSION_1_3 if is_int32 else None


def _concatenation(inputs: _Operands, outputs: _Operands) -> pb.HalVersion | None:
    """Up to 1.1 every tensor of a concatenation has the same quantisation."""
    output = outputs[0]
    same = all(
        (operand.scale, operand.zero_point) == (output.scale, output.zero_point)
        for operand in inputs[:-1]
    )
    return None if same else pb.HAL_VERSION_1_2


def _pad(inputs: _Operands, _: _Operands) -> pb.HalVersion | None:
    """Up to 1.1 it was not said what quantised padding is filled with."""
    return pb.HAL_VERSION_1_2 if inputs[0].zero_point else None


def _softmax(inputs: _Operands, _: _Operands) -> pb.HalVersion | None:
    """Up to 1.1 there is no axis, and the rank is 2 or 4."""
    older = len(inputs) == 2 and len(inputs[0].dimensions) in (2, 4)
    return None if older else pb.HAL_VERSION_1_2


_RULES: dict[int, _Rule] = {
    pb.OPERATION_TYPE_ADD: _arithmetic,
    pb.OPERATION_TYPE_CONCATENATION: _concatenation,
    pb.OPERATION_TYPE_CONV_2D: _weighted_sum,
    pb.OPERATION_TYPE_DEPTHWISE_CONV_2D: _weighted_sum,
    pb.OPERATION_TYPE_FULLY_CONNECTED: _weighted_sum,
    pb.OPERATION_TYPE_MUL: _arithmetic,
    pb.OPERATION_TYPE_PAD: _pad,
    pb.OPERATION_TYPE_SOFTMAX: _softmax,
}
