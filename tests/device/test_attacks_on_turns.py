# SPDX-License-Identifier: Apache-2.0
"""Clients that take threads and time, alone or many of them, and an honest one beside them whose
calls are answered.

Every test prints the honest client's longest calls; nothing is asserted of them but that each was
answered within half a minute.
"""

import time

import pytest

from halyard.devices import Service, ServiceOptions, VirtualDevice
from tests.device.attacking import STRANGER, Attacker
from tests.device.footprint import await_rest
from tests.device.siege import ESSENTIALS, THOROUGH, Siege
from tests.waiting import awaited

pytestmark = pytest.mark.slow

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


@pytest.mark.parametrize("processes", [4, pytest.param(40, marks=THOROUGH)])
def test_bursts_that_never_pause_leave_others_their_turn(siege: Siege, processes: int) -> None:
    siege.beside("burst-hog", "--clients", 20, "--processes", processes, "--uid", STRANGER)


def test_bursts_that_are_told_of_nothing_leave_others_their_turn(siege: Siege) -> None:
    begun = "signals to 16 of 20 bursts"
    said = siege.beside(
        *("burst-hog", "--clients", 20, "--processes", 8, "--uid", STRANGER),
        *("--against", "signals"),
        once=begun,
    )
    assert begun in said


def test_buffers_of_many_roles_leave_threads_for_others(siege: Siege) -> None:
    with siege.attacker.start("role-flood", "--clients", 16, "--seconds", 120) as running:
        assert "buffers of 24000 roles; the first: OK" in running.await_saying("roles")
        siege.honest()


@pytest.mark.parametrize("processes", [2, pytest.param(16, marks=THOROUGH)])
def test_buffers_that_are_hoarded_leave_memory_for_others(siege: Siege, processes: int) -> None:
    words = ("--clients", 200, "--processes", processes, "--uid", STRANGER, "--seconds", 120)
    with siege.attacker.start("buffer-hoarder", *words) as running:
        assert "0 of 32 guesses of a token were taken" in running.await_saying("guesses")
        siege.honest()


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
        awaited(
            lambda: len(running.said().splitlines()) >= processes,
            lambda: f"{len(running.said().splitlines())} of {processes} have got as far as that",
            seconds=300,
            every=1,
        )
        said = running.said().splitlines()
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
