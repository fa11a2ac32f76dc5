# SPDX-License-Identifier: Apache-2.0
"""The documents of `halyard bench --json`."""

from __future__ import annotations

import msgspec

from halyard.records.conditions import Conditions, Waited
from halyard.records.record import Document, Error, Record
from halyard.records.run import Device, DeviceMemory, Model, Node, NotCompared, Timings
from halyard.records.sustained import Sustained
from halyard.timing.machine import Peak


class Machine(Record, frozen=True, kw_only=True):
    cpu: str
    architecture: str
    cores: int
    system: str
    cpus: list[int]
    features: list[str] = msgspec.field(default_factory=list)
    peaks: list[Peak]


class Peer(Record, frozen=True, kw_only=True):
    name: str
    title: str
    version: str
    missing: str


class OutputAgreement(Record, frozen=True, kw_only=True):
    output: str
    max_abs_error: Error
    max_steps: int | None
    exact_share: float
    nan: int


class Engine(Record, frozen=True, kw_only=True):
    """`is_relaxed`: it need not compute in float32. `ratio`: of a peer, the median of ours that is
    as exact over its own. `host_timings_ms` and `host_share`: what this machine took of its
    executions, of a model that NNAPI runs parts of. `rounds_ms` are the executions that count, or
    some of them where there are very many, by the rounds of the turns that engines take.
    `disputed`: how the outputs disagree with the reference's, where they are not wrong altogether
    and it is timed all the same."""

    title: str
    version: str
    timings_ms: Timings | None = None
    warmup_ms: Timings | None = None
    host_timings_ms: Timings | None = None
    host_share: float | None = None
    rounds_ms: list[list[float]] = msgspec.field(default_factory=list)
    runs: int
    median_ms: float | None
    quartiles_ms: tuple[float, float] | None
    min_ms: float | None
    prepare_ms: float | None
    first_ms: float | None
    peak_memory_bytes: int | None
    base_memory_bytes: int | None
    device_memory: DeviceMemory | None = None
    agreement: list[OutputAgreement] | None
    failed: bool
    reason: str
    notes: list[str]
    share_of_peak: float | None
    is_relaxed: bool = False
    ratio: float | None = None
    disputed: str = ""


class Latencies(Record, frozen=True, kw_only=True):
    throughput_per_s: float
    runs: int
    median_ms: float | None
    p90_ms: float | None
    p99_ms: float | None


class Priorities(Record, frozen=True, kw_only=True):
    high: Latencies
    low: Latencies


class Clients(Record, frozen=True, kw_only=True):
    """So many at the same time."""

    clients: int
    ours: Latencies
    peer: Latencies | None
    ratio_to_peer: float | None
    p99_ratio_to_peer: float | None
    priorities: Priorities | None


class ManyClients(Record, frozen=True, kw_only=True):
    peer: str | None
    reason: str
    results: list[Clients]


class Result(Record, frozen=True, kw_only=True):
    """A model with so many threads. `target`: what ours was reached as. `core_paces`: additions per
    nanosecond of the core that all engines had in a round, if they had the same. `parts`: how many
    it runs in, of which the host, or LiteRT where that is the device, has `host_parts`. Of a file
    that NNAPI runs in parts, `multiply_adds`, `constant_bytes` and `type` are of what it runs."""

    benchmark_model: Model | None = None
    waited: Waited | None = None
    conditions: Conditions | None = None
    sustained: Sustained | None = None
    target: str = ""
    parts: int = 1
    host_parts: int = 0
    model: str
    type: str
    size: int
    threads: int
    multiply_adds: int
    constant_bytes: int
    reference: str
    ratio_to_best_peer: float | None
    best_peer: str | None
    core_paces: list[float] = msgspec.field(default_factory=list)
    engines: dict[str, Engine]
    clients: ManyClients | None
    profile: list[Node]


class Skipped(Record, frozen=True, kw_only=True):
    model: str
    type: str
    reason: str


class Side(Record, frozen=True, kw_only=True):
    """One of two sides that are compared. `hal`: as it was asked for."""

    name: str
    words: str
    device: str
    backends: list[str]
    fast_math: bool
    mode: str
    hal: str = ""
    result: Result


class Comparison(Record, frozen=True, kw_only=True):
    """Of medians. `ratio` is that of after to before: below 1 is faster. `interval` is the ratio's
    with 95 % confidence, `p` that of a test that they are the same."""

    before_ms: float
    after_ms: float
    ratio: float
    interval: tuple[float, float]
    p: float
    significant: bool


class Pair(Record, frozen=True, kw_only=True):
    """Two that took turns."""

    a: Side
    b: Side
    comparison: Comparison | None


class Bench(Document, frozen=True, kw_only=True):
    """`version`: Halyard's, if the package is installed. `same_core`: engines of one thread had
    the same one in a round."""

    date: str
    version: str = ""
    device: Device | None = None
    target: str = ""
    pairs: list[Pair] = msgspec.field(default_factory=list)
    machine: Machine
    backends: list[str]
    fast_math: bool
    runs: int
    burners: int
    same_core: bool = False
    peers: list[Peer]
    ok: bool
    complete: bool
    results: list[Result]
    not_compared: list[NotCompared] = msgspec.field(default_factory=list)
    skipped: list[Skipped]
