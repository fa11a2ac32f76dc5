# SPDX-License-Identifier: Apache-2.0
"""The documents of `halyard run --json`: a document, or a list of them, one for each HAL
version."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import msgspec
from msgspec import UNSET, UnsetType

from halyard.records.conditions import Conditions, Waited
from halyard.records.record import Document, Error, Record
from halyard.records.sustained import Sustained
from halyard.timing.statistics import Summary


class Model(Record, frozen=True, kw_only=True):
    """Of the zoo, or of a file, which is named as the file is. Earlier documents have there what
    the file called it itself, which is what many are called: `title` is what to go by."""

    name: str
    type: str | UnsetType = UNSET
    size: int | UnsetType = UNSET
    width: float | UnsetType = UNSET
    file: str | UnsetType = UNSET
    # Of inputs, as on the command line; files, with none the seed says what they are.
    shapes: list[str] | UnsetType = UNSET
    # Of a .tflite file, and of a .task file.
    signature: str | UnsetType = UNSET
    member: str | UnsetType = UNSET
    inputs: list[str] | UnsetType = UNSET
    dynamic: bool | UnsetType = UNSET  # the model had its shapes open when it was prepared
    seed: int

    @property
    def title(self) -> str:
        return Path(self.file).name if self.file is not UNSET and self.file else self.name


class Device(Record, frozen=True, kw_only=True):
    serial: str
    emulated: bool
    properties: dict[str, str]


class Timings(Record, frozen=True, kw_only=True):
    """In milliseconds. `median_interval`: where the median lies with 95 % confidence; null of fewer
    than six executions, which do not tell."""

    count: int
    first: float
    min: float
    avg: float
    std: float
    median: float
    median_interval: tuple[float, float] | None
    p90: float
    p95: float
    p99: float
    max: float

    @classmethod
    def of(cls, milliseconds: Sequence[float]) -> Self:
        """In the order in which they were taken."""
        summary = Summary.of(milliseconds)
        return cls(
            count=summary.count,
            first=milliseconds[0],
            min=summary.min,
            avg=summary.mean,
            std=summary.std,
            median=summary.p50,
            median_interval=summary.interval,
            p90=summary.p90,
            p95=summary.p95,
            p99=summary.p99,
            max=summary.max,
        )


class OutputAgreement(Record, frozen=True, kw_only=True):
    """`largest`: of the reference's finite values, by magnitude, which the limit is a share of;
    earlier documents say nothing of it."""

    name: str
    elements: int
    nonzero: int
    max_abs_error: Error
    max_relative_error: Error
    max_steps: int | None
    exact_share: float
    nan: int
    largest: float | None = None


class NotCompared(Record, frozen=True, kw_only=True):
    """Something that can't be known to be right, and why."""

    what: str
    reason: str


class Agreement(Record, frozen=True, kw_only=True):
    with_: str = msgspec.field(name="with")
    outputs: list[OutputAgreement]


class DeviceMemory(Record, frozen=True, kw_only=True):
    """In the memory of devices: of the model, of its largest execution, and of that one's
    shapes."""

    constant_bytes: int
    workspace_bytes: int
    table_bytes: int

    @property
    def total_bytes(self) -> int:
        return self.constant_bytes + self.workspace_bytes + self.table_bytes


class Memory(Record, frozen=True, kw_only=True):
    model_constant_bytes: int
    peak_rss_bytes: int
    constant_bytes: int
    arena_bytes: int
    device: DeviceMemory | None = None  # none lies on a device


class Node(Record, frozen=True, kw_only=True):
    """The times of a node, or of several that a kernel computes together. `device_ms`: as the
    device that computed it tells; `rate` is then of that time."""

    operations: list[int]
    label: str
    node: str
    nodes: int
    type: str
    backend: str
    partition: int
    kernel: str
    median_ms: float
    device_ms: float | None = None
    share: float
    bytes: int
    multiply_adds: int
    rate: float | None
    unit: str
    share_of_peak: float | None


class Placement(Record, frozen=True, kw_only=True):
    operation: int
    operations: list[int]
    label: str
    node: str
    backend: str
    partition: int
    kernel: str
    refusals: dict[str, str]
    lost_forms: str | UnsetType = UNSET  # "form: reason; ...", of the choice of the kernel


class Copy(Record, frozen=True, kw_only=True):
    """A tensor that is brought to a device, or from it."""

    tensor: str
    source: str
    target: str
    bytes: int


class Vanished(Record, frozen=True, kw_only=True):
    operation: int
    fate: str


class Run(Document, frozen=True, kw_only=True):
    """`log` is the end of the service's, where it failed; `samples_ms` are the executions that
    `timings_ms` sums up, or some of very many. `host_timings_ms` is what this machine took of them,
    of a model that NNAPI runs in parts; `peer` is the engine that took `peer_timings_ms`, on the
    machine of the command."""

    model: Model
    device: Device
    target: str
    driver: str
    hal: str
    ok: bool
    problems: list[str]
    notes: list[str]
    failed_stage: str
    status: str
    message: str
    agreement: Agreement | None
    not_compared: list[NotCompared] = msgspec.field(default_factory=list)
    prepare_ms: float
    waited: Waited | None = None
    conditions: Conditions | None = None
    sustained: Sustained | None = None
    warmup_ms: Timings | None = None
    samples_ms: list[float] = msgspec.field(default_factory=list)
    timings_ms: Timings | None
    driver_timings_ms: Timings | None
    device_timings_ms: Timings | None
    peer: str = ""
    host_timings_ms: Timings | None = None
    peer_timings_ms: Timings | None
    memory: Memory
    partitions: int
    bytes_between_partitions: int
    copies: list[Copy]
    profile: list[Node]
    placement: list[Placement]
    vanished: list[Vanished]
    log: str = ""
