# SPDX-License-Identifier: Apache-2.0
"""One model on one device through one HAL version: what came out, how long it took, what ran where.

The result is compared with LiteRT on the same weights where LiteRT is installed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from msgspec import UNSET

from halyard.benchmark_model import AnyModel
from halyard.comparison.difference import Difference, compare_all
from halyard.comparison.judging import Judgement, Rules, judge
from halyard.comparison.reference import Reference, Repetitions, reference
from halyard.devices.inside_litert import DOORS
from halyard.engines.halyard import HalyardDevice
from halyard.engines.litert_runs import LiteRtRuns
from halyard.engines.parts import PartsRun
from halyard.engines.placement import absent, strangers
from halyard.engines.workload import Workload
from halyard.model import Array
from halyard.profiling.node_times import NodeTime, node_times
from halyard.programs.case_status import failures, stage_name, status_name
from halyard.proto import halyard_pb2 as pb
from halyard.records import device_memory, error, run
from halyard.records.conditions import Conditions, Waited
from halyard.records.sustained import Sustained
from halyard.timing.machine import Peak
from halyard.timing.statistics import Summary, thinned
from halyard.transport import hal_version

# What measures on a device.
DeviceEngine = HalyardDevice | LiteRtRuns

# Of the executions, so many are kept for those who compare with them later.
_KEPT = 10_000


@dataclass(frozen=True)
class Times:
    """Of the counted executions, in milliseconds."""

    values: Sequence[float]

    @property
    def first(self) -> float:
        return self.values[0]

    @cached_property
    def summary(self) -> Summary:
        return Summary.of(self.values)

    @property
    def median(self) -> float:
        return self.summary.p50

    def record(self) -> run.Timings:
        return run.Timings.of(self.values)


@dataclass(frozen=True)
class Measurement:
    benchmark_model: AnyModel
    device: str  # its serial
    device_properties: Mapping[str, str]
    result: pb.CaseResult
    differences: Sequence[Difference] | None  # one per output; None: not compared
    reference: Reference = field(default_factory=Reference)
    problems: Sequence[str] = field(default=())  # why it is no success
    notes: Sequence[str] = field(default=())  # what the user should know all the same
    peak: Peak | None = None  # of the machine, for the profile
    emulated: bool = False  # whether the device's processor is, so that times say little
    log: str = ""  # the end of the service's, where it is no success
    waited: Waited | None = None  # for the device to cool down
    conditions: Conditions | None = None  # of the device, before
    sustained: Sustained | None = None  # what a load made of its pace, if that was asked for
    outputs: Sequence[Array] | None = None  # the device's; None: it gave none
    silent: Sequence[str] = ()  # why the reference says nothing of outputs
    host: Times | None = None  # of it, what this machine took, of a model that NNAPI runs parts of

    @property
    def ok(self) -> bool:
        return not self.problems

    @property
    def not_compared(self) -> list[run.NotCompared]:
        """The whole of it, or outputs that have no number on either side, or of which the reference
        says nothing. What failed is none of that."""
        if not self.ok:
            return []
        reasons = [each.text() for each in self.differences or () if each.says_nothing]
        reasons += self.silent
        if self.differences is None:
            reasons = [self.reference.reason or "there is no reference"]
        what = self.device if self.is_in_litert else f"HAL {self.hal}"
        return [run.NotCompared(what=what, reason=each) for each in reasons]

    @property
    def is_in_litert(self) -> bool:
        """Whether LiteRT's runtime ran it, with Halyard inside."""
        return self.device in DOORS

    @property
    def hal(self) -> str:
        """Empty where no version of NNAPI's interface was between."""
        if self.is_in_litert:
            return ""
        return hal_version.format(self.result.hal_version)

    @property
    def execution(self) -> pb.ExampleResult | None:
        return self.result.examples[0] if self.result.examples else None

    @property
    def wall(self) -> Times | None:
        """As the client saw it."""
        return self._times([timing.wall_ns / 1e6 for timing in self._timings()])

    @property
    def warmup(self) -> Times | None:
        """Of the executions before those that count."""
        timings = self.execution.warmup_timings if self.execution else ()
        return self._times([timing.wall_ns / 1e6 for timing in timings])

    @property
    def in_driver(self) -> Times | None:
        """From the driver's first step to its last, as it says; None where it does not."""
        return self._times(
            [
                timing.time_in_driver_ns / 1e6
                for timing in self._timings()
                if timing.HasField("time_in_driver_ns")
            ]
        )

    @property
    def on_device(self) -> Times | None:
        """The part of it that the backends computed."""
        return self._times(
            [
                timing.time_on_device_ns / 1e6
                for timing in self._timings()
                if timing.HasField("time_on_device_ns")
            ]
        )

    @property
    def profile(self) -> list[NodeTime]:
        """Of each node; empty unless the options asked for it."""
        return node_times(self.result.profile, self.peak)

    @property
    def peer(self) -> Times | None:
        """The reference's, on this machine."""
        return self._times(self.reference.milliseconds)

    def _timings(self) -> Sequence[pb.Timing]:
        return self.execution.timings if self.execution else ()

    @staticmethod
    def _times(values: Sequence[float]) -> Times | None:
        return Times(values) if values else None

    def record(self) -> run.Run:
        result, execution = self.result, self.execution
        return run.Run(
            model=self.benchmark_model.record(),
            device=run.Device(
                serial=self.device,
                emulated=self.emulated,
                properties=dict(self.device_properties),
            ),
            target=result.target,
            driver=result.version_string,
            hal=self.hal,
            ok=self.ok,
            problems=list(self.problems),
            notes=list(self.notes),
            failed_stage=stage_name(result.failed_stage),
            status=status_name(execution.status if execution else result.status),
            message=result.message or (execution.message if execution else ""),
            log=self.log,
            agreement=self._agreement(),
            not_compared=self.not_compared,
            prepare_ms=result.prepare_ns / 1e6,
            warmup_ms=self.warmup.record() if self.warmup else None,
            timings_ms=self.wall.record() if self.wall else None,
            samples_ms=thinned(self.wall.values, _KEPT) if self.wall else [],
            waited=self.waited,
            conditions=self.conditions,
            sustained=self.sustained,
            driver_timings_ms=self.in_driver.record() if self.in_driver else None,
            device_timings_ms=self.on_device.record() if self.on_device else None,
            peer=self.reference.name if self.peer else "",
            host_timings_ms=self.host.record() if self.host else None,
            peer_timings_ms=self.peer.record() if self.peer else None,
            memory=run.Memory(
                model_constant_bytes=self.benchmark_model.runnable.constant_bytes,
                peak_rss_bytes=result.memory.peak_rss_bytes,
                constant_bytes=result.memory.constant_bytes,
                arena_bytes=result.memory.arena_bytes,
                device=device_memory.of(result.memory),
            ),
            partitions=result.partitions,
            bytes_between_partitions=result.bytes_between_partitions,
            copies=[
                run.Copy(
                    tensor=copy.tensor, source=copy.source, target=copy.target, bytes=copy.bytes
                )
                for copy in result.copies
            ],
            profile=[time.record() for time in self.profile],
            placement=[
                run.Placement(
                    operation=row.operation,
                    operations=list(row.operations),
                    label=row.label,
                    node=row.node,
                    backend=row.backend,
                    partition=row.partition,
                    kernel=row.kernel,
                    refusals={refusal.backend: refusal.reason for refusal in row.refusals},
                    lost_forms=row.lost_forms or UNSET,
                )
                for row in result.placement
            ],
            vanished=[
                run.Vanished(operation=row.operation, fate=row.fate) for row in result.vanished
            ],
        )

    def _agreement(self) -> run.Agreement | None:
        if self.differences is None:
            return None
        return run.Agreement(
            with_=self.reference.name,
            outputs=[
                run.OutputAgreement(
                    name=difference.name,
                    elements=difference.count,
                    nonzero=difference.nonzero,
                    max_abs_error=error(difference.max_abs_error),
                    max_relative_error=error(difference.max_relative_error),
                    max_steps=difference.max_steps,
                    exact_share=difference.exact_share,
                    nan=difference.nans,
                    largest=difference.largest,
                )
                for difference in self.differences
            ],
        )


def measure(
    engine: DeviceEngine,
    benchmark_model: AnyModel,
    *,
    count: int = 1,
    warmup: int = 0,
    properties: Mapping[str, str] | None = None,
    peak: Peak | None = None,
    conditions: Conditions | None = None,
) -> Measurement:
    """Executes the model so often. DeviceError only where the runner can't run: a model that
    fails is a Measurement with problems, and so is one that other backends ran than the engine asks
    for. `properties` and `conditions` are the device's, for the report; `peak` the machine's, for a
    profile."""
    how = Repetition(engine, count, warmup, properties or {}, peak, conditions)
    with (
        Workload.of_model(benchmark_model) as work,
        engine.prepare(work) as prepared,
    ):
        result = prepared.report(count, warmup)
        on_host = prepared.host_ns if isinstance(prepared, PartsRun) else ()
        host = Times([each / 1e6 for each in on_host]) if on_host else None
        return measured(how, benchmark_model, result, prepared.run, host=host)


@dataclass(frozen=True)
class Repetition:
    """How often on what, and what is told beside."""

    engine: DeviceEngine
    count: int
    warmup: int
    properties: Mapping[str, str]
    peak: Peak | None = None
    conditions: Conditions | None = None


def measured(
    how: Repetition,
    benchmark_model: AnyModel,
    result: pb.CaseResult,
    run_outputs: Callable[[], Sequence[Array]],
    *,
    host: Times | None = None,
    problems: Sequence[str] | None = None,
) -> Measurement:
    """The runner's result, judged. `run_outputs` is asked where nothing failed; `problems`: what
    failed, where that is known already."""
    model, asked = benchmark_model.runnable, how.engine.asked
    differences = outputs = None
    judgement = Judgement()
    word = Reference()
    problems = failures(result) if problems is None else list(problems)
    strange = strangers(result.placement, asked)
    if not problems:
        problems = list(strange)
        outputs = run_outputs()
        word = reference(
            benchmark_model, Repetitions(how.count, how.warmup, how.engine.driver.threads)
        )
        if word.outputs is not None:
            differences = compare_all(model, word.outputs, outputs)
            judgement = judge(Rules.of(model), differences, word.name, word.spread)
            problems += judgement.problems
    return Measurement(
        benchmark_model=benchmark_model,
        device=how.engine.device.serial,
        device_properties=how.properties,
        result=result,
        differences=differences,
        reference=word,
        problems=problems,
        notes=[*judgement.notes, *([] if strange else absent(result.placement, asked))],
        silent=judgement.silent,
        peak=how.peak,
        conditions=how.conditions,
        emulated=how.engine.device.is_emulated,
        outputs=outputs,
        host=host,
    )
