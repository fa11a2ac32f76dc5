# SPDX-License-Identifier: Apache-2.0
"""Images of another size: Resize, and Upsample before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

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
    factors = _factors(mapper, node, shape, wanted)
    if any(factor != 1 and extent > 1 for factor, extent in zip(factors, shape[:2], strict=False)):
        raise NotExpressible("it resizes more than the height and the width of an image")
    places = [
        _places(node, mode, *each) for each in zip(shape[2:], wanted[2:], factors[2:], strict=True)
    ]
    for aligned, halves in _VARIANTS:
        own = [
            _own_places(mode, *each, aligned, halves)
            for each in zip(shape[2:], wanted[2:], strict=True)
        ]
        if all(np.allclose(*each, rtol=1e-6, atol=1e-6) for each in zip(places, own, strict=True)):
            break
    else:
        raise NotExpressible(
            f"NNAPI's resizing looks at other places than {_transformation(node)} does"
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


def _is_older(node: Node) -> bool:
    """Of a version that has one way to find places, and its factors as the second input."""
    return node.operator == "Upsample" or node.opset < 11


def _transformation(node: Node) -> str:
    default = "half_pixel"
    return "asymmetric" if _is_older(node) else node.word("coordinate_transformation_mode", default)


def _factors(
    mapper: Mapper, node: Node, shape: Sequence[int], wanted: Sequence[int]
) -> list[float]:
    """As the file gives them, for each dimension: places are computed from these, not from the
    extents, which are rounded."""
    rank = len(shape)
    axes = [axis % rank for axis in node.integers("axes", range(rank))]
    factors, given = [1.0] * rank, _given_factors(mapper, node)
    if given is None:
        given = [wanted[axis] / shape[axis] for axis in axes]
        sizes = mapper.known(node.input(3), "sizes") if node.input(3) else None
        policy = node.word("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch" and sizes is not None:
            each = [int(size) / shape[axis] for size, axis in zip(sizes, axes, strict=True)]
            given = [min(each) if policy == "not_larger" else max(each)] * len(axes)
    for axis, factor in zip(axes, given, strict=True):
        factors[axis] = factor
    return factors


def _given_factors(mapper: Mapper, node: Node) -> list[float] | None:
    if node.has("scales"):
        return [float(np.float32(each)) for each in node.reals("scales")]
    name = node.input(1 if _is_older(node) else 2)
    given = mapper.known(name, "scales") if name else None
    return None if given is None or not given.size else [float(each) for each in given]


def _places(node: Node, mode: str, extent: int, wanted: int, factor: float) -> Array:
    """Where ONNX reads the input for each element of the output, along one dimension.
    NotExpressible where the nearest is another one in single than in double precision."""
    how = _transformation(node)
    if how == "align_corners" and abs(factor * extent - wanted) > 1e-3:
        raise NotExpressible("its corners are aligned with an extent that is no whole number")
    if mode != "nearest":
        return np.clip(_coordinates(how, extent, wanted, factor, np.float64), 0, extent - 1)
    rounding = node.word("nearest_mode", "round_prefer_floor")
    if _is_older(node):
        # Operator set 10 does not say it; its own tests, and ONNX Runtime, have it so.
        rounding = "ceil" if factor < 1 else "floor"
    exact, single = (
        np.clip(_ROUNDED[rounding](_coordinates(how, extent, wanted, factor, kind)), 0, extent - 1)
        for kind in (np.float64, np.float32)
    )
    if not np.array_equal(exact, single):
        raise NotExpressible("which element is the nearest depends on rounding")
    return exact


def _coordinates(
    how: str, extent: int, wanted: int, factor: float, kind: type[np.floating[Any]]
) -> Array:
    numbers: Array = np.arange(wanted, dtype=kind)
    half = kind(0.5)
    if how == "asymmetric":
        return np.asarray(numbers / kind(factor))
    if how == "align_corners":
        return np.asarray(numbers * kind(extent - 1) / kind(max(wanted - 1, 1)))
    if how == "half_pixel" or (how == "pytorch_half_pixel" and wanted > 1):
        return np.asarray((numbers + half) / kind(factor) - half)
    if how == "pytorch_half_pixel":
        return np.zeros_like(numbers)
    if how == "half_pixel_symmetric":
        offset = kind(extent / 2 * (1 - wanted / (factor * extent)))
        return np.asarray(offset + (numbers + half) / kind(factor) - half)
    raise NotExpressible(f"it is of {how}, which NNAPI has not")


_ROUNDED: dict[str, Callable[[Array], Array]] = {
    "round_prefer_floor": lambda places: np.ceil(places - 0.5),
    "round_prefer_ceil": lambda places: np.floor(places + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def _own_places(mode: str, extent: int, wanted: int, aligned: bool, halves: bool) -> Array:
    """Where NNAPI reads it. The nearest is found in single precision."""
    if mode == "nearest":
        half = np.float32(0.5)
        factor = np.float32(extent) / np.float32(wanted)
        if aligned and wanted > 1:
            factor = np.float32(extent - 1) / np.float32(wanted - 1)
        places = (np.arange(wanted, dtype=np.float32) + half * halves) * factor
        places = np.floor(places + half) if aligned else np.floor(places)
        return np.asarray(np.clip(places, 0, extent - 1))
    numbers, step = np.arange(wanted, dtype=np.float64), extent / wanted
    if aligned and wanted > 1:
        step = (extent - 1) / (wanted - 1)
    places = (numbers + 0.5) * step - 0.5 if halves else numbers * step
    return np.clip(places, 0, extent - 1)
