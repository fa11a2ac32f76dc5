# SPDX-License-Identifier: Apache-2.0
"""Values of operands, and how they stand for real numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from halyard.model import dtype_of
from halyard.proto import halyard_pb2 as pb

Array = npt.NDArray[Any]

_ASYMMETRIC = frozenset(
    {
        pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM,
        pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM_SIGNED,
        pb.OPERAND_TYPE_TENSOR_QUANT16_ASYMM,
    }
)
_SYMMETRIC = frozenset({pb.OPERAND_TYPE_TENSOR_QUANT8_SYMM, pb.OPERAND_TYPE_TENSOR_QUANT16_SYMM})
_PER_CHANNEL = pb.OPERAND_TYPE_TENSOR_QUANT8_SYMM_PER_CHANNEL
_FLOATS = frozenset(
    {
        pb.OPERAND_TYPE_TENSOR_FLOAT32,
        pb.OPERAND_TYPE_TENSOR_FLOAT16,
        pb.OPERAND_TYPE_FLOAT32,
        pb.OPERAND_TYPE_FLOAT16,
    }
)
_INT32 = np.iinfo(np.int32)


class NotInReference(Exception):
    """An operation, or a form of one, that this reference does not have."""


@dataclass(frozen=True)
class Raw:
    """A result as it is stored, where an operation does not deal in real numbers."""

    stored: Array


@dataclass(frozen=True)
class Tensor:
    """A value in its storage type, with what its operand says of the real numbers behind it."""

    type: int  # a pb.OperandType
    stored: Array
    scale: float = 0.0
    zero_point: int = 0
    channel_scales: tuple[float, ...] = field(default=())
    channel_dim: int = 0

    @classmethod
    def like(cls, operand: pb.Operand, stored: Array) -> Tensor:
        return cls(
            operand.type,
            stored,
            operand.scale,
            operand.zero_point,
            tuple(operand.channel_quant.scales),
            operand.channel_quant.channel_dim,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        return self.stored.shape

    @property
    def is_quantized(self) -> bool:
        return self.type in _ASYMMETRIC or self.type in _SYMMETRIC or self.type == _PER_CHANNEL

    @property
    def is_int32(self) -> bool:
        return self.type == pb.OPERAND_TYPE_TENSOR_INT32

    @property
    def scales(self) -> Array:
        """Of each channel of a per-channel tensor, or the one scale of any other."""
        return np.array(self.channel_scales or [self.scale], np.float64)

    @property
    def real(self) -> Array:
        """The real numbers: (stored - zeroPoint) * scale for quantised types, the values of
        others. The scale of an INT32 tensor counts for biases alone, which see to it themselves."""
        values = self.stored.astype(np.float64)
        if self.type in _ASYMMETRIC:
            return (values - self.zero_point) * self.scale
        if self.type in _SYMMETRIC:
            return values * self.scale
        if self.type == _PER_CHANNEL:
            along = [1] * values.ndim
            along[self.channel_dim] = -1
            return values * self.scales.reshape(along)
        return values


def encode(operand: pb.Operand, result: Array | Raw) -> Tensor:
    """A result as a value of its output operand: one rounding, to nearest, and saturation."""
    dtype = dtype_of(operand.type)
    if isinstance(result, Raw):
        return Tensor.like(operand, np.ascontiguousarray(result.stored, dtype))
    real = np.asarray(result, np.float64)
    if operand.type in _FLOATS:
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            return Tensor.like(operand, real.astype(dtype))
    if operand.type in _ASYMMETRIC or operand.type in _SYMMETRIC:
        limits = np.iinfo(dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            steps = np.rint(real / operand.scale) + operand.zero_point
        steps = np.nan_to_num(np.clip(steps, limits.min, limits.max), nan=operand.zero_point)
        return Tensor.like(operand, steps.astype(dtype))
    if dtype == np.int32:
        return Tensor.like(operand, np.clip(real, _INT32.min, _INT32.max).astype(dtype))
    if dtype == np.uint8:  # BOOL8
        return Tensor.like(operand, (real != 0).astype(dtype))
    raise NotInReference(f"a real number as {pb.OperandType.Name(operand.type)}")


@dataclass(frozen=True)
class Call:
    """One operation to compute. Inputs that are omitted are None."""

    name: str
    inputs: Sequence[Tensor | None]
    outputs: Sequence[pb.Operand]

    def has(self, index: int) -> bool:
        return index < len(self.inputs) and self.inputs[index] is not None

    def tensor(self, index: int) -> Tensor:
        value = self.inputs[index]
        if value is None:
            raise ValueError(f"{self.name}: input {index} is omitted")
        return value

    def real(self, index: int) -> Array:
        return self.tensor(index).real

    def optional(self, index: int) -> Array | None:
        return self.real(index) if self.has(index) else None

    def number(self, index: int) -> float:
        return float(self.tensor(index).stored.reshape(())[()])

    def integer(self, index: int, default: int | None = None) -> int:
        if default is not None and not self.has(index):
            return default
        return int(self.tensor(index).stored.reshape(())[()])

    def flag(self, index: int) -> bool:
        """A BOOL; false where it is not given."""
        return bool(self.integer(index, 0))

    def integers(self, index: int) -> list[int]:
        return [int(value) for value in self.tensor(index).stored.reshape(-1)]

    def axis(self, index: int, rank: int, default: int = -1) -> int:
        """An axis counted from the front; negative ones count from the back."""
        axis = self.integer(index, default)
        return axis + rank if axis < 0 else axis


Operation = Callable[[Call], "Sequence[Array | Raw]"]

REGISTRY: dict[str, Operation] = {}


def operation(*names: str) -> Callable[[Operation], Operation]:
    """Makes a function the reference of the operations of these names."""

    def register(function: Operation) -> Operation:
        for name in names:
            assert name not in REGISTRY, name
            REGISTRY[name] = function
        return function

    return register


def activate(real: Array, code: int) -> Array:
    """A fused activation: NONE, RELU, RELU1, RELU6."""
    if code == 0:
        return real
    low, high = {1: (0, np.inf), 2: (-1, 1), 3: (0, 6)}[code]
    return np.clip(real, low, high)
