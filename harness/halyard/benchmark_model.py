# SPDX-License-Identifier: Apache-2.0
"""A benchmark's model: one of the zoo, or of a file, and an input for it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Protocol, Self

from msgspec import UNSET

from halyard.conversion import convert
from halyard.errors import ConfigError, HalyardError, NotExpressible
from halyard.model import Array, Conversion, DataType, NnapiPart, RunnableModel
from halyard.model.dynamic import extents, opened
from halyard.model.imported import ImportedModel
from halyard.model.input_files import SEEDED, InputFiles
from halyard.model.partitioned import PartitionedModel
from halyard.model.read_options import USUAL, ReadOptions
from halyard.model.shapes import without_ones
from halyard.proto import halyard_pb2 as pb
from halyard.records.run import Model
from halyard.zoo import MIN_SIZE, ZooModel, build, default_size


class AnyModel(Hashable, Protocol):
    """A model with an input."""

    @property
    def seed(self) -> int: ...

    @property
    def runnable(self) -> RunnableModel: ...

    def input_arrays(self) -> list[Array]:
        """Its inputs: of files, or drawn with the seed."""

    def record(self) -> Model: ...


@dataclass(frozen=True)
class BenchmarkModel:
    """A model of the zoo."""

    name: str
    data_type: DataType
    size: int
    width: float
    seed: int = 0
    given: InputFiles = SEEDED

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

    def input_arrays(self) -> list[Array]:
        model = self.runnable
        return self.given.arrays(model.inputs) if self.given else model.input_arrays(self.seed)

    def record(self) -> Model:
        return Model(
            name=self.name,
            type=str(self.data_type),
            size=self.size,
            width=self.width,
            inputs=list(self.given.words) or UNSET,
            seed=self.seed,
        )

    def __str__(self) -> str:
        return f"{self.name} {self.data_type} {self.size}x{self.size} width {self.width:g}"


@dataclass(frozen=True)
class FileModel:
    """A model from a file, of any format that halyard.conversion reads."""

    path: Path
    seed: int = 0
    # Whether NNAPI has to run all of it, and the host nothing.
    strict: bool = False
    options: ReadOptions = USUAL
    given: InputFiles = SEEDED
    dynamic: bool = False  # one of several, in a model that leaves their shapes open

    @property
    def conversion(self) -> Conversion:
        """HalyardError for a file that can't be read."""
        return _converted(self.path, self.options)

    @property
    def runnable(self) -> RunnableModel:
        """A PartitionedModel where the host runs parts of it, or all. HalyardError, too, where it
        may not."""
        return _runnable(self.path, self.strict, self.options)

    def input_arrays(self) -> list[Array]:
        """HalyardError for files that are not the model's inputs."""
        model = self.runnable
        if not self.given:
            return model.input_arrays(self.seed)
        infos = model.inputs
        parts = self.conversion.parts
        if len(parts) == 1 and isinstance(parts[0], NnapiPart):
            infos = tuple(
                replace(info, name=name) for info, name in zip(infos, parts[0].inputs, strict=True)
            )
        return self.given.arrays(infos, {info.name: info for info in self.conversion.inputs})

    def record(self) -> Model:
        """Under the file's name: what stands in it is often the same in all, as `main_graph` is in
        PyTorch's ONNX files."""
        shapes = self.options.shapes.words()
        return Model(
            name=self.path.name,
            file=str(self.path),
            shapes=shapes or UNSET,
            dynamic=self.dynamic or UNSET,
            signature=self.options.signature or UNSET,
            member=self.options.member or UNSET,
            inputs=list(self.given.words) or UNSET,
            seed=self.seed,
        )

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True)
class DynamicModel:
    """A file in several shapes, as one model that leaves open in what they differ."""

    benchmark_models: tuple[FileModel, ...]

    @property
    def seed(self) -> int:
        return self.benchmark_models[0].seed

    @property
    def runnable(self) -> RunnableModel:
        """Its shapes are those of the first. HalyardError where one model does not do for all."""
        return _opened(self.benchmark_models)

    def case(self) -> pb.TestCase:
        """An example for each."""
        examples = []
        for each in self.benchmark_models:
            model = each.runnable
            example = model.example_of(each.input_arrays(), shapes_of(each))
            for value, info in zip(example.inputs, model.inputs, strict=True):
                value.dimensions[:] = info.shape
            examples.append(example)
        return pb.TestCase(name=str(self), model=self.runnable.model, examples=examples)

    def __str__(self) -> str:
        return str(self.benchmark_models[0])


@cache
def _opened(benchmark_models: tuple[FileModel, ...]) -> RunnableModel:
    runnables = [each.runnable for each in benchmark_models]
    for each in runnables:
        if isinstance(each, PartitionedModel):
            raise each.refusal
    names = [shapes_of(each) for each in benchmark_models]
    if len(set(names)) == 1:
        raise ConfigError(f"--dynamic takes several shapes, and all are {names[0]}")
    alike = _general(benchmark_models)
    try:
        model = opened([each.runnable.model for each in alike], [shapes_of(each) for each in alike])
    except NotExpressible as error:
        raise HalyardError(
            f"{benchmark_models[0].path}: one model does not do for all of the shapes: {error}"
        ) from error
    first = runnables[0]
    return RunnableModel(first.name, model, first.inputs, first.outputs)


def _general(benchmark_models: tuple[FileModel, ...]) -> tuple[FileModel, ...]:
    """The same in shapes that are mapped as any others; as they are where the file has no such."""
    shapes = without_ones([each.options.shapes for each in benchmark_models])
    general = tuple(
        replace(each, options=replace(each.options, shapes=more), given=SEEDED)
        for each, more in zip(benchmark_models, shapes, strict=True)
    )
    try:
        for each in general:
            _ = each.conversion
    except HalyardError:
        return benchmark_models
    return general


def shapes_of(benchmark_model: FileModel) -> str:
    """ "ids=1,32 mask=1,32"."""
    return extents({info.name: info.shape for info in benchmark_model.conversion.inputs})


@cache
def _built(name: str, data_type: DataType, size: int, width: float) -> ZooModel:
    return build(name, data_type, size=size, width=width)


@cache
def _converted(path: Path, options: ReadOptions) -> Conversion:
    return convert(path, options)


@cache
def _runnable(path: Path, strict: bool, options: ReadOptions) -> RunnableModel:
    conversion = _converted(path, options)
    source = conversion.source
    parts = [each for each in conversion.parts if isinstance(each, NnapiPart)]
    if strict:
        conversion.refuse_unmapped()
    initial = {each.input: each.initial for each in conversion.states if each.input}
    if len(parts) == len(conversion.parts) == 1:
        model = RunnableModel.of(parts[0].model)
        named = zip(model.inputs, parts[0].inputs, strict=True)
        ranges = {
            info.name: conversion.ranges[name] for info, name in named if name in conversion.ranges
        }
        model = replace(model, ranges=ranges, initial=initial)
        ours = [(info.dtype, info.shape) for info in (*model.inputs, *model.outputs)]
        theirs = [(info.dtype, info.shape) for info in (*conversion.inputs, *conversion.outputs)]
        if ours != theirs:
            return model
        return ImportedModel(
            model.name,
            model.model,
            model.inputs,
            model.outputs,
            source.path,
            source.format,
            source.content,
            ranges=ranges,
            initial=initial,
        )
    return PartitionedModel(
        conversion.model.name,
        conversion.model,
        conversion.inputs,
        conversion.outputs,
        tuple(conversion.parts),
        source.path,
        source.format,
        source.content,
        ranges=conversion.ranges,
        initial=initial,
    )
