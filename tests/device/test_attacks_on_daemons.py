# SPDX-License-Identifier: Apache-2.0
"""Clients that attack what else runs on the device, and an honest one beside them whose calls are
answered.

Every test prints the honest client's longest calls; nothing is asserted of them but that each was
answered within half a minute.
"""

import contextlib
import socket
import struct
import time
from collections.abc import Iterator

import pytest

from halyard.devices import VirtualDevice
from halyard.devices.adb_service import list_services
from halyard.devices.virtual import answers
from halyard.errors import HalyardError
from tests.device.footprint import Footprint
from tests.device.siege import (
    CALLS_OF_BOTH,
    THOROUGH,
    Siege,
)
from tests.waiting import comes_true

pytestmark = pytest.mark.slow

# ---- the device's daemons -----------------------------------------------------------------------


def test_services_that_do_not_answer_leave_hwservicemanager_serving(
    device: VirtualDevice, manager_siege: Siege
) -> None:
    mute = ("mute-services", "--clients", 12, "--seconds", 120)
    with manager_siege.attacker.start(*mute) as running:
        running.await_saying("services that do not answer")
        manager_siege.honest(CALLS_OF_BOTH)
        assert any("halyard-victim" in name for name in list_services(device))


@THOROUGH
def test_registrations_within_registrations_leave_hwservicemanager_serving(
    manager_siege: Siege,
) -> None:
    manager_siege.then("nested-adds", "--clients", 200, calls=CALLS_OF_BOTH)


@THOROUGH
def test_names_of_a_dead_process_leave_hwservicemanager(
    device: VirtualDevice, manager_siege: Siege
) -> None:
    manager_siege.then("name-flood", "--clients", 3000, "--seconds", 1, calls=CALLS_OF_BOTH)
    grown = Footprint.of(device, manager_siege.pid).memory - manager_siege.before.memory
    print(f"{grown // 1024} MiB more")
    assert len(list_services(device)) < 100


@contextlib.contextmanager
def connections(device: VirtualDevice, count: int) -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(
                socket.create_connection(("127.0.0.1", device.machine.port), timeout=20)
            )
            for _ in range(count)
        ]


def test_silent_connections_do_not_lock_others_out_of_adbd(device: VirtualDevice) -> None:
    def is_answered() -> bool:
        with contextlib.suppress(HalyardError):
            answers(device.machine.port)
            return True
        return False

    # The daemon takes connections in the order in which they come: these are before the next one.
    with connections(device, 64):
        answered = comes_true(is_answered, seconds=30)
        assert answered, "no other client is let in"


def adb_packet(command: bytes, first: int, second: int, payload: bytes = b"") -> bytes:
    word = int.from_bytes(command, "little")
    head = struct.pack(
        "<6I", word, first, second, len(payload), sum(payload) & 0xFFFFFFFF, word ^ 0xFFFFFFFF
    )
    return head + payload


def test_acknowledgements_alone_do_not_fill_adbds_memory(device: VirtualDevice) -> None:
    pid = int(device.shell("pidof adbd").check().stdout.split()[0])
    with connections(device, 1) as (client,):
        client.sendall(adb_packet(b"CNXN", 0x01000001, 262144, b"host::\0"))
        client.sendall(adb_packet(b"OPEN", 1, 0, b"exec:cat /dev/zero\0"))
        received = b""
        while (at := received.find(b"WRTE")) < 0 or len(received) < at + 8:
            received = received[-16:] + client.recv(65536)
        remote = struct.unpack_from("<I", received, at + 4)[0]
        # Each asks for the next part of the output, and none of it is read.
        acknowledgement = adb_packet(b"OKAY", 1, remote)
        with contextlib.suppress(OSError):
            client.sendall(acknowledgement * (65536 // len(acknowledgement)))
        most = 0
        for _ in range(10):
            time.sleep(0.5)
            most = max(most, Footprint.of(device, pid).memory)
    print(f"adbd took up to {most // 1024} MiB")
    assert 0 < most < 64 * 1024
