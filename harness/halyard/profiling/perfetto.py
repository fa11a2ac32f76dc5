# SPDX-License-Identifier: Apache-2.0
"""Perfetto's own format: a file of TracePackets, which ui.perfetto.dev and trace_processor read.

Of its messages only a few fields are needed, so they are written by hand here: the numbers are
those of perfetto's `trace_packet.proto`, `track_event.proto` and `track_descriptor.proto`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

# trace.proto
_PACKET = 1
# trace_packet.proto
_TIMESTAMP, _SEQUENCE, _TRACK_EVENT, _TRACK_DESCRIPTOR, _SEQUENCE_FLAGS = 8, 10, 11, 60, 13
_CLEARS_STATE = 1
# track_descriptor.proto, process_descriptor.proto, thread_descriptor.proto,
# counter_descriptor.proto
_UUID, _NAME, _PROCESS, _THREAD, _PARENT, _COUNTER = 1, 2, 3, 4, 5, 8
_PROCESS_PID, _PROCESS_NAME = 1, 6
_THREAD_PID, _THREAD_TID, _THREAD_NAME = 1, 2, 5
_UNIT_NAME = 6
# track_event.proto
_ANNOTATION, _TYPE, _EVENT_TRACK, _CATEGORY, _EVENT_NAME, _DOUBLE_VALUE = 4, 9, 11, 22, 23, 44
_BEGIN, _END, _COUNT = 1, 2, 4
# debug_annotation.proto
_UINT_VALUE, _STRING_VALUE, _ANNOTATION_NAME = 3, 6, 10

# Whoever writes a trace is told apart from others by this.
_OURS = 1


@dataclass(frozen=True)
class Slice:
    """Slices of a track lie one in the other, or one behind the other."""

    name: str
    begin_ns: int
    end_ns: int
    category: str = ""
    arguments: Mapping[str, str | int] = field(default_factory=dict)


@dataclass(frozen=True)
class Thread:
    """A track of slices. With a process, it is a thread of it."""

    name: str
    slices: Sequence[Slice]
    process: int = 0
    process_name: str = ""
    thread: int = 0


@dataclass(frozen=True)
class Counter:
    """A track of numbers, each from its time on."""

    name: str
    unit: str
    samples: Sequence[tuple[int, float]]  # nanoseconds, and the value


def encode(threads: Sequence[Thread], counters: Sequence[Counter]) -> bytes:
    """Times are by the clock that Perfetto takes where none is named, CLOCK_BOOTTIME."""
    return b"".join(_message(_PACKET, packet) for packet in _packets(threads, counters))


def _packets(threads: Sequence[Thread], counters: Sequence[Counter]) -> Iterator[bytes]:
    flags = _number(_SEQUENCE_FLAGS, _CLEARS_STATE)
    uuids = iter(range(1, 2**31))
    processes: dict[int, int] = {}
    for thread in threads:
        parent = b""
        if thread.process and thread.process not in processes:
            processes[thread.process] = next(uuids)
            about = _number(_PROCESS_PID, thread.process) + _text(
                _PROCESS_NAME, thread.process_name
            )
            yield _descriptor(processes[thread.process], _message(_PROCESS, about)) + flags
            flags = b""
        uuid = next(uuids)
        if thread.process:
            parent = _number(_PARENT, processes[thread.process])
            about = (
                _number(_THREAD_PID, thread.process)
                + _number(_THREAD_TID, thread.thread)
                + _text(_THREAD_NAME, thread.name)
            )
            yield _descriptor(uuid, parent + _message(_THREAD, about)) + flags
        else:
            yield _descriptor(uuid, _text(_NAME, thread.name)) + flags
        flags = b""
        yield from _slices(uuid, thread.slices)
    for counter in counters:
        uuid = next(uuids)
        about = _message(_COUNTER, _text(_UNIT_NAME, counter.unit))
        yield _descriptor(uuid, _text(_NAME, counter.name) + about) + flags
        flags = b""
        for time_ns, value in counter.samples:
            yield _event(uuid, _COUNT, time_ns, _double(_DOUBLE_VALUE, value))


def _slices(uuid: int, slices: Sequence[Slice]) -> Iterator[bytes]:
    """Begins and ends in the order of time. A slice ends no later than the one around it: clocks
    are read one after the other."""
    open_ends: list[int] = []
    for each in sorted(slices, key=lambda item: (item.begin_ns, -item.end_ns)):
        while open_ends and open_ends[-1] <= each.begin_ns:
            yield _event(uuid, _END, open_ends.pop())
        end = min([each.end_ns, *open_ends[-1:]])
        content = _text(_EVENT_NAME, each.name)
        if each.category:
            content += _text(_CATEGORY, each.category)
        for name, value in each.arguments.items():
            said = _number(_UINT_VALUE, value) if isinstance(value, int) else b""
            if isinstance(value, str):
                said = _text(_STRING_VALUE, value)
            content += _message(_ANNOTATION, _text(_ANNOTATION_NAME, name) + said)
        yield _event(uuid, _BEGIN, each.begin_ns, content)
        open_ends.append(max(end, each.begin_ns))
    while open_ends:
        yield _event(uuid, _END, open_ends.pop())


def _descriptor(uuid: int, content: bytes) -> bytes:
    described = _message(_TRACK_DESCRIPTOR, _number(_UUID, uuid) + content)
    return _number(_SEQUENCE, _OURS) + described


def _event(uuid: int, kind: int, time_ns: int, content: bytes = b"") -> bytes:
    event = _number(_TYPE, kind) + _number(_EVENT_TRACK, uuid) + content
    return _number(_TIMESTAMP, time_ns) + _number(_SEQUENCE, _OURS) + _message(_TRACK_EVENT, event)


# ---- the wire format of protobuf ----------------------------------------------------------------


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _number(field_number: int, value: int) -> bytes:
    return _varint(field_number << 3) + _varint(value)


def _double(field_number: int, value: float) -> bytes:
    return _varint(field_number << 3 | 1) + struct.pack("<d", value)


def _message(field_number: int, content: bytes) -> bytes:
    return _varint(field_number << 3 | 2) + _varint(len(content)) + content


def _text(field_number: int, text: str) -> bytes:
    return _message(field_number, text.encode(errors="replace"))
