# SPDX-License-Identifier: Apache-2.0
"""Which checks are made of the device and of which case, through which HAL version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from halyard.cases import variants
from halyard.cases.case import Case
from halyard.conformance.plan import Planned
from halyard.conformance.suite import lowest_versions
from halyard.proto import halyard_pb2 as pb
from halyard.transport import hal_version
from halyard.vts.check_selection import Wanted
from halyard.vts.checks import Check

# The case of the checks that need none.
DEVICE = Case(
    name="",
    spec="",
    test_case=pb.TestCase(),
    expected=(),
    hal_version=pb.HAL_VERSION_1_0,
    expect_failure=False,
    tags=frozenset(),
    lifetime_variants=(),
)


@dataclass(frozen=True)
class Unit:
    """Checks of one case, or one of the device, that a runner makes one after the other."""

    case: Case
    version: pb.HalVersion
    checks: tuple[Check, ...]

    def planned(self) -> Planned:
        """As conformance cases are run."""
        test_case = pb.TestCase()
        test_case.CopyFrom(self.case.test_case)
        test_case.checks.extend(check.id for check in self.checks)
        name = f"{self.case.name or self.checks[0].id}[{hal_version.format(self.version)}]"
        return Planned(name, replace(self.case, test_case=test_case), self.version)


def official(cases: Sequence[Case]) -> list[Case]:
    """The cases that the official suite makes of these: with other operand lifetimes, too."""
    found = {case.name: case for case in cases}
    for case in cases:
        for names in case.lifetime_variants:
            if (variant := variants.with_lifetimes(case, names)) is not None:
                found.setdefault(variant.name, variant)
    return list(found.values())


def make_plan(
    cases: Sequence[Case],
    versions: Sequence[pb.HalVersion],
    checks: Sequence[Check],
    wanted: Wanted,
) -> list[Unit]:
    """Through each version what is of it, on the cases that it can carry."""
    lowest = lowest_versions(cases) if cases else {}
    return [unit for version in versions for unit in _units(cases, version, lowest, checks, wanted)]


def _units(
    cases: Sequence[Case],
    version: pb.HalVersion,
    lowest: Mapping[str, pb.HalVersion],
    checks: Sequence[Check],
    wanted: Wanted,
) -> Iterator[Unit]:
    is_wanted = wanted.matcher()
    here = [check for check in checks if check.is_of(version)]
    # Each by itself: they have nothing in common, and some take long.
    for check in here:
        if check.scope == "device" and is_wanted(check.test_name("")):
            yield Unit(DEVICE, version, (check,))
    by_case: dict[str, list[Check]] = {}
    carried = [case for case in cases if lowest[case.name] <= version]
    for scope in dict.fromkeys(check.scope for check in here):
        rows = [check for check in here if check.scope == scope]
        suitable = [
            (case, [row for row in rows if is_wanted(row.test_name(case.name))])
            for case in carried
            if rows[0].is_for(case)
        ]
        chosen = {case.name: found for case, found in suitable if found}
        for case in wanted.sampled([case for case, found in suitable if found]):
            by_case.setdefault(case.name, []).extend(chosen[case.name])
    for case in carried:
        if case.name in by_case:
            yield Unit(case, version, tuple(by_case[case.name]))
