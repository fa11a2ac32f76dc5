# SPDX-License-Identifier: Apache-2.0
"""Chains of float operations that passes rewrite and kernels fuse: pads before convolutions and
pools, scales and activations behind them, sums with what went around, transposes, inverted
residuals; long enough for whole vectors and tiles, and for a rest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from halyard.model import ModelBuilder, TensorType
from halyard.proto import halyard_pb2 as pb
from tests.random_models.sketch import F16, F32, FLOATS, I32, Sketch

_SAME, _VALID = 1, 2
_NONE = 0


class Chain:
    """A model in the making, of one float type."""

    def __init__(self, sketch: Sketch, data: int) -> None:
        self.sketch = sketch
        self.type = data
        self.builder = ModelBuilder(sketch.operation)
        self.values: list[pb.InputValue] = []

    def _grid(self, shape: tuple[int, ...]) -> np.ndarray:
        dtype = np.float16 if self.type == F16 else np.float32
        return self.sketch.grid(shape, 1, 1 / 4).astype(dtype)

    def input(self, *shape: int) -> int:
        self.values.append(pb.InputValue(data=self._grid(shape).tobytes()))
        return self.builder.input("", TensorType(self.type, shape))

    def constant(self, *shape: int) -> int:
        return self.builder.constant("", TensorType(self.type, shape), self._grid(shape))

    def vector(self, values: list[int], *shape: int) -> int:
        array = np.array(values, "<i4").reshape(shape or (len(values),))
        return self.builder.constant("", TensorType(I32, array.shape), array)

    def add(self, operation: str, inputs: list[int], shape: tuple[int, ...] = ()) -> int:
        code = pb.OperationType.Value(f"OPERATION_TYPE_{operation}")
        return self.builder.operation(code, inputs, "", TensorType(self.type, shape))

    def number(self, value: int) -> int:
        return self.builder.int32(value)

    def binary(self, operation: str, a: int, b: int) -> int:
        return self.add(operation, [a, b, self.number(_NONE)])

    def activation(self, x: int) -> int:
        return self.add(self.sketch.pick(("RELU", "RELU6", "TANH", "LOGISTIC")), [x])

    def convolution(
        self, x: int, channels: tuple[int, int], side: int, *, padding: int = _SAME, stride: int = 1
    ) -> int:
        weights = self.constant(channels[1], side, side, channels[0])
        numbers = [self.number(each) for each in (padding, stride, stride, _NONE)]
        return self.add("CONV_2D", [x, weights, self.constant(channels[1]), *numbers])

    def depthwise(self, x: int, channels: int, *, padding: int = _SAME, stride: int = 1) -> int:
        weights = self.constant(1, 3, 3, channels)
        numbers = [self.number(each) for each in (padding, stride, stride, 1, _NONE)]
        return self.add("DEPTHWISE_CONV_2D", [x, weights, self.constant(channels), *numbers])

    def finish(self, *outputs: int) -> pb.TestCase:
        model = self.builder.build(outputs)
        example = pb.Example(inputs=self.values)
        for _ in outputs:
            example.outputs.add(byte_size=1 << 20)
        return pb.TestCase(name=self.sketch.operation, model=model, examples=[example])


def _padded_convolution(chain: Chain) -> pb.TestCase:
    sketch = chain.sketch
    depth, channels = sketch.integer(1, 20), sketch.pick((3, 16, 33))
    x = chain.input(1, 9, 10, depth)
    paddings = chain.vector([0, 0, 1, 2, 1, 0, 0, 0], 4, 2)
    x = chain.add("PAD", [x, paddings], (1, 12, 11, depth))
    if sketch.chance():
        x = chain.depthwise(x, depth, padding=_VALID, stride=sketch.integer(1, 2))
    else:
        x = chain.convolution(x, (depth, channels), 3, padding=_VALID)
    return chain.finish(x)


def _scaled_convolution(chain: Chain) -> pb.TestCase:
    sketch = chain.sketch
    depth, channels = sketch.integer(1, 20), sketch.pick((3, 16, 33))
    x = chain.input(1, 7, 8, depth)
    x = chain.convolution(x, (depth, channels), sketch.pick((1, 3)), stride=sketch.integer(1, 2))
    for operation in ("MUL", "ADD", "SUB")[: sketch.integer(1, 3)]:
        x = chain.binary(operation, x, chain.constant(channels))
    return chain.finish(chain.activation(x))


def _residual(chain: Chain) -> pb.TestCase:
    channels = chain.sketch.pick((4, 16, 33))
    x = chain.input(1, 14, 14, channels)
    y = chain.convolution(x, (channels, channels), 3)
    y = chain.activation(chain.binary("ADD", y, x))
    return chain.finish(chain.convolution(y, (channels, 3), 1))


def _inverted_residual(chain: Chain) -> pb.TestCase:
    channels, expanded = 16, 96
    side = chain.sketch.pick((14, 20, 40))
    x = chain.input(1, side, side, channels)
    first = chain.sketch.pick((1, 3))
    y = chain.add("RELU6", [chain.convolution(x, (channels, expanded), first)])
    y = chain.add("RELU6", [chain.depthwise(y, expanded, stride=chain.sketch.integer(1, 2))])
    return chain.finish(chain.convolution(y, (expanded, channels), 1))


def _wide_convolution(chain: Chain) -> pb.TestCase:
    """Such as Winograd's transforms are for."""
    channels = chain.sketch.pick((32, 48))
    x = chain.input(1, 16, chain.sketch.integer(15, 20), channels)
    return chain.finish(chain.convolution(x, (channels, channels), 3))


def _layers(chain: Chain) -> pb.TestCase:
    sketch = chain.sketch
    depth, units = sketch.integer(1, 70), sketch.pick((5, 16, 67))
    x = chain.input(sketch.integer(1, 9), depth)
    numbers = [chain.number(_NONE)]
    y = chain.add(
        "FULLY_CONNECTED", [x, chain.constant(units, depth), chain.constant(units), *numbers]
    )
    y = chain.binary(sketch.pick(("ADD", "MUL")), y, chain.constant(units))
    return chain.finish(chain.activation(y))


def _transposed(chain: Chain) -> pb.TestCase:
    sketch = chain.sketch
    x = chain.input(2, 5, 6, sketch.integer(1, 33))
    y = chain.add("TRANSPOSE", [x, chain.vector([0, 3, 1, 2])])
    y = chain.binary(sketch.pick(("ADD", "MUL")), y, y)
    y = chain.add(sketch.pick(("EXP", "RSQRT", "ABS")), [y])
    return chain.finish(chain.add("TRANSPOSE", [y, chain.vector([0, 2, 3, 1])]))


def _pooled(chain: Chain) -> pb.TestCase:
    sketch = chain.sketch
    depth = sketch.integer(1, 33)
    x = chain.input(1, 8, 8, depth)
    x = chain.add("RELU", [x])
    x = chain.add("PAD", [x, chain.vector([0, 0, 1, 1, 1, 1, 0, 0], 4, 2)], (1, 10, 10, depth))
    numbers = [chain.number(each) for each in (_VALID, 2, 2, 3, 3, _NONE)]
    return chain.finish(chain.add(sketch.pick(("MAX_POOL_2D", "AVERAGE_POOL_2D")), [x, *numbers]))


CHAINS: tuple[Callable[[Chain], pb.TestCase], ...] = (
    _padded_convolution,
    _scaled_convolution,
    _residual,
    _inverted_residual,
    _wide_convolution,
    _layers,
    _transposed,
    _pooled,
)


def generate_chain(seed: int, number: int) -> pb.TestCase:
    """The same for the same arguments."""
    make = CHAINS[number % len(CHAINS)]
    source = np.random.default_rng([seed, number])
    sketch = Sketch(f"CHAIN{make.__name__.upper()}", source)
    data = F32 if sketch.chance(0.7) else sketch.pick(FLOATS)
    test_case = make(Chain(sketch, data))
    test_case.name = f"{sketch.operation}_{number}"
    return test_case
