# SPDX-License-Identifier: Apache-2.0
"""Composes a float32 network layer by layer, and gives it weights as training would leave them.

Untrained weights make a poor test: after a few layers every image gives the same output, and ranges
grow or vanish. So each convolution's random filter is followed by a batch normalisation, whose
statistics are those of a batch of sample images that flows through the network while it is
composed. The normalisation is then folded into filter and bias, as every converter does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halyard.model import ModelBuilder, TensorType
from halyard.model.arguments import Activation, Padding, Window
from halyard.proto import halyard_pb2 as pb
from halyard.zoo import float_kernels as kernels
from halyard.zoo import images
from halyard.zoo.float_kernels import Floats

# How far apart the classes' logits are: enough that the softmax has a clear first place.
_LOGIT_DEVIATION = 2.0

# How many patterns a layer's filters vary, and how far they deviate from them.
_PATTERNS = 16
_VARIATION = 0.3

# Added to each channel's variance, as a share of the mean one: a channel that the few samples
# hardly move is not blown up, which would cost the others their precision once quantised.
_FLOOR = 0.3

# The first of the images that the statistics come from; apart from those of examples.
_SAMPLES_SEED = 1 << 40


@dataclass(frozen=True)
class Layer:
    """One tensor of the network: its operand, and what the sample images make of it."""

    operand: int
    samples: Floats

    @property
    def channels(self) -> int:
        return int(self.samples.shape[-1])


class Network:
    def __init__(self, name: str, size: int, seed: int) -> None:
        self._builder = ModelBuilder(name)
        self._random = np.random.default_rng([0x4E77, seed])
        self._size = size
        self._count: dict[str, int] = {}

    def image(self) -> Layer:
        """The input: [1, size, size, 3]."""
        shape = (1, self._size, self._size, 3)
        samples = np.concatenate(images.samples(shape, _SAMPLES_SEED))
        operand = self._builder.input("image", _float(shape))
        return Layer(operand, samples)

    def convolution(
        self,
        data: Layer,
        channels: int,
        kernel: int = 1,
        stride: int = 1,
        activation: Activation = Activation.RELU6,
    ) -> Layer:
        """CONV_2D with SAME padding and a folded batch normalisation."""
        window = Window(Padding.SAME, stride, stride, Activation.NONE)
        weights = self._filter(channels, kernel, kernel, data.channels)
        plain = kernels.conv_2d(data.samples, weights, np.zeros(channels, np.float32), window)
        gain, bias = self._normalisation(plain, activation)
        weights *= gain[:, None, None, None]
        return self._windowed(
            pb.OPERATION_TYPE_CONV_2D,
            data,
            "conv",
            (weights, bias),
            (stride, stride, activation),
            kernels.activate(plain * gain + bias, activation),
        )

    def depthwise(
        self, data: Layer, kernel: int, stride: int, activation: Activation = Activation.RELU6
    ) -> Layer:
        """DEPTHWISE_CONV_2D with SAME padding and a folded batch normalisation."""
        window = Window(Padding.SAME, stride, stride, Activation.NONE)
        weights = self._depthwise_filter(kernel, data.channels)
        zeros = np.zeros(data.channels, np.float32)
        plain = kernels.depthwise_conv_2d(data.samples, weights, zeros, window)
        gain, bias = self._normalisation(plain, activation)
        weights *= gain
        return self._windowed(
            pb.OPERATION_TYPE_DEPTHWISE_CONV_2D,
            data,
            "depthwise",
            (weights, bias),
            (stride, stride, 1, activation),
            kernels.activate(plain * gain + bias, activation),
        )

    def add(self, a: Layer, b: Layer) -> Layer:
        inputs = [a.operand, b.operand, self._builder.int32(Activation.NONE)]
        return self._append(pb.OPERATION_TYPE_ADD, inputs, self._name("add"), a.samples + b.samples)

    def max_pool(self, data: Layer, size: int) -> Layer:
        """MAX_POOL_2D with VALID padding; windows do not overlap."""
        return self._pool(pb.OPERATION_TYPE_MAX_POOL_2D, "max_pool", data, (size, size), size)

    def global_average_pool(self, data: Layer) -> Layer:
        """AVERAGE_POOL_2D over the whole image: [1, 1, 1, channels]."""
        extent = data.samples.shape[1], data.samples.shape[2]
        return self._pool(pb.OPERATION_TYPE_AVERAGE_POOL_2D, "average_pool", data, extent, 1)

    def fully_connected(self, data: Layer, units: int, activation: Activation) -> Layer:
        """FULLY_CONNECTED with a folded batch normalisation."""
        rows = data.samples.reshape(len(data.samples), -1)
        weights = self._filter(units, rows.shape[1])
        plain = rows @ weights.T
        gain, bias = self._normalisation(plain, activation)
        weights *= gain[:, None]
        return self._fully_connected(
            data, weights, bias, activation, kernels.activate(plain * gain + bias, activation)
        )

    def classifier(self, data: Layer, classes: int, *, dense: bool = False) -> Layer:
        """Logits [1, classes]: a 1x1 CONV_2D and a RESHAPE, or one FULLY_CONNECTED."""
        rows = data.samples.reshape(len(data.samples), -1)
        weights = self._random.normal(0, 1, (classes, rows.shape[1])).astype(np.float32)
        plain = rows @ weights.T
        # What the samples have in common says nothing about the class.
        common = plain.mean(axis=0)
        gain = np.float32(_LOGIT_DEVIATION / max(float((plain - common).std()), 1e-6))
        weights *= gain
        bias = np.asarray(-common * gain, np.float32)
        logits = plain * gain + bias
        if dense:
            return self._fully_connected(data, weights, bias, Activation.NONE, logits, "logits")
        convolved = self._windowed(
            pb.OPERATION_TYPE_CONV_2D,
            data,
            "classifier",
            (weights[:, None, None, :], bias),
            (1, 1, Activation.NONE),
            logits[:, None, None, :],
        )
        return self.reshape(convolved, (classes,), "logits")

    def reshape(self, data: Layer, shape: Sequence[int], name: str) -> Layer:
        """RESHAPE to [1, *shape]."""
        inputs = [data.operand, self._builder.vector(self._name("shape"), (1, *shape))]
        samples = data.samples.reshape(len(data.samples), *shape)
        return self._append(pb.OPERATION_TYPE_RESHAPE, inputs, name, samples)

    def softmax(self, data: Layer) -> Layer:
        inputs = [data.operand, self._builder.float32(1.0)]
        samples = kernels.softmax(data.samples, 1.0, -1)
        return self._append(pb.OPERATION_TYPE_SOFTMAX, inputs, "probabilities", samples)

    def build(self, *outputs: Layer) -> pb.Model:
        return self._builder.build([output.operand for output in outputs])

    # ---- weights --------------------------------------------------------------------------------

    def _filter(self, outputs: int, *inputs: int) -> Floats:
        """A random filter: variations on a few patterns, as trained filters are.

        What the channels have in common outlives quantisation; independent filters would pass on
        every rounding error at full weight. The deviation does not matter: the normalisation that
        follows takes it out.
        """
        columns = math.prod(inputs)
        mixture = self._random.normal(0, 1, (outputs, _PATTERNS))
        patterns = self._random.normal(0, _PATTERNS**-0.5, (_PATTERNS, columns))
        weights = mixture @ patterns + self._random.normal(0, _VARIATION, (outputs, columns))
        return weights.astype(np.float32).reshape(outputs, *inputs)

    def _depthwise_filter(self, kernel: int, channels: int) -> Floats:
        """Variations on a smooth bump, so that neighbours agree from layer to layer."""
        bump = np.hanning(kernel + 2)[1:-1]
        shape = (1, kernel, kernel, channels)
        weights = np.outer(bump, bump)[None, :, :, None] + self._random.normal(0, _VARIATION, shape)
        return weights.astype(np.float32)

    def _normalisation(self, plain: Floats, activation: Activation) -> tuple[Floats, Floats]:
        """Gain and bias per channel of a batch normalisation after `plain`."""
        axes = tuple(range(plain.ndim - 1))
        mean, variance = plain.mean(axis=axes), plain.var(axis=axes)
        deviation = np.sqrt(variance + _FLOOR * variance.mean() + 1e-9)
        channels = plain.shape[-1]
        gamma = self._random.uniform(0.6, 1.2, channels)
        # Before a RELU most values of a trained network are positive enough to pass.
        centre = 0.0 if activation == Activation.NONE else 1.0
        beta = self._random.normal(centre, 0.4, channels)
        gain = gamma / deviation
        return gain.astype(np.float32), (beta - mean * gain).astype(np.float32)

    # ---- operations -----------------------------------------------------------------------------

    def _windowed(
        self,
        operation: int,
        data: Layer,
        kind: str,
        parameters: tuple[Floats, Floats],
        scalars: Sequence[int],
        samples: Floats,
    ) -> Layer:
        name = self._name(kind)
        inputs = [data.operand, *self._parameters(name, *parameters)]
        inputs += [self._builder.int32(value) for value in (Padding.SAME.value, *scalars)]
        return self._append(operation, inputs, name, samples)

    def _fully_connected(
        self,
        data: Layer,
        weights: Floats,
        bias: Floats,
        activation: Activation,
        samples: Floats,
        name: str = "",
    ) -> Layer:
        name = name or self._name("fully_connected")
        inputs = [data.operand, *self._parameters(name, weights, bias)]
        inputs.append(self._builder.int32(activation))
        return self._append(pb.OPERATION_TYPE_FULLY_CONNECTED, inputs, name, samples)

    def _pool(
        self,
        operation: int,
        kind: str,
        data: Layer,
        extent: tuple[int, int],
        stride: int,
    ) -> Layer:
        height, width = extent
        window = Window(
            Padding.VALID, stride, stride, Activation.NONE, filter_w=width, filter_h=height
        )
        scalars = (Padding.VALID.value, stride, stride, width, height, Activation.NONE)
        inputs = [data.operand, *(self._builder.int32(value) for value in scalars)]
        kernel = (
            kernels.max_pool_2d
            if operation == pb.OPERATION_TYPE_MAX_POOL_2D
            else kernels.average_pool_2d
        )
        return self._append(operation, inputs, self._name(kind), kernel(data.samples, window))

    def _parameters(self, name: str, weights: Floats, bias: Floats) -> tuple[int, int]:
        return (
            self._builder.constant(f"{name}/weights", _float(weights.shape), weights),
            self._builder.constant(f"{name}/bias", _float(bias.shape), bias),
        )

    def _append(self, operation: int, inputs: Sequence[int], name: str, samples: Floats) -> Layer:
        output = _float((1, *samples.shape[1:]))
        return Layer(self._builder.operation(operation, inputs, name, output), samples)

    def _name(self, kind: str) -> str:
        self._count[kind] = self._count.get(kind, 0) + 1
        return f"{kind}_{self._count[kind]}"


def _float(shape: tuple[int, ...]) -> TensorType:
    return TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, tuple(shape))
