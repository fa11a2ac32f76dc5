# SPDX-License-Identifier: Apache-2.0
"""What `halyard bench --json` writes."""

from __future__ import annotations

from halyard.machine import Peak
from halyard.records.record import Document, Error, Record
from halyard.records.run import Node


class Machine(Record, frozen=True, kw_only=True):
    cpu: str
    architecture: str
    cores: int
    system: str
    cpus: list[int]
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
    title: str
    version: str
    runs: int
    median_ms: float | None
    quartiles_ms: tuple[float, float] | None
    min_ms: float | None
    prepare_ms: float | None
    first_ms: float | None
    peak_memory_bytes: int | None
    base_memory_bytes: int | None
    agreement: list[OutputAgreement] | None
    failed: bool
    reason: str
    notes: list[str]
    share_of_peak: float | None


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
    """A model with so many threads."""

    model: str
    type: str
    size: int
    threads: int
    multiply_adds: int
    constant_bytes: int
    reference: str
    ratio_to_best_peer: float | None
    best_peer: str | None
    engines: dict[str, Engine]
    clients: ManyClients | None
    profile: list[Node]


class Skipped(Record, frozen=True, kw_only=True):
    model: str
    type: str
    reason: str


class Bench(Document, frozen=True, kw_only=True):
    date: str
    machine: Machine
    backends: list[str]
    fast_math: bool
    runs: int
    burners: int
    peers: list[Peer]
    ok: bool
    complete: bool
    results: list[Result]
    skipped: list[Skipped]
