# SPDX-License-Identifier: Apache-2.0
"""A soak: load, samples of what the service holds, and what is left when the load has ended."""

import contextlib
import random
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from halyard.conformance import Case
from halyard.devices import Service, VirtualDevice
from halyard.errors import CommandTimeout
from tests.device.attacking import start_threads
from tests.device.footprint import ServiceFootprint
from tests.soak.load import Load
from tests.soak.slope import BINS, Slope, slope

_QUIET_TIMEOUT = 60.0
# Clients of each kind while the service warms up: more at once than it will see, so that each arena
# of the allocator and each thread's stack has grown to what the load can ask of it.
_WARMING_CLIENTS = 3
# Seconds until the load itself is under way.
_LEAD = 5.0


@dataclass(frozen=True)
class Kind:
    """A count that is watched, and the growth per hour that is let pass."""

    name: str
    unit: str
    epsilon: float

    def of(self, state: ServiceFootprint) -> float:
        return float(getattr(state, self.name))


KINDS = (
    Kind("memory", "KiB", 1024.0),
    Kind("threads", "", 1.0),
    Kind("descriptors", "", 1.0),
    Kind("mappings", "", 8.0),
    Kind("models", "", 1.0),
    Kind("reserved", "bytes", 65536.0),
    Kind("heap", "bytes", 65536.0),
)


@dataclass(frozen=True)
class Soaked:
    """What became of it. `start` and `end`: without clients, before and after."""

    start: ServiceFootprint
    end: ServiceFootprint
    samples: Sequence[ServiceFootprint]  # after the warming up
    rounds: Mapping[str, tuple[int, int]]

    def slopes(self) -> dict[Kind, Slope]:
        """Per hour."""
        hours = [(sample.seconds - self.samples[0].seconds) / 3600 for sample in self.samples]
        bins = min(BINS, max(3, len(self.samples) // 3))
        return {
            kind: slope(hours, [kind.of(each) for each in self.samples], bins) for kind in KINDS
        }


def sampled_cases(cases: Sequence[Case], count: int, seed: int) -> list[Case]:
    return random.Random(seed).sample(list(cases), min(count, len(cases)))


def soak(
    device: VirtualDevice,
    service: Service,
    cases: Sequence[Case],
    *,
    seconds: float,
    warm_up: float,
    interval: float = 5.0,
    on_sample: Callable[[ServiceFootprint], None] = lambda _: None,
) -> Soaked:
    """The load lasts `seconds`. Before it the service starts all of its threads, and has a heavier
    load for `warm_up` seconds."""
    samples = []
    start_threads(device, service)
    with tempfile.TemporaryDirectory(prefix="halyard-soak-") as name:
        with Load(device, service, cases, Path(name), _WARMING_CLIENTS):
            time.sleep(warm_up)
        start = quiet(device, service)
        load = Load(device, service, cases, Path(name))
        with load:
            time.sleep(_LEAD)
            end_of_load = time.monotonic() + seconds
            while time.monotonic() < end_of_load:
                # A sample that a busy device does not give in time is none; an hour is not lost.
                with contextlib.suppress(CommandTimeout):
                    samples.append(ServiceFootprint.of_service(device, service))
                    on_sample(samples[-1])
                time.sleep(interval)
        end = quiet(device, service)
        return Soaked(start, end, samples, load.rounds())


def quiet(device: VirtualDevice, service: Service) -> ServiceFootprint:
    """Its state once it serves nobody: it hears of its clients' deaths by and by, and ends what
    runs for them at the next checkpoint."""
    deadline = time.monotonic() + _QUIET_TIMEOUT
    before = ServiceFootprint.of_service(device, service)
    while True:
        time.sleep(1.0)
        now = ServiceFootprint.of_service(device, service)
        settled = (now.threads, now.descriptors) == (before.threads, before.descriptors)
        if (settled and now.models == 0 and now.reserved == 0) or time.monotonic() > deadline:
            return now
        before = now
