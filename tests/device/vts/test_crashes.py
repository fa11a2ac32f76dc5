# SPDX-License-Identifier: Apache-2.0
"""Checks of a service that does not survive them."""

import gzip
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from halyard.cases import load
from halyard.conformance.driver import Driver
from halyard.conformance.run import RunSettings
from halyard.devices import VirtualDevice, config_of
from halyard.proto import halyard_pb2 as pb
from halyard.vts.check_outcome import Status
from halyard.vts.check_plan import make_plan
from halyard.vts.check_run import run_checks
from halyard.vts.check_selection import Wanted
from halyard.vts.checks import all_checks
from tests.device.test_conformance import wait_for_a_client
from tests.harness.cli.test_conformance import endless

# The first one executes for two seconds.
NAMES = "GeneratedTest.Test/endless_SYNC:DeadlineTest.Test/endless_PREPARE*"


def test_a_service_that_dies_fails_one_test_and_the_others_are_made(
    device: VirtualDevice, tmp_path: Path
) -> None:
    path = tmp_path / "spec.json.gz"
    document = {"schema": 1, "spec": "spec", "cases": [endless()]}
    path.write_bytes(gzip.compress(json.dumps(document).encode()))
    units = make_plan(load(path), [pb.HAL_VERSION_1_3], all_checks(), Wanted(filter=NAMES))
    # With a connection of its own, which this thread closes.
    driver = Driver(VirtualDevice(device.machine), config_of("vm"), ["CpuRef"], None)
    with driver, ThreadPoolExecutor(1) as thread:
        driver.start()
        results = thread.submit(lambda: list(run_checks(driver, units, RunSettings())))
        device.shell(f"kill -9 {wait_for_a_client(device)}").check()
        outcomes = [outcome for outcome, _ in results.result()]
    statuses = {outcome.name: outcome.status for outcome in outcomes}
    assert statuses == {
        "GeneratedTest.Test/endless_SYNC": Status.FAILED,
        "DeadlineTest.Test/endless_PREPARE_PRIORITY": Status.PASSED,
        "DeadlineTest.Test/endless_PREPARE_DEADLINE": Status.PASSED,
    }
    assert outcomes[0].crashed
    assert outcomes[0].message == "the service died while checking GeneratedTest.Test_SYNC"
    assert driver.restarts == 1
