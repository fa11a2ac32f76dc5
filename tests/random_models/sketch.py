# SPDX-License-Identifier: Apache-2.0
"""A random model in the making."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from halyard import reference
from halyard.model import Array, ModelBuilder, TensorType, dtype_of
from halyard.proto import halyard_pb2 as pb

F32 = pb.OPERAND_TYPE_TENSOR_FLOAT32
F16 = pb.OPERAND_TYPE_TENSOR_FLOAT16
I32 = pb.OPERAND_TYPE_TENSOR_INT32
B8 = pb.OPERAND_TYPE_TENSOR_BOOL8
U8 = pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM
S8 = pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM_SIGNED
CHANNELS = pb.OPERAND_TYPE_TENSOR_QUANT8_SYMM_PER_CHANNEL
SYMM8 = pb.OPERAND_TYPE_TENSOR_QUANT8_SYMM
SYMM16 = pb.OPERAND_TYPE_TENSOR_QUANT16_SYMM
ASYMM16 = pb.OPERAND_TYPE_TENSOR_QUANT16_ASYMM

FLOATS = (F32, F16)
BYTES = (U8, S8)
QUANTIZED = frozenset({U8, S8, CHANNELS, SYMM8, SYMM16, ASYMM16})

# Codes of operations that halyard.proto may not name yet.
_AIDL_CODES = {"BATCH_MATMUL": 102, "PACK": 103, "MIRROR_PAD": 104, "REVERSE": 105}

_SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 3e38, -3e38, 1e-40, 6e4, -6e4)


_Choice = TypeVar("_Choice")


@dataclass(frozen=True)
class RandomCase:
    """A model with inputs, and what the reference makes of them."""

    test_case: pb.TestCase
    expected: tuple[Array, ...]
    # Outputs that are not compared: the driver's own, or draws.
    ignored: frozenset[int] = frozenset()
    # The rows of all outputs may come in another order, the same for all.
    unordered: bool = False
    # By how much quantised values may differ.
    most_steps: int = 1


class Sketch:
    """Makes decisions at random, and builds a model of them."""

    def __init__(self, operation: str, source: np.random.Generator) -> None:
        self.operation = operation
        self.source = source
        self._builder = ModelBuilder(operation)
        self._values: list[pb.InputValue] = []

    # ---- decisions ------------------------------------------------------------------------------

    def chance(self, probability: float = 0.5) -> bool:
        return bool(self.source.random() < probability)

    def integer(self, low: int, high: int) -> int:
        """Both included."""
        return int(self.source.integers(low, high, endpoint=True))

    def pick(self, choices: Sequence[_Choice]) -> _Choice:
        return choices[self.integer(0, len(choices) - 1)]

    def shape(self, low: int = 1, high: int = 4, largest: int = 6) -> tuple[int, ...]:
        """Extents of 1 come often; the product stays small."""
        rank = self.integer(low, high)
        extents = [1 if self.chance(0.2) else self.integer(1, largest) for _ in range(rank)]
        if extents and self.chance(0.1):
            # Longer than a vector register, and no multiple of one.
            extents[-1] = self.pick((17, 31, 33, 67))
        return tuple(extents)

    def axis(self, rank: int) -> int:
        """From the front or the back."""
        return self.integer(-rank, rank - 1)

    def quantization(self, operand_type: int) -> tuple[float, int]:
        """A scale and a zero point."""
        scale = float(np.float32(2.0 ** self.source.uniform(-8, 1)))
        if self.chance(0.3):
            scale = 2.0 ** self.integer(-7, 0)
        low, high = _limits(operand_type)
        if operand_type in (SYMM8, SYMM16):
            return scale, 0
        return scale, self.pick((low, high, (low + high + 1) // 2, self.integer(low, high)))

    def type_of(
        self, operand_type: int, shape: Sequence[int], like: TensorType | None = None
    ) -> TensorType:
        """With a quantisation: that of `like`, or any."""
        if operand_type not in (*BYTES, SYMM8, SYMM16, ASYMM16):
            return TensorType(operand_type, tuple(shape))
        scale, zero = (like.scale, like.zero_point) if like else self.quantization(operand_type)
        return TensorType(operand_type, tuple(shape), scale, zero)

    # ---- values ---------------------------------------------------------------------------------

    def grid(self, shape: Sequence[int], limit: float = 4, step: float = 1 / 8) -> Array:
        """Real numbers whose sums of products are exact in float32."""
        steps = int(limit / step)
        return self.source.integers(-steps, steps, tuple(shape), endpoint=True) * step

    def stored(self, tensor: TensorType, *, special: bool = False) -> Array:
        """Values of the type: floats on the grid, or of any size and kind if `special`."""
        dtype, shape = dtype_of(tensor.type), tensor.dimensions
        if tensor.type == B8:
            return self.source.integers(0, 2, shape).astype(dtype)
        if tensor.type == I32:
            return self.source.integers(-1000, 1000, shape, endpoint=True).astype(dtype)
        if tensor.type in QUANTIZED:
            low, high = _limits(tensor.type)
            steps = self.source.integers(low, high, shape, endpoint=True)
            if self.chance(0.2):
                steps = np.where(self.source.random(shape) < 0.5, low, high)
            return steps.astype(dtype)
        if not special:
            return self.grid(shape).astype(dtype)
        values = self.source.normal(size=shape) * 10.0 ** self.integer(-3, 3)
        if self.chance(0.5):
            chosen = self.source.choice(_SPECIAL, shape)
            values = np.where(self.source.random(shape) < 0.3, chosen, values)
        with np.errstate(over="ignore"):
            return values.astype(dtype)

    # ---- operands -------------------------------------------------------------------------------

    def tensor(
        self, tensor: TensorType, values: Array | None = None, *, constant: bool | None = None
    ) -> int:
        """An operand that is an input or a constant, as it comes; `values` as they are stored."""
        if values is None:
            values = self.stored(tensor)
        values = np.ascontiguousarray(values, dtype_of(tensor.type)).reshape(tensor.dimensions)
        if constant is None:
            constant = self.chance(0.3) and bool(self._values)
        if constant:
            return self._builder.constant("", tensor, values)
        self._values.append(pb.InputValue(data=values.tobytes()))
        return self._builder.input("", tensor)

    def vector(self, values: Sequence[int], *, constant: bool | None = None) -> int:
        tensor = TensorType(I32, (len(values),))
        return self.tensor(tensor, np.array(values, "<i4"), constant=constant)

    def integer_scalar(self, value: int) -> int:
        return self._builder.int32(value)

    def flag(self, value: bool) -> int:
        return self._builder.boolean(value)

    def number(self, operand_type: int, value: float) -> int:
        """A float scalar of the kind that goes with a tensor type."""
        scalar = pb.OPERAND_TYPE_FLOAT16 if operand_type == F16 else pb.OPERAND_TYPE_FLOAT32
        return self._builder.scalar(scalar, value)

    def omitted(self, operand_type: int) -> int:
        # Its scale has to be one, though it scales nothing.
        scale = 1.0 if operand_type in QUANTIZED else 0.0
        return self._builder.omitted(TensorType(operand_type, (), scale))

    def left_out(self, tensor: TensorType) -> int:
        """An input that the model has and the request does not bring."""
        self._values.append(pb.InputValue(has_no_value=True))
        return self._builder.input("", tensor)

    # ---- the case -------------------------------------------------------------------------------

    def finish(
        self,
        inputs: Sequence[int],
        *outputs: TensorType,
        fit: Sequence[int] = (),
        least_scale: float = 0.0,
        ignored: Sequence[int] = (),
        unordered: bool = False,
        most_steps: int = 1,
    ) -> RandomCase:
        """The operation on these inputs. Outputs get the reference's shapes; those in `fit` get a
        quantisation that fits their real numbers more or less, with a scale above `least_scale`.
        """
        code = _AIDL_CODES.get(self.operation, -1)
        if code < 0:
            code = pb.OperationType.Value(f"OPERATION_TYPE_{self.operation}")
        results = self._builder.operation_n(code, inputs, [("", output) for output in outputs])
        model = self._builder.build(results)
        for position in fit:
            self._fit(model, position, least_scale)
        expected = reference.run(model, self._values)
        example = pb.Example(inputs=self._values)
        unknown = self.operation != "RANK" and self.chance(0.2)
        for index, values in zip(results, expected, strict=True):
            operand = model.main.operands[index]
            operand.dimensions[:] = [0] * values.ndim if unknown else values.shape
            example.outputs.add(byte_size=max(1, values.nbytes))
        test_case = pb.TestCase(name=self.operation, model=model, examples=[example])
        return RandomCase(test_case, tuple(expected), frozenset(ignored), unordered, most_steps)

    def _fit(self, model: pb.Model, position: int, least_scale: float) -> None:
        operand = model.main.operands[model.main.output_indexes[position]]
        wanted = operand.type
        operand.type = pb.OPERAND_TYPE_TENSOR_FLOAT32
        real = reference.run(model, self._values)[position].astype(np.float64)
        operand.type = wanted
        low, high = _limits(wanted)
        real = real[np.isfinite(real)]
        if not real.size:
            real = np.zeros(1)
        # Wider than the numbers, or narrower, so that some saturate.
        spread = max(float(real.max() - real.min()), 1e-3) * self.source.uniform(0.5, 1.5)
        scale = max(spread / (high - low), least_scale * 1.001)
        operand.scale = float(np.float32(scale))
        middle = float(real.max() + real.min()) / 2
        zero = (low + high) / 2 - middle / operand.scale
        operand.zero_point = int(np.clip(np.rint(zero), low, high))


def _limits(operand_type: int) -> tuple[int, int]:
    limits = np.iinfo(dtype_of(operand_type))
    # Symmetric weights leave out the lowest value.
    low = -127 if operand_type in (CHANNELS, SYMM8) else int(limits.min)
    return low, int(limits.max)


Generator = Callable[[Sketch], RandomCase]

GENERATORS: dict[str, Generator] = {}


def generator(*operations: str) -> Callable[[Generator], Generator]:
    """Makes a function the one that sketches cases of these operations."""

    def register(function: Generator) -> Generator:
        for operation in operations:
            assert operation not in GENERATORS, operation
            GENERATORS[operation] = function
        return function

    return register


def generate(operation: str, seed: int, number: int) -> RandomCase:
    """The same case for the same arguments."""
    source = np.random.default_rng([seed, zlib.crc32(operation.encode()), number])
    case = GENERATORS[operation](Sketch(operation, source))
    case.test_case.name = f"{operation}_{number}"
    assert all(array.size < 1 << 20 for array in case.expected)
    return case


def broadcast(sketch: Sketch, high: int = 4) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two shapes that go together: some extents are 1, some leading ones are left out."""
    whole = sketch.shape(1, high)

    def thinned() -> tuple[int, ...]:
        kept = whole[sketch.integer(0, len(whole) - 1) if sketch.chance(0.3) else 0 :]
        return tuple(1 if sketch.chance(0.2) else extent for extent in kept)

    if sketch.chance(0.4):
        return whole, whole
    return (whole, thinned()) if sketch.chance() else (thinned(), whole)


def like(tensor: TensorType, dimensions: Sequence[int] = ()) -> TensorType:
    """The same type and quantisation in another shape."""
    return replace(tensor, dimensions=tuple(dimensions))


def product(extents: Sequence[int]) -> int:
    return math.prod(extents)
