# SPDX-License-Identifier: Apache-2.0
"""A model that can be called: what goes in, and what came out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from halyard.errors import HalyardError
from halyard.model import stimuli
from halyard.model.input_ranges import FREE, Range, drawn, of_model
from halyard.model.operands import Array, byte_size
from halyard.model.tensors import TensorInfo, tensor_infos
from halyard.proto import halyard_pb2 as pb


@dataclass(frozen=True)
class RunnableModel:
    """A model with all shapes known, and inputs for it."""

    name: str
    model: pb.Model
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    # The ranges of inputs, by their names, as far as its file tells; else the model does.
    ranges: Mapping[str, Range] = field(default_factory=dict, kw_only=True)
    # The first values of inputs that are states, by their names.
    initial: Mapping[str, Array] = field(default_factory=dict, kw_only=True)

    @classmethod
    def of(cls, model: pb.Model, name: str = "") -> RunnableModel:
        return RunnableModel(
            name or model.name,
            model,
            tensor_infos(model, model.main.input_indexes),
            tensor_infos(model, model.main.output_indexes),
        )

    def input_arrays(self, seed: int) -> list[Array]:
        """A synthetic image or sequence where the model takes one: per seed the same one in every
        data type. Random numbers for other inputs, which are legal: indexes lie in what they index,
        lengths are no longer than what is there. States begin as they do."""
        known = {**of_model(self.model), **self.ranges}
        return [
            self.initial[info.name].astype(info.dtype).reshape(info.shape)
            if info.name in self.initial
            else _input(info, [seed, number], known.get(info.name))
            for number, info in enumerate(self.inputs)
        ]

    def example(self, seed: int) -> pb.Example:
        """input_arrays(seed) for the runner."""
        return self.example_of(self.input_arrays(seed), f"seed_{seed}")

    def example_of(self, inputs: Sequence[Array], name: str = "") -> pb.Example:
        """The inputs for the runner, with room for the outputs."""
        main = self.model.main
        return pb.Example(
            name=name,
            inputs=[pb.InputValue(data=array.tobytes()) for array in inputs],
            outputs=[
                pb.OutputBuffer(byte_size=byte_size(main.operands[index]))
                for index in main.output_indexes
            ],
        )

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


def _input(info: TensorInfo, seed: list[int], wanted: Range | None) -> Array:
    random = np.random.default_rng(seed)
    if wanted is not None:
        if "mask" in info.name.lower() and wanted == FREE:
            return random.integers(0, 2, info.shape).astype(info.dtype)
        return drawn(info.dtype, info.shape, random, wanted)
    kind = stimuli.kind_of(info.shape)
    if kind is not None and info.dtype in (np.uint8, np.int8, np.float16, np.float32):
        return kind.as_input(info.shape, seed[0], info.dtype)
    if np.issubdtype(info.dtype, np.floating):
        return random.uniform(-1, 1, info.shape).astype(info.dtype)
    if info.quantized:
        limits = np.iinfo(info.dtype)
        return random.integers(limits.min, limits.max, info.shape, info.dtype, endpoint=True)
    # Truth values, or what nothing is known of.
    return random.integers(0, 2, info.shape).astype(info.dtype)
