# SPDX-License-Identifier: Apache-2.0
"""STRIDED_SLICE, whose bounds TFLite lets be of fewer axes than there are, and of axes that are
not there yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ai_edge_litert import schema_py_generated as schema

from halyard.errors import NotExpressible
from halyard.proto import halyard_pb2 as pb
from halyard.tflite.reading.file import Operator
from halyard.tflite.reading.mapper import Mapper
from halyard.tflite.reading.operator_options import options
from halyard.tflite.reading.shaping import axis_of


@dataclass(frozen=True)
class _Axis:
    """The range taken along an axis: None for a bound that a mask leaves open."""

    begin: int | None = None
    end: int | None = None
    stride: int = 1

    def count(self, extent: int) -> int:
        return len(range(*slice(self.begin, self.end, self.stride).indices(extent)))


def strided_slice(mapper: Mapper, operator: Operator) -> None:
    """Axes that go or come are a RESHAPE behind: NNAPI has no new ones."""
    given = options(operator, schema.StridedSliceOptionsT)
    if given.offset:
        raise NotExpressible("its ends are offsets from where it begins")
    source, output = mapper.input(operator, 0), mapper.output(operator)
    shape = mapper.shape(source)
    bounds = [
        mapper.integers(mapper.input(operator, place), what)
        for place, what in ((1, "begin"), (2, "end"), (3, "strides"))
    ]
    axes = _axes(given, bounds, shape)
    counts = tuple(each.count(extent) for each, extent in zip(axes, shape, strict=True))
    inputs = [mapper.operand(source), *_bounds(mapper, operator, axes)]
    result = mapper.type_of(output).dimensions
    if counts == result:
        mapper.emit(pb.OPERATION_TYPE_STRIDED_SLICE, inputs, operator)
        return
    name = mapper.name(operator)
    kind = replace(mapper.type_of(source), dimensions=counts)
    taken = mapper.emit_inner(pb.OPERATION_TYPE_STRIDED_SLICE, inputs, f"{name}/taken", kind)
    into = mapper.vector(f"{name}/shape", result)
    mapper.emit(pb.OPERATION_TYPE_RESHAPE, [taken, into], operator)


def _axes(given: Any, bounds: Sequence[Sequence[int]], shape: tuple[int, ...]) -> list[_Axis]:
    """For each axis of the input. A bit of a mask stands for a place among the bounds."""
    places = len(bounds[0])
    if any(len(each) != places for each in bounds):
        raise NotExpressible("its bounds are of different lengths")
    ellipsis = [at for at in range(places) if given.ellipsisMask >> at & 1]
    if len(ellipsis) > 1:
        raise NotExpressible("it has several ellipses")
    new = [at for at in range(places) if given.newAxisMask >> at & 1 and at not in ellipsis]
    left = len(shape) - (places - len(new) - len(ellipsis))
    if left < 0:
        raise NotExpressible(f"its bounds are of more axes than the {len(shape)} of its input")
    axes: list[_Axis] = []
    for at in range(places):
        if at in ellipsis:
            axes += [_Axis()] * left
        elif at not in new:
            axes.append(_axis(given, at, bounds, shape[len(axes)]))
    return axes + [_Axis()] * (len(shape) - len(axes))


def _axis(given: Any, at: int, bounds: Sequence[Sequence[int]], extent: int) -> _Axis:
    begin, end, stride = (each[at] for each in bounds)
    if stride == 0:
        raise NotExpressible("one of its strides is 0")
    first = None if given.beginMask >> at & 1 else begin
    if given.shrinkAxisMask >> at & 1:
        if stride < 0:
            raise NotExpressible(f"an axis that goes has a stride of {stride}")
        # TFLite takes one element along an axis that goes, whatever its end.
        place = 0 if first is None else axis_of(first, extent)
        return _Axis(place, place + 1, 1)
    return _Axis(first, None if given.endMask >> at & 1 else end, stride)


def _bounds(mapper: Mapper, operator: Operator, axes: Sequence[_Axis]) -> list[int]:
    name, builder = mapper.name(operator), mapper.builder
    columns = (
        ("begin", [each.begin or 0 for each in axes]),
        ("end", [each.end or 0 for each in axes]),
        ("strides", [each.stride for each in axes]),
    )
    masks = [
        sum(1 << at for at, each in enumerate(axes) if getattr(each, side) is None)
        for side in ("begin", "end")
    ]
    # Removing axes is left to a RESHAPE, which others may need as well.
    return [
        *(mapper.vector(f"{name}/{what}", values) for what, values in columns),
        *map(builder.int32, (*masks, 0)),
    ]
