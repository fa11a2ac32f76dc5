# SPDX-License-Identifier: Apache-2.0
"""The traces that the driver writes of its executions (`--trace`), and what they say of nodes."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec

from halyard.errors import HalyardError
from halyard.model import type_name
from halyard.model.multiply_adds import multiply_adds_of
from halyard.proto import halyard_pb2 as pb

_LABEL = re.compile(r"operation (\d+) \(\w+\)")


@dataclass(frozen=True)
class Slice:
    """Some work, by CLOCK_MONOTONIC in nanoseconds. `category`: driver, partition, node or copy."""

    name: str  # by NNAPI's contract: "[NN_LC_PCO]operation 3 (CONV_2D)"
    category: str
    track: str  # a backend, a queue of it, or the driver
    begin_ns: int
    time_ns: int
    kernel: str = ""
    node: str = ""  # the label of a node: "operation 3 (CONV_2D)"
    kind: str = ""  # of a node: "Conv2d"
    fused: tuple[str, ...] = ()  # labels of nodes that it computed as well
    bytes: int = 0
    device_ns: int = 0  # of the time, as a device tells; 0: none does

    @property
    def end_ns(self) -> int:
        return self.begin_ns + self.time_ns


@dataclass(frozen=True)
class Execution:
    process: int
    thread: int
    left_out: int  # slices that were too many
    slices: Sequence[Slice]


# A device may send anything: no valid time is before the clock's beginning, nor after some hundred
# years.
_Count = Annotated[int, msgspec.Meta(ge=0, lt=2**62)]
_Pid = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
_Microseconds = Annotated[float, msgspec.Meta(ge=0, lt=2**52)]


class _Arguments(msgspec.Struct):
    bytes: _Count = 0
    device_us: _Microseconds = 0.0
    kernel: str = ""
    node: str = ""
    kind: str = ""
    fused: tuple[str, ...] = ()
    name: str = ""  # of a track


class _Event(msgspec.Struct):
    ph: str
    tid: int
    name: str
    cat: str = ""
    ts: _Microseconds = 0.0
    dur: _Microseconds = 0.0
    args: _Arguments = msgspec.field(default_factory=_Arguments)


class _Other(msgspec.Struct):
    left_out: _Count
    begin_ns: _Count
    pid: _Pid
    tid: _Pid


class _File(msgspec.Struct):
    events: list[_Event] = msgspec.field(name="traceEvents")
    other: _Other = msgspec.field(name="otherData")


def read(content: bytes) -> Execution:
    """HalyardError for what is no such file."""
    try:
        file = msgspec.json.decode(content, type=_File)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise HalyardError(f"this is no trace of an execution: {error}") from error
    tracks = {each.tid: each.args.name for each in file.events if each.ph == "M"}
    return Execution(
        file.other.pid,
        file.other.tid,
        file.other.left_out,
        [
            Slice(
                each.name,
                each.cat,
                tracks.get(each.tid, str(each.tid)),
                # Three decimals of a microsecond: whole nanoseconds.
                file.other.begin_ns + round(each.ts * 1000),
                round(each.dur * 1000),
                each.args.kernel,
                each.args.node,
                each.args.kind,
                each.args.fused,
                each.args.bytes,
                round(each.args.device_us * 1000),
            )
            for each in file.events
            if each.ph == "X"
        ],
    )


def node_profiles(
    model: pb.Model, executions: Sequence[Execution], placement: Sequence[pb.Placement] = ()
) -> list[pb.NodeProfile]:
    """Each node's times, as medians over the executions, in the order in which they first ran. A
    node that runs several times in one, as in a WHILE, counts with all of them."""
    rows: dict[tuple[str, str, str], _Row] = {}
    for number, execution in enumerate(executions):
        for each in execution.slices:
            if each.category in ("node", "copy"):
                key = (each.track, each.node, each.kernel)
                rows.setdefault(key, _Row(each)).add(number, each)
    placed = {row.label: row for row in placement}
    return [row.profile(model, len(executions), placed) for row in rows.values()]


class _Row:
    def __init__(self, first: Slice) -> None:
        self._first = first
        self._times: dict[int, int] = {}
        self._device_times: dict[int, int] = {}
        self._bytes: dict[int, int] = {}
        self._count: dict[int, int] = {}

    def add(self, execution: int, each: Slice) -> None:
        self._times[execution] = self._times.get(execution, 0) + each.time_ns
        self._device_times[execution] = self._device_times.get(execution, 0) + each.device_ns
        self._bytes[execution] = self._bytes.get(execution, 0) + each.bytes
        self._count[execution] = self._count.get(execution, 0) + 1

    def profile(
        self, model: pb.Model, executions: int, placed: dict[str, pb.Placement]
    ) -> pb.NodeProfile:
        first = self._first
        is_copy = first.category == "copy"
        labels = [first.node, *first.fused]
        operations = {
            operation
            for label in labels
            for operation in (placed[label].operations if label in placed else _number(label))
        }
        # An execution in which it did not run took none of it.
        times = [self._times.get(number, 0) for number in range(executions)]
        device_times = [self._device_times.get(number, 0) for number in range(executions)]
        return pb.NodeProfile(
            operations=sorted(operations),
            label=f"copies {first.kernel}" if is_copy else first.node,
            node="Copy" if is_copy else first.kind,
            type=_type(model, _number(first.node)),
            backend=placed[first.node].backend if first.node in placed else first.track,
            partition=placed[first.node].partition if first.node in placed else 0,
            kernel=first.kernel,
            median_ns=round(statistics.median(times)),
            median_device_ns=round(statistics.median(device_times)),
            bytes=max(self._bytes.values()),
            multiply_adds=0 if is_copy else multiply_adds_of(model, sorted(operations)),
            nodes=max(self._count.values()) if is_copy else len(labels),
        )


def _number(label: str) -> list[int]:
    """Of the operation of the main subgraph that a node is called after."""
    found = _LABEL.fullmatch(label)
    return [int(found[1])] if found else []


def _type(model: pb.Model, operations: Sequence[int]) -> str:
    for number in operations:
        if number < len(model.main.operations) and model.main.operations[number].inputs:
            first = model.main.operations[number].inputs[0]
            return type_name(model.main.operands[first].type)
    return ""
