# SPDX-License-Identifier: Apache-2.0
"""A model in parts, each held by a process of its own: NNAPI's by our runner, the host's by one on
this machine."""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

from halyard import paths
from halyard.engines.engine import EngineRefused
from halyard.engines.original import shaped
from halyard.engines.part_worker import INPUTS, OUTPUTS, PART, read_arrays, write_arrays
from halyard.engines.parts import joined, of_host, profile_of
from halyard.engines.process import EngineProcess
from halyard.engines.served import EngineDied, Executions, Served
from halyard.engines.workload import Workload
from halyard.errors import DeviceError, HalyardError
from halyard.model import Array, HostPart, NnapiPart, RunnableModel, Tensors
from halyard.model.fitting import fitted
from halyard.model.partitioned import PartitionedModel
from halyard.programs.case_status import failures
from halyard.proto import halyard_pb2 as pb

# Prepares what NNAPI runs, with inputs.
Serve = Callable[[Workload], Served]


class HostPartProcess(EngineProcess):
    """A part that the host runs, in its file's own engine."""

    def __init__(self, part: HostPart, inputs: Sequence[Array], threads: int) -> None:
        self._folder = paths.Temporary("part")
        path = self._folder.path
        (path / PART).write_bytes(part.content)
        write_arrays(path / INPUTS, shaped(part, inputs))
        module = "halyard.engines.part_worker"
        command = [sys.executable, "-m", module, part.format, str(path), str(threads)]
        super().__init__("the host's part", command)

    def run_all(self) -> list[list[Array]]:
        super().run_all()
        return [read_arrays(self._folder.path / OUTPUTS)]

    def close(self) -> None:
        super().close()
        self._folder.close()


@dataclass(frozen=True)
class _Held:
    part: HostPart | NnapiPart
    process: Served
    said: pb.CaseResult  # when it was prepared

    @property
    def is_host(self) -> bool:
        return isinstance(self.part, HostPart)


class ServedParts(Served):
    """Each part executes as often as the whole is to, and then the next one: what a part takes is
    not disturbed by the others, and the whole takes what its parts do. What a part gives goes into
    those behind it once, when they are prepared."""

    def __init__(
        self, name: str, work: Workload, serve: Serve, threads: int, *, until: ExitStack
    ) -> None:
        """`threads`: of the host's parts. `until` is closed after all of them."""
        assert isinstance(work.model, PartitionedModel)
        self._name = name
        self._model = work.model
        self._inputs = work.inputs
        self._serve = serve
        self._threads = threads
        self._stack = until
        self._held: list[_Held] = []
        self._prepared: pb.CaseResult | None = None
        self._host_ns: list[int] = []

    @property
    def tensors(self) -> Tensors:
        return Tensors(self._model.inputs, self._model.outputs)

    @property
    def host_ns(self) -> Sequence[int]:
        return self._host_ns

    # ---- preparing ------------------------------------------------------------------------------

    def prepared(self) -> pb.CaseResult:
        """Of all parts, or of the first that fails, which it names."""
        if self._prepared is None:
            self._prepared = self._prepare()
        return self._prepared

    def _prepare(self) -> pb.CaseResult:
        values = {
            info.name: array for info, array in zip(self._model.inputs, self._inputs, strict=True)
        }
        given = set(values)
        for number, part in enumerate(self._model.parts):
            inputs = [values[name] for name in part.inputs]
            try:
                process = self._stack.enter_context(self._part(part, inputs))
                said = pb.CaseResult()
                said.CopyFrom(process.prepared())
                if not failures(said):
                    values |= dict(zip(part.outputs, process.run(), strict=True))
            except (DeviceError, EngineDied):
                raise
            except (HalyardError, ValueError) as error:
                said = pb.CaseResult(failed_stage=pb.STAGE_PREPARE, message=str(error))
            if failures(said):
                where = ", on the host" if isinstance(part, HostPart) else ""
                said.message = f"part {number + 1}{where}: {said.message}"
                return said
            said.bytes_between_partitions += sum(
                values[name].nbytes for name in part.inputs if name not in given
            )
            self._held.append(_Held(part, process, said))
        return self._joined(values)

    def _part(self, part: HostPart | NnapiPart, inputs: Sequence[Array]) -> Served:
        if isinstance(part, HostPart):
            return HostPartProcess(part, inputs, self._threads)
        model = RunnableModel.of(part.model)
        fitting = [fitted(*each) for each in zip(inputs, model.inputs, strict=True)]
        return self._serve(self._stack.enter_context(Workload(model, fitting)))

    def _joined(self, values: dict[str, Array]) -> pb.CaseResult:
        """Outputs are those of the whole, times and memory the sums over the parts."""
        hosts = [held.said for held in self._held if held.is_host]
        whole = joined([_told(held) for held in self._held], 1)
        [example] = whole.examples
        example.timings[0].wall_ns += sum(said.examples[0].timings[0].wall_ns for said in hosts)
        memories = [held.said.memory for held in self._held]
        whole.memory.peak_rss_bytes = sum(each.peak_rss_bytes for each in memories)
        whole.memory.base_rss_bytes = sum(each.base_rss_bytes for each in memories)
        del example.outputs[:]
        for info in self._model.outputs:
            output = fitted(values[info.name], info)
            example.outputs.add(data=output.tobytes(), dimensions=output.shape)
        return whole

    def run_all(self) -> list[list[Array]]:
        result = self.prepared()
        if problems := failures(result):
            raise EngineRefused(f"{self._name}: {'; '.join(problems)}")
        return [self._model.output_arrays(example) for example in result.examples]

    # ---- executing ------------------------------------------------------------------------------

    def time(self, count: int, warmup: int = 0, *, expected_s: float = 0.0) -> list[int]:
        whole, host = np.zeros(count, np.int64), np.zeros(count, np.int64)
        for held in self._held:
            times = np.array(held.process.time(count, warmup, expected_s=expected_s), np.int64)
            whole += times
            if held.is_host:
                host += times
        self._host_ns = host.tolist()
        return list(map(int, whole))

    def series(self, executions: Executions, *, expected_s: float = 0.0) -> Sequence[pb.Timing]:
        """Without their begins: an execution is made of what each part took."""
        times = self.time(1, expected_s=expected_s)
        while True:
            passed = sum(times) / 1e9
            if 0 < executions.most_s <= passed:
                break
            each = max(passed / len(times), 1e-6)
            missing = max(
                executions.count - len(times), math.ceil((executions.least_s - passed) / each)
            )
            if missing <= 0:
                break
            if executions.most_s:
                missing = min(missing, max(round((executions.most_s - passed) / each), 1))
            times += self.time(missing, expected_s=expected_s + missing * each)
        return [pb.Timing(wall_ns=each) for each in times]

    def profile(
        self, count: int, warmup: int, *, expected_s: float = 0.0
    ) -> Sequence[pb.NodeProfile]:
        """Of a part of the host's, one row."""
        said = []
        for held in self._held:
            if isinstance(held.part, HostPart):
                times = held.process.time(count, warmup, expected_s=expected_s)
                result = of_host(held.part, statistics.median(times))
            else:
                rows = held.process.profile(count, warmup, expected_s=expected_s)
                result = pb.CaseResult(partitions=held.said.partitions, profile=rows)
            said.append(result)
        return profile_of(said)

    def keep_to(self, cores: Sequence[int]) -> None:
        for held in self._held:
            held.process.keep_to(cores)

    def close(self) -> None:
        self._stack.close()


def _told(held: _Held) -> pb.CaseResult:
    """The result of a part, as joined() takes it."""
    if not isinstance(held.part, HostPart):
        return held.said
    told = of_host(held.part, 0)
    told.prepare_ns = held.said.prepare_ns
    told.bytes_between_partitions = held.said.bytes_between_partitions
    return told
