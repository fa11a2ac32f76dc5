# SPDX-License-Identifier: Apache-2.0
"""How ONNX's convolutions and poolings move over an image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from halyard.errors import NotExpressible
from halyard.model.arguments import same_padding
from halyard.onnx.reading.mapper import Mapper
from halyard.onnx.reading.network import Node


@dataclass(frozen=True)
class Window:
    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    begins: tuple[int, int]  # padding at the top and the left
    ends: tuple[int, int]
    # How far the last windows hang over the padding, by ceil_mode.
    over: tuple[int, int] = (0, 0)

    @property
    def pads(self) -> tuple[int, int, int, int]:
        """Left, right, top, bottom, as NNAPI is told."""
        bottom, right = (end + more for end, more in zip(self.ends, self.over, strict=True))
        return self.begins[1], right, self.begins[0], bottom


def pair(values: Sequence[int], what: str) -> tuple[int, int]:
    if len(values) != 2:
        raise NotExpressible(f"its {what} has {len(values)} dimensions, and NNAPI's images have 2")
    return values[0], values[1]


def window(mapper: Mapper, node: Node, kernel: Sequence[int], output: str) -> Window:
    """With all that attributes say of it, and the extents that the output has. `node` is of
    images."""
    data = node.input(0)
    spans = pair(kernel, "kernel")
    if node.integers("kernel_shape", spans) != list(spans):
        raise NotExpressible(f"its kernel_shape is not that of its filter, {list(spans)}")
    strides = pair(node.integers("strides", (1, 1)), "stride")
    dilations = pair(node.integers("dilations", (1, 1)), "dilation")
    if min(*spans, *strides, *dilations) < 1:
        raise NotExpressible("its kernel, stride or dilation is less than one")
    reach = [(span - 1) * step + 1 for span, step in zip(spans, dilations, strict=True)]
    extents = mapper.image_dims(data)[2:]
    automatic = node.word("auto_pad", "NOTSET")
    if automatic in ("SAME_UPPER", "SAME_LOWER"):
        both = [same_padding(*each) for each in zip(extents, reach, strides, strict=True)]
        if automatic == "SAME_LOWER":
            both = [(end, begin) for begin, end in both]
        pads = [*(begin for begin, _ in both), *(end for _, end in both)]
    else:
        pads = [0] * 4 if automatic == "VALID" else node.integers("pads", (0, 0, 0, 0))
    if len(pads) != 4 or min(pads) < 0:
        raise NotExpressible(f"it is padded by {pads}, and NNAPI takes four that are not negative")
    begins, ends = (pads[0], pads[1]), (pads[2], pads[3])
    room = [sum(each) for each in zip(extents, begins, ends, strict=True)]
    if any(span > whole for span, whole in zip(reach, room, strict=True)):
        raise NotExpressible("its window is larger than its image")
    # With ceil_mode the last place is there where the window hangs over.
    wanted = mapper.image_dims(output)[2:]
    needed = [
        (count - 1) * stride + span - extent - begin
        for count, stride, span, extent, begin in zip(
            wanted, strides, reach, extents, begins, strict=True
        )
    ]
    over = max(needed[0] - ends[0], 0), max(needed[1] - ends[1], 0)
    return Window(spans, strides, dilations, begins, ends, over)
