# SPDX-License-Identifier: Apache-2.0
"""Values of operands, and how they stand for real numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from halyard.model import Array, dtype_of
from halyard.proto import halyard_pb2 as pb

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
_EXACT: np.dtype[Any] = np.dtype(np.float64)


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
        return self.as_real(_EXACT)

    def as_real(self, precision: np.dtype[Any]) -> Array:
        """The real numbers: (stored - zeroPoint) * scale for quantised types, the values of
        others. The scale of an INT32 tensor counts for biases alone, which see to it themselves."""
        values = self.stored.astype(precision, copy=False)
        if self.type in _ASYMMETRIC:
            return np.asarray((values - self.zero_point) * self.scale)
        if self.type in _SYMMETRIC:
            return np.asarray(values * self.scale)
        if self.type == _PER_CHANNEL:
            along = [1] * values.ndim
            along[self.channel_dim] = -1
            return np.asarray(values * self.scales.reshape(along).astype(precision))
        return values


def encode(operand: pb.Operand, result: Array | Raw) -> Tensor:
    """A result as a value of its output operand: one rounding, to nearest, and saturation."""
    dtype = dtype_of(operand.type)
    if isinstance(result, Raw):
        return Tensor.like(operand, np.ascontiguousarray(result.stored, dtype))
    real = np.asarray(result)
    if operand.type in _FLOATS:
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            return Tensor.like(operand, real.astype(dtype, copy=False))
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
    """One operation to compute, whose inputs have the names that the driver gives them: a name may
    stand for several. Inputs that are omitted are None. `precision` is what real numbers are
    computed in."""

    name: str
    inputs: Mapping[str, Sequence[Tensor | None]]
    outputs: Sequence[pb.Operand]
    precision: np.dtype[Any] = _EXACT
    # How many times the model's own first dimension the tensors have.
    batch: int = 1

    def has(self, name: str) -> bool:
        return any(value is not None for value in self.inputs.get(name, ()))

    def all(self, name: str) -> list[Tensor]:
        return [value for value in self.inputs[name] if value is not None]

    def tensor(self, name: str) -> Tensor:
        found = [value for value in self.inputs.get(name, ()) if value is not None]
        if len(found) != 1:
            raise ValueError(f"{self.name} has no input {name} here")
        return found[0]

    def real(self, name: str) -> Array:
        return self.tensor(name).as_real(self.precision)

    def reals(self, name: str) -> list[Array]:
        return [value.as_real(self.precision) for value in self.all(name)]

    def optional(self, name: str) -> Array | None:
        return self.real(name) if self.has(name) else None

    def number(self, name: str, default: float | None = None) -> float:
        if default is not None and not self.has(name):
            return default
        return float(self.tensor(name).stored.reshape(())[()])

    def integer(self, name: str, default: int | None = None) -> int:
        return int(self.number(name, default))

    def flag(self, name: str) -> bool:
        """A BOOL; false where it is not given."""
        return bool(self.integer(name, 0))

    def integers(self, name: str) -> list[int]:
        return [int(value) for value in self.tensor(name).stored.reshape(-1)]

    def axis(self, name: str, rank: int, default: int = -1) -> int:
        """An axis counted from the front; negative ones count from the back."""
        axis = self.integer(name, default)
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
