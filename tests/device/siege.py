# SPDX-License-Identifier: Apache-2.0
"""A service under attack, for the tests that attack it: fixtures, which conftest.py takes in."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest

from halyard.devices import Service, ServiceOptions, VirtualDevice
from tests.device.attacking import Attacker, assert_served
from tests.device.footprint import Footprint, leaving_nothing

# Left out unless --thorough: another form of an attack that stands beside it, or a long one.
THOROUGH = pytest.mark.thorough

MEMORY = 64  # MiB that the service may take

# A service starts threads as they are needed, and keeps them with their stacks and the allocator's
# arenas: slots for executions and for preparations, and binder's.
WARM = {
    "threads": 176,
    "binder_threads": 176,
    "mappings": 528,
    "binder_refs": 1,
    "binder_nodes": 1,
}

ESSENTIALS = ("getStatus", "ping", "debug")
CALLS = (
    *ESSENTIALS,
    "getSupportedOperations",
    "prepareModel",
    "execute",
    "executeSynchronously",
)
CALLS_OF_BOTH = ("connect", *CALLS)  # connect is hwservicemanager's


@pytest.fixture
def victim(device: VirtualDevice) -> Iterator[Service]:
    """A service of the test's own, which must live to the end."""
    options = ServiceOptions(
        instance="halyard-victim",
        backends=["CpuRef"],
        verbose=False,
        arguments=["--max-memory", str(MEMORY)],
    )
    with device.start_service(options) as service:
        yield service
        assert service.is_running(), service.log()[-2000:]


def end_manager(device: VirtualDevice) -> None:
    """Ends hwservicemanager, and waits for the next one."""
    device.shell(
        "kill -9 $(pidof hwservicemanager); for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.5; "
        "pidof hwservicemanager && break; done; sleep 0.5"
    )


@pytest.fixture
def manager(device: VirtualDevice) -> Iterator[int]:
    """hwservicemanager's process id; what the test did to it ends with it."""
    yield int(device.shell("pidof hwservicemanager").check().stdout)
    end_manager(device)


@dataclass(frozen=True)
class Siege:
    """Attacks on a process, and an honest client of the service whose calls have to be answered."""

    attacker: Attacker
    pid: int  # of the attacked process
    before: Footprint  # of the same
    seconds: int  # that the honest client calls beside an attack

    def beside(self, *words: str | int, calls: Sequence[str] = CALLS, once: str = "") -> str:
        """The honest client makes `calls` while the attack goes on; what the attack said.

        `once`: the honest client waits until the attack says this.
        """
        only = "essentials" if calls == ESSENTIALS else "all"
        fight = self.attacker.beside(*words, seconds=self.seconds, calls=only, once=once)
        assert_served(fight, calls)
        return fight.attack

    def honest(self, calls: Sequence[str] = CALLS) -> None:
        """The honest client alone makes `calls`."""
        assert_served(self.attacker.honest(), calls)

    def then(self, *words: str | int, calls: Sequence[str] = CALLS) -> None:
        """The attack comes to its end, and the honest client comes after it."""
        self.attacker.run(*words)
        self.honest(calls)


@pytest.fixture(scope="session")
def honest_seconds(pytestconfig: pytest.Config) -> int:
    return 8 if pytestconfig.getoption("thorough") else 2


@pytest.fixture
def siege(device: VirtualDevice, victim: Service, honest_seconds: int) -> Iterator[Siege]:
    """Of a service, which holds nothing of its attackers' at the end, and computes nothing."""
    attacker = Attacker(device, victim)
    with leaving_nothing(device, victim.pid, WARM) as before:
        yield Siege(attacker, victim.pid, before, honest_seconds)
    assert victim.report()["live_models"] == ["0"]


@pytest.fixture
def manager_siege(
    device: VirtualDevice, manager: int, victim: Service, honest_seconds: int
) -> Iterator[Siege]:
    """Of hwservicemanager; that too holds nothing at the end."""
    attacker = Attacker(device, victim)
    with leaving_nothing(device, manager, WARM) as before:
        yield Siege(attacker, manager, before, honest_seconds)
