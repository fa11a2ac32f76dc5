# SPDX-License-Identifier: Apache-2.0
"""A model's instructions on one core: ours, and LiteRT's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from halyard import paths, tflite
from halyard.benchmark_model import AnyModel, BenchmarkModel, FileModel
from halyard.counting.counted_process import CLASSES, Counted, CountedProgram, Counts, count
from halyard.counting.emulated_core import EmulatedCore
from halyard.counting.hot_blocks import HotBlock, hot_blocks
from halyard.counting.litert_arm64 import TITLE as LITERT
from halyard.counting.litert_arm64 import LiteRtForArm64
from halyard.counting.modelled_cycles import cycles
from halyard.engines.halyard import TITLE as HALYARD
from halyard.engines.halyard import HalyardProcess
from halyard.engines.workload import Workload
from halyard.errors import HalyardError, NotExpressible
from halyard.model import DataType
from halyard.model.partitioned import PartitionedModel
from halyard.programs import native
from halyard.programs.driver_options import DriverOptions
from halyard.proto import halyard_pb2 as pb
from halyard.records import instruction_counts as records
from halyard.vm.machine_type import ARM64

ZooOrFile = BenchmarkModel | FileModel


@dataclass(frozen=True)
class EngineCount:
    """`reason`: why nothing was counted. `cycles`: of an inference, by a model's name."""

    title: str
    version: str = ""
    counted: Counted | None = None
    reason: str = ""
    hot: Sequence[HotBlock] = ()
    cycles: Mapping[str, float] = field(default_factory=dict)

    def record(self) -> records.Engine:
        counted = self.counted
        return records.Engine(
            title=self.title,
            version=self.version,
            inference=_classes(counted.inference) if counted else None,
            start=counted.start.total if counted else None,
            modelled_cycles={name: round(each) for name, each in self.cycles.items()},
            reason=self.reason,
        )


@dataclass(frozen=True)
class ModelCount:
    benchmark_model: AnyModel
    relaxed: bool
    core: EmulatedCore
    ours: EngineCount
    litert: EngineCount | None

    @property
    def type_words(self) -> str:
        """ "float32, relaxed"; empty of a file."""
        model = self.benchmark_model
        kind = str(model.data_type) if isinstance(model, BenchmarkModel) else ""
        return ", ".join(filter(None, [kind, "relaxed" if self.relaxed else ""]))

    @property
    def ratio(self) -> float | None:
        """Of all instructions, ours over LiteRT's."""
        theirs = self.litert and self.litert.counted
        if not theirs or self.ours.counted is None:
            return None
        return self.ours.counted.inference.total / theirs.inference.total

    def record(self) -> records.Result:
        return records.Result(
            benchmark_model=self.benchmark_model.record(),
            relaxed=self.relaxed,
            processor=self.core.name,
            ours=self.ours.record(),
            litert=self.litert.record() if self.litert else None,
            ratio=self.ratio,
        )


@dataclass(frozen=True)
class Counter:
    """Ours in one thread, and LiteRT's where it is there. `hot`: so many of the hottest blocks of
    each are told. `models`: of which cores cycles are modelled (modelled_cycles.MODELS)."""

    driver: DriverOptions = field(default_factory=lambda: DriverOptions(threads=1))
    litert: LiteRtForArm64 | None = None
    hot: int = 0
    models: Sequence[str] = ()

    def measure(
        self, benchmark_model: ZooOrFile, core: EmulatedCore, *, relaxed: bool = False
    ) -> ModelCount:
        """HalyardError for a model that can't be built, or that NNAPI does not run whole."""
        with _work(benchmark_model, relaxed=relaxed) as work:
            ours = self._counted(HALYARD, "", core, lambda: self._ours(work))
            litert = None
            if self.litert is not None:
                engine = self.litert
                litert = self._counted(
                    LITERT,
                    engine.version,
                    core,
                    lambda: engine.program(
                        _tflite(benchmark_model, work, relaxed=relaxed), _raw_inputs(work)
                    ),
                )
        return ModelCount(benchmark_model, relaxed, core, ours, litert)

    def _ours(self, work: Workload) -> CountedProgram:
        program = native.program(native.RUNNER, ARM64.uname)
        return CountedProgram(HalyardProcess(self.driver, program=program).command(work))

    def _counted(
        self,
        title: str,
        version: str,
        core: EmulatedCore,
        program: Callable[[], CountedProgram],
    ) -> EngineCount:
        try:
            if not (self.hot or self.models):
                return EngineCount(title, version, count(program(), core))
            with paths.Temporary("blocks") as folder:
                file = folder / "blocks"
                counted = count(program(), core, file)
                with file.open() as lines:
                    blocks = hot_blocks(lines, self.hot)
            modelled = {name: cycles(blocks, name) for name in self.models}
            return EngineCount(title, version, counted, hot=blocks[: self.hot], cycles=modelled)
        except HalyardError as error:
            return EngineCount(title, version, reason=str(error))


@contextmanager
def _work(benchmark_model: ZooOrFile, *, relaxed: bool) -> Iterator[Workload]:
    model = benchmark_model.runnable
    if isinstance(model, PartitionedModel):
        raise NotExpressible(f"{model.words}: counted are models that NNAPI runs whole")
    if relaxed:
        allowing = pb.Model()
        allowing.CopyFrom(model.model)
        allowing.relax_computation_float32_to_float16 = True
        model = replace(model, model=allowing)
    with Workload(model, benchmark_model.input_arrays(), str(benchmark_model)) as work:
        yield work


def _tflite(benchmark_model: ZooOrFile, work: Workload, *, relaxed: bool) -> Path:
    """For LiteRT, which computes in half precision where ours may. Files have no half precision of
    the zoo's: there it is float32 of the same weights, computed so."""
    zoo_half = (
        isinstance(benchmark_model, BenchmarkModel)
        and benchmark_model.data_type is DataType.FLOAT16
    )
    if zoo_half:
        assert isinstance(benchmark_model, BenchmarkModel)
        exact = replace(benchmark_model, data_type=DataType.FLOAT32)
        with Workload.of_model(exact) as other:
            content = other.tflite().read_bytes()
    elif relaxed:
        content = work.tflite().read_bytes()
    else:
        return work.tflite()
    return work.file("half.tflite", lambda: tflite.in_half_precision(content))


def _raw_inputs(work: Workload) -> Path:
    """In single precision where ours are in half: that is what LiteRT's model takes."""
    arrays = [each.astype(np.float32) if each.dtype == np.float16 else each for each in work.inputs]
    return work.file("raw-inputs", lambda: b"".join(each.tobytes() for each in arrays))


def _classes(counts: Counts) -> records.Classes:
    by_class = dict(zip(CLASSES, counts.by_class, strict=True))
    return records.Classes(**by_class, total=counts.total)
