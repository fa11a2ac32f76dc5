# SPDX-License-Identifier: Apache-2.0
"""MobileNetV1 to V3 and EfficientNet-Lite0: classifiers of depthwise separable convolutions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from halyard.model.arguments import Activation
from halyard.proto import halyard_pb2 as pb
from halyard.zoo.architecture import make_divisible
from halyard.zoo.classifier import classified, pooled_classifier
from halyard.zoo.image_network import ImageNetwork
from halyard.zoo.network import Layer

# MobileNetV1 (Howard et al. 2017, table 1): channels, stride of each depthwise separable block.
_V1_BLOCKS = (
    (64, 1),
    (128, 2),
    (128, 1),
    (256, 2),
    (256, 1),
    (512, 2),
    *((512, 1),) * 5,
    (1024, 2),
    (1024, 1),
)


def mobilenet_v1(size: int, width: float, seed: int, classes: int) -> pb.Model:
    network = ImageNetwork("mobilenet_v1", size, seed)
    layer = network.convolution(network.image(), make_divisible(32 * width), kernel=3, stride=2)
    for channels, stride in _V1_BLOCKS:
        layer = network.depthwise(layer, 3, stride)
        layer = network.convolution(layer, make_divisible(channels * width))
    return pooled_classifier(network, layer, classes)


@dataclass(frozen=True)
class Block:
    """An inverted residual: expand, depthwise, project."""

    expansion: int
    channels: int
    stride: int
    kernel: int = 3
    dilation: int = 1


def blocks(*stages: tuple[int, int, int, int, int]) -> Iterator[Block]:
    """Of stages of expansion, channels, repetitions, first stride and kernel."""
    for expansion, channels, repetitions, first_stride, kernel in stages:
        for repetition in range(repetitions):
            yield Block(expansion, channels, first_stride if repetition == 0 else 1, kernel)


# MobileNetV2 (Sandler et al. 2018, table 2).
V2_BLOCKS = tuple(
    blocks(
        (1, 16, 1, 1, 3),
        (6, 24, 2, 2, 3),
        (6, 32, 3, 2, 3),
        (6, 64, 4, 2, 3),
        (6, 96, 3, 1, 3),
        (6, 160, 3, 2, 3),
        (6, 320, 1, 1, 3),
    )
)


def mobilenet_v2(size: int, width: float, seed: int, classes: int) -> pb.Model:
    network = ImageNetwork("mobilenet_v2", size, seed)
    layer = network.convolution(network.image(), make_divisible(32 * width), kernel=3, stride=2)
    for block in V2_BLOCKS:
        layer = inverted_residual(network, layer, block, width)[1]
    # The last convolution does not get narrower than the paper's.
    layer = network.convolution(layer, make_divisible(1280 * max(1.0, width)))
    return pooled_classifier(network, layer, classes)


def inverted_residual(
    network: ImageNetwork, data: Layer, block: Block, width: float
) -> tuple[Layer, Layer]:
    """The expanded layer, and the output."""
    expanded = data
    if block.expansion != 1:
        expanded = network.convolution(data, block.expansion * data.channels)
    layer = network.depthwise(expanded, block.kernel, block.stride, dilation=block.dilation)
    outputs = make_divisible(block.channels * width)
    layer = network.convolution(layer, outputs, activation=Activation.NONE)
    if block.stride == 1 and outputs == data.channels:
        layer = network.add(data, layer)
    return expanded, layer


# EfficientNet-Lite0 (Tan and Le 2019, table 1, without squeeze-and-excite, and with RELU6).
_LITE0_BLOCKS = tuple(
    blocks(
        (1, 16, 1, 1, 3),
        (6, 24, 2, 2, 3),
        (6, 40, 2, 2, 5),
        (6, 80, 3, 2, 3),
        (6, 112, 3, 1, 5),
        (6, 192, 4, 2, 5),
        (6, 320, 1, 1, 3),
    )
)


def efficientnet_lite0(size: int, width: float, seed: int, classes: int) -> pb.Model:
    network = ImageNetwork("efficientnet_lite0", size, seed)
    layer = network.convolution(network.image(), make_divisible(32 * width), kernel=3, stride=2)
    for block in _LITE0_BLOCKS:
        layer = inverted_residual(network, layer, block, width)[1]
    layer = network.convolution(layer, make_divisible(1280 * width))
    return pooled_classifier(network, layer, classes)


# MobileNetV3-Large (Howard et al. 2019, table 1): kernel, expanded channels, channels, whether the
# block squeezes and excites, whether it has HARD_SWISH, stride.
_V3_BLOCKS = (
    (3, 16, 16, False, False, 1),
    (3, 64, 24, False, False, 2),
    (3, 72, 24, False, False, 1),
    (5, 72, 40, True, False, 2),
    (5, 120, 40, True, False, 1),
    (5, 120, 40, True, False, 1),
    (3, 240, 80, False, True, 2),
    (3, 200, 80, False, True, 1),
    (3, 184, 80, False, True, 1),
    (3, 184, 80, False, True, 1),
    (3, 480, 112, True, True, 1),
    (3, 672, 112, True, True, 1),
    (5, 672, 160, True, True, 2),
    (5, 960, 160, True, True, 1),
    (5, 960, 160, True, True, 1),
)


def mobilenet_v3_large(size: int, width: float, seed: int, classes: int) -> pb.Model:
    network = ImageNetwork("mobilenet_v3_large", size, seed)
    none = Activation.NONE
    stem = make_divisible(16 * width)
    layer = network.convolution(network.image(), stem, 3, 2, none, swishes=True)
    for kernel, expanded, channels, excites, swishes, stride in _V3_BLOCKS:
        data = layer
        # No convolution of NNAPI ends in a HARD_SWISH.
        activation = none if swishes else Activation.RELU
        hidden = make_divisible(expanded * width)
        if hidden != data.channels:
            layer = network.convolution(layer, hidden, 1, 1, activation, swishes=swishes)
        layer = network.depthwise(layer, kernel, stride, activation, swishes=swishes)
        layer = _excited(network, layer) if excites else layer
        outputs = make_divisible(channels * width)
        layer = network.convolution(layer, outputs, activation=none)
        if stride == 1 and outputs == data.channels:
            layer = network.add(data, layer)
    last = make_divisible(960 * width)
    layer = network.convolution(layer, last, activation=none, swishes=True)
    layer = network.global_average_pool(layer)
    features = make_divisible(1280 * max(1.0, width))
    layer = network.convolution(layer, features, activation=none, swishes=True)
    return classified(network, network.classifier(layer, classes))


def _excited(network: ImageNetwork, data: Layer) -> Layer:
    """Squeeze-and-excite: each channel times what all channels' means say of it."""
    squeezed = network.mean(data, (1, 2))
    reduced = make_divisible(data.channels / 4)
    gates = network.convolution(squeezed, reduced, activation=Activation.RELU)
    gates = network.convolution(gates, data.channels, activation=Activation.NONE)
    # A hard sigmoid, as converters write it: (x + 3) from 0 to 6, times 1/6.
    shifted = network.add(gates, _number(network, "three", 3.0), Activation.RELU6)
    return network.mul(data, network.mul(shifted, _number(network, "sixth", 1 / 6)))


def _number(network: ImageNetwork, name: str, value: float) -> Layer:
    return network.constant(network.numbered(name), np.array([value], np.float32))
