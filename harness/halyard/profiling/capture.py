# SPDX-License-Identifier: Apache-2.0
"""Executions of a model on a device with all that they tell: the client's times, the driver's
traces, the processors' counters."""

from __future__ import annotations

import contextlib
import json
import secrets
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from halyard.benchmark_model import AnyModel
from halyard.devices import Device, ServiceOptions, Wire
from halyard.devices.device import WORK_FOLDER
from halyard.engines.halyard import HalyardDevice
from halyard.engines.parts import PartsRun
from halyard.engines.workload import Workload
from halyard.errors import DeviceError, HalyardError
from halyard.model import NnapiPart, RunnableModel
from halyard.model.partitioned import PartitionedModel
from halyard.profiling import perfetto
from halyard.profiling.counters import Sampler, Samples
from halyard.profiling.driver_trace import Execution, Slice, node_profiles, read
from halyard.profiling.node_times import NodeTime, node_times
from halyard.programs.case_status import failures
from halyard.programs.driver_options import GPU_PROFILING, DriverOptions
from halyard.proto import halyard_pb2 as pb
from halyard.records import device_memory, profile, run
from halyard.runner.execution import Target
from halyard.timing.machine import Peak
from halyard.transport import hal_version

# A driver writes no more traces than that; see driver/trace/numbered_dump.h.
MOST_EXECUTIONS = 100


@dataclass(frozen=True)
class Profiled:
    """The model to profile, and how."""

    count: int = 20
    warmup: int = 3
    hal: hal_version.Choice = field(default_factory=hal_version.Choice)
    instance: str = ""  # a service that is there; empty: one of its own
    driver: DriverOptions = field(default_factory=DriverOptions)
    service: ServiceOptions = field(default_factory=ServiceOptions)


@dataclass(frozen=True)
class Calls:
    """Executions that count, as the client and the driver saw them."""

    part: str  # of which part of the model: "part 1"; empty: of all of it
    timings: Sequence[pb.Timing]
    executions: Sequence[Execution]
    samples: Samples


@dataclass(frozen=True)
class Capture:
    benchmark_model: AnyModel
    device: str
    emulated: bool
    properties: dict[str, str]
    result: pb.CaseResult  # with a profile, where the driver wrote traces
    calls: Sequence[Calls]  # of the model, or of each of its parts that NNAPI runs
    samples: Samples
    peak: Peak | None = None

    @property
    def problems(self) -> list[str]:
        return failures(self.result)

    @property
    def nodes(self) -> list[NodeTime]:
        return node_times(self.result.profile, self.peak)

    @property
    def executions(self) -> list[Execution]:
        """Those that count."""
        return [execution for each in self.calls for execution in each.executions]

    @property
    def notes(self) -> list[str]:
        """The parts that are missing, and why."""
        notes = list(self.samples.missing)
        if not self.executions and not self.problems:
            notes.append(
                "nodes are not timed: the service is not Halyard's own, or was started without "
                "--trace; leave out --instance to have one started"
            )
        if any(execution.left_out for execution in self.executions):
            notes.append("the driver left out slices: an execution had too many of them")
        if self.emulated:
            notes.append("the device is emulated: its times are no real one's")
        return notes

    def record(self) -> profile.Profile:
        timings = self._timings()
        nodes = self.nodes
        return profile.Profile(
            model=self.benchmark_model.record(),
            device=run.Device(
                serial=self.device, emulated=self.emulated, properties=self.properties
            ),
            target=self.result.target,
            driver=self.result.version_string,
            hal=hal_version.format(self.result.hal_version),
            ok=not self.problems,
            problems=self.problems,
            notes=self.notes,
            executions=max((len(each.executions) for each in self.calls), default=0),
            wall_ms=_median([timing.wall_ns for timing in timings]),
            driver_ms=_median(
                [
                    timing.time_in_driver_ns
                    for timing in timings
                    if timing.HasField("time_in_driver_ns")
                ]
            ),
            nodes_ms=sum(node.milliseconds for node in nodes) if nodes else None,
            device_ms=sum(node.device_milliseconds or 0.0 for node in nodes) or None,
            device_memory=device_memory.of(self.result.memory),
            nodes=[node.record() for node in nodes],
            processors=self._processors(),
        )

    def trace(self) -> bytes:
        """For Perfetto: the client's calls, what the driver did in them, and the counters."""
        ahead = self.samples.asleep_ns or 0
        clients = [self._client(each, ahead) for each in self.calls]
        return perfetto.encode([*clients, *_driver(self.executions, ahead)], self._counters())

    def _timings(self) -> Sequence[pb.Timing]:
        return self.result.examples[0].timings if self.result.examples else ()

    def _client(self, made: Calls, ahead: int) -> perfetto.Thread:
        calls = [
            perfetto.Slice(
                "[NN_LA_PE]execute",
                timing.begin_ns + ahead,
                timing.begin_ns + timing.wall_ns + ahead,
                "client",
                {"execution": number, "target": self.result.target},
            )
            for number, timing in enumerate(made.timings)
            if timing.begin_ns
        ]
        part = f", {made.part}" if made.part else ""
        if calls:
            name = f"[NN_LA_PBM]{self.benchmark_model}{part}"
            calls.insert(0, perfetto.Slice(name, calls[0].begin_ns, calls[-1].end_ns, "client"))
        return perfetto.Thread(f"client (halyard-runner){part}", calls)

    def _counters(self) -> list[perfetto.Counter]:
        frequencies = [
            perfetto.Counter(f"cpu{number} frequency", "kHz", values)
            for number, values in sorted(self.samples.frequency.items())
        ]
        loads = [
            perfetto.Counter(
                f"cpu{number} load", "%", [(time, 100 * share) for time, share in values]
            )
            for number, values in sorted(self.samples.load.items())
        ]
        return frequencies + loads

    def _processors(self) -> list[profile.Processor]:
        numbers = sorted({*self.samples.frequency, *self.samples.load})
        rows = []
        for number in numbers:
            frequencies = [value for _, value in self.samples.frequency.get(number, ())]
            loads = [value for _, value in self.samples.load.get(number, ())]
            rows.append(
                profile.Processor(
                    cpu=number,
                    mean_load=statistics.fmean(loads) if loads else None,
                    min_khz=min(frequencies, default=None),
                    max_khz=max(frequencies, default=None),
                )
            )
        return rows


def _median(nanoseconds: Sequence[int]) -> float | None:
    return statistics.median(nanoseconds) / 1e6 if nanoseconds else None


def _driver(executions: Sequence[Execution], ahead: int) -> Iterator[perfetto.Thread]:
    """A track for each thread of the driver: what runs on a backend runs on the thread that serves
    the request."""
    threads: dict[tuple[int, int], list[perfetto.Slice]] = {}
    for execution in executions:
        slices = threads.setdefault((execution.process, execution.thread), [])
        slices += [_slice(each, ahead) for each in execution.slices]
    for (process, thread), slices in threads.items():
        yield perfetto.Thread(f"driver {thread}", slices, process, "halyard driver", thread)


def _slice(each: Slice, ahead: int) -> perfetto.Slice:
    arguments: dict[str, str | int] = {}
    if each.category != "driver":
        arguments = {"backend": each.track, "bytes": each.bytes}
        for name, value in (
            ("kernel", each.kernel),
            ("node", each.kind),
            ("fused", ", ".join(each.fused)),
            ("device_ns", each.device_ns),
        ):
            if value:
                arguments[name] = value
    return perfetto.Slice(
        each.name, each.begin_ns + ahead, each.end_ns + ahead, each.category, arguments
    )


# ---- on the device ------------------------------------------------------------------------------


def capture(
    device: Device, benchmark_model: AnyModel, how: Profiled, peak: Peak | None = None
) -> Capture:
    """Executes the model. A model that fails is a Capture with problems; DeviceError where the
    device does not do as it is told. On the device nothing is left."""
    version = how.hal.versions[0] if how.hal.versions else pb.HAL_VERSION_UNSPECIFIED
    options = pb.RunOptions(
        mode=pb.EXECUTION_MODE_ASYNC,
        hal_version=version,
        measure_timing=True,
        preference=pb.EXECUTION_PREFERENCE_FAST_SINGLE_ANSWER,
        priority=pb.PRIORITY_MEDIUM,
    )
    model = benchmark_model.runnable
    parts = iter(_names_of_parts(model))
    calls: list[Calls] = []
    with (
        _folder(device) as (folder, path),
        Workload.of_model(benchmark_model) as work,
    ):

        def traced(work: Workload, count: int, warmup: int) -> pb.CaseResult:
            """By a driver of its own: it writes no more traces than MOST_EXECUTIONS."""
            with _target(device, how, path) as (target, driver):
                engine = HalyardDevice(device, target, options, driver)
                with Sampler(device, folder) as sampler, engine.prepare(work) as prepared:
                    result = prepared.report(count, warmup)
                # Those before them warm up.
                executions = _taken(device, folder)[-count:]
            timings = result.examples[0].timings if result.examples else ()
            calls.append(Calls(next(parts), timings, executions, sampler.samples))
            result.profile.extend(node_profiles(work.model.model, executions, result.placement))
            return result

        if isinstance(model, PartitionedModel):
            prepared = PartsRun(work, traced, how.driver.threads)
            result = prepared.report(how.count, how.warmup)
        else:
            result = traced(work, how.count, how.warmup)
    return Capture(
        benchmark_model,
        device.serial,
        device.is_emulated,
        dict(device.properties()),
        result,
        calls,
        Samples.of([each.samples for each in calls]),
        peak,
    )


def _names_of_parts(model: RunnableModel) -> list[str]:
    """Of those that NNAPI runs."""
    if not isinstance(model, PartitionedModel):
        return [""]
    return [
        f"part {number + 1}"
        for number, part in enumerate(model.parts)
        if isinstance(part, NnapiPart)
    ]


@contextlib.contextmanager
def _folder(device: Device) -> Iterator[tuple[str, str]]:
    """A folder on the device, as this side and as the device's own programs call it."""
    folder = f"{WORK_FOLDER}/trace-{secrets.token_hex(6)}"
    made = f'mkdir -p "$ROOT"{folder} && chmod 700 "$ROOT"{folder} && cd "$ROOT"{folder} && pwd'
    path = device.shell(made).check().stdout.strip()
    try:
        yield folder, path
    finally:
        # A device that is gone has said so already.
        with contextlib.suppress(DeviceError):
            device.shell(f'rm -rf "$ROOT"{folder}')


@contextlib.contextmanager
def _target(device: Device, how: Profiled, path: str) -> Iterator[tuple[Target, DriverOptions]]:
    trace = ["--trace", path, GPU_PROFILING]
    if how.instance:
        yield Target.service(how.instance, _wire(how.hal)), how.driver
    elif not device.has_binder:
        yield Target.within(device), replace(how.driver, more=[*how.driver.more, *trace])
    else:
        wire = _wire(how.hal)
        options = replace(how.service, wires=[wire], arguments=[*how.service.arguments, *trace])
        with device.start_service(options) as service:
            yield Target.service(service.instance, wire), how.driver


def _wire(choice: hal_version.Choice) -> Wire:
    return hal_version.wire_of(choice.versions[0]) if choice.versions else choice.newest_of


def _taken(device: Device, folder: str) -> list[Execution]:
    """In their order; their files are gone then. HalyardError for what is no trace."""
    content = device.exec(
        f'cd "$ROOT"{folder} && cat execution-*.json 2>/dev/null; rm -f execution-*.json'
    )
    text = content.decode(errors="replace")
    decoder = json.JSONDecoder()
    executions, place = [], 0
    while place < len(text):
        try:
            _, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            raise HalyardError(f"the driver's trace breaks off: {error}") from error
        executions.append(read(text[place:end].encode()))
        place = end
        while place < len(text) and text[place].isspace():
            place += 1
    return executions
