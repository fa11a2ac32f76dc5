# SPDX-License-Identifier: Apache-2.0
"""Clients that take what they can get, and an honest one beside them whose calls are answered.

Every test prints the honest client's longest calls; nothing is asserted of them but that each was
answered within half a minute.
"""

import contextlib
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest

from halyard.devices import Service, ServiceOptions, VirtualDevice
from halyard.devices.adb_service import list_services
from halyard.devices.virtual import answers
from halyard.errors import HalyardError
from tests.device.attacking import STRANGER, Attacker, assert_served
from tests.device.footprint import Footprint, await_rest, leaving_nothing

pytestmark = pytest.mark.slow

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

    def beside(self, *words: str | int, calls: Sequence[str] = CALLS) -> str:
        """The honest client makes `calls` while the attack goes on; what the attack said."""
        only = "essentials" if calls == ESSENTIALS else "all"
        fight = self.attacker.beside(*words, calls=only)
        assert_served(fight, calls)
        return fight.attack

    def honest(self, calls: Sequence[str] = CALLS) -> None:
        """The honest client alone makes `calls`."""
        assert_served(self.attacker.honest(), calls)

    def then(self, *words: str | int, calls: Sequence[str] = CALLS) -> None:
        """The attack comes to its end, and the honest client comes after it."""
        self.attacker.run(*words)
        self.honest(calls)


@pytest.fixture
def siege(device: VirtualDevice, victim: Service) -> Iterator[Siege]:
    """Of a service, which holds nothing of its attackers' at the end, and computes nothing."""
    attacker = Attacker(device, victim)
    with leaving_nothing(device, victim.pid, WARM) as before:
        yield Siege(attacker, victim.pid, before)
    assert victim.report()["live_models"] == ["0"]


@pytest.fixture
def manager_siege(device: VirtualDevice, manager: int, victim: Service) -> Iterator[Siege]:
    """Of hwservicemanager; that too holds nothing at the end."""
    attacker = Attacker(device, victim)
    with leaving_nothing(device, manager, WARM) as before:
        yield Siege(attacker, manager, before)


# ---- descriptors --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "how",
    [
        "served",
        pytest.param("refused", marks=THOROUGH),
        pytest.param("unknown", marks=THOROUGH),
        pytest.param("oneway", marks=THOROUGH),
    ],
)
def test_descriptors_in_a_parcel_are_closed(siege: Siege, how: str) -> None:
    siege.then("fd-flood", "--clients", 8, "--against", how)


@pytest.mark.parametrize(
    "how",
    [
        "manager",
        pytest.param("manager-refused", marks=THOROUGH),
        pytest.param("manager-unknown", marks=THOROUGH),
        pytest.param("reply", marks=THOROUGH),
    ],
)
def test_hwservicemanager_closes_descriptors_in_a_parcel(manager_siege: Siege, how: str) -> None:
    if how == "reply":
        manager_siege.then("fd-flood-reply", "--clients", 8)
    else:
        manager_siege.then("fd-flood", "--clients", 8, "--against", how)


@THOROUGH
def test_arrays_of_descriptors_are_closed(siege: Siege) -> None:
    siege.then("fda-flood", "--clients", 8)


def test_unused_pools_keep_no_descriptors(siege: Siege) -> None:
    siege.beside("pool-hoarder", "--clients", 40)


def test_waiting_requests_do_not_use_up_descriptors(siege: Siege) -> None:
    siege.beside("request-hoarder", "--clients", 64)


@THOROUGH
def test_mappings_of_one_client_leave_room_for_others(siege: Siege) -> None:
    siege.beside("mapping-bomb", "--clients", 400)


# ---- calls that never return --------------------------------------------------------------------


@pytest.mark.parametrize(
    "how",
    [
        "array",
        pytest.param("single", marks=THOROUGH),
        pytest.param("debug", marks=THOROUGH),
        pytest.param("size", marks=THOROUGH),
        "page",
    ],
)
def test_files_of_a_silent_file_system_keep_nobody_else_waiting(siege: Siege, how: str) -> None:
    siege.beside("silent-file", "--clients", 70, "--against", how)


@pytest.mark.parametrize("what", ["memfd", pytest.param("pipe", marks=THOROUGH)])
def test_descriptors_that_a_call_holds_keep_nobody_else_waiting(siege: Siege, what: str) -> None:
    siege.beside("held-lock", "--clients", 70, "--against", what)


@pytest.mark.parametrize("how", ["array", pytest.param("single", marks=THOROUGH)])
def test_sockets_that_linger_keep_nobody_else_waiting(siege: Siege, how: str) -> None:
    siege.beside("lingering-socket", "--clients", 70, "--against", how)


# ---- threads and time ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "what",
    ["loops", pytest.param("convolution", marks=THOROUGH), pytest.param("high", marks=THOROUGH)],
)
def test_long_executions_leave_others_their_turn(siege: Siege, what: str) -> None:
    siege.beside("slot-hog", "--clients", 64, "--against", what)


@THOROUGH
def test_many_accounts_of_one_mind_leave_the_service_answering(siege: Siege) -> None:
    siege.beside("slot-hog", "--clients", 1, "--processes", 48, calls=ESSENTIALS)


@pytest.mark.parametrize("threads", [8, pytest.param(64, marks=THOROUGH)])
def test_synchronous_executions_leave_threads_for_others(siege: Siege, threads: int) -> None:
    siege.beside("sync-hog", "--clients", threads)


@pytest.mark.parametrize("priority", ["medium", pytest.param("high", marks=THOROUGH)])
def test_long_preparations_leave_others_their_turn(siege: Siege, priority: str) -> None:
    siege.beside("prepare-hog", "--clients", 64, "--against", priority)


@pytest.mark.parametrize("what", [pytest.param("constants", marks=THOROUGH), "nodes"])
def test_long_questions_leave_threads_for_others(siege: Siege, what: str) -> None:
    siege.beside("support-hog", "--clients", 32, "--against", what)


def test_deadlines_fire_while_an_execution_waits(siege: Siege) -> None:
    # The client is gone then, and its endless executions with it.
    siege.attacker.run("waiting-deadline", "--clients", 32)


def test_nothing_runs_longer_than_the_service_lets_it(device: VirtualDevice) -> None:
    options = ServiceOptions(
        instance="halyard-brief", backends=["CpuRef"], arguments=["--max-running-time", "3"]
    )
    with device.start_service(options) as service:
        Attacker(device, service).run("long-execution")
        await_rest(device, service.pid)


@THOROUGH
def test_many_callers_at_once_are_all_served(siege: Siege) -> None:
    siege.beside("thread-bomb", "--clients", 4, "--processes", 24, "--uid", STRANGER)


@THOROUGH
def test_many_callers_of_ones_own_user_leave_the_service_answering(siege: Siege) -> None:
    siege.beside("thread-bomb", "--clients", 4, "--processes", 24, calls=ESSENTIALS)


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(("slot-hog", "--clients", 32), marks=THOROUGH),
        ("sync-hog", "--clients", 16),
        pytest.param(("prepare-hog", "--clients", 32), marks=THOROUGH),
        pytest.param(("support-hog", "--clients", 16), marks=THOROUGH),
        pytest.param(("pool-hoarder", "--clients", 16), marks=THOROUGH),
        pytest.param(("memory-hog", "--clients", 32), marks=THOROUGH),
        pytest.param(("trailing-bytes", "--clients", 2, "--against", "inside"), marks=THOROUGH),
    ],
    ids=lambda attack: attack[0],
)
def test_what_a_client_held_ends_with_it(siege: Siege, attack: tuple[str | int, ...]) -> None:
    with siege.attacker.start(*attack, "--seconds", 60):
        time.sleep(4)


# ---- many of one user, and floods ---------------------------------------------------------------


@pytest.mark.parametrize("priority", ["medium", pytest.param("high", marks=THOROUGH)])
def test_executions_of_many_processes_leave_other_users_their_turn(
    siege: Siege, priority: str
) -> None:
    siege.beside(
        *("slot-hog", "--clients", 2, "--against", priority),
        *("--processes", 40, "--uid", STRANGER),
    )


@THOROUGH
def test_executions_of_many_users_leave_others_their_turn(siege: Siege) -> None:
    siege.beside(
        *("slot-hog", "--clients", 2, "--processes", 40),
        *("--uid", STRANGER, "--uids", 15),
    )


@pytest.mark.parametrize("users", [1, pytest.param(3, marks=THOROUGH)])
def test_processes_that_hoard_memory_leave_other_users_their_minimum(
    siege: Siege, users: int
) -> None:
    siege.beside(
        *("memory-hog", "--clients", 100, "--processes", 3),
        *("--uid", STRANGER, "--uids", users),
    )


@pytest.mark.parametrize(
    ("processes", "users"),
    [(100, 1), pytest.param(1100, 1, marks=THOROUGH), pytest.param(1100, 15, marks=THOROUGH)],
)
def test_a_crowd_of_processes_leaves_accounts_and_descriptors_for_others(
    siege: Siege, victim: Service, processes: int, users: int
) -> None:
    words = ("one-model", "--processes", processes, "--uid", STRANGER, "--uids", users)
    with siege.attacker.start(*words, "--seconds", 600) as running:
        end = time.monotonic() + 300
        while len(said := running.said().splitlines()) < processes:
            assert time.monotonic() < end, f"{len(said)} of {processes} have got as far as that"
            time.sleep(1)
        held = said.count("one model held")
        print(f"{held} of {processes} processes hold a model")
        assert held <= min(64 * users, 512)
        siege.honest()
        assert len(victim.report().get("client", [])) <= 512


@pytest.mark.parametrize(
    "attack",
    [
        ("execute-flood", "--clients", 64),
        ("object-flood", "--clients", 8),
        pytest.param(("object-flood", "--clients", 8, "--against", "allocate"), marks=THOROUGH),
        pytest.param(("sync-hog", "--clients", 64), marks=THOROUGH),
        pytest.param(("trailing-bytes", "--clients", 6, "--against", "behind"), marks=THOROUGH),
        pytest.param(("debug", "--clients", 16, "--against", "pipe"), marks=THOROUGH),
    ],
    ids=lambda attack: attack[0],
)
def test_floods_of_one_user_leave_others_served(
    siege: Siege, attack: tuple[str | int, ...]
) -> None:
    siege.beside(*attack, "--uid", STRANGER)


# ---- memory -------------------------------------------------------------------------------------


def test_constants_in_models_count_as_memory(device: VirtualDevice, siege: Siege) -> None:
    with siege.attacker.start("memory-hog", "--clients", 300, "--seconds", 240) as running:
        end = time.monotonic() + 180
        while "holds" not in running.said():
            assert time.monotonic() < end, "the attack does not come to its end"
            time.sleep(0.5)
        print(running.said())
        grown = Footprint.of(device, siege.pid).memory - siege.before.memory
        print(f"{grown // 1024} MiB more, of {MEMORY} that it may take")
        siege.honest()
    # What an execution needs beside its tensors is not counted to the byte.
    assert grown < (MEMORY + 16) * 1024


@pytest.mark.parametrize("models", [8, pytest.param(40, marks=THOROUGH)])
def test_pages_that_the_service_makes_present_count(
    device: VirtualDevice, siege: Siege, models: int
) -> None:
    with siege.attacker.start("sparse-pools", "--clients", models, "--seconds", 240) as running:
        end = time.monotonic() + 180
        while "holds" not in running.said():
            assert time.monotonic() < end, "the attack does not come to its end"
            time.sleep(0.5)
        print(running.said())
        grown = Footprint.of(device, siege.pid).memory - siege.before.memory
        print(f"{grown // 1024} MiB more")
        siege.honest()
    # Three sixteenths of the machine's memory, and what a service takes anyhow.
    machine = int(device.shell("awk '/^MemTotal:/ { print $2 }' /proc/meminfo").check().stdout)
    assert grown < machine * 3 // 16 + 32 * 1024


@pytest.mark.parametrize(
    "where",
    [
        pytest.param("model", marks=THOROUGH),
        "used-model",
        pytest.param("request", marks=THOROUGH),
        pytest.param("used-request", marks=THOROUGH),
    ],
)
def test_pools_of_terabytes_leave_addresses_for_others(siege: Siege, where: str) -> None:
    siege.beside("address-space", "--clients", 40, "--against", where)


@pytest.mark.parametrize("where", ["behind", pytest.param("inside", marks=THOROUGH)])
def test_long_calls_do_not_keep_the_receive_buffer(siege: Siege, where: str) -> None:
    siege.beside("trailing-bytes", "--clients", 6, "--against", where)


@THOROUGH
def test_waiting_calls_leave_room_in_the_receive_buffer(siege: Siege) -> None:
    siege.beside("buffer-fill", "--clients", 48)


def test_huge_pages_cut_short_fail_the_execution(device: VirtualDevice, siege: Siege) -> None:
    device.shell("echo 4 > /proc/sys/vm/nr_hugepages")
    if device.shell("cat /proc/sys/vm/nr_hugepages").stdout.strip() in ("", "0"):
        pytest.skip("the device has no huge pages")
    try:
        siege.then("cut-huge-pages")
    finally:
        device.shell("echo 0 > /proc/sys/vm/nr_hugepages")


# ---- the binder edge ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    ["eventfd", pytest.param("pipe", marks=THOROUGH), pytest.param("socket", marks=THOROUGH)],
)
def test_output_that_nobody_takes_keeps_no_thread(siege: Siege, kind: str) -> None:
    siege.beside("debug", "--clients", 16, "--against", kind)


@pytest.mark.parametrize("end", ["killed", pytest.param("thaw", marks=THOROUGH)])
def test_frozen_callers_keep_no_thread(siege: Siege, end: str) -> None:
    said = siege.beside("freeze", "--clients", 12, "--against", end)
    assert "frozen" in said, said


@THOROUGH
def test_oneway_calls_leave_others_their_turn(siege: Siege) -> None:
    siege.beside("oneway-flood", "--clients", 8)


def test_callbacks_that_are_other_objects_do_no_harm(siege: Siege) -> None:
    siege.then("callbacks", "--clients", 4)


@THOROUGH
def test_a_model_in_other_hands_leaves_others_their_turn(
    device: VirtualDevice, siege: Siege
) -> None:
    siege.beside("hand-on", "--clients", 32)
    # It has the model, and forgets its dead clients with the next registration.
    end_manager(device)


# ---- the device's daemons -----------------------------------------------------------------------


def test_services_that_do_not_answer_leave_hwservicemanager_serving(
    device: VirtualDevice, manager_siege: Siege
) -> None:
    with manager_siege.attacker.start("mute-services", "--clients", 12, "--seconds", 120):
        time.sleep(3)
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
    with connections(device, 64):
        time.sleep(1)
        end = time.monotonic() + 30
        answered = False
        while not answered and time.monotonic() < end:
            with contextlib.suppress(HalyardError):
                answers(device.machine.port)
                answered = True
        assert answered, "nobody else is let in"


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
