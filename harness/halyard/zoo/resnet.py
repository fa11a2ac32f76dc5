# SPDX-License-Identifier: Apache-2.0
"""ResNet-50 v1.5, and a small plain network of convolutions."""

from __future__ import annotations

from halyard.model.arguments import Activation, Padding
from halyard.proto import halyard_pb2 as pb
from halyard.zoo.architecture import make_divisible
from halyard.zoo.classifier import classified, pooled_classifier
from halyard.zoo.image_network import ImageNetwork
from halyard.zoo.network import Layer

# ResNet-50 (He et al. 2015, table 1): channels inside the blocks, blocks, first stride. Version 1.5
# has the stride in the 3x3 convolution.
_STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))
_EXPANSION = 4


def resnet_50(size: int, width: float, seed: int, classes: int) -> pb.Model:
    network = ImageNetwork("resnet_50", size, seed)
    layer = _strided(network, network.image(), make_divisible(64 * width), 7, 2)
    layer = network.max_pool(network.pad(layer, 1), 3, 2)
    for channels, blocks, first_stride in _STAGES:
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            layer = _bottleneck(network, layer, make_divisible(channels * width), stride)
    return pooled_classifier(network, layer, classes)


def _bottleneck(network: ImageNetwork, data: Layer, channels: int, stride: int) -> Layer:
    relu, none = Activation.RELU, Activation.NONE
    outputs = channels * _EXPANSION
    shortcut = data
    if stride != 1 or outputs != data.channels:
        shortcut = network.convolution(data, outputs, stride=stride, activation=none)
    layer = network.convolution(data, channels, activation=relu)
    layer = _strided(network, layer, channels, 3, stride)
    layer = network.convolution(layer, outputs, activation=none)
    return network.add(layer, shortcut, relu)


def _strided(network: ImageNetwork, data: Layer, channels: int, kernel: int, stride: int) -> Layer:
    """Where the filter skips pixels, all sides get the same padding, which SAME would not give."""
    if stride == 1:
        return network.convolution(data, channels, kernel, activation=Activation.RELU)
    padded = network.pad(data, kernel // 2)
    return network.convolution(padded, channels, kernel, stride, Activation.RELU, Padding.VALID)


def small_classifier(size: int, width: float, seed: int, classes: int) -> pb.Model:
    """Two convolutions with poolings and two fully connected layers."""
    network = ImageNetwork("small_classifier", size, seed)
    layer = network.image()
    for channels in (16, 32):
        layer = network.convolution(
            layer, make_divisible(channels * width), kernel=3, activation=Activation.RELU
        )
        layer = network.max_pool(layer, 2, 2)
    layer = network.fully_connected(layer, make_divisible(64 * width), Activation.RELU)
    return classified(network, network.logits(layer, classes))
