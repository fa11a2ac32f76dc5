# SPDX-License-Identifier: Apache-2.0
"""What is measured: a model, an input for it, and what LiteRT makes of them on this machine."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Protocol, Self

import numpy as np
from google.protobuf.message import DecodeError

from halyard import litert, tflite
from halyard.errors import HalyardError
from halyard.model import Array, DataType, RunnableModel, byte_size, half, tensor_infos
from halyard.proto import halyard_pb2 as pb
from halyard.tflite import NotExpressible
from halyard.zoo import MIN_SIZE, ZooModel, build, default_size

# More than any model has for an input or output: a file may say anything.
MAX_OPERAND_BYTES = 2**30
# Of LiteRT, for its time: it is the device that is measured at length.
MOST_RUNS = 50


@dataclass(frozen=True)
class Repetitions:
    """How often a model runs, on how many threads (0: one per core)."""

    counted: int = 1
    warmup: int = 0
    threads: int = 0


@dataclass(frozen=True)
class Reference:
    """LiteRT's word on a subject. No outputs: `reason` says why there are none."""

    name: str = "LiteRT"
    outputs: Sequence[Array] | None = None  # in the types of the model's outputs
    milliseconds: Sequence[float] = ()
    threads: int = 0
    reason: str = ""


class AnySubject(Protocol):
    """A model with an input."""

    @property
    def seed(self) -> int: ...

    @property
    def runnable(self) -> RunnableModel: ...

    def as_json(self) -> dict[str, str | int | float]: ...

    def reference(self, repetitions: Repetitions) -> Reference: ...


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

    def reference(self, repetitions: Repetitions) -> Reference:
        return _reference(self, repetitions)

    def as_json(self) -> dict[str, str | int | float]:
        return {
            "name": self.name,
            "type": str(self.data_type),
            "size": self.size,
            "width": self.width,
            "seed": self.seed,
        }

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

    def reference(self, repetitions: Repetitions) -> Reference:
        return _reference(self, repetitions)

    def as_json(self) -> dict[str, str | int | float]:
        return {"name": self.runnable.name, "file": str(self.path), "seed": self.seed}

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
    return RunnableModel(
        name=model.name or path.stem,
        model=model,
        inputs=tensor_infos(model, main.input_indexes),
        outputs=tensor_infos(model, main.output_indexes),
    )


@cache
def _reference(subject: Subject | FileSubject, repetitions: Repetitions) -> Reference:
    if not litert.available():
        return Reference(reason=litert.MISSING)
    runnable = subject.runnable
    is_half = any(info.dtype == np.float16 for info in runnable.outputs)
    threads = repetitions.threads or os.cpu_count() or 1
    inputs = runnable.input_arrays(subject.seed)
    try:
        # TFLite has no float16 kernels: the same numbers in float32 are the better word anyway.
        model = half.widen(runnable.model) if is_half else runnable.model
        runtime = litert.LiteRt(tflite.write(model), threads)
        if is_half:
            inputs = [_widened(values) for values in inputs]
        times = []
        warmup, counted = min(repetitions.warmup, MOST_RUNS), min(repetitions.counted, MOST_RUNS)
        for run in range(warmup + max(counted, 1)):
            start = time.perf_counter()
            outputs = runtime.run(inputs)
            if run >= warmup:
                times.append((time.perf_counter() - start) * 1e3)
    except (NotExpressible, litert.LiteRtRefused) as error:
        return Reference(reason=f"LiteRT can't run it: {error}")
    if is_half:
        outputs = [
            values.astype(info.dtype)
            for info, values in zip(runnable.outputs, outputs, strict=True)
        ]
    return Reference("LiteRT in float32" if is_half else "LiteRT", outputs, times, threads)


def _widened(values: Array) -> Array:
    return values.astype(np.float32) if values.dtype == np.float16 else values
