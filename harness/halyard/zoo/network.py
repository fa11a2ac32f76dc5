# SPDX-License-Identifier: Apache-2.0
"""Composes a float32 network layer by layer, and gives it weights as training would leave them.

Untrained weights make a poor test: after a few layers every image gives the same output, and ranges
grow or vanish. So each layer's random filter is followed by a batch normalisation, whose statistics
are those of a batch of sample inputs that flows through the network while it is composed. The
normalisation is then folded into filter and bias, as every converter does.

The common part of all networks; image_network.py and sequence_network.py add what theirs need.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from halyard import reference
from halyard.model import Array, ModelBuilder, TensorType, stimuli
from halyard.model.arguments import Activation
from halyard.proto import halyard_pb2 as pb
from halyard.reference.tensor import activate

# How far apart the classes' logits are: enough that the softmax has a clear first place.
_LOGIT_DEVIATION = 2.0

# How many patterns a layer's filters vary, and how far they deviate from them.
_PATTERNS = 16
VARIATION = 0.3

# Added to each channel's variance, as a share of the mean one: a channel that the few samples
# hardly move is not blown up, which would cost the others their precision once quantised.
_FLOOR = 0.3

# The first of the inputs that the statistics come from; apart from those of examples.
_SAMPLES_SEED = 1 << 40

Floats = npt.NDArray[np.float32]

_TYPES = {
    np.dtype(np.float32): pb.OPERAND_TYPE_TENSOR_FLOAT32,
    np.dtype(np.int32): pb.OPERAND_TYPE_TENSOR_INT32,
}


@dataclass(frozen=True)
class Layer:
    """One tensor of the network: its operand, and what the sample inputs make of it."""

    operand: int
    samples: Array

    @property
    def channels(self) -> int:
        return int(self.samples.shape[-1])


class Network:
    """Methods that append an operation return its output. Weights have one random source: the same
    calls in the same order give the same network."""

    def __init__(self, name: str, seed: int) -> None:
        self.builder = ModelBuilder(name)
        self.random = np.random.default_rng([0x4E77, seed])
        # How many sample inputs there are: so many times is a tensor's first dimension there.
        self.batch = 1
        self._count: dict[str, int] = {}

    def input(self, name: str, shape: tuple[int, ...]) -> Layer:
        """The network's input, of a shape that tells what it shows (stimuli.py)."""
        samples = stimuli.samples(shape, _SAMPLES_SEED)
        self.batch = len(samples)
        operand = self.builder.input(name, float_tensor(shape))
        return Layer(operand, np.concatenate(samples))

    def build(self, *outputs: Layer) -> pb.Model:
        return self.builder.build([output.operand for output in outputs])

    # ---- without weights ------------------------------------------------------------------------

    def add(
        self, a: Layer, b: Layer, activation: Activation = Activation.NONE, name: str = ""
    ) -> Layer:
        name = name or self.numbered("add")
        return self.append(pb.OPERATION_TYPE_ADD, name, a, b, self.code(activation))

    def sub(self, a: Layer, b: Layer, name: str = "") -> Layer:
        name = name or self.numbered("sub")
        return self.append(pb.OPERATION_TYPE_SUB, name, a, b, self.code(Activation.NONE))

    def mul(self, a: Layer, b: Layer, name: str = "") -> Layer:
        name = name or self.numbered("mul")
        return self.append(pb.OPERATION_TYPE_MUL, name, a, b, self.code(Activation.NONE))

    def logistic(self, data: Layer, name: str = "") -> Layer:
        return self.append(pb.OPERATION_TYPE_LOGISTIC, name or self.numbered("logistic"), data)

    def mean(self, data: Layer, axes: Sequence[int], name: str = "") -> Layer:
        """MEAN that keeps the dimensions."""
        name = name or self.numbered("mean")
        keep = self.builder.int32(1)
        return self.append(pb.OPERATION_TYPE_MEAN, name, data, self.vector("axes", axes), keep)

    def concatenation(self, layers: Sequence[Layer], axis: int, name: str = "") -> Layer:
        name = name or self.numbered("concatenation")
        return self.append(pb.OPERATION_TYPE_CONCATENATION, name, *layers, self.builder.int32(axis))

    def reshape(self, data: Layer, shape: Sequence[int], name: str = "") -> Layer:
        """RESHAPE to the shape, the batch of 1 included."""
        name = name or self.numbered("reshape")
        return self.append(pb.OPERATION_TYPE_RESHAPE, name, data, self.vector("shape", shape))

    def softmax(self, data: Layer, name: str = "") -> Layer:
        name = name or self.numbered("softmax")
        return self.append(pb.OPERATION_TYPE_SOFTMAX, name, data, self.builder.float32(1.0))

    # ---- with weights ---------------------------------------------------------------------------

    def fully_connected(self, data: Layer, units: int, activation: Activation) -> Layer:
        """FULLY_CONNECTED with a folded batch normalisation."""
        rows = data.samples.reshape(len(data.samples), -1)
        weights = self.filter(units, rows.shape[1])
        plain = rows @ weights.T
        gain, bias = self.normalisation(plain, activation != Activation.NONE)
        weights *= gain[:, None]
        samples = activate(plain * gain + bias, activation)
        name = self.numbered("fully_connected")
        return self._dense(data, weights, bias, activation, samples, name)

    def logits(self, data: Layer, classes: int) -> Layer:
        """FULLY_CONNECTED that tells classes: [rows, classes]."""
        weights, bias, samples = self.class_weights(data, classes)
        return self._dense(data, weights, bias, Activation.NONE, samples, "logits")

    def class_weights(self, data: Layer, classes: int) -> tuple[Floats, Floats, Floats]:
        """Weights, bias, and the logits of the samples."""
        rows = data.samples.reshape(len(data.samples), -1)
        weights = self.random.normal(0, 1, (classes, rows.shape[1])).astype(np.float32)
        plain = rows @ weights.T
        # The samples' common part says nothing about the class.
        common = plain.mean(axis=0)
        gain = np.float32(_LOGIT_DEVIATION / max(float((plain - common).std()), 1e-6))
        weights *= gain
        bias = np.asarray(-common * gain, np.float32)
        return weights, bias, np.asarray(plain * gain + bias, np.float32)

    def filter(self, outputs: int, *inputs: int) -> Floats:
        """A random filter: variations on a few patterns, as trained filters are.

        The channels' common part outlives quantisation; independent filters would pass on every
        rounding error at full weight. The deviation does not matter: the normalisation that follows
        takes it out.
        """
        columns = math.prod(inputs)
        mixture = self.random.normal(0, 1, (outputs, _PATTERNS))
        patterns = self.random.normal(0, _PATTERNS**-0.5, (_PATTERNS, columns))
        weights = mixture @ patterns + self.random.normal(0, VARIATION, (outputs, columns))
        return weights.astype(np.float32).reshape(outputs, *inputs)

    def normalisation(self, plain: Floats, is_bent: bool) -> tuple[Floats, Floats]:
        """Gain and bias per channel of a batch normalisation after `plain`, and before an
        activation if `is_bent`."""
        axes = tuple(range(plain.ndim - 1))
        mean, variance = plain.mean(axis=axes), plain.var(axis=axes)
        deviation = np.sqrt(variance + _FLOOR * variance.mean() + 1e-9)
        channels = plain.shape[-1]
        gamma = self.random.uniform(0.6, 1.2, channels)
        # Before a RELU most values of a trained network are positive enough to pass.
        centre = 1.0 if is_bent else 0.0
        beta = self.random.normal(centre, 0.4, channels)
        gain = gamma / deviation
        return gain.astype(np.float32), (beta - mean * gain).astype(np.float32)

    # ---- operands and operations ----------------------------------------------------------------

    def code(self, value: Activation) -> int:
        return self.builder.int32(value)

    def vector(self, name: str, values: Sequence[int]) -> Layer:
        """A constant of integers."""
        operand = self.builder.vector(self.numbered(name), values)
        return Layer(operand, np.asarray(values, np.int32))

    def constant(self, name: str, values: Floats) -> Layer:
        return Layer(self.builder.numbers(name, values), values)

    def numbered(self, kind: str) -> str:
        """A name for the next operand of its kind."""
        self._count[kind] = self._count.get(kind, 0) + 1
        return f"{kind}_{self._count[kind]}"

    def append(
        self, operation: int, name: str, *inputs: Layer | int, samples: Array | None = None
    ) -> Layer:
        """An operation with one output. Inputs are tensors and the operands of scalars. `samples`
        where they are known already."""
        if samples is not None:
            return self._written(operation, [name], inputs, [samples])[0]
        return self.append_n(operation, [name], *inputs)[0]

    def append_n(self, operation: int, names: Sequence[str], *inputs: Layer | int) -> list[Layer]:
        """An operation with an output for each name."""
        asked = pb.Operation(type=operation, inputs=_operands(inputs))
        tensors = {layer.operand: layer.samples for layer in inputs if isinstance(layer, Layer)}
        results = reference.evaluate(
            self.builder.unfinished, asked, tensors, len(names), self.batch
        )
        return self._written(operation, names, inputs, results)

    def _written(
        self,
        operation: int,
        names: Sequence[str],
        inputs: Sequence[Layer | int],
        results: Sequence[Array],
    ) -> list[Layer]:
        outputs = list(zip(names, map(self._tensor, results), strict=True))
        operands = self.builder.operation_n(operation, _operands(inputs), outputs)
        return [Layer(*pair) for pair in zip(operands, results, strict=True)]

    def _tensor(self, samples: Array) -> TensorType:
        first, *others = samples.shape
        return TensorType(_TYPES[samples.dtype], (first // self.batch, *others))

    def _dense(
        self,
        data: Layer,
        weights: Floats,
        bias: Floats,
        activation: Activation,
        samples: Floats,
        name: str,
    ) -> Layer:
        parameters = self.parameters(name, weights, bias)
        return self.append(
            pb.OPERATION_TYPE_FULLY_CONNECTED,
            name,
            data,
            *parameters,
            self.code(activation),
            samples=samples,
        )

    def parameters(self, name: str, weights: Floats, bias: Floats) -> tuple[Layer, Layer]:
        return self.constant(f"{name}/weights", weights), self.constant(f"{name}/bias", bias)


def _operands(inputs: Sequence[Layer | int]) -> list[int]:
    return [layer.operand if isinstance(layer, Layer) else layer for layer in inputs]


def float_tensor(shape: tuple[int, ...]) -> TensorType:
    return TensorType(pb.OPERAND_TYPE_TENSOR_FLOAT32, tuple(shape))
