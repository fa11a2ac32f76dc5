# SPDX-License-Identifier: Apache-2.0
"""The resources of a device's process, as the kernel counts them, and as a service counts its
own."""

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Self

from halyard.devices import Device, Service
from tests.waiting import awaited

_SETTLE = 15.0
_POLL = 0.5
# Neither grows for good: the time when it was looked at, and that which it has computed.
_NOT_HELD = ("seconds", "ticks")

# Prints a line "name: value" for each count.
_COUNT = r"""
proc=/proc/{pid}
mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
[ -d $proc ] || exit 1
awk '/^VmRSS:/ {{ print "memory: " $2 }} /^Threads:/ {{ print "threads: " $2 }}' $proc/status
echo "descriptors: $(ls $proc/fd | wc -l)"
awk '/memfd:|anon_hugepage/ {{ shared++ }}
     END {{ print "mappings: " NR; print "shared_mappings: " shared + 0 }}' $proc/maps
sed 's/.*) //' $proc/stat | awk '{{ print "ticks: " $12 + $13 }}'
cat /sys/kernel/debug/binder/proc/{pid} 2>/dev/null | awk '
    $1 == "thread" {{ threads++ }}
    $1 == "node" {{ nodes++ }}
    $1 == "ref" {{ refs++; deaths += !/ d 0000000000000000 *$/ }}
    $1 == "buffer" {{ buffers++ }}
    END {{
        print "binder_threads: " threads + 0; print "binder_nodes: " nodes + 0
        print "binder_refs: " refs + 0; print "binder_deaths: " deaths + 0
        print "binder_buffers: " buffers + 0
    }}'
"""


@dataclass(frozen=True)
class Footprint:
    """A process's resources in the kernel: from /proc, and from binder's own tables."""

    seconds: float  # when it was looked at
    memory: int  # resident, in KiB
    threads: int
    descriptors: int
    mappings: int
    shared_mappings: int  # of memory that has a descriptor: clients' pools
    ticks: int  # of processor time, so far
    # Of all its connections to binder; 0 where the kernel has no debugfs.
    binder_threads: int
    binder_nodes: int  # its own objects
    binder_refs: int  # others' objects
    binder_deaths: int  # notifications that it asked for
    binder_buffers: int  # received and not given back

    @classmethod
    def of(cls, device: Device, pid: int) -> Self:
        """Of a process of the device. CommandFailed if there is none."""
        said = device.shell(_COUNT.format(pid=pid)).check().stdout
        counts = {
            name: int(count)
            for name, _, count in (line.partition(": ") for line in said.splitlines())
        }
        return cls(seconds=time.monotonic(), **counts)

    def more_than(self, before: "Footprint", slack: Mapping[str, int]) -> list[str]:
        """The resources that it has more of than `before`, by more than the slack for its kind.

        Memory is none of it: the allocator keeps some.
        """
        return [
            f"{f.name}: {getattr(before, f.name)} before, {getattr(self, f.name)} now"
            for f in fields(Footprint)
            if f.name not in (*_NOT_HELD, "memory")
            and getattr(self, f.name) > getattr(before, f.name) + slack.get(f.name, 0)
        ]


@dataclass(frozen=True)
class ServiceFootprint(Footprint):
    """With what the service itself counts."""

    models: int  # prepared ones that are alive
    reserved: int  # bytes of the service's budget of memory
    heap: int  # bytes of blocks that are allocated; 0 where it does not count them

    @classmethod
    def of_service(cls, device: Device, service: Service) -> Self:
        report = service.report()
        return cls(
            **asdict(Footprint.of(device, service.pid)),
            models=int(report["live_models"][0]),
            reserved=int(report["memory"][0].split("\t")[0]),
            heap=int(report.get("heap", ["0"])[0].split("\t")[0]),
        )


def await_footprint(
    device: Device, pid: int, before: Footprint, slack: Mapping[str, int]
) -> Footprint:
    """The footprint once it is no larger than before; fails if that does not come."""
    now = Footprint.of(device, pid)

    def is_no_larger() -> bool:
        nonlocal now
        now = Footprint.of(device, pid)
        return not now.more_than(before, slack)

    awaited(is_no_larger, lambda: str(now.more_than(before, slack)), seconds=_SETTLE, every=_POLL)
    return now


def await_computing(device: Device, pid: int, ticks: int) -> None:
    """Until the process has used so much processor time more, in hundredths of a second."""
    before = Footprint.of(device, pid).ticks
    awaited(
        lambda: Footprint.of(device, pid).ticks >= before + ticks,
        "it does not compute",
        seconds=120,
    )


def await_rest(device: Device, pid: int) -> None:
    """Until the process computes no more."""
    end = time.monotonic() + _SETTLE
    ticks = Footprint.of(device, pid).ticks
    while True:
        time.sleep(2.0)
        now = Footprint.of(device, pid).ticks
        if now - ticks < 20:  # of 200, or of 400 on two processors
            return
        assert time.monotonic() < end, f"it still computes: {now - ticks} ticks in two seconds"
        ticks = now


def await_no_clients(service: Service) -> None:
    """Until the service counts nothing of anybody's: models, memory, and all that it lists."""
    held: dict[str, list[str]] = {}

    def holds_nothing() -> bool:
        nonlocal held
        report = service.report()
        assert "live_models" in report, report
        held = {
            name: values
            for name, values in report.items()
            if (name == "live_models" and values != ["0"])
            or (name in ("memory", "memory_of_devices") and not values[0].startswith("0\t"))
            or (name == "client" and any(_holds(value) for value in values))
        }
        return not held

    awaited(holds_nothing, lambda: str(held), seconds=30, every=_POLL)


def _holds(client: str) -> bool:
    """Whether a client's line, "name<TAB>number" over and over, counts anything.

    The one that asks is a client as well, of one call.
    """
    words = client.split("\t")
    counts = dict(zip(words[::2], words[1::2], strict=False))
    asks = {name for name, count in counts.items() if count != "0"} <= {"pid", "uid", "calls"}
    return not asks or int(counts.get("calls", "0")) > 1


@contextlib.contextmanager
def leaving_nothing(device: Device, pid: int, slack: Mapping[str, int]) -> Iterator[Footprint]:
    """Checks at the end that the process has come to rest and holds no more than before, which is
    what the context gives."""
    before = Footprint.of(device, pid)
    yield before
    await_rest(device, pid)
    await_footprint(device, pid, before, slack)
