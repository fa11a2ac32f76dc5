# SPDX-License-Identifier: Apache-2.0
"""Composes a network that sees an image: convolutions and poolings, NHWC."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halyard.model import TensorType
from halyard.model.arguments import Activation, Padding, Window
from halyard.proto import halyard_pb2 as pb
from halyard.reference.convolution import convolved, depthwise_convolved
from halyard.reference.tensor import activate
from halyard.zoo.network import VARIATION, Floats, Layer, Network


class ImageNetwork(Network):
    def __init__(self, name: str, size: int, seed: int) -> None:
        super().__init__(name, seed)
        self._size = size

    def image(self) -> Layer:
        """The input: [1, size, size, 3]."""
        return self.input("image", (1, self._size, self._size, 3))

    # ---- convolutions ---------------------------------------------------------------------------

    def convolution(
        self,
        data: Layer,
        channels: int,
        kernel: int = 1,
        stride: int = 1,
        activation: Activation = Activation.RELU6,
        padding: Padding = Padding.SAME,
        swishes: bool = False,
    ) -> Layer:
        """CONV_2D with a folded batch normalisation, and a HARD_SWISH if it swishes."""
        window = Window(padding, stride, stride, Activation.NONE)
        weights = self.filter(channels, kernel, kernel, data.channels)
        plain = convolved(data.samples, weights, window)
        gain, bias = self.normalisation(plain, swishes or activation != Activation.NONE)
        weights *= gain[:, None, None, None]
        result = self._windowed(
            pb.OPERATION_TYPE_CONV_2D,
            data,
            self.numbered("conv"),
            (weights, bias),
            (padding.value, stride, stride, activation),
            activate(plain * gain + bias, activation),
        )
        return self.hard_swish(result) if swishes else result

    def depthwise(
        self,
        data: Layer,
        kernel: int,
        stride: int,
        activation: Activation = Activation.RELU6,
        dilation: int = 1,
        swishes: bool = False,
    ) -> Layer:
        """DEPTHWISE_CONV_2D with SAME padding and a folded batch normalisation, and a HARD_SWISH if
        it swishes."""
        window = Window(
            Padding.SAME,
            stride,
            stride,
            Activation.NONE,
            dilation_w=dilation,
            dilation_h=dilation,
        )
        weights = self._depthwise_filter(kernel, data.channels)
        plain = depthwise_convolved(data.samples, weights, window)
        gain, bias = self.normalisation(plain, swishes or activation != Activation.NONE)
        weights *= gain
        result = self._windowed(
            pb.OPERATION_TYPE_DEPTHWISE_CONV_2D,
            data,
            self.numbered("depthwise"),
            (weights, bias),
            (Padding.SAME.value, stride, stride, 1, activation),
            activate(plain * gain + bias, activation),
            dilation,
        )
        return self.hard_swish(result) if swishes else result

    def classifier(self, data: Layer, classes: int) -> Layer:
        """Logits [1, classes], of an image of one pixel: a 1x1 CONV_2D and a RESHAPE."""
        weights, bias, logits = self.class_weights(data, classes)
        convolved = self._windowed(
            pb.OPERATION_TYPE_CONV_2D,
            data,
            self.numbered("classifier"),
            (weights[:, None, None, :], bias),
            (Padding.SAME.value, 1, 1, Activation.NONE),
            logits[:, None, None, :],
        )
        return self.reshape(convolved, (1, classes), "logits")

    # ---- without weights ------------------------------------------------------------------------

    def pad(self, data: Layer, margin: int) -> Layer:
        """PAD of the image on all four sides."""
        margins = np.array([[0, 0], [margin, margin], [margin, margin], [0, 0]], np.int32)
        tensor = TensorType(pb.OPERAND_TYPE_TENSOR_INT32, margins.shape)
        operand = self.builder.constant(self.numbered("margins"), tensor, margins)
        name = self.numbered("pad")
        return self.append(pb.OPERATION_TYPE_PAD, name, data, Layer(operand, margins))

    def hard_swish(self, data: Layer) -> Layer:
        return self.append(pb.OPERATION_TYPE_HARD_SWISH, self.numbered("hard_swish"), data)

    def max_pool(self, data: Layer, size: int, stride: int) -> Layer:
        """MAX_POOL_2D with VALID padding."""
        name = self.numbered("max_pool")
        return self._pool(pb.OPERATION_TYPE_MAX_POOL_2D, name, data, (size, size), stride)

    def global_average_pool(self, data: Layer) -> Layer:
        """AVERAGE_POOL_2D over the whole image: [1, 1, 1, channels]."""
        height, width = data.samples.shape[1:3]
        name = self.numbered("average_pool")
        return self._pool(pb.OPERATION_TYPE_AVERAGE_POOL_2D, name, data, (height, width), 1)

    def resize(self, data: Layer, height: int, width: int, name: str = "") -> Layer:
        """RESIZE_BILINEAR with aligned corners."""
        scalars = [self.builder.int32(width), self.builder.int32(height)]
        scalars += [self.builder.boolean(flag) for flag in (False, True, False)]
        name = name or self.numbered("resize")
        return self.append(pb.OPERATION_TYPE_RESIZE_BILINEAR, name, data, *scalars)

    # ---------------------------------------------------------------------------------------------

    def _depthwise_filter(self, kernel: int, channels: int) -> Floats:
        """Variations on a smooth bump, so that neighbours agree from layer to layer."""
        bump = np.hanning(kernel + 2)[1:-1]
        shape = (1, kernel, kernel, channels)
        weights = np.outer(bump, bump)[None, :, :, None] + self.random.normal(0, VARIATION, shape)
        return weights.astype(np.float32)

    def _windowed(
        self,
        operation: int,
        data: Layer,
        name: str,
        parameters: tuple[Floats, Floats],
        scalars: Sequence[int],
        samples: Floats,
        dilation: int = 1,
    ) -> Layer:
        weights, bias = self.parameters(name, *parameters)
        arguments = [self.builder.int32(value) for value in scalars]
        if dilation > 1:
            arguments += [self.builder.boolean(False), *[self.builder.int32(dilation)] * 2]
        return self.append(operation, name, data, weights, bias, *arguments, samples=samples)

    def _pool(
        self, operation: int, name: str, data: Layer, extent: tuple[int, int], stride: int
    ) -> Layer:
        height, width = extent
        scalars = (Padding.VALID.value, stride, stride, width, height, Activation.NONE)
        return self.append(operation, name, data, *map(self.builder.int32, scalars))
