# SPDX-License-Identifier: Apache-2.0
"""One execution after the other until a device gets hot, and what becomes of its pace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from halyard.devices.conditions import joules_between
from halyard.engines.served import Executions, Served
from halyard.proto import halyard_pb2 as pb
from halyard.records import sustained as records
from halyard.records.conditions import Conditions
from halyard.timing.statistics import Summary, thinned

# A load has so many windows, but none is longer than that many seconds.
_WINDOWS = 10
_LONGEST_S = 10.0
# Of its executions, so many are kept.
_KEPT = 2000


@dataclass(frozen=True)
class Window:
    timings: Sequence[pb.Timing]
    after: Conditions

    @property
    def begin_ns(self) -> int:
        return self.timings[0].begin_ns

    @property
    def seconds(self) -> float:
        """From the first execution's begin to the last one's end, by the device's clock."""
        last = self.timings[-1]
        return max(last.begin_ns + max(last.wall_ns, 1) - self.begin_ns, 1) / 1e9

    @property
    def throughput(self) -> float:
        return len(self.timings) / self.seconds

    def record(self, start_ns: int) -> records.Window:
        summary = Summary.of([timing.wall_ns / 1e6 for timing in self.timings])
        return records.Window(
            begin_s=(self.begin_ns - start_ns) / 1e9,
            seconds=self.seconds,
            runs=summary.count,
            throughput_per_s=self.throughput,
            median_ms=summary.p50,
            p90_ms=summary.p90,
            temperature_c=self.after.temperature_c,
            mhz=[cores.mhz for cores in self.after.cores if cores.mhz is not None],
        )


@dataclass
class Sustained:
    """`before`: as the device was when it began. It has a window at least once it is measured."""

    before: Conditions
    windows: list[Window] = field(default_factory=list)

    @property
    def slowdown(self) -> float:
        """How much faster it was in the first window than in the last."""
        return self.windows[0].throughput / self.windows[-1].throughput

    @property
    def runs(self) -> int:
        return sum(len(window.timings) for window in self.windows)

    def record(self) -> records.Sustained:
        start = self.windows[0].begin_ns
        joules = joules_between(self.before, self.windows[-1].after)
        seconds = sum(window.seconds for window in self.windows)
        samples = [
            ((timing.begin_ns - start) / 1e9, timing.wall_ns / 1e6)
            for window in self.windows
            for timing in window.timings
        ]
        return records.Sustained(
            seconds=seconds,
            runs=self.runs,
            throughput_per_s=self.runs / seconds,
            slowdown=self.slowdown,
            joules=joules,
            joules_per_run=None if joules is None else joules / self.runs,
            reason="" if joules is not None else self._no_energy(),
            windows=[window.record(start) for window in self.windows],
            samples=thinned(samples, _KEPT),
        )

    def _no_energy(self) -> str:
        if self.before.energy or self.before.supplies:
            return "the counters did not go on, or the battery is charged"
        return "the device has no energy counter and no battery"


def load(
    process: Served,
    seconds: float,
    look: Callable[[], Conditions],
    say: Callable[[str], None],
) -> Sustained:
    """Windows of one command each: between them is no longer a pause than asking takes."""
    count = max(_WINDOWS, round(seconds / _LONGEST_S))
    length = seconds / count
    sustained = Sustained(look())
    for number in range(count):
        say(_progress(sustained, number, count))
        timings = process.series(Executions(1, length, length))
        sustained.windows.append(Window(timings, look()))
    return sustained


def _progress(sustained: Sustained, number: int, count: int) -> str:
    pace = f", {sustained.windows[-1].throughput:.1f} per s" if sustained.windows else ""
    return f"window {number + 1} of {count}{pace}"
