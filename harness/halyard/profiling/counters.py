# SPDX-License-Identifier: Apache-2.0
"""The processors' frequency and load while something runs, sampled on the device by its shell."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from halyard.devices.device import Device
from halyard.errors import DeviceError

# Seconds between two samples; the shell itself takes some more. A sampler that is not ended ends
# by itself.
_PERIOD = 0.05
_MOST_SAMPLES = 12_000

# The first word of a sample's lines: the time since boot, and a processor's frequency; lines of
# /proc/stat are as they are.
_TIME = "uptime"
_FREQUENCY = "frequency"

_TIMER_LIST = re.compile(r"now at ([0-9]{1,18}) nsecs")
# Numbers as a kernel writes them: a device may send anything.
_NUMBER = re.compile("[0-9]{1,18}")
_PROCESSOR = re.compile("cpu([0-9]{1,4})")


@dataclass
class Samples:
    """By time since boot, in nanoseconds. Per processor, by its number: kHz, and the share of time
    in which it was busy since the sample before."""

    frequency: dict[int, list[tuple[int, float]]] = field(default_factory=dict)
    load: dict[int, list[tuple[int, float]]] = field(default_factory=dict)
    # How far CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC, which stands still while a device sleeps;
    # None: the device does not tell.
    asleep_ns: int | None = None

    @classmethod
    def of(cls, several: Sequence[Samples]) -> Self:
        """One after the other."""
        whole = cls()
        for each in several:
            for mine, more in ((whole.frequency, each.frequency), (whole.load, each.load)):
                for number, values in more.items():
                    mine.setdefault(number, []).extend(values)
            whole.asleep_ns = each.asleep_ns if whole.asleep_ns is None else whole.asleep_ns
        return whole

    @property
    def missing(self) -> list[str]:
        """The counters that the device does not tell, in words."""
        notes = []
        if not self.load:
            notes.append(
                "the processors' load is missing: /proc/stat can't be read, or the run was"
                " too short"
            )
        if not self.frequency:
            notes.append(
                "the processors' frequency is missing: the device has no "
                "/sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq"
            )
        return notes


class Sampler:
    """Samples from entering the context to leaving it; `samples` is there then."""

    def __init__(self, device: Device, folder: str) -> None:
        """`folder`: one that is there on the device, for a file."""
        self._device = device
        self._path = f'"$ROOT"{folder}/counters'
        self.samples = Samples()

    def __enter__(self) -> Self:
        loop = (
            f"i=0; while [ $i -lt {_MOST_SAMPLES} ]; do i=$((i+1)); "
            f"echo {_TIME} $(cat /proc/uptime); grep '^cpu[0-9]' /proc/stat; "
            "for f in /sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq; do "
            f'[ -r "$f" ] && echo {_FREQUENCY} "$f" $(cat "$f"); done; sleep {_PERIOD}; done'
        )
        self._device.shell(
            f"({{ {loop}; }} >{self._path} 2>/dev/null </dev/null & echo $! >{self._path}.pid) "
            ">/dev/null 2>&1"
        ).check()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # A device that is gone has said so already.
        with contextlib.suppress(DeviceError):
            said = self._device.shell(
                f"kill $(cat {self._path}.pid); cat {self._path}; "
                "grep -m1 'now at' /proc/timer_list 2>/dev/null; cat /proc/uptime; "
                f"rm -f {self._path} {self._path}.pid"
            ).stdout
            self.samples = parse(said)


def parse(text: str) -> Samples:
    """The sampler's output, whatever it is cut off at."""
    samples = Samples()
    now: int | None = None
    monotonic: int | None = None
    before: dict[int, tuple[int, int]] = {}
    for line in text.splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == _TIME:
            now = _seconds(words[1:])
        elif found := _TIMER_LIST.search(line):
            monotonic = int(found[1])
        elif monotonic is not None and len(words) == 2 and _seconds(words) is not None:
            samples.asleep_ns = max(0, (_seconds(words) or 0) - monotonic)
        elif now is not None and words[0] == _FREQUENCY and len(words) == 3:
            number = re.search("/cpu([0-9]{1,4})/", words[1])
            if number and _NUMBER.fullmatch(words[2]):
                samples.frequency.setdefault(int(number[1]), []).append((now, float(words[2])))
        elif now is not None and _PROCESSOR.fullmatch(words[0]) and len(words) > 5:
            _add_load(samples, before, now, words)
    return samples


def _seconds(words: Sequence[str]) -> int | None:
    found = re.fullmatch(r"([0-9]{1,9})\.[0-9]{1,9}", words[0]) if words else None
    return round(float(found[0]) * 1e9) if found else None


def _add_load(
    samples: Samples, before: dict[int, tuple[int, int]], now: int, words: Sequence[str]
) -> None:
    if not all(_NUMBER.fullmatch(word) for word in words[1:]):
        return
    number, ticks = int(words[0][3:]), [int(word) for word in words[1:]]
    # Idle, and idle with input or output under way. Guests are counted among the users already.
    total, idle = sum(ticks[:8]), ticks[3] + ticks[4]
    busy = total - idle
    last_total, last_busy = before.get(number, (total, busy))
    if total > last_total:
        share = (busy - last_busy) / (total - last_total)
        samples.load.setdefault(number, []).append((now, min(1.0, max(0.0, share))))
    if number not in before or total > last_total:
        before[number] = (total, busy)
