# SPDX-License-Identifier: Apache-2.0
"""DETECTION_POSTPROCESSING in numpy, with the fast suppression: the best class of each anchor."""

from __future__ import annotations

import numpy as np

from halyard.model import Array
from halyard.model.arguments import Detection
from halyard.zoo.float_kernels import Floats


def detect(
    given: Detection, scores: Floats, deltas: Floats, anchors: Floats
) -> tuple[Array, Array, Array, Array]:
    """Scores, boxes, classes, counts, from [batch, anchors, classes with the background],
    [batch, anchors, 4] and [anchors, 4]. What no detection fills is 0."""
    if given.regular or given.classes_per_detection != 1:
        raise ValueError("the numpy detection has one class per box")
    batch = len(scores)
    found_scores = np.zeros((batch, given.most), np.float32)
    found_boxes = np.zeros((batch, given.most, 4), np.float32)
    found_classes = np.zeros((batch, given.most), np.int32)
    counts = np.zeros(batch, np.int32)
    for image in range(batch):
        boxes = _boxes(deltas[image], anchors, given)
        best = scores[image, :, 1:].max(axis=1)
        kept = _suppressed(boxes, best, given)
        count = counts[image] = len(kept)
        found_scores[image, :count] = best[kept]
        found_boxes[image, :count] = boxes[kept]
        classes = scores[image, :, 1:].argmax(axis=1)
        found_classes[image, :count] = classes[kept] + given.background_is_class
    return found_scores, found_boxes, found_classes, counts


def _boxes(deltas: Floats, anchors: Floats, given: Detection) -> Floats:
    """Corners: top, left, bottom, right."""
    steps = deltas[:, :4] / np.asarray(given.scales, np.float32)
    centres = steps[:, :2] * anchors[:, 2:] + anchors[:, :2]
    halves = np.exp(steps[:, 2:]) * anchors[:, 2:] / 2
    return np.concatenate([centres - halves, centres + halves], axis=1)


def _suppressed(boxes: Floats, scores: Floats, given: Detection) -> list[int]:
    """The best boxes, none of which overlaps a better one too much."""
    order = np.argsort(-scores, kind="stable")
    order = order[scores[order] >= given.score_threshold]
    kept: list[int] = []
    while len(order) > 0 and len(kept) < given.most:
        first, order = int(order[0]), order[1:]
        kept.append(first)
        order = order[_overlaps(boxes[first], boxes[order]) <= given.overlap_threshold]
    return kept


def _overlaps(box: Floats, others: Floats) -> Floats:
    """Intersection over union with each of the others."""
    top_left = np.maximum(box[:2], others[:, :2])
    bottom_right = np.minimum(box[2:], others[:, 2:])
    shared = np.clip(bottom_right - top_left, 0, None).prod(axis=1)
    together = np.prod(box[2:] - box[:2]) + (others[:, 2:] - others[:, :2]).prod(axis=1) - shared
    return np.asarray(shared / np.maximum(together, 1e-9), np.float32)
