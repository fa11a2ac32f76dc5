# SPDX-License-Identifier: Apache-2.0
"""SSD on MobileNetV2: boxes and what is in them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from halyard.model.arguments import Activation
from halyard.proto import halyard_pb2 as pb
from halyard.zoo.architecture import make_divisible
from halyard.zoo.image_network import ImageNetwork
from halyard.zoo.mobilenet import V2_BLOCKS, inverted_residual
from halyard.zoo.network import Floats, Layer

# The block whose expanded layer is the finest map that boxes are told from.
_FIRST_MAP = 13

# The maps after the backbone (Liu et al. 2015, figure 2, for MobileNets): channels of the 1x1
# convolution, and of the 3x3 one that halves the map.
_EXTRA = ((256, 512), (128, 256), (128, 256), (64, 128))

# Boxes per place of a map have these proportions of width to height. From the first map to the
# last, their sides grow from one share of the image to the other.
_PROPORTIONS = (1.0, 2.0, 0.5, 3.0, 1 / 3)
_SMALLEST, _LARGEST = 0.2, 0.95

_DETECTIONS = 10


def ssd_mobilenet_v2(size: int, width: float, seed: int, classes: int) -> pb.Model:
    """Detections, and the scores and box deltas that they are chosen from. The first of the
    classes is the background."""
    network = ImageNetwork("ssd_mobilenet_v2", size, seed)
    maps = _maps(network, width)
    deltas, scores, boxes = [], [], []
    for number, layer in enumerate(maps):
        boxes.append(_anchors(number, len(maps), *layer.samples.shape[1:3]))
        count = len(boxes[-1]) // (layer.samples.shape[1] * layer.samples.shape[2])
        deltas.append(_predicted(network, layer, count, 4))
        scores.append(_predicted(network, layer, count, classes))
    all_deltas = network.concatenation(deltas, 1, "deltas")
    all_scores = network.logistic(network.concatenation(scores, 1), "scores")
    anchors = network.constant("anchors", np.concatenate(boxes))
    builder = network.builder
    # Scales of y, x, height and width; the fast suppression; one class per box; thresholds of the
    # score and of the overlap; classes without the background.
    arguments = [
        *map(builder.float32, (10.0, 10.0, 5.0, 5.0)),
        builder.boolean(False),
        *map(builder.int32, (_DETECTIONS, 1, 100)),
        *map(builder.float32, (1e-8, 0.6)),
        builder.boolean(False),
    ]
    names = [f"detection_{kind}" for kind in ("scores", "boxes", "classes", "count")]
    detections = network.append_n(
        pb.OPERATION_TYPE_DETECTION_POSTPROCESSING,
        names,
        all_scores,
        all_deltas,
        anchors,
        *arguments,
    )
    return network.build(*detections, all_scores, all_deltas)


def _maps(network: ImageNetwork, width: float) -> list[Layer]:
    layer = network.convolution(network.image(), make_divisible(32 * width), kernel=3, stride=2)
    maps = []
    for number, block in enumerate(V2_BLOCKS):
        expanded, layer = inverted_residual(network, layer, block, width)
        if number == _FIRST_MAP:
            maps.append(expanded)
    layer = network.convolution(layer, make_divisible(1280 * max(1.0, width)))
    maps.append(layer)
    for reduced, channels in _EXTRA:
        layer = network.convolution(layer, make_divisible(reduced * width))
        layer = network.convolution(layer, make_divisible(channels * width), kernel=3, stride=2)
        maps.append(layer)
    return maps


def _predicted(network: ImageNetwork, layer: Layer, count: int, channels: int) -> Layer:
    """[1, boxes of the map, channels]."""
    predicted = network.convolution(layer, count * channels, activation=Activation.NONE)
    places = layer.samples.shape[1] * layer.samples.shape[2]
    return network.reshape(predicted, (1, places * count, channels))


def _anchors(number: int, maps: int, rows: int, columns: int) -> Floats:
    """Centre y and x, height and width of the boxes of a map, as shares of the image."""
    step = (_LARGEST - _SMALLEST) / (maps - 1)
    scale = _SMALLEST + step * number
    if number == 0:
        # The finest map has few boxes per place, and smaller ones.
        shapes = [(0.1, 1.0), (scale, 2.0), (scale, 0.5)]
    else:
        shapes = [(scale, proportion) for proportion in _PROPORTIONS]
        shapes.append((math.sqrt(scale * min(1.0, scale + step)), 1.0))
    return _grid(rows, columns, shapes)


def _grid(rows: int, columns: int, shapes: Sequence[tuple[float, float]]) -> Floats:
    anchors = np.empty((rows, columns, len(shapes), 4), np.float32)
    anchors[..., 0] = ((np.arange(rows) + 0.5) / rows)[:, None, None]
    anchors[..., 1] = ((np.arange(columns) + 0.5) / columns)[None, :, None]
    anchors[..., 2] = [scale / math.sqrt(proportion) for scale, proportion in shapes]
    anchors[..., 3] = [scale * math.sqrt(proportion) for scale, proportion in shapes]
    return anchors.reshape(-1, 4)
