# SPDX-License-Identifier: Apache-2.0
"""Types of operands, and real numbers in them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from halyard.model import Array, dtype_of, is_tensor
from halyard.proto import halyard_pb2 as pb
from halyard.specs.session import SpecError


@dataclass(frozen=True)
class SymmPerChannelQuantParams:
    """Scales of a tensor's channels. `hide`: they serve to compute values; the model has none."""

    channelDim: int
    scales: Sequence[float]
    hide: bool = False

    def broadcast(self, rank: int) -> Array:
        """The scales in a shape that multiplies a tensor of that rank."""
        shape = [1] * rank
        shape[self.channelDim] = len(self.scales)
        return np.array(self.scales, np.float64).reshape(shape)


# The ranges of the operand types whose codes count as numbers; others have their least and greatest
# from the element type, but may be left unclamped.
_RANGES = {
    "TENSOR_QUANT8_ASYMM": (0, 255),
    "TENSOR_QUANT8_ASYMM_SIGNED": (-128, 127),
    "TENSOR_QUANT8_SYMM_PER_CHANNEL": (-127, 127),
    "TENSOR_QUANT16_ASYMM": (0, 65535),
    "UINT32": (0, None),
}


@dataclass(frozen=True)
class OperandType:
    """A type as specs write it; the fields have the language's names."""

    type: str
    dimensions: tuple[int, ...]
    scale: float = 0.0
    zeroPoint: int = 0
    extraParams: SymmPerChannelQuantParams | None = None

    def __post_init__(self) -> None:
        _code(self.type)

    @classmethod
    def of(
        cls, written: object, shape: object, extra: SymmPerChannelQuantParams | None
    ) -> tuple[Self, bool]:
        """The type that a spec writes as (TYPE, dimensions[, scale[, zeroPoint]]) or, of old, as
        "TYPE", "{dimensions}, scale, zeroPoint". Whether it is of old: `shape` is a part of it."""
        if isinstance(written, str):
            return cls._parse(written, shape, extra), True
        if not isinstance(written, tuple | list) or not 2 <= len(written) <= 5:
            raise SpecError(f"{written!r} is no (TYPE, dimensions[, scale, zeroPoint])")
        parts = [*written, *(0.0, 0, extra)[len(written) - 2 :]]
        return cls.build(*parts), False

    @classmethod
    def build(
        cls,
        name: object,
        dimensions: object,
        scale: object = 0.0,
        zero_point: object = 0,
        extra: object = None,
    ) -> Self:
        if not isinstance(name, str):
            raise SpecError(f"{name!r} is no operand type")
        if not isinstance(dimensions, tuple | list):
            raise SpecError(f"{name}: dimensions {dimensions!r} are neither a list nor a tuple")
        if extra is not None and not isinstance(extra, SymmPerChannelQuantParams):
            raise SpecError(f"{name}: {extra!r} is no SymmPerChannelQuantParams")
        try:
            extents = tuple(int(extent) for extent in dimensions)
            built = cls(name, extents, _float(scale), int(_float(zero_point)), extra)
        except (TypeError, ValueError, OverflowError) as error:
            raise SpecError(f"{name}: {error}") from None
        if any(extent < 0 for extent in extents):
            raise SpecError(f"{name}: a dimension of {list(extents)} is negative")
        if extra is not None and not 0 <= extra.channelDim < len(extents):
            raise SpecError(f"{name}: no channel dimension {extra.channelDim} in {list(extents)}")
        if extra is not None and extents[extra.channelDim] not in (0, len(extra.scales)):
            raise SpecError(
                f"{name}: {len(extra.scales)} scales for {extents[extra.channelDim]} channels"
            )
        return built

    @classmethod
    def _parse(cls, name: str, shape: object, extra: SymmPerChannelQuantParams | None) -> Self:
        if not isinstance(shape, str):
            raise SpecError(f"{name!r} alone is no type: its shape is {shape!r}")
        braced, closed, rest = shape.strip().partition("}")
        opened, extents = braced[:1], braced[1:].strip()
        if shape.strip() and not (opened == "{" and closed):
            raise SpecError(f"{shape!r} is no shape like '{{2, 3}}, 0.5f, 127'")
        numbers = [number.strip() for number in rest.split(",") if number.strip()]
        if len(numbers) > 2:
            raise SpecError(f"{shape!r} has more than a scale and a zero point")
        dimensions = [extent.strip() for extent in extents.split(",")] if extents else []
        scale, zero_point = (*numbers, "0", "0")[:2]
        return cls.build(name, dimensions, scale, zero_point, extra)

    # ---- facts ----------------------------------------------------------------------------------

    @property
    def code(self) -> int:
        return _code(self.type)

    @property
    def is_scalar(self) -> bool:
        return not is_tensor(self.code)

    @property
    def count(self) -> int:
        """Elements; 0 while a dimension is unspecified."""
        return math.prod(self.dimensions)

    def with_dimensions(self, dimensions: Sequence[int]) -> OperandType:
        """Of another shape. Scales of channels do not move along, so they are lost."""
        return dataclasses.replace(self, dimensions=tuple(dimensions), extraParams=None)

    # ---- numbers --------------------------------------------------------------------------------

    def dequantized(self, values: Array) -> Array:
        """The real numbers that values of this type stand for, in float32 as in a driver."""
        with np.errstate(over="ignore"):
            real: Array = values.astype(np.float32) - np.float32(self.zeroPoint)
        if self.scale:
            real = real * np.float32(self.scale)
        if self.extraParams is not None:
            real = np.asarray(real * self.extraParams.broadcast(real.ndim), np.float32)
        return real

    def quantized(self, real: Array) -> Array:
        """Real numbers as values of this type: halves go to even, and what is too large or too
        small becomes the greatest or the least."""
        values: Array = real
        if self.scale:
            values = values / values.dtype.type(self.scale)
        if self.extraParams is not None:
            values = values / self.extraParams.broadcast(values.ndim)
        values = np.asarray(values + values.dtype.type(self.zeroPoint))
        if self.is_float:
            return values
        low, high = _RANGES.get(self.type, (None, None))
        with np.errstate(invalid="ignore"):
            rounded: Array = np.round(values).astype(np.int64)
        return rounded if low is None else np.asarray(np.clip(rounded, low, high))

    @property
    def is_float(self) -> bool:
        return "FLOAT" in self.type

    def encoded(self, values: Sequence[object]) -> bytes:
        """The bytes of a value. SpecError if its numbers do not fit into the type."""
        dtype = dtype_of(self.code)
        try:
            numbers: Array = np.array(values, np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise SpecError(f"{self.type}: {error}") from None
        if numbers.ndim != 1:
            raise SpecError(f"{self.type}: a value is a flat list of numbers")
        # A shape that is not specified follows from the value.
        if numbers.size and 0 not in self.dimensions and numbers.size != self.count:
            raise SpecError(
                f"{self.type}: {numbers.size} values for dimensions {list(self.dimensions)}"
            )
        if "BOOL" in self.type:
            return bytes(int(number != 0) for number in numbers)
        if self.is_float:
            # Like the constants of a C++ program, which are float32 before they are anything else.
            with np.errstate(over="ignore"):
                return bytes(numbers.astype(np.float32).astype(dtype).tobytes())
        bounds = np.iinfo(dtype)
        whole = np.trunc(numbers)
        # Also false for what is not a number.
        if numbers.size and not (bounds.min <= whole.min() and whole.max() <= bounds.max):
            raise SpecError(f"{self.type}: a value is not within {bounds.min} to {bounds.max}")
        return bytes(whole.astype(dtype).tobytes())


def _code(name: str) -> int:
    try:
        return pb.OperandType.Value(f"OPERAND_TYPE_{name}")
    except ValueError:
        raise SpecError(f"no operand type {name!r}") from None


def _float(number: object) -> float:
    """A number, or the text of one: old types write "0.5f"."""
    if isinstance(number, str):
        return float(number.removesuffix("f"))
    if isinstance(number, int | float | np.integer | np.floating):
        return float(number)
    raise TypeError(f"{number!r} is no number")
