# SPDX-License-Identifier: Apache-2.0
"""Many clients of one service beside as many processes of a peer, all on the same cores.

A client executes one request after another, as fast as it is answered. Ours have a model, an
account and a thread each, and share a driver and its thread pool; the peer's are a process each.
Sides take turns in windows of time. What executes before a window begins warms up.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from halyard.engines.process import EngineProcess, ProcessEngine
from halyard.engines.served import EngineDied
from halyard.engines.workload import Workload
from halyard.errors import HalyardError
from halyard.model import Array
from halyard.proto import halyard_pb2 as pb
from halyard.records import bench
from halyard.timing import turns

ROUNDS = 4
_WARMUP_S = 0.2
# A window has room for so many executions of a client, if they take as long as there are clients
# beside it, and lasts so long.
_EXECUTIONS = 12
_WINDOW_S = (0.5, 8.0)
# Seconds between two windows, as between two turns of one client's timing.
_GAP_S = 0.02

# Priorities are told apart among the models of one process.
HIGH_BESIDE_LOW = "high beside low"


@dataclass
class Latencies:
    """Of one client or several alike, over all windows."""

    times_ms: list[float] = field(default_factory=list)
    executions: float = 0.0  # the parts of them that lie in windows
    seconds: float = 0.0  # of all windows

    @property
    def throughput(self) -> float:
        """Executions a second, of all these clients together."""
        return self.executions / self.seconds if self.seconds else 0.0

    def percentile_ms(self, percent: float) -> float | None:
        return float(np.percentile(self.times_ms, percent)) if self.times_ms else None

    def take(self, timings: Sequence[pb.Timing], from_ns: int, until_ns: int) -> None:
        """An execution that the window cuts counts for as much as lies within, and its time if it
        began there."""
        for timing in timings:
            if timing.begin_ns >= from_ns:
                self.times_ms.append(timing.wall_ns / 1e6)
            end = min(timing.begin_ns + timing.wall_ns, until_ns)
            self.executions += (end - max(timing.begin_ns, from_ns)) / max(timing.wall_ns, 1)

    def record(self) -> bench.Latencies:
        return bench.Latencies(
            throughput_per_s=self.throughput,
            runs=len(self.times_ms),
            median_ms=self.percentile_ms(50),
            p90_ms=self.percentile_ms(90),
            p99_ms=self.percentile_ms(99),
        )


@dataclass
class ClientsResult:
    """So many clients of ours, of a peer, and of ours with priorities. Empty: not measured."""

    clients: int
    ours: Latencies = field(default_factory=Latencies)
    peer: Latencies = field(default_factory=Latencies)
    high: Latencies = field(default_factory=Latencies)  # one client
    low: Latencies = field(default_factory=Latencies)  # all others, at the same time

    @property
    def ratio(self) -> float | None:
        """Of the time for as many executions: less than 1 is faster."""
        if not self.ours.throughput or not self.peer.throughput:
            return None
        return self.peer.throughput / self.ours.throughput

    @property
    def tail_ratio(self) -> float | None:
        ours, theirs = self.ours.percentile_ms(99), self.peer.percentile_ms(99)
        return ours / theirs if ours and theirs else None

    def record(self) -> bench.Clients:
        priorities = None
        if self.high.times_ms:
            priorities = bench.Priorities(high=self.high.record(), low=self.low.record())
        return bench.Clients(
            clients=self.clients,
            ours=self.ours.record(),
            peer=self.peer.record() if self.peer.times_ms else None,
            ratio_to_peer=self.ratio,
            p99_ratio_to_peer=self.tail_ratio,
            priorities=priorities,
        )


@dataclass
class ManyClients:
    """The result of one count of clients. `reason`: why something is missing; `failed`: it is our
    fault."""

    peer: str = ""  # its name and its title; empty: there is none
    peer_title: str = ""
    results: list[ClientsResult] = field(default_factory=list)
    reason: str = ""
    failed: bool = False

    def record(self) -> bench.ManyClients:
        return bench.ManyClients(
            peer=self.peer or None,
            reason=self.reason,
            results=[result.record() for result in self.results],
        )


class Side:
    """Processes that execute together: one of ours that holds clients, or a peer's, one each."""

    def __init__(self, processes: Sequence[EngineProcess], *, clients_inside: bool) -> None:
        self._processes = processes
        self._clients_inside = clients_inside

    def load(self, clients: int, warmup_s: float, window_s: float) -> Window:
        inside = self._clients_inside
        busy = self._processes if inside else self._processes[:clients]
        # Those that are told first warm up for longer; all are at work when the window begins.
        begin = time.monotonic_ns() + int(warmup_s * 1e9)
        end = begin + int(window_s * 1e9)
        for process in busy:
            process.start_load(begin, end, clients if inside else 1)
        expected = 10 * (warmup_s + window_s)
        timings: list[Sequence[pb.Timing]] = []
        for process in busy:
            timings += process.finish_load(expected_s=expected)
        if len(timings) != clients:
            raise EngineDied(f"{len(timings)} clients answered, not {clients}")
        return Window(begin, end, timings)


@dataclass(frozen=True)
class Window:
    """The executions that lie in it, whole or in part, by client."""

    from_ns: int
    until_ns: int
    timings: Sequence[Sequence[pb.Timing]]

    def into(self, *kinds: tuple[Latencies, slice]) -> None:
        for latencies, clients in kinds:
            for timings in self.timings[clients]:
                latencies.take(timings, self.from_ns, self.until_ns)
            latencies.seconds += (self.until_ns - self.from_ns) / 1e9


def window_s(milliseconds: float, clients: int) -> float:
    """Of clients of which each would take so long for an execution if it were alone."""
    least, most = _WINDOW_S
    return min(max(_EXECUTIONS * clients * milliseconds / 1e3, least), most)


def measure(
    sides: Mapping[str, Side],
    counts: Sequence[int],
    milliseconds: float,
    into: list[ClientsResult],
    progress: Callable[[str], None],
    rounds: int = ROUNDS,
) -> str:
    """`sides`: "ours", and where there are any "peer" and HIGH_BESIDE_LOW; `milliseconds`: of the
    slowest one's execution alone. EngineDied, of ours, ends it with what was measured until then.
    A peer that fails is left out from then on; what is returned is why."""
    left = dict(sides)
    reason = ""
    results = {count: ClientsResult(count) for count in counts}
    into += results.values()
    for number in range(rounds):
        for count, result in results.items():
            for name in turns.order(list(left), number):
                if name == HIGH_BESIDE_LOW and count == 1:
                    continue
                clients = "1 client" if count == 1 else f"{count} clients"
                progress(f"round {number + 1} of {rounds}, {clients}, {name}")
                time.sleep(_GAP_S)
                warmup = max(_WARMUP_S, 2 * count * milliseconds / 1e3)
                try:
                    window = left[name].load(count, warmup, window_s(milliseconds, count))
                except EngineDied as error:
                    if name != "peer":
                        raise
                    del left[name]
                    reason = str(error)
                    continue
                if name == HIGH_BESIDE_LOW:
                    window.into((result.high, slice(0, 1)), (result.low, slice(1, None)))
                else:
                    side = result.ours if name == "ours" else result.peer
                    window.into((side, slice(None)))
    return reason


def start(
    stack: contextlib.ExitStack,
    engines: Sequence[ProcessEngine],
    work: Workload,
    check: Callable[[Sequence[Array]], Sequence[str]],
    *,
    clients_inside: bool,
) -> Side:
    """Prepares the clients, one process after another. HalyardError where one fails, or where the
    outputs of its first execution are wrong (`check`)."""
    processes = []
    for engine in engines:
        process = stack.enter_context(engine.prepare(work))
        for outputs in process.run_all():
            if problems := check(outputs):
                raise HalyardError(f"{engine.title}: {'; '.join(problems)}")
        processes.append(process)
    return Side(processes, clients_inside=clients_inside)
