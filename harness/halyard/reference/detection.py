# SPDX-License-Identifier: Apache-2.0
"""Boxes: moved by deltas, chosen by scores. A box is [x1, y1, x2, y2] unless it says otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from halyard.model import Array
from halyard.reference.tensor import Call, operation
from halyard.reference.window import from_layout


def _moved(boxes: Array, deltas: Array) -> Array:
    """[dx, dy, dw, dh]: the centre moves by parts of the extent, which grows by exp."""
    extents = boxes[..., 2:] - boxes[..., :2]
    centres = (boxes[..., 2:] + boxes[..., :2]) / 2
    centres = centres + deltas[..., :2] * extents
    extents = extents * np.exp(deltas[..., 2:])
    return np.concatenate([centres - extents / 2, centres + extents / 2], axis=-1)


def _clipped(boxes: Array, size: Array) -> Array:
    """To an image of size [height, width]."""
    height, width = size
    return np.clip(boxes, 0, [width, height, width, height])


def _overlap(box: Array, others: Array) -> Array:
    """Intersection over union."""
    low = np.maximum(box[:2], others[:, :2])
    high = np.minimum(box[2:], others[:, 2:])
    common = np.prod(np.maximum(high - low, 0), axis=1)
    areas = np.prod(others[:, 2:] - others[:, :2], axis=1)
    union = np.prod(box[2:] - box[:2]) + areas - common
    return np.asarray(np.divide(common, union, out=np.zeros_like(common), where=union > 0))


Kernel = Callable[[Array], Array]


def _suppressed(
    boxes: Array, scores: Array, kernel: Kernel, threshold: float, limit: int
) -> list[tuple[int, float]]:
    """Non-maximum suppression: the best box is chosen, and the scores of the others shrink by a
    factor of their overlap with it; those that are below the threshold then are dropped.
    (box, score), best first; a limit < 0 is none."""
    pending = list(range(len(boxes)))
    scores = scores.copy()
    chosen: list[tuple[int, float]] = []
    while pending and len(chosen) != limit:
        best = max(pending, key=lambda index: scores[index])
        chosen.append((best, float(scores[best])))
        pending.remove(best)
        scores[pending] *= kernel(_overlap(boxes[best], boxes[pending]))
        pending = [index for index in pending if scores[index] >= threshold]
    return chosen


def _hard(iou_threshold: float) -> Kernel:
    return lambda overlap: (overlap < iou_threshold).astype(np.float64)


def _hard_chosen(boxes: Array, scores: Array, iou_threshold: float, limit: int) -> list[int]:
    """A suppressed box has the score 0 from then on, and is out whatever the scores are."""
    pending = sorted(range(len(boxes)), key=lambda index: -scores[index])
    chosen: list[int] = []
    while pending and len(chosen) != limit:
        best, *rest = pending
        chosen.append(best)
        apart = _overlap(boxes[best], boxes[rest]) < iou_threshold
        pending = [index for index, away in zip(rest, apart, strict=True) if away]
    return chosen


@operation("AXIS_ALIGNED_BBOX_TRANSFORM")
def axis_aligned_bbox_transform(call: Call) -> Sequence[Array]:
    boxes, deltas, sizes = call.real("boxes"), call.real("deltas"), call.real("image_info")
    batches = call.tensor("batches").stored
    moved = _moved(boxes[:, np.newaxis], deltas.reshape(len(boxes), deltas.shape[1] // 4, 4))
    for at, batch in enumerate(batches):
        moved[at] = _clipped(moved[at], sizes[batch])
    return [moved.reshape(deltas.shape)]


@operation("BOX_WITH_NMS_LIMIT")
def box_with_nms_limit(call: Call) -> Sequence[Array]:
    """Class 0 is the background. Of what all classes of a batch have chosen the best are kept."""
    scores = call.real("scores")
    boxes = call.real("boxes").reshape(*scores.shape, 4)
    batches = call.tensor("batches").stored
    threshold, limit, iou, sigma = map(
        call.number, ("score_threshold", "max_boxes", "iou_threshold", "sigma")
    )
    kernel: Kernel = {
        0: _hard(iou),
        1: lambda overlap: np.where(overlap < iou, 1, 1 - overlap),
        2: lambda overlap: np.exp(-(overlap**2) / sigma),
    }[call.integer("nms_kernel")]
    rows: list[tuple[float, Array, int, int]] = []
    for batch in sorted(set(batches)):
        of_batch: list[tuple[float, Array, int, int]] = []
        for label in range(1, scores.shape[1]):
            members = np.flatnonzero((batches == batch) & (scores[:, label] >= threshold))
            found = _suppressed(
                boxes[members, label],
                scores[members, label],
                kernel,
                call.number("nms_score_threshold"),
                -1,
            )
            of_batch += [
                (score, boxes[members[index], label], label, int(batch)) for index, score in found
            ]
        if 0 <= limit < len(of_batch):
            best = sorted(range(len(of_batch)), key=lambda at: -of_batch[at][0])[: int(limit)]
            of_batch = [of_batch[at] for at in sorted(best)]
        rows += of_batch
    return [
        np.array([row[0] for row in rows]),
        np.array([row[1] for row in rows]).reshape(-1, 4),
        np.array([row[2] for row in rows]),
        np.array([row[3] for row in rows]),
    ]


@operation("GENERATE_PROPOSALS")
def generate_proposals(call: Call) -> Sequence[Array]:
    """Anchors lie at each element of the feature map, at its place in the image. The best of them,
    moved and clipped and not too small, go through hard NMS."""
    nchw = call.flag("layout")
    scores, deltas = (from_layout(call.real(name), nchw) for name in ("scores", "deltas"))
    anchors, sizes = call.real("anchors"), call.real("image_info")
    stride_h, stride_w = call.number("height_ratio"), call.number("width_ratio")
    before, after = call.integer("max_boxes_before_nms"), call.integer("max_boxes")
    iou, min_size = call.number("iou_threshold"), call.number("min_size")
    batches, height, width, _ = scores.shape
    x, y = np.meshgrid(np.arange(width) * stride_w, np.arange(height) * stride_h)
    shifts = np.stack([x, y, x, y], axis=-1)[:, :, np.newaxis]
    placed = (anchors + shifts).reshape(-1, 4)
    out_scores, out_boxes, out_batches = [], [], []
    for batch in range(batches):
        score = scores[batch].reshape(-1)
        order = np.argsort(-score, kind="stable")[: before if before > 0 else None]
        moved = _moved(placed[order], deltas[batch].reshape(-1, 4)[order])
        moved = _clipped(moved, sizes[batch])
        extents = moved[:, 2:] - moved[:, :2]
        large = (extents >= min_size).all(axis=1)
        moved, score = moved[large], score[order][large]
        chosen = _hard_chosen(moved, score, iou, after if after > 0 else -1)
        out_scores += list(score[chosen])
        out_boxes += list(moved[chosen])
        out_batches += [batch] * len(chosen)
    return [
        np.array(out_scores),
        np.array(out_boxes).reshape(-1, 4),
        np.array(out_batches),
    ]


@operation("DETECTION_POSTPROCESSING")
def detection_postprocessing(call: Call) -> Sequence[Array]:
    """Boxes here are [y1, x1, y2, x2]; anchors and deltas have y before x, and centres. Without the
    regular NMS the official driver has room for each detection with all of its classes."""
    scores, deltas, anchors = (
        call.real("scores"),
        call.real("deltas")[..., :4],
        call.real("anchors"),
    )
    scaling = np.array([call.number(f"scale_{which}") for which in "yxhw"])
    regular, most = call.flag("regular_nms"), call.integer("max_detections")
    classes_per_box, per_class = (
        call.integer("max_classes_per_detection"),
        call.integer("max_detections_per_class"),
    )
    threshold, iou, background = (
        call.number("score_threshold"),
        call.number("iou_threshold"),
        call.flag("background_is_class"),
    )
    batches = len(scores)
    room = most if regular else most * classes_per_box
    out_scores = np.zeros((batches, room))
    out_boxes = np.zeros((batches, room, 4))
    out_classes = np.zeros((batches, room))
    counts = np.zeros(batches)
    for batch in range(batches):
        steps = deltas[batch] / scaling
        centres = anchors[:, :2] + steps[:, :2] * anchors[:, 2:]
        extents = anchors[:, 2:] * np.exp(steps[:, 2:])
        boxes = np.concatenate([centres - extents / 2, centres + extents / 2], axis=1)
        found = (
            _per_class(boxes, scores[batch], threshold, iou, per_class, most)
            if regular
            else _by_best_class(boxes, scores[batch], threshold, iou, classes_per_box, most)
        )
        counts[batch] = len(found)
        for at, (score, box, label) in enumerate(found):
            out_scores[batch, at] = score
            out_boxes[batch, at] = boxes[box]
            out_classes[batch, at] = label if background else label - 1
    return [out_scores, out_boxes, out_classes, counts]


def _per_class(
    boxes: Array, scores: Array, threshold: float, iou: float, per_class: int, most: int
) -> list[tuple[float, int, int]]:
    """(score, box, class) of all classes but the background, best first."""
    found = []
    for label in range(1, scores.shape[1]):
        members = np.flatnonzero(scores[:, label] >= threshold)
        found += [
            (float(scores[members[at], label]), int(members[at]), label)
            for at in _hard_chosen(boxes[members], scores[members, label], iou, per_class)
        ]
    return sorted(found, key=lambda row: -row[0])[:most]


def _by_best_class(
    boxes: Array, scores: Array, threshold: float, iou: float, classes: int, most: int
) -> list[tuple[float, int, int]]:
    """One suppression for all: by the best score that a box has with any class."""
    best = scores[:, 1:].max(axis=1)
    members = np.flatnonzero(best >= threshold)
    found = []
    for at in _hard_chosen(boxes[members], best[members], iou, most):
        box = int(members[at])
        labels = np.argsort(-scores[box, 1:], kind="stable")[:classes] + 1
        found += [(float(scores[box, label]), box, int(label)) for label in labels]
    return found


@operation("HEATMAP_MAX_KEYPOINT")
def heatmap_max_keypoint(call: Call) -> Sequence[Array]:
    """The largest element of each heatmap, refined by a quadratic Taylor expansion about it."""
    heatmaps, boxes = from_layout(call.real("heatmaps"), call.flag("layout")), call.real("boxes")
    count, size, _, keypoints = heatmaps.shape
    scores, places = np.zeros((count, keypoints)), np.zeros((count, keypoints, 2))
    for at, keypoint in np.ndindex(count, keypoints):
        heat = heatmaps[at, :, :, keypoint]
        y, x = np.unravel_index(np.argmax(heat), heat.shape)
        # The edges mirror: beyond them lies what is next to them within.
        around = np.pad(heat, 1, mode="reflect")[y : y + 3, x : x + 3]
        shift, peak = _peak(around)
        x1, y1, x2, y2 = boxes[at]
        extents = np.array([x2 - x1, y2 - y1])
        places[at, keypoint] = [x1, y1] + (np.array([x, y]) + 0.5 + shift) * extents / size
        scores[at, keypoint] = peak
    return [scores, places]


def _peak(around: Array) -> tuple[Array, float]:
    """Where the quadratic through the differences of a 3 x 3 neighbourhood has its peak, from the
    middle, as [x, y], and how high it is there."""
    gradient = np.array([around[1, 2] - around[1, 0], around[2, 1] - around[0, 1]]) / 2
    second_x = around[1, 2] - 2 * around[1, 1] + around[1, 0]
    second_y = around[2, 1] - 2 * around[1, 1] + around[0, 1]
    mixed = (around[2, 2] - around[2, 0] - around[0, 2] + around[0, 0]) / 4
    hessian = np.array([[second_x, mixed], [mixed, second_y]])
    determinant = second_x * second_y - mixed * mixed
    # As the official driver has it: too near to zero to divide by.
    if abs(determinant) < 1e-5 * (1 + second_x * second_y):
        return np.zeros(2), float(around[1, 1])
    shift = -np.linalg.solve(hessian, gradient)
    # An expansion counts near its origin only.
    furthest = np.abs(shift).max()
    if furthest > 1.5:
        shift = shift * (1.5 / furthest)
    peak = around[1, 1] + gradient @ shift + shift @ hessian @ shift / 2
    return shift, float(peak)
