# SPDX-License-Identifier: Apache-2.0
"""A model's inputs and outputs as a user of the model sees them."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halyard.model.operands import Array, dtype_of, is_tensor
from halyard.proto import halyard_pb2 as pb

_COMPUTED = frozenset(
    {
        pb.OPERAND_LIFE_TIME_TEMPORARY_VARIABLE,
        pb.OPERAND_LIFE_TIME_SUBGRAPH_INPUT,
        pb.OPERAND_LIFE_TIME_SUBGRAPH_OUTPUT,
    }
)


# An extent that is known only when the model runs. One alone may stand for any number of them.
OPEN = -1


class DataType(enum.Enum):
    """How a model's tensors are stored. The values are the names on the command line."""

    FLOAT32 = "float32"
    FLOAT16 = "float16"  # from HAL 1.2
    QUANT8 = "quant8"  # QUANT8_ASYMM throughout: HAL 1.0 carries it
    QUANT8_SIGNED = "quant8_signed"  # QUANT8_ASYMM_SIGNED, per-channel filters: from HAL 1.3

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class TensorInfo:
    """A model's input or output. scale is 0 where the elements are the real values."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    scale: float = 0.0
    zero_point: int = 0

    @property
    def is_open(self) -> bool:
        """Whether the shape is known only when the model runs."""
        return OPEN in self.shape

    @property
    def quantized(self) -> bool:
        return self.scale != 0.0

    def dequantize(self, values: Array) -> Array:
        """The real values, as float64."""
        if not self.quantized:
            return values.astype(np.float64)
        return (values.astype(np.float64) - self.zero_point) * self.scale


@dataclass(frozen=True)
class Tensors:
    """A model's inputs and outputs, in its order."""

    inputs: tuple[TensorInfo, ...] = ()
    outputs: tuple[TensorInfo, ...] = ()


def tensor_infos(model: pb.Model, indexes: Sequence[int]) -> tuple[TensorInfo, ...]:
    """The operands at `indexes` of the main subgraph, as a user of the model sees them."""
    return tuple(
        TensorInfo(
            operand.name,
            dtype_of(operand.type),
            tuple(operand.dimensions),
            operand.scale,
            operand.zero_point,
        )
        for operand in (model.main.operands[index] for index in indexes)
    )


def names_of(model: pb.Model) -> dict[int, str]:
    """A name for each tensor of the main subgraph that a run computes or is given: its own, unless
    it has none, or another has it too."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    for index, operand in enumerate(model.main.operands):
        if operand.lifetime in _COMPUTED and is_tensor(operand.type):
            name = operand.name or f"operand_{index}"
            names[index] = f"{name}#{index}" if name in taken else name
            taken.add(name)
    return names
