# SPDX-License-Identifier: Apache-2.0
"""The scalar arguments of operations, decoded from an operation's operands."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from halyard.model.operands import constant, is_constant, is_tensor
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


@dataclass(frozen=True)
class Resize:
    height: int
    width: int
    align_corners: bool
    half_pixel_centers: bool


def resize(model: pb.Model, operation: pb.Operation) -> Resize:
    """RESIZE_BILINEAR to a size: data, width, height [, layout [, corners [, centres]]]."""
    if model.main.operands[operation.inputs[1]].type != pb.OPERAND_TYPE_INT32:
        raise ValueError("it is given a scale, not a size")
    width, height, *flags = (int(scalar(model, index)) for index in operation.inputs[1:])
    nchw, corners, centers = (*flags, 0, 0, 0)[:3]
    if nchw:
        raise ValueError("it is NCHW")
    return Resize(height, width, bool(corners), bool(centers))


# The activation of an LSTM's cell that is not among the fused ones.
TANH = 4


@dataclass(frozen=True)
class Lstm:
    activation: int
    cell_clip: float
    projection_clip: float
    # Which of the first 20 inputs, and of the layer norm's weights that follow as 20 to 23, are
    # there: those that are tensors with a value.
    present: tuple[int, ...]

    @property
    def is_plain(self) -> bool:
        """With an input gate of its own, without peepholes and normalisation."""
        return {1, 5, 12}.issubset(self.present) and not {9, 10, 11, 20, 21, 22, 23}.intersection(
            self.present
        )


def lstm(model: pb.Model, operation: pb.Operation) -> Lstm:
    """LSTM and UNIDIRECTIONAL_SEQUENCE_LSTM."""
    operands = [model.main.operands[index] for index in operation.inputs]
    tensors = operands[:20] + [operand for operand in operands[20:] if is_tensor(operand.type)]
    present = tuple(
        number
        for number, operand in enumerate(tensors)
        if operand.lifetime != pb.OPERAND_LIFE_TIME_NO_VALUE
    )
    activation, cell_clip, projection_clip = (
        scalar(model, index) for index in operation.inputs[20:23]
    )
    return Lstm(int(activation), cell_clip, projection_clip, present)


@dataclass(frozen=True)
class Detection:
    scales: tuple[float, float, float, float]  # of y, x, height, width
    regular: bool
    most: int
    classes_per_detection: int
    detections_per_class: int
    score_threshold: float
    overlap_threshold: float
    background_is_class: bool


def detection(model: pb.Model, operation: pb.Operation) -> Detection:
    """DETECTION_POSTPROCESSING: scores, deltas, anchors, and eleven scalars."""
    y, x, height, width, *rest = (scalar(model, index) for index in operation.inputs[3:])
    regular, most, classes, per_class, score, overlap, background = rest
    return Detection(
        (y, x, height, width),
        bool(regular),
        int(most),
        int(classes),
        int(per_class),
        score,
        overlap,
        bool(background),
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
