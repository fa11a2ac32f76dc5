# SPDX-License-Identifier: Apache-2.0
"""TFLite_Detection_PostProcess in all of its forms, as LiteRT computes it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from flatbuffers import flexbuffers

from halyard.engines.litert import LiteRt
from halyard.engines.original import run_file
from halyard.model import Array, Conversion
from tests.harness.on_parts import converted
from tests.harness.tflite_file import GraphFile
from tests.harness.tflite_models import convert

_ANCHORS = 24
_CLASSES = 5
_NAME = "TFLite_Detection_PostProcess"


def _options(**changed: Any) -> bytes:
    given: dict[str, Any] = {
        "max_detections": 6,
        "max_classes_per_detection": 1,
        "detections_per_class": 4,
        "use_regular_nms": False,
        "num_classes": _CLASSES,
        "nms_score_threshold": 0.2,
        "nms_iou_threshold": 0.5,
        "y_scale": 10.0,
        "x_scale": 10.0,
        "h_scale": 5.0,
        "w_scale": 5.0,
    } | changed
    builder = flexbuffers.Builder()
    with builder.Map():
        for name, value in given.items():
            builder.Key(name)
            kinds = {bool: builder.Bool, int: builder.Int, float: builder.Float}
            kinds[type(value)](value)
    return bytes(builder.Finish())


def _anchors() -> Array:
    random = np.random.default_rng(3)
    centres = random.uniform(0.2, 0.8, (_ANCHORS, 2))
    sizes = random.uniform(0.1, 0.4, (_ANCHORS, 2))
    return np.concatenate([centres, sizes], 1).astype(np.float32)


def _graph(
    shapes: list[tuple[int, ...]],
    background: int = 1,
    dtype: str = "float32",
    *,
    quantised_anchors: bool = True,
    **changed: Any,
) -> tuple[GraphFile, list[int]]:
    graph = GraphFile()
    steps: tuple[Any, ...] = () if dtype == "float32" else (0.004, 0)
    boxes = graph.input((1, _ANCHORS, 4), dtype, *((0.02, 128) if steps else ()))
    scores = graph.input((1, _ANCHORS, _CLASSES + background), dtype, *steps)
    outputs = [graph.tensor(shape) for shape in shapes]
    anchors = graph.constant(_anchors())
    if steps and quantised_anchors:
        anchors = graph.constant(np.round(_anchors() / 0.004), dtype, *steps)
    graph.add(_NAME, [boxes, scores, anchors], outputs)
    graph.operators[-1].customOptions = np.frombuffer(_options(**changed), np.uint8)
    return graph, outputs


def _agrees(
    graph: GraphFile, outputs: list[int], folder: Path, rows: int | None = None
) -> Conversion:
    """In so many rows; what LiteRT has behind them is whatever its memory held."""
    found = convert(graph, outputs, folder)
    assert [each.text() for each in found.unmapped] == []
    random = np.random.default_rng(9)
    inputs: list[Array] = []
    for info in found.inputs:
        if info.dtype == np.uint8:
            inputs.append(random.permutation(info.shape[1] * info.shape[2]).astype(np.uint8))
            inputs[-1] = inputs[-1].reshape(info.shape)
        else:
            low = -1 if info.shape[2] == 4 else 0
            inputs.append(random.uniform(low, 1, info.shape).astype(np.float32))
    expected, _ = run_file(LiteRt(), found.source.path, inputs, 1, 0)
    actual = converted(found, inputs)
    assert expected[3][0] > 2
    for ours, theirs in zip(actual, expected, strict=True):
        assert ours.shape == theirs.shape
        pair = [each[:, :rows] if each.ndim > 1 else each for each in (ours, theirs)]
        np.testing.assert_allclose(*pair, 1e-5, 1e-6)
    return found


_NO_SHAPES: list[tuple[int, ...]] = [()] * 4


@pytest.mark.parametrize("regular", [False, True])
@pytest.mark.parametrize("per_detection", [1, 2, 3])
@pytest.mark.parametrize("background", [0, 1])
def test_every_form(regular: bool, per_detection: int, background: int, tmp_path: Path) -> None:
    """Outputs have no shapes in files of old converters; of several classes for each detection
    TFLite counts the detections, and has room for as many of regular suppression."""
    found = _agrees(
        *_graph(
            _NO_SHAPES,
            background,
            use_regular_nms=regular,
            max_classes_per_detection=per_detection,
        ),
        tmp_path,
        6 if regular else None,
    )
    main = found.whole.model.main
    names = [main.operands[index].name for index in main.output_indexes]
    assert names == [info.name for info in found.outputs]
    room = 6 * per_detection
    assert [info.shape for info in found.outputs] == [(1, room, 4), (1, room), (1, room), (1,)]


def test_shapes_of_the_file_are_the_same(tmp_path: Path) -> None:
    shapes: list[tuple[int, ...]] = [(1, 6, 4), (1, 6), (1, 6), (1,)]
    _agrees(*_graph(shapes), tmp_path)


def test_quantised_boxes_and_scores(tmp_path: Path) -> None:
    _agrees(*_graph(_NO_SHAPES, dtype="uint8"), tmp_path)


def test_what_follows_has_the_shapes_too(tmp_path: Path) -> None:
    graph, outputs = _graph(_NO_SHAPES)
    flat = graph.tensor((24,))
    graph.add("RESHAPE", [outputs[0], graph.constant([24], "int32")], [flat], "ReshapeOptions")
    _agrees(graph, [flat, *outputs[1:]], tmp_path)


def test_boxes_and_anchors_of_other_types_are_for_the_host(tmp_path: Path) -> None:
    """LiteRT takes the one for the other."""
    graph, outputs = _graph(_NO_SHAPES, dtype="uint8", quantised_anchors=False)
    [unmapped] = convert(graph, outputs, tmp_path).unmapped
    assert unmapped.reason == "its boxes are UINT8, and its anchors FLOAT32"


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"max_classes_per_detection": 9}, "it has 9 classes for each detection, and there are 5"),
        ({"num_classes": 3}, "its scores are [1, 24, 6], of 3 classes"),
        ({"max_detections": -1}, "its max_detections is -1"),
    ],
)
def test_reasons(changed: dict[str, int], reason: str, tmp_path: Path) -> None:
    graph, outputs = _graph([(1, 6, 4), (1, 6), (1, 6), (1,)], **changed)
    [unmapped] = convert(graph, outputs, tmp_path).unmapped
    assert unmapped.reason == reason
