# SPDX-License-Identifier: Apache-2.0
"""A soak: load that rests now and then, and what the service holds whenever it does.

Its memory under load follows the load, which follows how busy the machines are; a slope of that
says as much about them as about the service. Its memory while it serves no client must not grow.
"""

import random
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from halyard.cases import Case
from halyard.devices import Service, VirtualDevice
from tests.device.attacking import start_threads
from tests.device.footprint import ServiceFootprint
from tests.soak.load import Load
from tests.soak.slope import Slope, slope

_QUIET_TIMEOUT = 60.0
# Clients of each kind while the service warms up: more at once than it will see, so that each arena
# of the allocator and each thread's stack has grown to what the load can ask of it.
_WARMING_CLIENTS = 3


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
    """The result of the soak. `rests`: without clients, after the warming up and after each spell
    of load."""

    rests: Sequence[ServiceFootprint]
    rounds: Mapping[str, tuple[int, int]]

    @property
    def start(self) -> ServiceFootprint:
        return self.rests[0]

    @property
    def end(self) -> ServiceFootprint:
        return self.rests[-1]

    def slopes(self) -> dict[Kind, Slope]:
        """Per hour."""
        hours = [(rest.seconds - self.start.seconds) / 3600 for rest in self.rests]
        return {kind: slope(hours, [kind.of(each) for each in self.rests]) for kind in KINDS}


def sampled_cases(cases: Sequence[Case], count: int, seed: int) -> list[Case]:
    return random.Random(seed).sample(list(cases), min(count, len(cases)))


def soak(
    device: VirtualDevice,
    service: Service,
    cases: Sequence[Case],
    *,
    seconds: float,
    warm_up: float,
    spells: int,
    on_rest: Callable[[ServiceFootprint], None] = lambda _: None,
    on_stage: Callable[[str], None] = lambda _: None,
) -> Soaked:
    """The load lasts `seconds`, in as many spells. Before it the service starts all of its threads,
    and has a heavier load for `warm_up` seconds. `on_stage` hears what begins."""
    rests = []

    def rest() -> None:
        rests.append(quiet(device, service))
        on_rest(rests[-1])

    on_stage("starting all of the service's threads")
    start_threads(device, service)
    on_stage(f"warming up, {warm_up:.0f} s and the clients' last rounds")
    with tempfile.TemporaryDirectory(prefix="halyard-soak-") as name:
        with Load(device, service, cases, Path(name), _WARMING_CLIENTS):
            time.sleep(warm_up)
        rest()
        load = Load(device, service, cases, Path(name))
        for spell in range(1, spells + 1):
            on_stage(f"load {spell} of {spells}, {seconds / spells:.0f} s and the last rounds")
            with load:
                time.sleep(seconds / spells)
            rest()
        return Soaked(rests, load.rounds())


def quiet(device: VirtualDevice, service: Service) -> ServiceFootprint:
    """Its state once it serves no client: it hears of its clients' deaths by and by, and ends what
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
