# SPDX-License-Identifier: Apache-2.0
"""A model of which NNAPI runs parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from halyard.errors import NotExpressible
from halyard.model.converted import HostPart, Part
from halyard.model.operands import Array
from halyard.model.runnable import RunnableModel
from halyard.proto import halyard_pb2 as pb


@dataclass(frozen=True)
class PartitionedModel(RunnableModel):
    """Inputs and outputs are the whole's; `model` is all that NNAPI runs, side by side. Parts run
    in their order; what goes in and out of each is named as those of the whole are. An engine that
    reads the file's format runs the file itself, as of an ImportedModel."""

    parts: tuple[Part, ...] = ()
    original: Path = Path()
    format: str = ""
    # The content that stands for the file, where it is not run as it is.
    content: bytes | None = None

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
    def hosts(self) -> int:
        """How many parts the host runs."""
        return sum(isinstance(part, HostPart) for part in self.parts)

    @property
    def words(self) -> str:
        """ "main_graph runs in 3 parts, 1 of them on the host"."""
        if self.hosts == len(self.parts):
            return f"{self.name} runs on the host alone"
        return f"{self.name} runs in {len(self.parts)} parts, {self.hosts} of them on the host"

    @property
    def refusal(self) -> NotExpressible:
        """For those who want one model."""
        return NotExpressible(
            f"{self.words}: a model that NNAPI runs whole is wanted here (--strict says what is in "
            "the way)"
        )
