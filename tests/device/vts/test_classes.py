# SPDX-License-Identifier: Apache-2.0
"""The vendor test suite's checks of the service on the virtual device: an item for each class and
HAL version, of a few cases. `halyard vts --device vm` makes them all. Without --thorough only the
first and the newest version of HIDL and the newest of AIDL are asked, the others by the golden
cases; of the ten seeds of each attack on a cache's files all but one are left out, and what changes
these files a hundred times while they are used in all versions but the newest of each wire."""

from collections.abc import Mapping, Sequence

import pytest

from halyard import golden_folder
from halyard.cases import load
from halyard.conformance.driver import Driver
from halyard.conformance.run import RunSettings
from halyard.devices import VirtualDevice, Wire, config_of
from halyard.errors import HalyardError
from halyard.proto import halyard_pb2 as pb
from halyard.transport import hal_version
from halyard.vts.check_outcome import Outcome, Status
from halyard.vts.check_plan import Unit, make_plan, official
from halyard.vts.check_run import jobs_on, run_checks
from halyard.vts.check_selection import Wanted
from halyard.vts.checks import Check, all_checks

# Of each kind, through each version.
CASES = 1

Outcomes = Mapping[tuple[str, str], Sequence[Outcome]]


def versions(config: pytest.Config) -> Sequence[pb.HalVersion]:
    if config.getoption("thorough"):
        return (*hal_version.ALL, *hal_version.AIDL)
    return (hal_version.ALL[0], hal_version.ALL[-1], hal_version.AIDL[-1])


def checks_to_make(config: pytest.Config) -> Sequence[Check]:
    checks = all_checks()
    if config.getoption("thorough"):
        return checks
    return [
        check
        for check in checks
        if check.suite != "CompilationCachingSecurityTest" or check.variant.endswith(("_0", "_1"))
    ]


def is_left_out(unit: Unit, config: pytest.Config) -> bool:
    if config.getoption("thorough") or unit.version in (hal_version.ALL[-1], hal_version.AIDL[-1]):
        return False
    return any(check.name.endswith("_TOCTOU") for check in unit.checks)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    try:
        checks = checks_to_make(metafunc.config)
    except HalyardError:
        # The device tells what is wrong with the programs.
        checks = ()
    items = {
        (check.suite, hal_version.format(version)): None
        for version in versions(metafunc.config)
        for check in checks
        if check.is_of(version)
    }
    names = [f"{suite}-{hal}" for suite, hal in items]
    metafunc.parametrize(("suite", "hal"), list(items), ids=names)


@pytest.fixture(scope="module")
def outcomes(device: VirtualDevice, seed: int, pytestconfig: pytest.Config) -> Outcomes:
    """The outcomes of all tests."""
    folder = golden_folder.find()
    absent = golden_folder.absent()
    if folder is None or absent:
        pytest.skip(absent)
    cases = official(load(folder))
    checks = checks_to_make(pytestconfig)
    planned = make_plan(cases, versions(pytestconfig), checks, Wanted(sample=CASES, seed=seed))
    units = [unit for unit in planned if not is_left_out(unit, pytestconfig)]
    # With a connection of its own, which this thread closes.
    own = VirtualDevice(device.machine)
    driver = Driver(own, config_of("vm"), ["CpuRef"], None, list(Wire))
    found: dict[tuple[str, str], list[Outcome]] = {}
    with driver:
        driver.start()
        for outcome, _ in run_checks(driver, units, RunSettings(jobs=jobs_on(config_of("vm")))):
            found.setdefault((outcome.suite, outcome.hal), []).append(outcome)
    return found


def test_class(suite: str, hal: str, outcomes: Outcomes) -> None:
    mine = outcomes.get((suite, hal), [])
    bad = [f"{each.name}: {each.message}" for each in mine if not each.status.is_good]
    assert not bad, "\n".join(bad)
    # Where all are skipped nothing is proven.
    assert any(each.status is Status.PASSED for each in mine), mine
