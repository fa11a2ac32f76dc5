# SPDX-License-Identifier: Apache-2.0
"""The arguments of operations, decoded from an operation's operands."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Protocol

from halyard.model.call import Call


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

    @property
    def vertical(self) -> tuple[int, int]:
        return self.top, self.bottom

    @property
    def horizontal(self) -> tuple[int, int]:
        return self.left, self.right


class Named(Protocol):
    """A reader of operands by their names: of a model, or of a call with values."""

    def has(self, name: str) -> bool: ...

    def integer(self, name: str, default: int | None = None) -> int: ...

    def flag(self, name: str) -> bool: ...


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


def activation(call: Named) -> Activation:
    return Activation(call.integer("activation"))


def window(call: Named) -> Window:
    """Of a convolution or a pooling."""
    return Window(
        _padding(call),
        call.integer("stride_width"),
        call.integer("stride_height"),
        Activation(call.integer("activation")),
        nchw=call.flag("layout"),
        dilation_w=call.integer("dilation_width", 1),
        dilation_h=call.integer("dilation_height", 1),
        filter_w=call.integer("filter_width", 0),
        filter_h=call.integer("filter_height", 0),
        multiplier=call.integer("depth_multiplier", 1),
    )


@dataclass(frozen=True)
class Resize:
    height: int
    width: int
    align_corners: bool
    half_pixel_centers: bool


def resize(call: Call) -> Resize:
    """RESIZE_BILINEAR to a size."""
    if not call.has("width"):
        raise ValueError("it is given a scale, not a size")
    if call.flag("layout"):
        raise ValueError("it is NCHW")
    return Resize(
        call.integer("height"),
        call.integer("width"),
        call.flag("align_corners"),
        call.flag("half_pixel_centers"),
    )


# The activation of an LSTM's cell that is not among the fused ones.
TANH = 4
# The operands that tell an LSTM's kind.
_INPUT_GATE = ("input_to_input_weights", "recurrent_to_input_weights", "input_gate_bias")
_PEEPHOLES = ("cell_to_input_weights", "cell_to_forget_weights", "cell_to_output_weights")
_NORMALISATION = tuple(
    f"{gate}_layer_norm_weights" for gate in ("input", "forget", "cell", "output")
)


def is_plain_lstm(call: Call) -> bool:
    """With tanh and an input gate of its own, without peepholes and normalisation."""
    return (
        call.integer("activation") == TANH
        and all(map(call.has, _INPUT_GATE))
        and not any(map(call.has, (*_PEEPHOLES, *_NORMALISATION)))
    )


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


def detection(call: Call) -> Detection:
    y, x, height, width = (call.scalar(f"scale_{which}") for which in "yxhw")
    return Detection(
        (y, x, height, width),
        call.flag("regular_nms"),
        call.integer("max_detections"),
        call.integer("max_classes_per_detection"),
        call.integer("max_detections_per_class"),
        call.scalar("score_threshold"),
        call.scalar("iou_threshold"),
        call.flag("background_is_class"),
    )


def same_padding(extent: int, filter_extent: int, stride: int) -> tuple[int, int]:
    """Padding before and after so that the output has ceil(extent / stride) elements."""
    output = -(-extent // stride)
    total = max(0, (output - 1) * stride + filter_extent - extent)
    return total // 2, total - total // 2


def _padding(call: Named) -> Padding | ExplicitPadding:
    if call.has("padding_scheme"):
        return Padding(call.integer("padding_scheme"))
    left, right, top, bottom = (
        call.integer(f"padding_{side}") for side in ("left", "right", "top", "bottom")
    )
    return ExplicitPadding(left, right, top, bottom)
