# SPDX-License-Identifier: Apache-2.0
"""Perfetto's own format: a file of TracePackets, which ui.perfetto.dev and trace_processor read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from halyard.proto.perfetto_trace_pb2 import Trace, TracePacket, TrackDescriptor, TrackEvent

# Tells the writer of these packets from other writers in a file that is put together of several.
_SEQUENCE = 1
_LATEST_NS = 2**64 - 1


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
    writer = _Writer()
    for thread in threads:
        writer.add_thread(thread)
    for counter in counters:
        writer.add_counter(counter)
    return writer.trace.SerializeToString()


class _Writer:
    def __init__(self) -> None:
        self.trace = Trace()
        self._tracks = 0
        self._processes: dict[int, int] = {}

    def add_thread(self, thread: Thread) -> None:
        if thread.process:
            parent = self._process(thread)
            track = self._track()
            track.parent_uuid = parent
            track.thread.pid = thread.process
            track.thread.tid = thread.thread
            track.thread.thread_name = _text(thread.name)
        else:
            track = self._track()
            track.name = _text(thread.name)
        self._add_slices(track.uuid, thread.slices)

    def add_counter(self, counter: Counter) -> None:
        track = self._track()
        track.name = _text(counter.name)
        track.counter.unit_name = _text(counter.unit)
        for time_ns, value in counter.samples:
            event = self._event(track.uuid, TrackEvent.TYPE_COUNTER, time_ns)
            event.double_counter_value = value

    def _process(self, thread: Thread) -> int:
        """The number of its process's track."""
        if thread.process not in self._processes:
            track = self._track()
            track.process.pid = thread.process
            track.process.process_name = _text(thread.process_name)
            self._processes[thread.process] = track.uuid
        return self._processes[thread.process]

    def _add_slices(self, track: int, slices: Sequence[Slice]) -> None:
        """Begins and ends in the order of time. A slice ends no later than the one around it:
        clocks are read one after the other."""
        open_ends: list[int] = []
        for each in sorted(slices, key=lambda item: (item.begin_ns, -item.end_ns)):
            while open_ends and open_ends[-1] <= each.begin_ns:
                self._event(track, TrackEvent.TYPE_SLICE_END, open_ends.pop())
            end = min([each.end_ns, *open_ends[-1:]])
            event = self._event(track, TrackEvent.TYPE_SLICE_BEGIN, each.begin_ns)
            event.name = _text(each.name)
            if each.category:
                event.categories.append(_text(each.category))
            for name, value in each.arguments.items():
                annotation = event.debug_annotations.add(name=_text(name))
                if isinstance(value, int):
                    annotation.uint_value = value
                else:
                    annotation.string_value = _text(value)
            open_ends.append(max(end, each.begin_ns))
        while open_ends:
            self._event(track, TrackEvent.TYPE_SLICE_END, open_ends.pop())

    def _track(self) -> TrackDescriptor:
        packet = self._packet()
        if self._tracks == 0:
            packet.sequence_flags = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        self._tracks += 1
        packet.track_descriptor.uuid = self._tracks
        return packet.track_descriptor

    def _event(self, track: int, kind: TrackEvent.Type, time_ns: int) -> TrackEvent:
        packet = self._packet()
        # A device's clock may say any number of 64 bits, of which sums are made.
        packet.timestamp = min(time_ns, _LATEST_NS)
        packet.track_event.type = kind
        packet.track_event.track_uuid = track
        return packet.track_event

    def _packet(self) -> TracePacket:
        return self.trace.packet.add(trusted_packet_sequence_id=_SEQUENCE)


def _text(text: str) -> str:
    """Without lone surrogates, which a name from a device may have and UTF-8 has not."""
    return text.encode(errors="replace").decode()
