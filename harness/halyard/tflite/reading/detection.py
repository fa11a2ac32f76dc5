# SPDX-License-Identifier: Apache-2.0
"""The one custom operator that NNAPI has a word for, which TFLite's interpreter has built in."""

from __future__ import annotations

from typing import Any

from flatbuffers import flexbuffers

from halyard.errors import NotExpressible
from halyard.model import TensorType
from halyard.proto import halyard_pb2 as pb
from halyard.tflite.reading.file import Operator
from halyard.tflite.reading.mapper import Mapper

_POSTPROCESSING = "TFLite_Detection_PostProcess"


def custom(mapper: Mapper, operator: Operator) -> None:
    if operator.kind != _POSTPROCESSING:
        raise NotExpressible("a custom operator, which only its own runtime knows")
    deltas, scores, anchors = (mapper.operand(mapper.input(operator, place)) for place in range(3))
    given = _Options(operator)
    builder = mapper.builder
    most, per_class = given.integer("max_detections"), given.integer("detections_per_class", 100)
    if mapper.shape(operator.inputs[1])[-1] != given.integer("num_classes") + 1:
        raise NotExpressible("its scores have no class for the background, or several")
    inputs = [scores, deltas, anchors]
    inputs += [builder.float32(given.number(f"{which}_scale")) for which in "yxhw"]
    inputs += [
        builder.boolean(given.flag("use_regular_nms")),
        builder.int32(most),
        builder.int32(given.integer("max_classes_per_detection")),
        builder.int32(per_class),
        builder.float32(given.number("nms_score_threshold")),
        builder.float32(given.number("nms_iou_threshold")),
        builder.boolean(False),
    ]
    boxes, classes, found, counts = (mapper.output(operator, place) for place in range(4))
    names = {each: mapper.tensor(each).name for each in operator.outputs}
    integers = [
        TensorType(pb.OPERAND_TYPE_TENSOR_INT32, mapper.type_of(each).dimensions)
        for each in (classes, counts)
    ]
    results = builder.operation_n(
        pb.OPERATION_TYPE_DETECTION_POSTPROCESSING,
        inputs,
        [
            (names[found], mapper.type_of(found)),
            (names[boxes], mapper.type_of(boxes)),
            (f"{names[classes]}/integers", integers[0]),
            (f"{names[counts]}/integers", integers[1]),
        ],
    )
    mapper.operands[found], mapper.operands[boxes] = results[:2]
    # TFLite's classes and counts are floats.
    for result, each in zip(results[2:], (classes, counts), strict=True):
        mapper.emit_to(pb.OPERATION_TYPE_CAST, [result], [each])


class _Options:
    """Of a flexbuffer, which may be anything."""

    def __init__(self, operator: Operator) -> None:
        try:
            self._map = flexbuffers.GetRoot(bytearray(operator.custom_options)).AsMap
        except Exception as error:
            raise NotExpressible(f"its options are no flexbuffer: {error}") from error

    def _value(self, name: str, default: float | None) -> Any:
        try:
            value = self._map[name]
            return value.AsFloat if value.IsFloat else int(value.AsInt)
        except Exception as error:
            if default is not None:
                return default
            raise NotExpressible(f"it has no option {name}") from error

    def number(self, name: str) -> float:
        return float(self._value(name, None))

    def integer(self, name: str, default: int | None = None) -> int:
        value = int(self._value(name, default))
        if not 0 <= value < 2**31:
            raise NotExpressible(f"its {name} is {value}")
        return value

    def flag(self, name: str) -> bool:
        return bool(self._value(name, 0))
