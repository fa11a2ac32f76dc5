# SPDX-License-Identifier: Apache-2.0
"""Operators that move a window over an image, and those that make images of another size."""

from collections.abc import Sequence

import numpy as np

from tests.random_onnx.sketch import Shape, Sketch, generates


def _window(s: Sketch, kernel: Sequence[int], *, dilates: bool = True) -> dict[str, object]:
    """Strides, dilations and padding that may be left out each."""
    count = len(kernel)
    found: dict[str, object] = {}
    if s.chance(0.6):
        found["strides"] = [s.integer(1, 3) for _ in range(count)]
    if dilates and s.chance(0.25):
        found["dilations"] = [s.integer(1, 2) for _ in range(count)]
    how = s.pick(("", "", "pads", "pads", "SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"))
    if how == "pads":
        found["pads"] = [s.integer(0, span) for span in (*kernel, *kernel)]
    elif how:
        found["auto_pad"] = how
    return found


def _image(s: Sketch, channels: int, rank: int = 2) -> Shape:
    return (s.integer(1, 2), channels, *(s.integer(1, 8) for _ in range(rank)))


def _kernel(s: Sketch, rank: int = 2) -> list[int]:
    return [s.integer(1, 3) for _ in range(rank)]


def _rank(s: Sketch) -> int:
    return s.pick((2, 2, 2, 2, 1, 3))


@generates("Conv", quantized=True)
def convolution(s: Sketch) -> Sequence[str]:
    rank, group = _rank(s), s.pick((1, 1, 1, 2, 3))
    depth = s.integer(1, 2)
    outputs, kernel = group * s.integer(1, 2), _kernel(s, rank)
    shape = _image(s, group * depth, rank)
    attributes = _window(s, kernel)
    if group > 1 or s.chance(0.2):
        attributes["group"] = group
    if s.chance(0.5):
        attributes["kernel_shape"] = kernel
    names = [s.value(s.numbers(shape)), _weights(s, (outputs, depth, *kernel))]
    if s.chance(0.6):
        names.append(s.constant(s.numbers((outputs,))))
    y = s.op("Conv", *names, **attributes)
    return [s.op("Relu", y) if s.chance(0.3) else y]


def _weights(s: Sketch, shape: Shape) -> str:
    return s.value(s.numbers(shape), constant=0.95 if not s.quantizes else 1.0)


@generates("ConvTranspose")
def transposed_convolution(s: Sketch) -> Sequence[str]:
    rank, group = _rank(s), s.pick((1, 1, 1, 1, 2))
    depth, kernel = s.integer(1, 2), _kernel(s, rank)
    shape = _image(s, group * depth, rank)
    attributes = _window(s, kernel)
    strides = attributes.get("strides", [1] * rank)
    dilations = attributes.get("dilations", [1] * rank)
    assert isinstance(strides, list)
    assert isinstance(dilations, list)
    added = [0] * rank
    if s.chance(0.3):
        added = [
            s.integer(0, max(stride, dilation) - 1)
            for stride, dilation in zip(strides, dilations, strict=True)
        ]
        attributes["output_padding"] = added
    if s.chance(0.3):
        attributes.pop("pads", None)
        if attributes.get("auto_pad") == "VALID":
            attributes.pop("auto_pad")
        attributes["output_shape"] = [
            max((extent - 1) * stride + (span - 1) * dilation + 1 + more - s.integer(0, 3), 1)
            for extent, stride, span, dilation, more in zip(
                shape[2:], strides, kernel, dilations, added, strict=True
            )
        ]
    if group > 1:
        attributes["group"] = group
    if s.chance(0.5):
        attributes["kernel_shape"] = kernel
    outputs = s.integer(1, 2)
    names = [s.value(s.numbers(shape)), s.constant(s.numbers((group * depth, outputs, *kernel)))]
    if s.chance(0.5):
        names.append(s.constant(s.numbers((outputs * group,))))
    return [s.op("ConvTranspose", *names, **attributes)]


@generates("AveragePool", "MaxPool", quantized=True)
def pooling(s: Sketch) -> Sequence[str]:
    rank = _rank(s)
    kernel = _kernel(s, rank)
    average = s.operator == "AveragePool"
    attributes = _window(s, kernel, dilates=s.opset >= (19 if average else 10))
    # ONNX Runtime has other extents then than onnx infers.
    if "dilations" in attributes and "auto_pad" in attributes:
        raise ValueError
    # ONNX Runtime's automatic padding of poolings is negative there, which it refuses or reads by.
    strides = attributes.get("strides", [1] * rank)
    assert isinstance(strides, list)
    automatic = str(attributes.get("auto_pad", "")).startswith("SAME")
    if automatic and any(step > span for step, span in zip(strides, kernel, strict=True)):
        raise ValueError
    if "pads" in attributes:
        attributes["pads"] = [s.integer(0, span - 1) for span in (*kernel, *kernel)]
    if s.opset >= 10 and s.chance(0.5):
        attributes["ceil_mode"] = s.integer(0, 1)
    if average and s.opset >= 7 and s.chance(0.5):
        attributes["count_include_pad"] = s.integer(0, 1)
    if not average and s.opset >= 8 and s.chance(0.2):
        attributes["storage_order"] = 1
    shape = _image(s, s.integer(1, 3), rank)
    pads = attributes.get("pads", [0] * 2 * rank)
    dilations = attributes.get("dilations", [1] * rank)
    assert isinstance(pads, list)
    assert isinstance(dilations, list)
    if str(attributes.get("auto_pad", ""))[:4] != "SAME" and any(
        (span - 1) * dilation + 1 > extent + pads[axis] + pads[axis + rank]
        for axis, (span, dilation, extent) in enumerate(
            zip(kernel, dilations, shape[2:], strict=True)
        )
    ):
        # A window that is larger than its image: what comes of it is up to the runtime.
        raise ValueError
    return [s.op(s.operator, s.value(s.numbers(shape)), kernel_shape=kernel, **attributes)]


@generates("GlobalAveragePool", "GlobalMaxPool", quantized=True)
def global_pooling(s: Sketch) -> Sequence[str]:
    return [s.op(s.operator, s.value(s.numbers(_image(s, s.integer(1, 3), _rank(s)))))]


_MODES = (
    "half_pixel", "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel",
    "half_pixel_symmetric", "tf_half_pixel_for_nn",
)  # fmt: skip


@generates("Resize")
def resize(s: Sketch) -> Sequence[str]:
    if s.opset < 10:
        raise ValueError
    shape = _image(s, s.integer(1, 3))
    factors = [float(s.pick((0.5, 0.75, 1.0, 1.5, 2.0, 2.0, 3.0))) for _ in range(2)]
    sizes = [max(int(extent * each), 1) for extent, each in zip(shape[2:], factors, strict=True)]
    if any(int(extent * each) < 1 for extent, each in zip(shape[2:], factors, strict=True)):
        raise ValueError
    x = s.value(s.numbers(shape))
    attributes: dict[str, object] = {"mode": s.pick(("nearest", "nearest", "linear", "linear"))}
    if s.opset < 11:
        return [s.op("Resize", x, s.constant([1, 1, *factors]), **attributes)]
    if s.chance(0.1):
        attributes["mode"] = "cubic"
    if s.chance(0.8):
        modes = _MODES[: 6 if s.opset >= 19 else 5]
        attributes["coordinate_transformation_mode"] = s.pick(modes)
    if s.chance(0.6):
        rounding = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
        attributes["nearest_mode"] = s.pick(rounding)
    whole = [1, 1]
    if s.opset >= 18:
        if s.chance(0.5):
            attributes["axes"], whole = s.pick(([2, 3], [-2, -1])), []
        if s.chance(0.1):
            attributes["antialias"] = s.integer(0, 1)
    if s.chance(0.1):
        attributes["exclude_outside"] = 0
    roi = "" if s.opset >= 13 else s.constant(np.zeros(0), "f4")
    if s.chance(0.5):
        return [s.op("Resize", x, roi, s.constant([*whole, *factors]), **attributes)]
    # ONNX Runtime takes axes that are negative for none that the policy is about.
    if attributes.get("axes") == [2, 3] and s.chance(0.4):
        attributes["keep_aspect_ratio_policy"] = s.pick(("stretch", "not_larger", "not_smaller"))
    numbers = [*(whole and shape[:2]), *sizes]
    scales = "" if s.opset >= 13 else s.constant(np.zeros(0), "f4")
    return [s.op("Resize", x, roi, scales, s.ints(*numbers), **attributes)]


@generates("Upsample")
def upsample(s: Sketch) -> Sequence[str]:
    if not 7 <= s.opset <= 9:
        raise ValueError
    factors = [1.0, 1.0, *(float(s.pick((1.0, 1.5, 2.0, 2.5, 3.0))) for _ in range(2))]
    x = s.value(s.numbers(_image(s, s.integer(1, 3))))
    attributes = {"mode": s.pick(("nearest", "linear"))}
    if s.opset < 9:
        return [s.op("Upsample", x, scales=factors, **attributes)]
    return [s.op("Upsample", x, s.constant(factors), **attributes)]
