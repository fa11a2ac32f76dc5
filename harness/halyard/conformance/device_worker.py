# SPDX-License-Identifier: Apache-2.0
"""One of several devices that run conformance cases side by side."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Protocol

from halyard.conformance.driver import Driver
from halyard.conformance.expectations import Expectations
from halyard.conformance.outcome import Outcome, Status, outcome_of
from halyard.conformance.plan import Planned
from halyard.conformance.run import RunSettings, run
from halyard.devices import Wire
from halyard.devices.config import DeviceConfig


@dataclass(frozen=True)
class Post:
    """A device as it was asked for, and how it is to run cases; it can be sent elsewhere."""

    name: str  # on the command line
    config: DeviceConfig
    backends: tuple[str, ...] = ()
    instance: str | None = None
    wires: tuple[Wire, ...] = (Wire.HIDL,)
    settings: RunSettings = dataclasses.field(default_factory=RunSettings)


@dataclass(frozen=True)
class Place:
    """Where a device turned out to be."""

    serial: str
    target: str


class Worker(Protocol):
    """A device to one thread. Whatever it raises as a HalyardError means that it is lost."""

    @property
    def name(self) -> str: ...

    def open(self) -> Place: ...

    def run(self, cases: Sequence[Planned]) -> Generator[tuple[Planned, Outcome], None, None]:
        """The outcomes as the cases end. Closing it ends the runner."""
        ...

    def close(self) -> None: ...


class DeviceWorker:
    """On a device that this machine reaches."""

    def __init__(self, post: Post) -> None:
        self.name = post.name
        self.version = ""  # the driver's, once a case has run
        self._post = post
        self._expectations = Expectations(post.config.expected_failures)
        self._driver: Driver | None = None

    def open(self) -> Place:
        post = self._post
        self._driver = Driver.open(
            post.config, backends=post.backends, instance=post.instance, wires=post.wires
        )
        return Place(self._driver.device.serial, self._driver.targets)

    def run(self, cases: Sequence[Planned]) -> Generator[tuple[Planned, Outcome], None, None]:
        assert self._driver is not None
        results = run(self._driver, cases, self._post.settings)
        try:
            for planned, result in results:
                self.version = self.version or result.version_string
                outcome = outcome_of(planned.case, planned.name, result)
                judged = self._expectations.judged(planned.case.name, outcome)
                crashed = judged.status is Status.CRASHED
                log = "\n".join(self._driver.last_words()) if crashed else ""
                yield planned, dataclasses.replace(judged, device=self.name, log=log)
        finally:
            results.close()

    def close(self) -> None:
        if self._driver is not None:
            self._driver.close()
            self._driver = None
