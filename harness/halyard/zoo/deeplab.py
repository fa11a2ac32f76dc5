# SPDX-License-Identifier: Apache-2.0
"""DeepLabV3 on MobileNetV2: a class for every pixel."""

from __future__ import annotations

from dataclasses import replace

from halyard.model.arguments import Activation
from halyard.proto import halyard_pb2 as pb
from halyard.zoo.architecture import make_divisible
from halyard.zoo.image_network import ImageNetwork
from halyard.zoo.mobilenet import V2_BLOCKS, Block, inverted_residual

# One pixel of the features for so many of the image: the last stride of the backbone, which would
# make it 32, becomes a dilation of what follows.
_LAST_STRIDED = 160
_DILATION = 2

# The pyramid (Chen et al. 2017, section 3.3) for this stride.
_RATES = (6, 12, 18)
_PYRAMID_CHANNELS = 256


def deeplab_v3_mobilenet_v2(size: int, width: float, seed: int, classes: int) -> pb.Model:
    network = ImageNetwork("deeplab_v3_mobilenet_v2", size, seed)
    layer = network.convolution(network.image(), make_divisible(32 * width), kernel=3, stride=2)
    for block in _dilated():
        layer = inverted_residual(network, layer, block, width)[1]
    height, columns = layer.samples.shape[1:3]
    channels = make_divisible(_PYRAMID_CHANNELS * width)
    branches = [network.convolution(layer, channels)]
    for rate in _RATES:
        seen = network.depthwise(layer, 3, 1, dilation=rate)
        branches.append(network.convolution(seen, channels))
    pooled = network.convolution(network.global_average_pool(layer), channels)
    branches.append(network.resize(pooled, height, columns))
    layer = network.convolution(network.concatenation(branches, 3), channels)
    scores = network.convolution(layer, classes, activation=Activation.NONE)
    return network.build(network.resize(scores, size, size, "logits"))


def _dilated() -> list[Block]:
    blocks, dilation = [], 1
    for block in V2_BLOCKS:
        if block.channels == _LAST_STRIDED and block.stride == 2:
            blocks.append(replace(block, stride=1))
            dilation = _DILATION
        else:
            blocks.append(replace(block, dilation=dilation))
    return blocks
