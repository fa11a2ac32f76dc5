# SPDX-License-Identifier: Apache-2.0
"""Attacks on the names that hwservicemanager keeps, as a stranger and as the services' own user."""

import contextlib
import time
from collections.abc import Callable, Iterator

import pytest

from halyard.devices import Service, ServiceOptions, VirtualDevice
from halyard.devices.adb_service import list_services, registered
from halyard.errors import HalyardError
from tests.device.attacking import STRANGER, Attacker, assert_served
from tests.waiting import awaited

pytestmark = pytest.mark.slow

THOROUGH = pytest.mark.thorough

# The one that the device's manifest declares, and one that is in none.
DECLARED = "halyard-default"
VICTIM = "halyard-victim"

USERS = pytest.mark.parametrize(
    "user", [STRANGER, pytest.param(0, id="root")], ids=lambda user: f"user{user}"
)


@contextlib.contextmanager
def serving(device: VirtualDevice, instance: str) -> Iterator[Service]:
    options = ServiceOptions(instance=instance, backends=["CpuRef"], verbose=False)
    with device.start_service(options) as service:
        yield service
        assert service.is_running(), service.log()[-2000:]


@pytest.fixture(scope="module")
def victim(device: VirtualDevice) -> Iterator[Service]:
    with serving(device, VICTIM) as service:
        yield service


@pytest.fixture
def attacker(device: VirtualDevice, victim: Service) -> Attacker:
    return Attacker(device, victim)


def kill_manager(device: VirtualDevice) -> None:
    """init starts another one."""
    pid = device.shell("pidof hwservicemanager").check().stdout.strip()
    device.shell(f"kill -9 {pid}").check()
    await_true(lambda: device.shell("pidof hwservicemanager").stdout.strip() not in ("", pid))


def await_true(holds: Callable[[], bool], seconds: float = 60) -> None:
    def now() -> bool:
        # A manager that is started again does not answer yet.
        with contextlib.suppress(HalyardError):
            return holds()
        return False

    awaited(now, "it does not come true", seconds=seconds)


# ---- names --------------------------------------------------------------------------------------


@USERS
@pytest.mark.parametrize("against", ["all", pytest.param("one", marks=THOROUGH)])
def test_a_name_stays_with_the_service_that_has_it(
    attacker: Attacker, user: int, against: str
) -> None:
    fight = attacker.beside("name-thief", "--against", against, "--uid", user, seconds=4)
    assert_served(fight, ("connect", "getStatus", "prepareModel", "executeSynchronously"))
    assert "took" not in fight.attack


def test_no_stranger_registers_what_is_declared(device: VirtualDevice) -> None:
    with serving(device, DECLARED) as service:
        attacker = Attacker(device, service)
    assert not registered(list_services(device), DECLARED)
    said = attacker.run("name-thief", "--seconds", 2, "--uid", STRANGER)
    assert "took the name 0 of" in said


def test_a_stranger_takes_no_declared_name_when_hwservicemanager_comes_back(
    device: VirtualDevice,
) -> None:
    with serving(device, DECLARED) as service:
        attacker = Attacker(device, service)
        with attacker.start("name-thief", "--seconds", 60, "--uid", STRANGER) as thief:
            await_true(lambda: "did not get" in thief.said())
            kill_manager(device)
            await_true(lambda: len(registered(list_services(device), DECLARED)) == 4)
            assert_served(attacker.honest(2), ("connect", "getStatus"))
            assert "took" not in thief.said()


@pytest.mark.parametrize("rounds", [1, pytest.param(5, marks=THOROUGH)])
def test_a_service_has_its_name_back_when_the_thief_is_gone(
    device: VirtualDevice, victim: Service, attacker: Attacker, rounds: int
) -> None:
    for _ in range(rounds):
        # The first of two that nothing tells apart has it.
        with attacker.start("name-thief", "--seconds", 60):
            kill_manager(device)
            await_true(lambda: bool(registered(list_services(device), VICTIM)))
            time.sleep(2)
        await_true(lambda: len(registered(list_services(device), VICTIM)) == 4)
        assert_served(attacker.honest(2), ("connect", "getStatus", "prepareModel"))
    assert victim.is_running()


# ---- room ---------------------------------------------------------------------------------------


@USERS
@pytest.mark.parametrize(("processes", "names"), [(200, 1), pytest.param(48, 256, marks=THOROUGH)])
def test_a_crowd_leaves_room_for_another_service(
    device: VirtualDevice, attacker: Attacker, user: int, processes: int, names: int
) -> None:
    crowd = ("name-crowd", "--processes", processes, "--clients", names, "--uid", user)
    with attacker.start(*crowd, "--seconds", 300) as running:
        await_true(lambda: running.said().count("names") == processes, 240)
        with serving(device, "halyard-late") as late:
            assert_served(Attacker(device, late).honest(2), ("connect", "getStatus"))
        assert_served(attacker.honest(2), ("connect", "getStatus"))
    await_true(lambda: not any("crowd@" in name for name in list_services(device)))


@THOROUGH
@USERS
def test_what_is_declared_has_room_in_any_crowd(
    device: VirtualDevice, attacker: Attacker, user: int
) -> None:
    crowd = ("name-crowd", "--processes", 1100, "--clients", 1, "--uid", user)
    with attacker.start(*crowd, "--seconds", 500) as running:
        await_true(lambda: running.said().count("names") == 1100, 400)
        assert "has 0 names" in running.said()
        with serving(device, DECLARED) as service:
            assert len(service.interfaces) == 4


# ---- descriptors --------------------------------------------------------------------------------


def test_hwservicemanager_takes_no_descriptors(attacker: Attacker) -> None:
    assert "failed reply" in attacker.run("fd-flood", "--clients", 4, "--against", "manager")
