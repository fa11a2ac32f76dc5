# SPDX-License-Identifier: Apache-2.0
"""Clients that take what they can get, and an honest one beside them whose calls are answered.

Every test prints the honest client's longest calls; nothing is asserted of them but that each was
answered within half a minute.
"""

import pytest

from halyard.devices import ServiceOptions, VirtualDevice, Wire
from tests.device.attacking import Attacker
from tests.device.footprint import Footprint
from tests.device.siege import MEMORY, THOROUGH, Siege, end_manager

pytestmark = pytest.mark.slow

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
def test_files_of_a_silent_file_system_keep_no_other_client_waiting(siege: Siege, how: str) -> None:
    siege.beside("silent-file", "--clients", 70, "--against", how)


@pytest.mark.parametrize("what", ["memfd", "cache", pytest.param("pipe", marks=THOROUGH)])
def test_descriptors_that_a_call_holds_keep_no_other_client_waiting(
    siege: Siege, what: str
) -> None:
    siege.beside("held-lock", "--clients", 70, "--against", what)


@pytest.mark.parametrize("how", ["array", pytest.param("single", marks=THOROUGH)])
def test_sockets_that_linger_keep_no_other_client_waiting(siege: Siege, how: str) -> None:
    siege.beside("lingering-socket", "--clients", 70, "--against", how)


# ---- memory -------------------------------------------------------------------------------------


def test_constants_in_models_count_as_memory(device: VirtualDevice, siege: Siege) -> None:
    with siege.attacker.start("memory-hog", "--clients", 300, "--seconds", 240) as running:
        print(running.await_saying("holds"))
        grown = Footprint.of(device, siege.pid).memory - siege.before.memory
        print(f"{grown // 1024} MiB more, of {MEMORY} that it may take")
        siege.honest()
    # An execution's memory beside its tensors is not counted to the byte.
    assert grown < (MEMORY + 16) * 1024


def test_executions_that_are_kept_count_as_memory(device: VirtualDevice) -> None:
    options = ServiceOptions(
        wires=[Wire.HIDL, Wire.AIDL],
        backends=["CpuRef"],
        verbose=False,
        arguments=["--max-memory", str(MEMORY)],
    )
    with device.start_service(options) as service:
        attacker = Attacker(device, service)
        attacker.honest()
        before = Footprint.of(device, service.pid)
        hoard = ("execution-hoarder", "--clients", 400, "--seconds", 240)
        with attacker.start(*hoard) as running:
            print(running.await_saying("holds"))
            grown = Footprint.of(device, service.pid).memory - before.memory
            print(f"{grown // 1024} MiB more, of {MEMORY} that it may take")
            attacker.honest()
        assert service.is_running(), service.log()[-2000:]
    assert grown < (MEMORY + 16) * 1024


@pytest.mark.parametrize("name", ["unknown", pytest.param("known", marks=THOROUGH)])
def test_slots_of_a_burst_count_as_memory(device: VirtualDevice, siege: Siege, name: str) -> None:
    hoard = ("slot-filler", "--clients", 500, "--against", name, "--seconds", 240)
    with siege.attacker.start(*hoard) as running:
        print(running.await_saying("used 500 slots"))
        grown = Footprint.of(device, siege.pid).memory - siege.before.memory
        print(f"{grown // 1024} MiB more, of {MEMORY} that it may take")
        siege.honest()
    assert grown < (MEMORY + 16) * 1024


@pytest.mark.parametrize("models", [8, pytest.param(40, marks=THOROUGH)])
def test_pages_that_the_service_makes_present_count(
    device: VirtualDevice, siege: Siege, models: int
) -> None:
    with siege.attacker.start("sparse-pools", "--clients", models, "--seconds", 240) as running:
        print(running.await_saying("holds"))
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
def test_output_that_is_not_taken_keeps_no_thread(siege: Siege, kind: str) -> None:
    siege.beside("debug", "--clients", 16, "--against", kind)


@pytest.mark.parametrize("end", ["killed", pytest.param("thaw", marks=THOROUGH)])
def test_frozen_callers_keep_no_thread(siege: Siege, end: str) -> None:
    said = siege.beside("freeze", "--clients", 12, "--against", end, once="executions: frozen")
    assert "executions: frozen" in said, said


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
