# SPDX-License-Identifier: Apache-2.0
"""The interface of every engine: prepare a model, execute it, and time it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from halyard.errors import HalyardError
from halyard.model.fitting import fitted

if TYPE_CHECKING:
    from halyard.engines.workload import Workload
    from halyard.model import Array, Tensors


# Of a model's inputs.
Shapes = Sequence[tuple[int, ...]]


class EngineMissing(HalyardError):
    """The engine's package is not there, or does not load; the text says how to get it."""


class EngineRefused(HalyardError):
    """The engine does not take the model, or its inputs."""


class Prepared(Protocol):
    """A model that an engine holds with its inputs, until the context is left. Not thread-safe."""

    @property
    @abstractmethod
    def tensors(self) -> Tensors: ...

    @abstractmethod
    def run(self) -> list[Array]:
        """The outputs for its inputs, as arrays of the caller's own; states are zero before."""

    @abstractmethod
    def time(self, count: int, warmup: int = 0) -> list[int]:
        """Nanoseconds of so many executions, one by one, after others that do not count."""

    def close(self) -> None:
        """Gives back what it holds: nothing, unless an engine says otherwise."""
        return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Engine(Protocol):
    @property
    def title(self) -> str:
        """As a person calls it."""

    def prepare(self, work: Workload) -> Prepared:
        """EngineRefused, or NotExpressible, where it does not take the model; other HalyardErrors
        where it can't be asked."""


class Loaded(Prepared, Protocol):
    """A model that is held in this process."""

    def bind(self, inputs: Sequence[bytes]) -> None:
        """Of raw bytes, in the model's order. EngineRefused where they are not the model's."""

    def feed(self, inputs: Sequence[Array]) -> None:
        """The same of arrays, in types that can hold the model's values. HalyardError where it has
        no room for them."""
        fitting = [fitted(*each) for each in zip(inputs, self.tensors.inputs, strict=True)]
        self.bind([values.tobytes() for values in fitting])

    def execute(self) -> None:
        """One inference, and nothing beside it: this is what is timed."""


class Library(Engine, Protocol):
    """An engine that is a Python package, and loads a file. Its package is imported when this is
    made, and no sooner: EngineMissing where that fails."""

    version: str

    def load(self, path: Path, shapes: Shapes = ()) -> Loaded:
        """With inputs of these shapes, in the model's order; none: as the file has them.
        EngineRefused where it does not take the model. This is what preparing is timed as."""

    def otherwise(self) -> Library | None:
        """The same engine, computing in another order or with other kernels: its results are as
        right as these. None where there is no such choice."""
        return None
