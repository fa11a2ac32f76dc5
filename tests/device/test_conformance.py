# SPDX-License-Identifier: Apache-2.0
"""Conformance runs on a service that does not survive them."""

import gzip
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from halyard.cases import Case, load
from halyard.conformance.driver import Driver
from halyard.conformance.outcome import Status, outcome_of
from halyard.conformance.plan import Planned
from halyard.conformance.run import RunSettings, run
from halyard.devices import VirtualDevice, config_of
from halyard.programs.native import SERVICE
from halyard.proto import halyard_pb2 as pb
from tests.device.footprint import await_computing
from tests.harness.cases.test_golden_cases import addition
from tests.harness.cli.test_conformance import endless
from tests.waiting import awaited


@pytest.fixture
def driver(device: VirtualDevice) -> Iterator[Driver]:
    """The driver, with a connection of its own, which is this thread's to close."""
    own = VirtualDevice(device.machine)
    driver = Driver(own, config_of("vm"), ["CpuRef"], None)
    driver.start()
    with driver:
        yield driver


@pytest.fixture
def cases(tmp_path: Path) -> list[Case]:
    """One that executes for two seconds, and some short ones behind it."""
    written = [endless(), *(addition(name=f"add_{at}") for at in range(4))]
    path = tmp_path / "spec.json.gz"
    document = {"schema": 1, "spec": "spec", "cases": written}
    path.write_bytes(gzip.compress(json.dumps(document).encode()))
    return load(path)


def planned(cases: list[Case]) -> list[Planned]:
    return [Planned(case.name, case, pb.HAL_VERSION_UNSPECIFIED) for case in cases]


def statuses(
    driver: Driver, cases: list[Case], settings: RunSettings, interrupt: Callable[[], None]
) -> list[tuple[str, Status, str]]:
    """The outcomes of the cases; `interrupt` is called once the first has begun."""

    def run_all() -> list[tuple[str, Status, str]]:
        outcomes = [
            outcome_of(item.case, item.name, result)
            for item, result in run(driver, planned(cases), settings)
        ]
        return [(outcome.name, outcome.status, outcome.message) for outcome in outcomes]

    with ThreadPoolExecutor(1) as thread:
        results = thread.submit(run_all)
        interrupt()
        return results.result()


def wait_for_a_client(device: VirtualDevice) -> int:
    """Until a runner's child is there and the service computes for it; the pid of the service."""
    awaited(
        lambda: len(device.shell("pidof halyard-runner").stdout.split()) >= 2,
        "the runner has no child",
    )
    [pid] = device.shell(f"pidof {SERVICE}").stdout.split()
    await_computing(device, int(pid), ticks=20)
    return int(pid)


def test_a_service_that_dies_costs_one_case_and_is_started_again(
    device: VirtualDevice, driver: Driver, cases: list[Case]
) -> None:
    def kill() -> None:
        device.shell(f"kill -9 {wait_for_a_client(device)}").check()

    (name, status, message), *others = statuses(driver, cases, RunSettings(), kill)
    assert (name, status) == ("endless", Status.CRASHED)
    assert "the service died" in message
    assert [(name, status) for name, status, _ in others] == [
        (f"add_{at}", Status.PASSED) for at in range(4)
    ]
    assert driver.restarts == 1


def test_a_service_that_stands_still_costs_one_case_and_is_started_again(
    device: VirtualDevice, driver: Driver, cases: list[Case]
) -> None:
    def stop() -> None:
        device.shell(f"kill -STOP {wait_for_a_client(device)}").check()

    settings = RunSettings(seconds_per_case=8)
    (name, status, message), *others = statuses(driver, cases, settings, stop)
    assert (name, status) == ("endless", Status.CRASHED)
    assert "no end after 8000 ms" in message
    assert {status for _, status, _ in others} == {Status.PASSED}
    assert driver.restarts == 1


def test_results_come_as_cases_end(driver: Driver, cases: list[Case]) -> None:
    first, *others = cases
    # A runner that a test before killed may have left its files.
    before = driver.device.shell("ls /data/local/tmp/halyard").stdout.split()
    results = run(driver, planned([*others, first]))
    names = [next(results)[0].name for _ in others]
    assert names == [case.name for case in others]
    # The last one takes two seconds: its runner is still there.
    assert len(driver.device.shell("pidof halyard-runner").stdout.split()) == 2
    [(_, last)] = results
    assert last.name == "endless"
    after = driver.device.shell("ls /data/local/tmp/halyard").stdout.split()
    assert {name for name in after if name.startswith("run-")} <= set(before)
