# SPDX-License-Identifier: Apache-2.0
"""What the zoo hands out: a model together with what a user of it has to know."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halyard.errors import HalyardError
from halyard.model import Array, byte_size, dtype_of
from halyard.proto import halyard_pb2 as pb
from halyard.zoo import stimuli


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
    def quantized(self) -> bool:
        return self.scale != 0.0

    def dequantize(self, values: Array) -> Array:
        """The real values, as float64."""
        if not self.quantized:
            return values.astype(np.float64)
        return (values.astype(np.float64) - self.zero_point) * self.scale


@dataclass(frozen=True)
class RunnableModel:
    """A model with all shapes known, and inputs for it."""

    name: str
    model: pb.Model
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]

    def input_arrays(self, seed: int) -> list[Array]:
        """A synthetic image or sequence where the model takes one: per seed the same one in every
        data type. Random numbers for other inputs."""
        return [_input(info, [seed, number]) for number, info in enumerate(self.inputs)]

    def example(self, seed: int) -> pb.Example:
        """input_arrays(seed) for the runner, with room for the outputs."""
        example = pb.Example(name=f"seed_{seed}")
        for array in self.input_arrays(seed):
            example.inputs.add(data=array.tobytes())
        for index in self.model.main.output_indexes:
            example.outputs.add(byte_size=byte_size(self.model.main.operands[index]))
        return example

    def output_arrays(self, result: pb.ExampleResult) -> list[Array]:
        """The outputs of an execution. HalyardError where their sizes are not the model's."""
        try:
            return [
                np.frombuffer(output.data, info.dtype).reshape(info.shape)
                for info, output in zip(self.outputs, result.outputs, strict=True)
            ]
        except ValueError as error:
            raise HalyardError(f"{self.name}: these are not its outputs: {error}") from error

    @property
    def constant_bytes(self) -> int:
        return len(self.model.operand_values) + sum(map(len, self.model.pools))


@dataclass(frozen=True)
class ZooModel(RunnableModel):
    data_type: DataType


def _input(info: TensorInfo, seed: list[int]) -> Array:
    kind = stimuli.kind_of(info.shape)
    if kind is not None and info.dtype in (np.uint8, np.int8, np.float16, np.float32):
        return kind.as_input(info.shape, seed[0], info.dtype)
    random = np.random.default_rng(seed)
    if np.issubdtype(info.dtype, np.floating):
        return random.uniform(-1, 1, info.shape).astype(info.dtype)
    if info.quantized:
        limits = np.iinfo(info.dtype)
        return random.integers(limits.min, limits.max, info.shape, info.dtype, endpoint=True)
    # Truth values, or indexes: 0 and 1 are most likely to be good ones.
    return random.integers(0, 2, info.shape).astype(info.dtype)


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
