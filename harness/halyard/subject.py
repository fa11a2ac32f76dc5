# SPDX-License-Identifier: Apache-2.0
"""What is measured: a model of the zoo, or of a file, and an input for it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Protocol, Self

from google.protobuf.message import DecodeError

from halyard.errors import HalyardError
from halyard.model import DataType, RunnableModel, byte_size
from halyard.proto import halyard_pb2 as pb
from halyard.records.run import Model
from halyard.zoo import MIN_SIZE, ZooModel, build, default_size

# More than any model has for an input or output: a file may say anything.
MAX_OPERAND_BYTES = 2**30


class AnySubject(Hashable, Protocol):
    """A model with an input."""

    @property
    def seed(self) -> int: ...

    @property
    def runnable(self) -> RunnableModel: ...

    def record(self) -> Model: ...


@dataclass(frozen=True)
class Subject:
    """A model of the zoo."""

    name: str
    data_type: DataType
    size: int
    width: float
    seed: int = 0

    @classmethod
    def of_zoo(
        cls, name: str, data_type: DataType, size: int | None, width: float, seed: int = 0
    ) -> Self:
        """Of the published size unless another is asked for."""
        return cls(name, data_type, default_size(name) if size is None else size, width, seed)

    def smallest(self) -> Self:
        """The same architecture in the same type, built at once."""
        return replace(self, size=MIN_SIZE, width=0.1)

    @property
    def zoo_model(self) -> ZooModel:
        return _built(self.name, self.data_type, self.size, self.width)

    @property
    def runnable(self) -> RunnableModel:
        return self.zoo_model

    def record(self) -> Model:
        return Model(
            name=self.name,
            type=str(self.data_type),
            size=self.size,
            width=self.width,
            seed=self.seed,
        )

    def __str__(self) -> str:
        return f"{self.name} {self.data_type} {self.size}x{self.size} width {self.width:g}"


@dataclass(frozen=True)
class FileSubject:
    """A model from a file: a serialised pb.Model, as `halyard save` writes it."""

    path: Path
    seed: int = 0

    @property
    def runnable(self) -> RunnableModel:
        return _loaded(self.path)

    def record(self) -> Model:
        return Model(name=self.runnable.name, file=str(self.path), seed=self.seed)

    def __str__(self) -> str:
        return str(self.path)


@cache
def _built(name: str, data_type: DataType, size: int, width: float) -> ZooModel:
    return build(name, data_type, size=size, width=width)


@cache
def _loaded(path: Path) -> RunnableModel:
    """HalyardError for a file that holds no model, or one whose shapes are not all known."""
    model = pb.Model()
    try:
        model.ParseFromString(path.read_bytes())
    except OSError as error:
        raise HalyardError(f"{path}: {error.strerror}") from error
    except DecodeError as error:
        raise HalyardError(f"{path}: this is no serialised halyard.Model: {error}") from error
    main = model.main
    if not main.operations:
        raise HalyardError(f"{path}: a model without operations")
    for side, indexes in (("input", main.input_indexes), ("output", main.output_indexes)):
        for number, index in enumerate(indexes):
            if index >= len(main.operands):
                raise HalyardError(
                    f"{path}: {side} {number} is operand {index}, which is not there"
                )
            if 0 in main.operands[index].dimensions:
                raise HalyardError(
                    f"{path}: {side} {number} has unknown dimensions, and nothing here knows them"
                )
            try:
                size = byte_size(main.operands[index])
            except KeyError as error:
                raise HalyardError(
                    f"{path}: {side} {number} is of a type without values"
                ) from error
            if size > MAX_OPERAND_BYTES:
                raise HalyardError(f"{path}: {side} {number} takes {size} bytes, which is too much")
    return RunnableModel.of(model, model.name or path.stem)
