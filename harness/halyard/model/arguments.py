# SPDX-License-Identifier: Apache-2.0
"""The scalar arguments of operations, decoded from an operation's operands."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from halyard.model.operands import constant, is_constant
from halyard.proto import halyard_pb2 as pb


class Activation(enum.IntEnum):
    """NNAPI's FuseCode."""

    NONE = 0
    RELU = 1
    RELU1 = 2
    RELU6 = 3


class Padding(enum.Enum):
    SAME = 1  # the codes of NNAPI's implicit padding scheme
    VALID = 2


@dataclass(frozen=True)
class ExplicitPadding:
    left: int
    right: int
    top: int
    bottom: int


@dataclass(frozen=True)
class Window:
    """How a filter moves over an image. filter_* counts for poolings, multiplier for depthwise."""

    padding: Padding | ExplicitPadding
    stride_w: int
    stride_h: int
    activation: Activation
    nchw: bool = False
    dilation_w: int = 1
    dilation_h: int = 1
    filter_w: int = 0
    filter_h: int = 0
    multiplier: int = 1


def scalar(model: pb.Model, index: int) -> float:
    """The value of a constant scalar of the main subgraph."""
    operand = model.main.operands[index]
    if not is_constant(operand):
        raise ValueError(f"scalar operand {index} is no constant")
    return float(constant(model, operand).reshape(()))


def activation(model: pb.Model, index: int) -> Activation:
    return Activation(int(scalar(model, index)))


def convolution(model: pb.Model, operation: pb.Operation) -> Window:
    """CONV_2D: data, filter, bias, padding, strides, activation [, layout [, dilations]]."""
    padding, (stride_w, stride_h, activation, *tail) = _padding(model, operation.inputs, 3, 7)
    return Window(padding, stride_w, stride_h, Activation(activation), **_layout_and_dilation(tail))


def depthwise(model: pb.Model, operation: pb.Operation) -> Window:
    """DEPTHWISE_CONV_2D: the same with a depth multiplier before the activation."""
    padding, rest = _padding(model, operation.inputs, 3, 8)
    stride_w, stride_h, multiplier, activation, *tail = rest
    return Window(
        padding,
        stride_w,
        stride_h,
        Activation(activation),
        multiplier=multiplier,
        **_layout_and_dilation(tail),
    )


def pooling(model: pb.Model, operation: pb.Operation) -> Window:
    """AVERAGE_POOL_2D, MAX_POOL_2D: data, padding, strides, filter, activation [, layout]."""
    padding, rest = _padding(model, operation.inputs, 1, 7)
    stride_w, stride_h, filter_w, filter_h, activation, *tail = rest
    return Window(
        padding,
        stride_w,
        stride_h,
        Activation(activation),
        filter_w=filter_w,
        filter_h=filter_h,
        **_layout_and_dilation(tail),
    )


def same_padding(extent: int, filter_extent: int, stride: int) -> tuple[int, int]:
    """Padding before and after so that the output has ceil(extent / stride) elements."""
    output = -(-extent // stride)
    total = max(0, (output - 1) * stride + filter_extent - extent)
    return total // 2, total - total // 2


def _padding(
    model: pb.Model, inputs: Sequence[int], first: int, implicit_count: int
) -> tuple[Padding | ExplicitPadding, list[int]]:
    """The padding that starts at input `first`, and the values of the inputs after it.

    With implicit padding an operation has `implicit_count` inputs; what may follow them starts with
    the layout, a BOOL, where the explicit form still has integers.
    """
    implicit = len(inputs) == implicit_count or (
        len(inputs) > implicit_count
        and model.main.operands[inputs[implicit_count]].type == pb.OPERAND_TYPE_BOOL
    )
    values = [int(scalar(model, index)) for index in inputs[first:]]
    if implicit:
        return Padding(values[0]), values[1:]
    return ExplicitPadding(*values[:4]), values[4:]


class _Tail(TypedDict, total=False):
    nchw: bool
    dilation_w: int
    dilation_h: int


def _layout_and_dilation(values: Sequence[int]) -> _Tail:
    """What may stand at the end: layout, dilation width, dilation height."""
    tail = _Tail()
    if values:
        tail["nchw"] = bool(values[0])
    if len(values) >= 3:
        tail["dilation_w"], tail["dilation_h"] = values[1], values[2]
    return tail
