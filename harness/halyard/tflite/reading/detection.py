# SPDX-License-Identifier: Apache-2.0
"""TFLite_Detection_PostProcess, a custom operator that TFLite's interpreter has built in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from flatbuffers import flexbuffers

from halyard.errors import NotExpressible
from halyard.model import TensorType
from halyard.model.arguments import Activation
from halyard.proto import halyard_pb2 as pb
from halyard.tflite.reading.file import Graph, Operator
from halyard.tflite.reading.mapper import Mapper
from halyard.tflite.reading.real_numbers import real_operand

POSTPROCESSING = "TFLite_Detection_PostProcess"


def with_shapes(graph: Graph) -> Graph:
    """With the shapes that the operator's outputs have: files of old converters tell of none."""
    tensors = list(graph.tensors)
    for operator in graph.operators:
        if not (operator.is_custom and operator.kind == POSTPROCESSING):
            continue
        if len(operator.inputs) < 2 or len(operator.outputs) != 4:
            continue
        try:
            found = _shapes(tensors[operator.inputs[1]].shape, _Options(operator))
        except NotExpressible:
            # The mapping says so.
            continue
        for index, shape in zip(operator.outputs, found, strict=True):
            tensors[index] = replace(tensors[index], shape=shape)
    return replace(graph, tensors=tuple(tensors))


def _shapes(scores: tuple[int, ...], given: _Options) -> list[tuple[int, ...]]:
    batches = scores[0] if scores else 1
    room = given.integer("max_detections") * given.integer("max_classes_per_detection")
    return [(batches, room, 4), (batches, room), (batches, room), (batches,)]


def postprocessing(mapper: Mapper, operator: Operator) -> None:
    given = _Options(operator)
    builder = mapper.builder
    most, per_class = given.integer("max_detections"), given.integer("detections_per_class", 100)
    per_detection = given.integer("max_classes_per_detection")
    regular = given.flag("use_regular_nms")
    kinds = [mapper.tensor(mapper.input(operator, place)).type_name for place in (0, 2)]
    if kinds not in (["FLOAT32"] * 2, ["UINT8"] * 2):
        raise NotExpressible(f"its boxes are {kinds[0]}, and its anchors {kinds[1]}")
    deltas, anchors = (real_operand(mapper, mapper.input(operator, place)) for place in (0, 2))
    classes = given.integer("num_classes")
    inputs = [_scores(mapper, operator, classes), deltas, anchors]
    if not regular and per_detection > classes:
        raise NotExpressible(
            f"it has {per_detection} classes for each detection, and there are {classes}"
        )
    inputs += [builder.float32(given.number(f"{which}_scale")) for which in "yxhw"]
    inputs += [
        builder.boolean(regular),
        builder.int32(most),
        builder.int32(per_detection),
        builder.int32(per_class),
        builder.float32(given.number("nms_score_threshold")),
        builder.float32(given.number("nms_iou_threshold")),
        builder.boolean(False),
    ]
    # Regular suppression leaves a class for each detection.
    together = 1 if regular else per_detection
    _emit(mapper, operator, inputs, most * together, together)


def _scores(mapper: Mapper, operator: Operator, classes: int) -> int:
    """With a class for the background first, as NNAPI has them always."""
    index = mapper.input(operator, 1)
    operand, shape = real_operand(mapper, index), mapper.shape(index)
    if len(shape) != 3 or shape[2] not in (classes, classes + 1):
        raise NotExpressible(f"its scores are {list(shape)}, of {classes} classes")
    if shape[2] == classes + 1:
        return operand
    name = f"{mapper.tensor(index).name}/background"
    amounts = mapper.constant(
        f"{name}/paddings",
        TensorType(pb.OPERAND_TYPE_TENSOR_INT32, (3, 2)),
        np.array([[0, 0], [0, 0], [1, 0]], np.int32),
    )
    kind = TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, (*shape[:2], classes + 1))
    return mapper.emit_inner(pb.OPERATION_TYPE_PAD, [operand, amounts], name, kind)


def _emit(mapper: Mapper, operator: Operator, inputs: list[int], room: int, together: int) -> None:
    """The operation, whose results are as many as `room`: the others are zeros. TFLite's classes
    and counts are floats; of several classes together for a detection it counts the detections, and
    NNAPI the classes."""
    boxes, classes, found, counts = (mapper.output(operator, place) for place in range(4))
    batches, whole = mapper.shape(found)
    names = {each: mapper.tensor(each).name for each in operator.outputs}
    few = "" if room == whole else "/few"
    real, number = pb.OPERAND_TYPE_TENSOR_FLOAT32, pb.OPERAND_TYPE_TENSOR_INT32
    results = mapper.builder.operation_n(
        pb.OPERATION_TYPE_DETECTION_POSTPROCESSING,
        inputs,
        [
            (f"{names[found]}{few}", TensorType(real, (batches, room))),
            (f"{names[boxes]}{few}", TensorType(real, (batches, room, 4))),
            (f"{names[classes]}/integers", TensorType(number, (batches, room))),
            (f"{names[counts]}/integers", TensorType(number, (batches,))),
        ],
    )
    kind = TensorType(real, (batches, room))
    as_float = mapper.emit_inner(
        pb.OPERATION_TYPE_CAST, [results[2]], f"{names[classes]}{few}", kind
    )
    if together == 1:
        mapper.emit_to(pb.OPERATION_TYPE_CAST, [results[3]], [counts])
    else:
        all_of_them = mapper.emit_inner(
            pb.OPERATION_TYPE_CAST,
            [results[3]],
            f"{names[counts]}/classes",
            TensorType(real, (batches,)),
        )
        each = mapper.builder.numbers(f"{names[counts]}/each", np.array([together], np.float32))
        none = mapper.builder.int32(Activation.NONE)
        mapper.emit_to(pb.OPERATION_TYPE_DIV, [all_of_them, each, none], [counts])
    for index, operand in ((found, results[0]), (boxes, results[1]), (classes, as_float)):
        if room == whole:
            mapper.operands[index] = operand
            continue
        shape = mapper.shape(index)
        amounts = np.zeros((len(shape), 2), np.int32)
        amounts[1, 1] = whole - room
        kind = TensorType(pb.OPERAND_TYPE_TENSOR_INT32, amounts.shape)
        paddings = mapper.constant(f"{names[index]}/paddings", kind, amounts)
        mapper.emit_to(pb.OPERATION_TYPE_PAD, [operand, paddings], [index])


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
