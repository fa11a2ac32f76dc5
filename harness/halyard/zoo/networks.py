# SPDX-License-Identifier: Apache-2.0
"""The architectures of the zoo."""

from __future__ import annotations

from collections.abc import Callable

from halyard.model.arguments import Activation
from halyard.proto import halyard_pb2 as pb
from halyard.zoo.network import Layer, Network


def make_divisible(channels: float, divisor: int = 8) -> int:
    """The multiple of `divisor` next to `channels`, never more than a tenth below it."""
    rounded = max(divisor, int(channels + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * channels else rounded


# MobileNetV2 (Sandler et al. 2018, table 2): expansion, channels, repetitions, first stride.
_V2_BLOCKS = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def mobilenet_v2(size: int, width: float, seed: int, classes: int) -> pb.Model:
    network = Network("mobilenet_v2", size, seed)
    layer = network.convolution(network.image(), make_divisible(32 * width), kernel=3, stride=2)
    for expansion, channels, repetitions, first_stride in _V2_BLOCKS:
        outputs = make_divisible(channels * width)
        for repetition in range(repetitions):
            stride = first_stride if repetition == 0 else 1
            layer = _inverted_residual(network, layer, expansion, outputs, stride)
    # The last convolution does not get narrower than the paper's.
    layer = network.convolution(layer, make_divisible(1280 * max(1.0, width)))
    return _head(network, layer, classes)


def _inverted_residual(
    network: Network, data: Layer, expansion: int, outputs: int, stride: int
) -> Layer:
    layer = data
    if expansion != 1:
        layer = network.convolution(layer, expansion * data.channels)
    layer = network.depthwise(layer, 3, stride)
    layer = network.convolution(layer, outputs, activation=Activation.NONE)
    if stride == 1 and outputs == data.channels:
        layer = network.add(data, layer)
    return layer


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
    network = Network("mobilenet_v1", size, seed)
    layer = network.convolution(network.image(), make_divisible(32 * width), kernel=3, stride=2)
    for channels, stride in _V1_BLOCKS:
        layer = network.depthwise(layer, 3, stride)
        layer = network.convolution(layer, make_divisible(channels * width))
    return _head(network, layer, classes)


def _head(network: Network, layer: Layer, classes: int) -> pb.Model:
    return _classified(network, network.classifier(network.global_average_pool(layer), classes))


def _classified(network: Network, logits: Layer) -> pb.Model:
    """Probabilities, and the logits as well: most probabilities are next to 0, and nearly nothing
    is told by comparing those."""
    return network.build(network.softmax(logits), logits)


def small_classifier(size: int, width: float, seed: int, classes: int) -> pb.Model:
    """Two convolutions with poolings and two fully connected layers."""
    network = Network("small_classifier", size, seed)
    layer = network.image()
    for channels in (16, 32):
        layer = network.convolution(
            layer, make_divisible(channels * width), kernel=3, activation=Activation.RELU
        )
        layer = network.max_pool(layer, 2)
    layer = network.fully_connected(layer, make_divisible(64 * width), Activation.RELU)
    return _classified(network, network.classifier(layer, classes, dense=True))


# Size, width, seed and classes give the float32 model.
Architecture = Callable[[int, float, int, int], pb.Model]

ARCHITECTURES: dict[str, Architecture] = {
    "mobilenet_v1": mobilenet_v1,
    "mobilenet_v2": mobilenet_v2,
    "small_classifier": small_classifier,
}
