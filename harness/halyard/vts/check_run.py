# SPDX-License-Identifier: Apache-2.0
"""Making checks of a driver, whatever they do to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from halyard.conformance.driver import Driver
from halyard.conformance.run import SECONDS_PER_CASE, RunSettings, run
from halyard.devices.config import DeviceConfig
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import run_cases
from halyard.vts.check_outcome import Outcome, decided
from halyard.vts.check_plan import Unit

# At a time on the virtual device, whose processors wait for one another's answers otherwise. A
# phone's are left to the check that is made.
_JOBS = {"virtual": 4}


def jobs_on(config: DeviceConfig) -> int:
    """How many checks at a time suit the device; 0: as the runner has it."""
    return _JOBS.get(config.kind, 0)


def run_checks(
    driver: Driver, units: Sequence[Unit], settings: RunSettings
) -> Iterator[tuple[Outcome, str]]:
    """The tests' outcomes, as they are decided, and the driver's version string. A check that
    brings the driver, or the runner, down has failed, and the others of its unit are made
    afterwards. Of several at a time it is not known which it was: they are made again, one at a
    time. Errors are those of conformance.run."""
    left = list(units)
    while left:
        planned = {each.name: unit for unit in left for each in [unit.planned()]}
        left = []
        for each, result in run(driver, [unit.planned() for unit in planned.values()], settings):
            unit = planned[each.name]
            outcomes = decided(unit, result)
            if settings.jobs > 1:
                outcomes = [outcome for outcome in outcomes if not outcome.crashed]
            for outcome in outcomes:
                yield outcome, result.version_string
            names = {outcome.name for outcome in outcomes}
            rest = tuple(
                check for check in unit.checks if check.test_name(unit.case.name) not in names
            )
            if rest:
                left.append(replace(unit, checks=rest))
        settings = replace(settings, jobs=min(settings.jobs, 1))


def newest_version(driver: Driver) -> pb.HalVersion:
    """The newest version that a runner speaks with the target on its first wire."""
    unspecified = pb.HAL_VERSION_UNSPECIFIED
    # A check that there is not: what counts is the version in which it is not found.
    probe = pb.TestCase(checks=["none"])
    options = pb.RunOptions(hal_version=unspecified, timeout_s=SECONDS_PER_CASE)
    [result] = run_cases(driver.device, [probe], options, driver.target(unspecified))
    return result.hal_version
