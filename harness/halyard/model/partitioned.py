# SPDX-License-Identifier: Apache-2.0
"""A model of which NNAPI runs parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halyard.errors import HalyardError
from halyard.model.conversion import HostPart, Part
from halyard.model.operands import Array
from halyard.model.runnable import RunnableModel
from halyard.proto import halyard_pb2 as pb


@dataclass(frozen=True)
class PartitionedModel(RunnableModel):
    """Inputs and outputs are the whole's; `model` is all that NNAPI runs, side by side. Parts run
    in their order; what goes in and out of each is named as those of the whole are."""

    parts: tuple[Part, ...] = ()

    def example_of(self, inputs: Sequence[Array], name: str = "") -> pb.Example:  # noqa: ARG002
        """There is none: no one NNAPI model takes these inputs."""
        raise self.refusal

    def output_arrays(self, result: pb.ExampleResult) -> list[Array]:
        """Where a shape is known only when the model runs it is that of the execution."""
        return [
            np.frombuffer(output.data, info.dtype).reshape(output.dimensions)
            if info.is_open
            else np.frombuffer(output.data, info.dtype).reshape(info.shape)
            for info, output in zip(self.outputs, result.outputs, strict=True)
        ]

    @property
    def refusal(self) -> HalyardError:
        """For those who want one model."""
        host = sum(isinstance(part, HostPart) for part in self.parts)
        return HalyardError(
            f"{self.name} runs in {len(self.parts)} parts, {host} of them on the host: that is for "
            "halyard run and halyard profile, and a model that NNAPI runs whole is wanted here "
            "(--strict says what is in the way)"
        )
