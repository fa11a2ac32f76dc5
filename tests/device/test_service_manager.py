# SPDX-License-Identifier: Apache-2.0
"""servicemanager on the virtual device: names on /dev/binder, and attacks on them."""

import pytest

from halyard.devices import VirtualDevice
from halyard.devices.adb_service import list_services
from tests.device.attacking import STRANGER, Attacker
from tests.device.footprint import Footprint
from tests.device.programs import put_test_program
from tests.waiting import awaited

THOROUGH = pytest.mark.thorough

DECLARED = "halyard-default"
NAME = "halyard.victim"
SHELL = 2000  # a user who is no app, and not the device's own


def test_services_are_found_declared_and_gone_with_their_process(device: VirtualDevice) -> None:
    selftest = put_test_program(device, "service_manager_selftest")
    result = device.shell(f"{selftest} {DECLARED}", timeout=300)
    print(result.stdout)
    claims = result.stdout.splitlines()
    assert [claim for claim in claims if not claim.startswith("ok ")] == [], result.stderr
    assert len(claims) > 10
    assert result.exit_code == 0


@pytest.fixture(scope="module")
def attacker(device: VirtualDevice) -> Attacker:
    """It attacks a name; no service of ours takes part."""
    return Attacker(device, NAME)


def held_beside(device: VirtualDevice, attacker: Attacker, *words: str | int) -> tuple[str, str]:
    """The output of an honest service, which has the name while the attack goes on, and of the
    attack."""
    # The first look brings the program that looks, for longer than the holder lives.
    assert NAME not in list_services(device)
    with attacker.start("aidl-name-holder", "--seconds", 20) as holder:
        awaited(lambda: NAME in list_services(device), "the name is not registered")
        with attacker.start(*words, "--seconds", 6) as attack:
            awaited(holder.said, "the holder goes on")
            return holder.said(), attack.said()


@pytest.mark.parametrize("user", [SHELL, 0], ids=lambda user: f"user{user}")
def test_a_name_stays_with_the_service_that_has_it(
    device: VirtualDevice, attacker: Attacker, user: int
) -> None:
    held, attack = held_beside(device, attacker, "aidl-name-thief", "--uid", user)
    assert "held the name" in held
    assert "took the name 0 of" in attack


def test_apps_register_nothing(attacker: Attacker) -> None:
    said = attacker.run("aidl-name-crowd", "--clients", 4, "--seconds", 0, "--uid", STRANGER)
    assert "has 0 names and listens" in said


def test_only_the_device_registers_what_is_declared(device: VirtualDevice) -> None:
    attacker = Attacker(device, f"android.hardware.neuralnetworks.IDevice/{DECLARED}")
    said = attacker.run("aidl-name-thief", "--seconds", 1, "--uid", SHELL)
    assert "took the name 0 of" in said
    # It is free: root may have it.
    said = attacker.run("aidl-name-thief", "--seconds", 1)
    assert "took the name 0 of" not in said


@pytest.mark.parametrize(
    ("user", "processes", "names"),
    [
        (SHELL, 100, 1),
        (STRANGER, 100, 1),
        pytest.param(0, 100, 1, marks=THOROUGH),
        pytest.param(SHELL, 48, 256, marks=THOROUGH),
    ],
)
def test_a_crowd_leaves_room_for_another_service(
    device: VirtualDevice, attacker: Attacker, user: int, processes: int, names: int
) -> None:
    words = ("--processes", processes, "--clients", names, "--uid", user)
    with attacker.start("aidl-name-crowd", *words, "--seconds", 300) as crowd:
        awaited(lambda: crowd.said().count("names") == processes, crowd.said, seconds=240)
        # Each of them listens for the name, and hears nothing of what it is told.
        assert "held the name" in attacker.run("aidl-name-holder", "--seconds", 3)
    awaited(
        lambda: not any(name.startswith("crowd.") for name in list_services(device)),
        "the names outlive their processes",
    )


def test_servicemanager_takes_no_descriptors(device: VirtualDevice, attacker: Attacker) -> None:
    pid = int(device.shell("pidof servicemanager").check().stdout)
    before = Footprint.of(device, pid).descriptors
    said = attacker.run("aidl-fd-flood", "--clients", 40)
    assert ", 0 answered" in said
    assert "failed reply" in said
    assert Footprint.of(device, pid).descriptors <= before
    assert "held the name" in attacker.run("aidl-name-holder", "--seconds", 1)


def test_a_service_keeps_its_name_when_the_thief_comes_with_the_next_manager(
    device: VirtualDevice, attacker: Attacker
) -> None:
    """The first of two that nothing tells apart has it; the name of neither is lost."""
    with attacker.start("aidl-name-thief", "--seconds", 60):
        device.shell("kill -9 $(pidof servicemanager)").check()
        awaited(lambda: NAME in list_services(device), "the thief does not get the name")
    awaited(lambda: NAME not in list_services(device), "the name outlives its process")
    assert "held the name" in attacker.run("aidl-name-holder", "--seconds", 1)
