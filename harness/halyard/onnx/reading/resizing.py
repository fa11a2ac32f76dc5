# SPDX-License-Identifier: Apache-2.0
"""Images of another size: Resize, and Upsample before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from halyard.errors import NotExpressible
from halyard.model import Array
from halyard.onnx.reading.mapper import NHWC, Mapper
from halyard.onnx.reading.network import Node
from halyard.onnx.reading.pooling import unchanged
from halyard.proto import halyard_pb2 as pb

# Whether corners are aligned, whether pixels have their centres at halves.
_VARIANTS = ((False, False), (False, True), (True, False))


def resize(mapper: Mapper, node: Node) -> None:
    """By that variant of NNAPI's which looks at the same places of the input."""
    data, output = node.input(0), node.outputs[0]
    shape, wanted = mapper.shape(data), mapper.shape(output)
    if len(shape) != 4 or shape[:2] != wanted[:2]:
        raise NotExpressible("it resizes more than the height and the width of an image")
    mode = node.word("mode", "nearest")
    if mode not in ("nearest", "linear"):
        raise NotExpressible(f"it is of mode {mode}")
    if node.integer("antialias", 0):
        raise NotExpressible("it smooths what it makes smaller, which NNAPI does not")
    factors = _factors(mapper, node, shape, wanted)
    places = [
        _places(node, mode, *each) for each in zip(shape[2:], wanted[2:], factors, strict=True)
    ]
    for aligned, halves in _VARIANTS:
        own = [
            _own_places(mode, *each, aligned, halves)
            for each in zip(shape[2:], wanted[2:], strict=True)
        ]
        if all(np.allclose(a, b, atol=1e-4) for a, b in zip(places, own, strict=True)):
            break
    else:
        raise NotExpressible(
            "NNAPI's resizing looks at other places than "
            f"{node.word('coordinate_transformation_mode', 'half_pixel')} does"
        )
    plan = mapper.plan(node, [data], quantizes=True, fits=unchanged)
    mapper.absorb(node, plan)
    builder = mapper.builder
    arguments = [builder.int32(wanted[3]), builder.int32(wanted[2]), builder.boolean(False)]
    if aligned or halves:
        arguments += [builder.boolean(aligned), builder.boolean(halves)]
    operation = (
        pb.OPERATION_TYPE_RESIZE_NEAREST_NEIGHBOR
        if mode == "nearest"
        else pb.OPERATION_TYPE_RESIZE_BILINEAR
    )
    mapper.define(plan.output, operation, [mapper.operand(plan.inputs[0], NHWC), *arguments], NHWC)


def _factors(
    mapper: Mapper, node: Node, shape: Sequence[int], wanted: Sequence[int]
) -> tuple[float, float]:
    """As the file gives them: places are computed from these, not from the extents."""
    place = 1 if node.operator == "Upsample" or node.opset < 11 else 2
    name = node.input(place)
    given = mapper.constant(name) if name else None
    if given is not None and given.size == 4:
        return float(given[2]), float(given[3])
    return wanted[2] / shape[2], wanted[3] / shape[3]


def _places(node: Node, mode: str, extent: int, wanted: int, factor: float) -> Array:
    """Where ONNX reads the input for each element of the output, along one dimension."""
    numbers = np.arange(wanted, dtype=np.float64)
    older = node.operator == "Upsample" or node.opset < 11
    how = "asymmetric" if older else node.word("coordinate_transformation_mode", "half_pixel")
    if how == "asymmetric":
        places = numbers / factor
    elif how == "align_corners":
        places = numbers * (extent - 1) / max(wanted - 1, 1)
    elif how == "half_pixel" or (how == "pytorch_half_pixel" and wanted > 1):
        places = (numbers + 0.5) / factor - 0.5
    elif how == "pytorch_half_pixel":
        places = numbers * 0
    else:
        raise NotExpressible(f"it is of {how}, which NNAPI has not")
    if mode == "nearest":
        rounding = "floor" if older else node.word("nearest_mode", "round_prefer_floor")
        places = _ROUNDED[rounding](places)
    return np.clip(places, 0, extent - 1)


_ROUNDED: dict[str, Callable[[Array], Array]] = {
    "round_prefer_floor": lambda places: np.ceil(places - 0.5),
    "round_prefer_ceil": lambda places: np.floor(places + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def _own_places(mode: str, extent: int, wanted: int, aligned: bool, halves: bool) -> Array:
    """Where NNAPI reads it."""
    numbers = np.arange(wanted, dtype=np.float64)
    factor = extent / wanted
    if aligned and wanted > 1:
        factor = (extent - 1) / (wanted - 1)
    if mode == "nearest":
        places = (numbers + 0.5 * halves) * factor
        places = np.floor(places + 0.5) if aligned else np.floor(places)
    else:
        places = (numbers + 0.5) * factor - 0.5 if halves else numbers * factor
    return np.clip(places, 0, extent - 1)
