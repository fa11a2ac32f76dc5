# SPDX-License-Identifier: Apache-2.0
"""Each node's times, beside the machine's peak rates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from halyard.proto import halyard_pb2 as pb
from halyard.records.run import Node
from halyard.terminal.console import Terminal
from halyard.terminal.durations import microseconds
from halyard.timing.machine import Peak

_LABEL = re.compile(r"operation (\d+) \((\w+)\)")
_NUMBERS = ["ms", "share", "rate", "peak"]
_DEVICE = "device ms"
# Backends that compute elsewhere than on the processor, whose peak is known.
ON_DEVICES = frozenset({"GpuAcc"})


@dataclass(frozen=True)
class NodeTime:
    """One node, or several that a kernel computes together. Times are medians of executions."""

    row: pb.NodeProfile
    total_ns: int  # of all nodes together
    peak: Peak | None

    @property
    def milliseconds(self) -> float:
        return self.row.median_ns / 1e6

    @property
    def device_milliseconds(self) -> float | None:
        """Of them, as the device that computed it tells. None where none does."""
        return self.row.median_device_ns / 1e6 if self.row.median_device_ns else None

    @property
    def share(self) -> float:
        """Of the time of all nodes."""
        return self.row.median_ns / self.total_ns if self.total_ns else 0.0

    @property
    def is_arithmetic(self) -> bool:
        """It has multiply-adds, and is measured by them; anything else by what it moves."""
        return self.row.multiply_adds > 0

    @property
    def is_float(self) -> bool:
        return self.row.type in ("FLOAT32", "FLOAT16")

    @property
    def is_copy(self) -> bool:
        """To a device, or from it."""
        return self.row.node == "Copy"

    @property
    def rate(self) -> float | None:
        """In 10^9 operations, of which a multiply-add is two, or bytes a second; of the device's
        time where it tells one. None where neither is known, as of what the host runs."""
        amount = 2 * self.row.multiply_adds if self.is_arithmetic else self.row.bytes
        nanoseconds = self.row.median_device_ns or self.row.median_ns
        if nanoseconds == 0 or amount == 0:
            return None
        return amount / nanoseconds

    @property
    def unit(self) -> str:
        if not self.is_arithmetic:
            return "GB/s"
        return "GFLOP/s" if self.is_float else "GOP/s"

    @property
    def share_of_peak(self) -> float | None:
        """None where the machine's is not known, and of what a device computes, which the machine's
        says nothing of. What stays in caches moves faster than memory."""
        if self.peak is None or self.rate is None or self.row.backend in ON_DEVICES:
            return None
        if not self.is_arithmetic:
            most = self.peak.copy_gb_per_s
        else:
            most = self.peak.float32_gflops if self.is_float else self.peak.int8_gops
        return self.rate / most if most else None

    @property
    def name(self) -> str:
        """Short: "3 CONV_2D", and how many more nodes it stands for."""
        name = short_name(self.row.label)
        more = max(self.row.nodes, 1) - 1
        return f"{name} +{more}" if more else name

    def record(self) -> Node:
        return Node(
            operations=list(self.row.operations),
            label=self.row.label,
            node=self.row.node,
            nodes=self.row.nodes,
            type=self.row.type,
            backend=self.row.backend,
            partition=self.row.partition,
            kernel=self.row.kernel,
            median_ms=self.milliseconds,
            device_ms=self.device_milliseconds,
            share=self.share,
            bytes=self.row.bytes,
            multiply_adds=self.row.multiply_adds,
            rate=self.rate,
            unit=self.unit,
            share_of_peak=self.share_of_peak,
        )


def short_name(label: str) -> str:
    """Of a node: "3 CONV_2D"."""
    return _LABEL.sub(r"\1 \2", label)


def operation_of(label: str) -> str:
    """Of a node: "CONV_2D"; empty where it stems from none."""
    found = _LABEL.search(label)
    return found[2] if found else ""


def node_times(rows: Sequence[pb.NodeProfile], peak: Peak | None = None) -> list[NodeTime]:
    """`peak`: of as many threads as the executions had."""
    total = sum(row.median_ns for row in rows)
    return [NodeTime(row, total, peak) for row in rows]


def print_profile(terminal: Terminal, times: Sequence[NodeTime]) -> None:
    """Within 80 columns, if names are no longer than most, and no device tells times of its own.
    `peak`: the share of it."""
    told = any(time.device_milliseconds is not None for time in times)
    numbers = [_NUMBERS[0], *([_DEVICE] if told else []), *_NUMBERS[1:]]
    terminal.table(
        ["node", *numbers, "kernel"],
        [
            [
                time.name,
                microseconds(time.milliseconds),
                *([_on_device(time)] if told else []),
                _percent(time.share),
                "" if time.rate is None else f"{time.rate:.1f} {time.unit}",
                "" if time.share_of_peak is None else _percent(time.share_of_peak),
                time.row.kernel or time.row.backend,
            ]
            for time in times
        ],
        numbers=numbers,
    )
    for line in totals(times):
        terminal.line(line)


def totals(times: Sequence[NodeTime]) -> list[str]:
    """Of what computes, and of what is copied to and from devices."""
    copies = [time for time in times if time.is_copy]
    nodes = [time for time in times if not time.is_copy]
    on_device = [time.device_milliseconds for time in nodes if time.device_milliseconds is not None]
    text = f"all nodes: {microseconds(sum(time.milliseconds for time in nodes))} ms"
    if on_device:
        text += f", {microseconds(sum(on_device))} ms of it on the device"
    lines = [text]
    for time in copies:
        count = max(time.row.nodes, 1)
        lines.append(
            f"{time.row.label}: {count}, {_bytes(time.row.bytes)}, "
            f"{microseconds(time.milliseconds)} ms"
        )
    return lines


def _on_device(time: NodeTime) -> str:
    return "" if time.device_milliseconds is None else microseconds(time.device_milliseconds)


def _bytes(size: int) -> str:
    return f"{size / 2**20:.2f} MiB" if size >= 2**20 else f"{size / 2**10:.1f} KiB"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%" if share >= 0.1 else f"{100 * share:.1f}%"
