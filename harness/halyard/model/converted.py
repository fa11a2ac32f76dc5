# SPDX-License-Identifier: Apache-2.0
"""A model from a file, converted: parts for NNAPI, and parts that the host runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from halyard.errors import HalyardError
from halyard.model.input_ranges import Range
from halyard.model.operands import Array
from halyard.model.tensors import TensorInfo
from halyard.proto import halyard_pb2 as pb


@dataclass(frozen=True)
class Source:
    """The file that was read. It stays the reference: results are compared with what its own engine
    makes of it."""

    path: Path
    format: str  # the name of a Format: "TFLite"
    # Stands for the file where it is not run as it is: a member of it, or one signature's
    # graph, with the inputs and outputs that were read.
    content: bytes | None = None
    # The file that results are compared with, where it is neither.
    compared: bytes | None = None

    @property
    def reference(self) -> bytes:
        """The file that its own engine is to run. OSError where it is gone."""
        return self.compared or self.content or self.path.read_bytes()

    @property
    def suffix(self) -> str:
        """Of a file of this format."""
        return ".tflite" if self.format == "TFLite" else self.path.suffix


@dataclass(frozen=True)
class Unmapped:
    """An operator that NNAPI has no word for, and a sentence that says what it is about it."""

    operator: str  # its place in the file, its kind, its name: "12 GATHER_ND 'boxes'"
    reason: str

    def text(self) -> str:
        return f"{self.operator}: {self.reason}"


@dataclass(frozen=True)
class NnapiPart:
    """`inputs` and `outputs` name the values in the order of the model's own. Values that cross
    parts have the original's shapes; integers and truth values may be narrower than there.

    `tensor_names`: the original's tensors by the operand of the main subgraph that holds the same
    values. Where an operand holds them with other axes, `permutations` says how it comes from the
    original, as numpy.transpose is told.
    """

    model: pb.Model
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    tensor_names: Mapping[int, str] = field(default_factory=dict)
    permutations: Mapping[int, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class HostPart:
    """A part of the original, as a file of the original's format, whose inputs and outputs are in
    the order of these names. `shapes`: of inputs, where they are known and the file's engine may
    not tell."""

    content: bytes
    format: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    operators: tuple[str, ...] = ()
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


Part = NnapiPart | HostPart


@dataclass(frozen=True)
class State:
    """A value that a model hands on from run to run, by the names of the input that takes it and of
    the output that gives it; empty where there is none. `initial` is what the first run takes."""

    input: str
    output: str
    initial: Array


@dataclass(frozen=True)
class Conversion:
    """`inputs` and `outputs` are the original's, in its types. Parts run in their order. `model` is
    all that NNAPI runs, as one model: the only part's, or the parts side by side, with what the
    host computes as inputs of its own. `notes`: a sentence for each operator that is computed in
    other numbers than the file says. `ranges`: what inputs may be, by their names."""

    source: Source
    model: pb.Model
    parts: Sequence[Part]
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    unmapped: Sequence[Unmapped] = ()
    notes: Sequence[str] = ()
    ranges: Mapping[str, Range] = field(default_factory=dict)
    states: Sequence[State] = ()

    def refuse_unmapped(self) -> None:
        """HalyardError, with a line for each operator, unless NNAPI runs all of them."""
        if self.unmapped:
            count = len(self.unmapped)
            what = "1 operator has" if count == 1 else f"{count} operators have"
            lines = "\n".join(f"  {each.text()}" for each in self.unmapped)
            raise HalyardError(f"{self.source.path}: {what} no mapping to NNAPI\n{lines}")

    @property
    def whole(self) -> NnapiPart:
        """The only part. HalyardError where there are several, or the host runs it."""
        if len(self.parts) == 1 and isinstance(self.parts[0], NnapiPart):
            return self.parts[0]
        self.refuse_unmapped()
        raise HalyardError(f"{self.source.path}: {len(self.parts)} parts, and one is wanted here")
