# SPDX-License-Identifier: Apache-2.0
"""Halyard inside LiteRT's runtime as an engine. Each model has a process of its own, so that what
crashes there is told here."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

from halyard import paths
from halyard.devices.inside_litert import LACKING, Door
from halyard.engines import libraries
from halyard.engines.engine import EngineRefused, Library, Loaded, Shapes
from halyard.engines.litert import LiteRt
from halyard.engines.litert_options import LiteRtOptions
from halyard.engines.litert_report import Report
from halyard.engines.original import original_inputs
from halyard.engines.process import EngineProcess
from halyard.engines.served import EngineDied
from halyard.engines.workload import Workload, inputs_bundle
from halyard.errors import ConfigError, HalyardError
from halyard.model import Array, TensorInfo, Tensors
from halyard.model.fitting import fitted
from halyard.programs.case_status import failures
from halyard.programs.driver_options import DEFAULT, DriverOptions
from halyard.proto import halyard_pb2 as pb


class InLiteRt(Library):
    """`cache_folder`: of this machine, for what is compiled; empty: none is kept."""

    def __init__(self, door: Door, driver: DriverOptions = DEFAULT, cache_folder: str = "") -> None:
        """EngineMissing where the runtime or Halyard's library for it is not there; ConfigError for
        options that do not reach into the runtime."""
        if words := [*map(str, driver.unsupported), *driver.more]:
            raise ConfigError(f"{door}: LiteRT's runtime has no way for {' '.join(words)}")
        given = {"--backends": driver.backends, "--cache-dir": cache_folder}
        for option, reason in LACKING[door].items():
            if given[option]:
                raise ConfigError(f"{door}: {option} {reason}")
        engine = libraries.library(door)
        self._title = engine.title
        self.version = f"LiteRT {engine.version}"
        self.door = door
        self.driver = driver
        self._options = LiteRtOptions(
            backends=tuple(driver.backends),
            fast_math=driver.fast_math,
            cache_folder=cache_folder and str(Path(cache_folder).absolute()),
        )

    @property
    def title(self) -> str:
        return self._title

    def load(self, path: Path, shapes: Shapes = ()) -> Loaded:
        return _Unbound(self, path, shapes)

    def prepare(self, work: Workload) -> LiteRtProcess:
        """A .tflite file as it is; else what Halyard writes of the model."""
        source = work.conversion.source if work.conversion is not None else None
        if work.conversion is None or source is None or source.format != "TFLite":
            return self.start(work.tflite(), work.inputs, work.tensors, work.model.outputs)
        inputs = original_inputs(work.conversion, work.inputs)
        tensors = Tensors(work.conversion.inputs, work.conversion.outputs)
        path = source.path
        if source.compared is not None or source.content is not None:
            path = work.file("source.tflite", lambda: source.reference)
        return self.start(path, inputs, tensors, work.model.outputs)

    def start(
        self,
        path: Path,
        inputs: Sequence[Array],
        tensors: Tensors,
        outputs: Sequence[TensorInfo] | None = None,
    ) -> LiteRtProcess:
        """`tensors`: the file's. `outputs`: what its results are fitted to; None: nothing."""
        return LiteRtProcess(self, path, inputs, tensors, outputs)

    def command(self, model: Path, case: Path, report: Path) -> list[str | Path]:
        threads = self.driver.threads or os.cpu_count() or 1
        options = msgspec.structs.replace(self._options, report=str(report))
        worker = [sys.executable, "-m", "halyard.engines.worker", self.door]
        return [*worker, model, case, str(threads), options.encode()]


class LiteRtProcess(EngineProcess):
    """The first answer says what Halyard took; it is a failure where that is nothing."""

    def __init__(
        self,
        engine: InLiteRt,
        path: Path,
        inputs: Sequence[Array],
        tensors: Tensors,
        outputs: Sequence[TensorInfo] | None,
    ) -> None:
        self._temporary = paths.Temporary("litert")
        self._asked = engine.driver.backends
        self._wanted = outputs
        self._report = self.folder / "report.json"
        case = self.folder / "inputs"
        case.write_bytes(inputs_bundle(inputs, [values.shape for values in inputs]))
        super().__init__(engine.title, engine.command(path, case, self._report), tensors)

    @property
    def folder(self) -> Path:
        """Of what it is given, and of its report; gone once it is closed."""
        return self._temporary.path

    def prepared(self) -> pb.CaseResult:
        if self._prepared is None:
            result = self._answer(0)
            self._rest()
            # What LiteRT refuses by itself has none.
            if self._report.exists() or not failures(result):
                try:
                    Report.read(self._report).into(result, self._asked)
                except HalyardError as error:
                    # LiteRT may have run all of it.
                    del result.examples[:]
                    result.failed_stage, result.message = pb.STAGE_PREPARE, str(error)
            self._prepared = result
        return self._prepared

    def _arrays(self, example: pb.ExampleResult) -> list[Array]:
        """In the shapes that they have come to."""
        try:
            found = [
                np.frombuffer(output.data, info.dtype).reshape(output.dimensions)
                for info, output in zip(self._tensors.outputs, example.outputs, strict=True)
            ]
        except ValueError as error:
            raise EngineDied(f"{self._name}: these are not its outputs: {error}") from error
        if self._wanted is None:
            return [values.copy() for values in found]
        return [fitted(*each) for each in zip(found, self._wanted, strict=True)]

    def close(self) -> None:
        super().close()
        self._temporary.close()


class _Unbound(Loaded):
    """A file whose process starts once there are inputs, and anew with others."""

    def __init__(self, engine: InLiteRt, path: Path, shapes: Shapes) -> None:
        self._engine = engine
        self._path = path
        self._tensors = LiteRt().tensors(path)
        if shapes:
            sized = zip(self._tensors.inputs, shapes, strict=True)
            inputs = tuple(replace(info, shape=shape) for info, shape in sized)
            self._tensors = replace(self._tensors, inputs=inputs)
        self._process: LiteRtProcess | None = None

    @property
    def tensors(self) -> Tensors:
        return self._tensors

    def bind(self, inputs: Sequence[bytes]) -> None:
        self.close()
        try:
            arrays = [
                np.frombuffer(data, info.dtype).reshape(info.shape)
                for info, data in zip(self._tensors.inputs, inputs, strict=True)
            ]
        except ValueError as error:
            raise EngineRefused(f"LiteRT does not take the inputs: {error}") from error
        self._process = self._engine.start(self._path, arrays, self._tensors)

    def run(self) -> list[Array]:
        return self._bound.run()

    def execute(self) -> None:
        self._bound.time(1)

    def time(self, count: int, warmup: int = 0) -> list[int]:
        self._bound.prepared()
        return self._bound.time(count, warmup)

    @property
    def _bound(self) -> LiteRtProcess:
        if self._process is None:
            raise EngineRefused("it has no inputs")
        return self._process

    def close(self) -> None:
        if self._process is not None:
            self._process.close()
        self._process = None
