# SPDX-License-Identifier: Apache-2.0
"""A device's pace under sustained load."""

from __future__ import annotations

from halyard.records.record import Record


class Window(Record, frozen=True, kw_only=True):
    """A part of a sustained load, from so many seconds after its begin on."""

    begin_s: float
    seconds: float
    runs: int
    throughput_per_s: float
    median_ms: float
    p90_ms: float
    temperature_c: float | None
    mhz: list[float]


class Sustained(Record, frozen=True, kw_only=True):
    """`slowdown`: the throughput of the first window over that of the last. `samples` are when
    executions began, in seconds, and how long they took, in milliseconds; some of them where there
    are very many. `joules`: null where the device does not tell, `reason` says why."""

    seconds: float
    runs: int
    throughput_per_s: float
    slowdown: float
    joules: float | None
    joules_per_run: float | None
    reason: str
    windows: list[Window]
    samples: list[tuple[float, float]]
