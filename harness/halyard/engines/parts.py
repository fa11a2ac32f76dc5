# SPDX-License-Identifier: Apache-2.0
"""Parts of a model one after another: NNAPI's on a device, the others on this machine."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from halyard.engines.engine import EngineRefused, Prepared
from halyard.engines.original import run_part
from halyard.engines.workload import Workload
from halyard.model import Array, HostPart, NnapiPart, RunnableModel, Tensors
from halyard.model.fitting import fitted
from halyard.model.partitioned import PartitionedModel
from halyard.programs.case_status import failures
from halyard.proto import halyard_pb2 as pb

# Executes what NNAPI runs, with inputs: so often, after so many others.
Report = Callable[[Workload, int, int], pb.CaseResult]

# The engine of a part that NNAPI does not run.
HOST = "host"

# Sums over the parts.
_COUNTED = ("prepare_ns", "partitions", "bytes_between_partitions")
_MEMORY = (
    "constant_bytes",
    "arena_bytes",
    "device_constant_bytes",
    "device_workspace_bytes",
    "device_table_bytes",
)
_ROWS = ("placement", "profile", "copies", "vanished")


class PartsRun(Prepared):
    """Each part runs as often as the whole is to, and then the next one: what a part takes is not
    disturbed by the others, and the whole takes what its parts do."""

    def __init__(self, work: Workload, report: Report, threads: int) -> None:
        assert isinstance(work.model, PartitionedModel)
        self._work = work
        self._model = work.model
        self._report = report
        self._threads = threads or os.cpu_count() or 1
        self._last: pb.CaseResult | None = None
        self._host_ns: list[int] = []
        self._values: dict[str, Array] = {}

    @property
    def values(self) -> Mapping[str, Array]:
        """The values that went into the whole and came out of its parts in the last report without
        a failure, by the names that the parts have for it."""
        return self._values

    @property
    def tensors(self) -> Tensors:
        return self._work.tensors

    @property
    def host_ns(self) -> Sequence[int]:
        """The time of the host's parts in each execution that the last report counted."""
        return self._host_ns

    def report(self, count: int, warmup: int = 0) -> pb.CaseResult:
        """As of one model: times and memory are the parts' sums, placements and profiles stand one
        after another, with rows of HOST. That of the first part that fails, if one does."""
        values = {
            info.name: array
            for info, array in zip(self._model.inputs, self._work.inputs, strict=True)
        }
        given = set(values)
        said: list[pb.CaseResult] = []
        times = np.zeros(count, np.int64)
        for number, part in enumerate(self._model.parts):
            crossing = sum(values[name].nbytes for name in part.inputs if name not in given)
            if isinstance(part, HostPart):
                arrays, host_times = run_part(
                    part, [values[name] for name in part.inputs], count, warmup, self._threads
                )
                times += np.array(host_times, np.int64)
                result = of_host(part, statistics.median(host_times))
            else:
                result, arrays = self._nnapi(part, values, count, warmup)
                if failures(result):
                    result.message = f"part {number + 1}: {result.message}"
                    self._last = result
                    return result
            result.bytes_between_partitions += crossing
            said.append(result)
            values.update(zip(part.outputs, arrays, strict=True))
        self._values = values
        whole = joined(said, count)
        self._host_ns = times.tolist()
        [example] = whole.examples
        for timing, host in zip(example.timings, self._host_ns, strict=True):
            timing.wall_ns += host
        # The host's are not timed.
        del example.warmup_timings[:]
        del example.outputs[:]
        for info in self._model.outputs:
            output = fitted(values[info.name], info)
            example.outputs.add(data=output.tobytes(), dimensions=output.shape)
        self._last = whole
        return whole

    def _nnapi(
        self, part: NnapiPart, values: dict[str, Array], count: int, warmup: int
    ) -> tuple[pb.CaseResult, list[Array]]:
        model = RunnableModel.of(part.model)
        inputs = [
            fitted(values[name], info) for name, info in zip(part.inputs, model.inputs, strict=True)
        ]
        with Workload(model, inputs) as work:
            result = self._report(work, count, warmup)
        outputs = [] if failures(result) else model.output_arrays(result.examples[0])
        return result, outputs

    def run(self) -> list[Array]:
        result = self._last or self.report(1)
        if problems := failures(result):
            raise EngineRefused("; ".join(problems))
        return self._model.output_arrays(result.examples[0])

    def time(self, count: int, warmup: int = 0) -> list[int]:
        result = self.report(count, warmup)
        if problems := failures(result):
            raise EngineRefused("; ".join(problems))
        return [timing.wall_ns for timing in result.examples[0].timings]


def of_host(part: HostPart, median_ns: float) -> pb.CaseResult:
    """The result of the host's part: its operators, and one row for what they take together."""
    result = pb.CaseResult(partitions=1)
    for operator in part.operators:
        kind = [*operator.split(), "", ""][1]
        result.placement.add(label=operator, node=kind, backend=HOST)
    if result.placement:
        first = result.placement[0]
        result.profile.add(
            label=first.label,
            node=first.node,
            backend=HOST,
            median_ns=round(median_ns),
            nodes=len(part.operators),
        )
    return result


def joined(said: Sequence[pb.CaseResult], count: int) -> pb.CaseResult:
    """The parts' results, joined. Where the host runs all of them, NNAPI takes no time."""
    ran = [result for result in said if result.examples]
    if not ran:
        timings = [pb.Timing() for _ in range(count)]
        ran = [pb.CaseResult(examples=[pb.ExampleResult(timings=timings)])]
    if not any(result.profile for result in ran):
        for result in said:
            del result.profile[:]
    _tell_parts(said)
    whole = pb.CaseResult()
    whole.CopyFrom(ran[0])
    for name in _COUNTED:
        setattr(whole, name, sum(getattr(result, name) for result in said))
    for name in _MEMORY:
        setattr(whole.memory, name, sum(getattr(result.memory, name) for result in ran))
    whole.memory.peak_rss_bytes = max(result.memory.peak_rss_bytes for result in ran)
    for name in _ROWS:
        rows = [row for result in said for row in getattr(result, name)]
        whole.ClearField(name)
        getattr(whole, name).extend(rows)
    for result in ran[1:]:
        _add_times(whole.examples[0].timings, result.examples[0].timings)
    return whole


def _tell_parts(said: Sequence[pb.CaseResult]) -> None:
    """Labels say which part they are of, and partitions are counted on from part to part."""
    partitions = 0
    for number, result in enumerate(said):
        for placed in result.placement:
            placed.label = f"part {number + 1}: {placed.label}"
            placed.partition += partitions
        for profiled in result.profile:
            profiled.label = f"part {number + 1}: {profiled.label}"
            profiled.partition += partitions
        partitions += result.partitions


def profile_of(said: Sequence[pb.CaseResult]) -> list[pb.NodeProfile]:
    """That of the whole, of what the parts say."""
    _tell_parts(said)
    return [row for result in said for row in result.profile]


def _add_times(whole: Sequence[pb.Timing], more: Sequence[pb.Timing]) -> None:
    for mine, other in zip(whole, more, strict=True):
        mine.wall_ns += other.wall_ns
        for name in ("time_in_driver_ns", "time_on_device_ns"):
            if mine.HasField(name) and other.HasField(name):
                setattr(mine, name, getattr(mine, name) + getattr(other, name))
            else:
                mine.ClearField(name)
