# SPDX-License-Identifier: Apache-2.0
"""DETECTION_POSTPROCESSING as the custom operator that TFLite's interpreter has built in."""

from __future__ import annotations

from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.schema_py_generated import BuiltinOperator, TensorType
from flatbuffers import flexbuffers

from halyard.errors import NotExpressible
from halyard.model import arguments
from halyard.model.call import Call
from halyard.tflite.converter import Converter
from halyard.tflite.graph import made

_OPERATOR = "TFLite_Detection_PostProcess"


def postprocessing(converter: Converter, call: Call) -> None:
    """TFLite gives classes and counts as floats, which a CAST turns into NNAPI's integers."""
    given = arguments.detection(call)
    if given.background_is_class:
        raise NotExpressible("TFLite's classes do not count the background")
    scores, deltas, anchors = (
        converter.input(call, name) for name in ("scores", "deltas", "anchors")
    )
    found_scores, boxes, classes, counts = map(
        call.output, ("scores", "boxes", "classes", "counts")
    )
    background = 1
    classes_in_all = call.shape("scores")[2]
    options = _options(given, classes_in_all - background)
    floats = [_as_float(converter, index) for index in (classes, counts)]
    outputs = [converter.tensor(boxes), floats[0], converter.tensor(found_scores), floats[1]]
    converter.emit_custom(_OPERATOR, options, [deltas, scores, anchors], outputs)
    for source, index in zip(floats, (classes, counts), strict=True):
        types = {"inDataType": TensorType.FLOAT32, "outDataType": TensorType.INT32}
        cast = made(schema.CastOptionsT, **types)
        converter.emit_between(BuiltinOperator.CAST, [source], [converter.tensor(index)], cast)


def _options(given: arguments.Detection, classes: int) -> bytes:
    builder = flexbuffers.Builder()
    with builder.Map():
        builder.Int("max_detections", given.most)
        builder.Int("max_classes_per_detection", given.classes_per_detection)
        builder.Int("detections_per_class", given.detections_per_class)
        builder.Bool("use_regular_nms", given.regular)
        builder.Float("nms_score_threshold", given.score_threshold)
        builder.Float("nms_iou_threshold", given.overlap_threshold)
        builder.Int("num_classes", classes)
        for name, scale in zip("yxhw", given.scales, strict=True):
            builder.Float(f"{name}_scale", scale)
    return bytes(builder.Finish())


def _as_float(converter: Converter, index: int) -> int:
    shape = tuple(converter.operand(index).dimensions)
    return converter.add(f"{converter.name(index)}/float", TensorType.FLOAT32, shape)
