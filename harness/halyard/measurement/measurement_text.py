# SPDX-License-Identifier: Apache-2.0
"""Measurements in words."""

from collections.abc import Mapping, Sequence

from halyard.benchmark_model import BenchmarkModel, FileModel
from halyard.comparison.difference import Difference, allowed_error
from halyard.devices import conditions
from halyard.devices.device import Device
from halyard.engines.placement import lost_forms, refusals, shares
from halyard.measurement.measurement import Measurement
from halyard.model import HostPart
from halyard.profiling.node_times import print_profile, short_name
from halyard.proto import halyard_pb2 as pb
from halyard.records import device_memory
from halyard.records.conditions import Conditions
from halyard.records.sustained import Sustained
from halyard.terminal.console import Terminal
from halyard.terminal.durations import milliseconds

# Of the placement's lines, so that with what stands before them they fit 80 columns.
_WIDTH = 76
# Of what a line of "key        value" begins with.
_INDENT = 11


def print_measurement(terminal: Terminal, measurement: Measurement) -> None:
    result = measurement.result
    driver = f", {result.version_string}" if result.version_string else ""
    if measurement.is_in_litert:
        terminal.detail(f"LiteRT     {measurement.device}{driver}")
    else:
        terminal.detail(f"HAL        {measurement.hal} ({result.target}{driver})")
    for problem in measurement.problems:
        terminal.detail(f"PROBLEM    {problem}")
    for note in measurement.notes:
        terminal.detail(f"note       {note}")
    if measurement.execution is None:
        return
    for line in agreement(measurement):
        terminal.detail(f"agreement  {line}")
    terminal.detail(f"time       {times(measurement)}")
    if spread := spread_of(measurement):
        terminal.detail(f"spread     {spread}")
    source = " from the cache" if result.prepared_from_cache else ""
    terminal.detail(f"prepared   in {result.prepare_ns / 1e6:.1f} ms{source}{memory(measurement)}")
    if held := device_memory.text(device_memory.of(result.memory)):
        terminal.detail(f"holds      {held}")
    for line in placement(measurement):
        terminal.detail(line)
    if measurement.profile:
        terminal.line()
        print_profile(terminal, measurement.profile)


def agreement(measurement: Measurement) -> list[str]:
    """A line per output."""
    if measurement.differences is None:
        reason = measurement.reference.reason
        return [f"not compared: {reason}"] if reason else ["-"]
    operations = len(measurement.benchmark_model.runnable.model.main.operations)
    return [
        f"with {measurement.reference.name}: {difference.text()}{_allowed(difference, operations)}"
        for difference in measurement.differences
    ]


def _allowed(difference: Difference, operations: int) -> str:
    if not difference.is_half:
        return ""
    return f"; float16 may be off by {allowed_error(difference, operations):.3g}"


def times(measurement: Measurement) -> str:
    wall = measurement.wall
    if wall is None:
        return "unknown"
    runs = _counted(len(wall.values), "run")
    how = "emulated: " if measurement.emulated else ""
    text = (
        f"{how}median {milliseconds(wall.median)} ms (min {milliseconds(min(wall.values))}, "
        f"max {milliseconds(max(wall.values))}, first {milliseconds(wall.first)}; {runs})"
    )
    if measurement.in_driver is not None:
        text += f", of which in the driver {milliseconds(measurement.in_driver.median)} ms"
    if measurement.on_device is not None:
        text += f", in its backends {milliseconds(measurement.on_device.median)} ms"
    if measurement.host is not None:
        text += f", on the host {milliseconds(measurement.host.median)} ms"
    if measurement.peer is not None:
        threads = measurement.reference.threads
        on = _counted(threads, "thread")
        name = measurement.reference.name
        text += f"; {name} on this machine {milliseconds(measurement.peer.median)} ms ({on})"
    return text


def spread_of(measurement: Measurement) -> str:
    """Empty of too few executions to tell."""
    summary = measurement.wall.summary if measurement.wall else None
    if summary is None or summary.interval is None:
        return ""
    low, high = map(milliseconds, summary.interval)
    return (
        f"the median is within {low} to {high} ms (95 %); p90 {milliseconds(summary.p90)}, "
        f"p99 {milliseconds(summary.p99)}, std {milliseconds(summary.std)} ms"
    )


def memory(measurement: Measurement) -> str:
    """The model's constants are used where they lie, unless a backend packs them anew."""
    held = measurement.result.memory
    constants = measurement.benchmark_model.runnable.constant_bytes
    if not held.constant_bytes and not held.arena_bytes:
        return ""
    return (
        f"; constants {constants / 2**20:.2f} MiB"
        f", {held.constant_bytes / 2**20:.2f} MiB more packed by backends"
        f", arena {_kib(held.arena_bytes)}"
    )


def _counted(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count} {noun}s"


def _kib(size: int) -> str:
    return f"{size / 2**10:.0f} KiB"


def placement(measurement: Measurement) -> list[str]:
    """The nodes that each backend ran, and by which kernels; why others refused; the copies between
    them. An operation's own node, partition and kernel stand in the JSON."""
    result = measurement.result
    rows = result.placement
    if not rows:
        return ["placement  unknown"]
    lines = []
    for share in shares(rows):
        nodes = f"{_counted(share.nodes, 'node')} in {_counted(share.partitions, 'partition')}"
        lines += _listed(f"placement  {share.backend or 'nothing'}: {nodes} (", share.kinds, ")")
        if share.kernels:
            lines += _listed("kernels    ", share.kernels, "")
    if result.partitions > 1:
        crossing = result.bytes_between_partitions / 2**10
        lines.append(f"partitions {result.partitions}, with {crossing:.1f} KiB between them")
    if result.copies:
        copied = sum(copy.bytes for copy in result.copies) / 2**10
        lines.append(f"copies     {len(result.copies)} to and from devices, with {copied:.1f} KiB")
    for backend, reason, count in refusals(rows):
        lines += _folded("refused    ", f"{backend}: {_counted(count, 'node')}: {reason}".split())
    return lines


def print_operations(terminal: Terminal, result: pb.CaseResult) -> None:
    """Where each operation's nodes ran, and which forms lost to the kernels; why other backends
    refused stands with the placement."""
    terminal.table(
        ["operation", "node", "backend", "partition", "kernel"],
        [
            [short_name(row.label), row.node, row.backend or "-", str(row.partition), row.kernel]
            for row in result.placement
        ],
        numbers=["partition"],
    )
    for row in result.vanished:
        terminal.line(f"operation {row.operation}: {row.fate}")
    for form in lost_forms(result.placement):
        for line in _folded("lost       ", str(form).split()):
            terminal.line(line)


def _listed(begin: str, counts: Mapping[str, int], end: str) -> list[str]:
    words = [f"{count} {name}" for name, count in counts.items()]
    return _folded(begin, [f"{word}," for word in words[:-1]] + [words[-1] + end])


def _folded(begin: str, words: Sequence[str]) -> list[str]:
    """Lines of no more than _WIDTH characters, where words allow; the later ones are indented."""
    lines = [begin]
    for word in words:
        gap = "" if lines[-1].endswith((" ", "(")) else " "
        if len(lines[-1] + gap + word) > _WIDTH and lines[-1].strip() != begin.strip():
            lines.append(" " * _INDENT + word)
        else:
            lines[-1] += gap + word
    return lines


# ---- before and after ---------------------------------------------------------------------------


def print_conditions(terminal: Terminal, device: Device, found: Conditions) -> None:
    """In what state the device was found before anything was done with it."""
    for line in conditions.text(found):
        terminal.detail(line)
    if device.is_emulated:
        terminal.detail("emulated     its times say nothing of a real device's")


def print_sustained(terminal: Terminal, load: Sustained | None) -> None:
    """A line for each window; nothing where there was no load."""
    if load is None:
        return
    numbers = ["from s", "runs", "per s", "median ms", "p90 ms", "°C", "MHz"]
    terminal.table(
        numbers,
        [
            [
                f"{window.begin_s:.1f}",
                str(window.runs),
                f"{window.throughput_per_s:.1f}",
                milliseconds(window.median_ms),
                milliseconds(window.p90_ms),
                "-" if window.temperature_c is None else f"{window.temperature_c:.1f}",
                "/".join(f"{mhz:.0f}" for mhz in window.mhz) or "-",
            ]
            for window in load.windows
        ],
        numbers=numbers,
    )
    energy = load.reason if load.joules_per_run is None else f"{load.joules_per_run:.3g} J per run"
    terminal.detail(
        f"{load.throughput_per_s:.1f} per s, slowdown {load.slowdown:.2f} (the first window's "
        "pace over the last one's)"
    )
    terminal.detail(f"energy: {energy}")


def show_parts(terminal: Terminal, benchmark_model: BenchmarkModel | FileModel) -> None:
    """The parts of a file that the host runs, and why; and those computed in other types than it
    says."""
    if not isinstance(benchmark_model, FileModel):
        return
    conversion = benchmark_model.conversion
    for note in conversion.notes:
        terminal.detail(f"note       {note}")
    if not conversion.unmapped:
        return
    counts = [
        f"the host {len(part.operators)}"
        if isinstance(part, HostPart)
        else f"NNAPI {len(part.model.main.operations)}"
        for part in conversion.parts
    ]
    terminal.detail(f"parts      {len(counts)}, of operations: {', '.join(counts)}")
    for each in conversion.unmapped:
        terminal.detail(f"host       {each.text()}")
