# SPDX-License-Identifier: Apache-2.0
"""Clients killed at random points, and a service that keeps nothing of theirs.

HALYARD_DYING_CLIENTS says how many (1,000 take some minutes); HALYARD_DYING_SEED repeats a run.
"""

import os
from collections.abc import Iterator

import pytest

from halyard.devices import Service, ServiceOptions, VirtualDevice
from tests.device.attacking import Attacker, assert_served, start_threads
from tests.device.footprint import (
    Footprint,
    await_footprint,
    await_no_clients,
    await_rest,
)

COUNT = int(os.environ.get("HALYARD_DYING_CLIENTS", "12"))
SEED = int(os.environ.get("HALYARD_DYING_SEED", "0"))

# Of threads that the service starts as it needs them, and keeps, there may be a few more than the
# warming up has called for; each has a stack, and may have an arena of the allocator.
SLACK = {
    "threads": 16,
    "binder_threads": 16,
    "mappings": 64,
    "binder_refs": 1,
    "binder_deaths": 1,
}


@pytest.fixture
def service(device: VirtualDevice) -> Iterator[Service]:
    options = ServiceOptions(instance="halyard-dying", backends=["CpuRef"], verbose=False)
    with device.start_service(options) as service:
        yield service
        assert service.is_running(), service.log()[-2000:]


def test_clients_killed_at_random_points_leave_nothing_behind(
    device: VirtualDevice, service: Service
) -> None:
    attacker = Attacker(device, service)
    start_threads(device, service)
    attacker.run("dying", "--clients", 15, timeout=120)
    await_rest(device, service.pid)
    await_no_clients(service)
    before = Footprint.of(device, service.pid)
    print("before:", before)
    # Of clients that are gone there is nothing left already; more could hide behind it. (Of the one
    # that asked last there may be a reference until the kernel tells of its end.)
    assert (before.binder_buffers, before.shared_mappings) == (0, 0)
    assert before.binder_refs <= 2
    assert before.binder_deaths <= 1

    done = 0
    while done < COUNT:
        part = min(COUNT - done, 200)
        attacker.run("dying", "--clients", part, "--seed", SEED + done if SEED else 0, timeout=600)
        done += part

    await_rest(device, service.pid)
    await_no_clients(service)
    after = await_footprint(device, service.pid, before, SLACK)
    print("after: ", after)
    # The allocator keeps something for each thread. 1,000 clients that each leave four pages behind
    # would be seen; a soak sees less.
    assert after.memory < before.memory + 16 * 1024
    assert_served(attacker.honest())
