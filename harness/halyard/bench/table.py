# SPDX-License-Identifier: Apache-2.0
"""A benchmark's results in words."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from halyard.bench.clients import Latencies
from halyard.bench.pair import Pair
from halyard.bench.ratios import Grid, Ratio
from halyard.bench.results import EngineResult, ModelResult, disagreement
from halyard.engines.peers import FoundPeer
from halyard.measurement import tflite_lines
from halyard.profiling.node_times import node_times, print_profile
from halyard.records import device_memory
from halyard.terminal.console import Terminal
from halyard.terminal.durations import milliseconds
from halyard.timing.machine import Peak
from halyard.timing.statistics import Summary


def print_peers(terminal: Terminal, found: Sequence[FoundPeer]) -> None:
    """Before anything takes long: who wants ratios need not wait for a run without them."""
    told = set()
    for entry in found:
        text = entry.version if entry.available else f"left out: {entry.reason}"
        title = _FAMILIES.get(entry.peer.family, entry.peer.title)
        if (title, text) not in told:
            told.add((title, text))
            terminal.detail(f"{title:12}  {text}")
    if not any(entry.available for entry in found):
        terminal.line("No peer is there: there will be times, and no ratios.")
    elif any(entry.peer.name == "litert" and not entry.available for entry in found):
        terminal.line("LiteRT is not there: of its files and the zoo's, no outputs are compared.")


def print_peaks(terminal: Terminal, peaks: Mapping[int, Peak]) -> None:
    terminal.table(
        ["threads", "float32 GFLOP/s", "int8 GOP/s", "read GB/s", "copy GB/s", "with"],
        [
            [
                str(peak.threads),
                f"{peak.float32_gflops:.0f}",
                f"{peak.int8_gops:.0f}",
                f"{peak.read_gb_per_s:.1f}",
                f"{peak.copy_gb_per_s:.1f}",
                f"{peak.float32_kernel}, {peak.int8_kernel}",
            ]
            for peak in peaks.values()
        ],
        numbers=["threads", "float32 GFLOP/s", "int8 GOP/s", "read GB/s", "copy GB/s"],
    )


_NUMBERS = ["ms", "ratio", "quartiles", "runs", "prepare", "memory", "of peak"]
# Of peers that are one package.
_FAMILIES = {"torch": "PyTorch"}


def print_model(terminal: Terminal, result: ModelResult, peak: Peak) -> None:
    """An engine a line; why one has no times stands below. One whose outputs are wrong has a line
    that says how far they are off."""
    terminal.table(
        ["engine", *_NUMBERS, "differs by"],
        [
            _row(engine, result, peak)
            for engine in result.engines
            if engine.times_ms or _differs(engine)
        ],
        numbers=_NUMBERS,
    )
    for engine in result.engines:
        if engine.reason:
            # That a peer fails is no failure of ours.
            kind = "PROBLEM  " if engine is result.ours else "left out  "
            terminal.detail(f"{kind if engine.failed else ''}{engine.title}: {engine.reason}")
        if engine.disputed:
            terminal.detail(f"disputed  {engine.title}: {engine.disputed}")
        for note in engine.notes:
            terminal.detail(f"note  {engine.title}: {note}")
        if held := device_memory.text(engine.device_memory):
            terminal.detail(f"{engine.title}: {held}")
    for engine in result.engines:
        print_host(terminal, engine)
    print_tflite_lines(terminal, result.ours)


def print_host(terminal: Terminal, engine: EngineResult) -> None:
    """This machine's part of a model that NNAPI runs parts of."""
    if engine.host_share is not None:
        terminal.detail(
            f"{engine.title}: on the host {_milliseconds(statistics.median(engine.host_ms))} ms of "
            f"{_milliseconds(engine.median_ms)} ms, {100 * engine.host_share:.0f} % of the time"
        )


def print_tflite_lines(terminal: Terminal, engine: EngineResult) -> None:
    """In the form that scripts look for."""
    if engine.times_ms and engine.prepare_ms is not None and engine.first_ms is not None:
        for line in tflite_lines.lines(
            engine.prepare_ms, engine.first_ms, engine.warmup_ms, engine.times_ms
        ):
            terminal.line(line)


def print_pair(terminal: Terminal, pair: Pair) -> None:
    numbers = ["median ms", "p90 ms", "runs", "prepare", "first ms"]
    rows = []
    for side in (pair.a, pair.b):
        engine = side.engine
        if engine.times_ms:
            summary = Summary.of(engine.times_ms)
            rows.append(
                [
                    engine.title,
                    _milliseconds(summary.p50),
                    _milliseconds(summary.p90),
                    str(summary.count),
                    f"{engine.prepare_ms or 0.0:.0f} ms",
                    _milliseconds(engine.first_ms),
                    disagreement(engine),
                ]
            )
    terminal.table(["side", *numbers, "differs by"], rows, numbers=numbers)
    for side in (pair.a, pair.b):
        if side.engine.reason:
            terminal.detail(f"PROBLEM  {side.engine.title}: {side.engine.reason}")
        for note in side.engine.notes:
            terminal.detail(f"note  {side.engine.title}: {note}")
        print_host(terminal, side.engine)
        print_tflite_lines(terminal, side.engine)
    found = pair.comparison
    if found is None:
        return
    low, high = found.interval
    verdict = "they are not told apart"
    if found.significant:
        verdict = "B is slower" if found.ratio > 1 else "B is faster"
    terminal.line(
        f"B takes {found.ratio:.3f} of A's time (95 %: {low:.3f} to {high:.3f}; p {found.p:.2g}): "
        f"{verdict}"
    )


def _differs(engine: EngineResult) -> bool:
    return engine.failed and engine.differences is not None


def print_clients(terminal: Terminal, result: ModelResult) -> None:
    """A line for each side of each number of clients."""
    many = result.clients
    if many is None:
        return
    rows = []
    for entry in many.results:
        ratio = "" if entry.ratio is None else f"{entry.ratio:.2f}"
        tail = "" if entry.tail_ratio is None else f"{entry.tail_ratio:.2f}"
        rows += [
            _clients_row(entry.clients, result.ours.title, entry.ours, ratio, tail),
            _clients_row(entry.clients, many.peer_title, entry.peer),
            _clients_row(1, "  high priority, beside", entry.high),
            _clients_row(entry.clients - 1, "  low priority", entry.low),
        ]
    numbers = ["clients", "per s", "median", "p90", "p99", "ratio", "of p99"]
    terminal.table(
        ["clients", "of", *numbers[1:]],
        [row for row in rows if row[2]],
        numbers=numbers,
    )
    if many.reason:
        terminal.detail(f"{'PROBLEM  ' if many.failed else ''}{many.reason}")


def _clients_row(
    clients: int, title: str, latencies: Latencies, ratio: str = "", tail: str = ""
) -> list[str]:
    """Without figures where none were measured."""
    measured = bool(latencies.times_ms)
    return [
        str(clients),
        title,
        f"{latencies.throughput:.1f}" if measured else "",
        *(_milliseconds(latencies.percentile_ms(percent)) for percent in (50, 90, 99)),
        ratio,
        tail,
    ]


def print_nodes(terminal: Terminal, result: ModelResult, peak: Peak) -> None:
    if result.profile:
        terminal.line()
        print_profile(terminal, node_times(result.profile, peak))


def _row(engine: EngineResult, result: ModelResult, peak: Peak) -> list[str]:
    low, high = engine.quartiles_ms or (None, None)
    memory = engine.model_memory_bytes
    ratio = result.ratio_to(engine)
    return [
        engine.title,
        _milliseconds(engine.median_ms),
        "" if ratio is None else f"{ratio:.2f}",
        "-" if low is None else f"{_milliseconds(low)}-{_milliseconds(high)}",
        str(len(engine.times_ms)),
        f"{engine.prepare_ms or 0.0:.0f} ms",
        "" if memory is None else f"{memory / 2**20:.0f} MiB",
        _percent(result.share_of_peak(engine, peak)),
        disagreement(engine),
    ]


def print_summary(
    terminal: Terminal, results: Sequence[ModelResult], peaks: Mapping[int, Peak]
) -> None:
    rows = []
    for result in results:
        for ours in (result.ours, result.relaxed):
            if ours is None:
                continue
            best, ratio = result.best_beside(ours), result.ratio_of(ours)
            rows.append(
                [
                    result.model,
                    f"{result.data_type}{', relaxed' if ours is result.relaxed else ''}",
                    str(result.threads),
                    _milliseconds(ours.median_ms),
                    "-" if ratio is None else f"{ratio:.2f}",
                    best.title if best else "-",
                    _percent(result.share_of_peak(ours, peaks[result.threads])),
                    _percent(ours.host_share),
                ]
            )
    columns = ["model", "type", "threads", "ms", "ratio", "to", "of peak", "on the host"]
    if not any(result.host_parts and not result.is_counted for result in results):
        columns.pop()
        rows = [row[:-1] for row in rows]
    terminal.table(
        columns,
        rows,
        numbers=["threads", "ms", "ratio", "of peak", *columns[7:]],
    )


def print_own_rounds(terminal: Terminal, results: Sequence[ModelResult]) -> None:
    """Nothing unless all engines had the same core in a round."""
    fastest = max((pace for result in results for pace in result.core_paces), default=0.0)
    rows = []
    for result in results:
        if result.core_paces:
            own = result.own_rounds(fastest)
            ratio = "-" if own.ratio is None else f"{own.ratio:.2f}"
            rows.append([result.model, str(result.data_type), f"{own.count} of {own.of}", ratio])
    if rows:
        terminal.heading("Where the core was the engines' own")
        terminal.table(["model", "type", "rounds", "ratio"], rows, numbers=["rounds", "ratio"])


def print_ratios(terminal: Terminal, results: Sequence[ModelResult]) -> None:
    """How they change with the number of threads; nothing where there is but one."""
    if len({result.threads for result in results}) < 2:
        return
    ratios = []
    for result in results:
        for ours in (result.ours, result.relaxed):
            if ours is not None:
                word = ", relaxed" if ours is result.relaxed else ""
                ratios.append(
                    Ratio(
                        result.model,
                        f"{result.data_type}{word}",
                        result.threads,
                        result.ratio_of(ours),
                    )
                )
    grid = Grid.of(ratios)
    terminal.heading("Ratios to the best peer")
    terminal.table(grid.head, grid.rows, numbers=grid.numbers)


def print_left_out(terminal: Terminal, results: Sequence[ModelResult]) -> None:
    """Which peers do not count for which models, and why."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for result in results:
        for engine in result.engines[1:]:
            if engine.reason and not result.ours.failed:
                where = f"{result.model} {result.data_type}, {result.threads} thread"
                where += "s" if result.threads > 1 else ""
                first = engine.reason.splitlines()[0]
                reasons.setdefault((engine.title, first), []).append(where)
    for (title, reason), places in reasons.items():
        terminal.detail(f"{title} does not count: {reason}")
        for place in places:
            terminal.detail(f"    {place}")


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else milliseconds(value)


def _percent(share: float | None) -> str:
    return (
        "-" if share is None else f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.1f} %"
    )
