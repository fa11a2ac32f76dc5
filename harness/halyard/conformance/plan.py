# SPDX-License-Identifier: Apache-2.0
"""Which case runs through which HAL version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from halyard.cases.case import Case
from halyard.conformance.suite import lowest_versions
from halyard.devices import Wire
from halyard.proto import halyard_pb2 as pb
from halyard.transport import hal_version


@dataclass(frozen=True)
class Planned:
    """A case that runs through a version; HAL_VERSION_UNSPECIFIED: the newest of the target."""

    name: str  # the case's; with the version where it runs through several
    case: Case
    version: pb.HalVersion


@dataclass(frozen=True)
class Plan:
    runs: tuple[Planned, ...]
    left_out: tuple[Case, ...]  # none of the versions can carry them


@dataclass(frozen=True)
class VersionChoice:
    """The meaning of --hal here."""

    chosen: hal_version.Choice = field(default_factory=hal_version.Choice)
    # Of each case the lowest one that can carry it; of a service the lowest of HIDL's.
    only_lowest: bool = False

    @property
    def versions(self) -> tuple[pb.HalVersion, ...]:
        return self.chosen.versions

    @property
    def wires(self) -> Sequence[Wire]:
        """On which a service has to be reached."""
        return [Wire.HIDL] if self.only_lowest else self.chosen.wires


def parse_versions(text: str | None) -> VersionChoice:
    """As hal_version.choose() has it, or `lowest`."""
    if text == "lowest":
        every = hal_version.ALL + hal_version.AIDL
        return VersionChoice(hal_version.Choice(text, every), only_lowest=True)
    return VersionChoice(hal_version.choose(text))


def make_plan(cases: Sequence[Case], choice: VersionChoice, newest: pb.HalVersion) -> Plan:
    """Every case through the versions chosen that can carry it, and that the target offers.

    `newest`: the newest that it offers; HAL_VERSION_UNSPECIFIED: the newest that there is.
    """
    limit = newest or max(hal_version.AIDL)
    if not choice.versions:
        unspecified = pb.HAL_VERSION_UNSPECIFIED
        return Plan(
            tuple(Planned(c.name, c, unspecified) for c in cases if c.hal_version <= limit),
            tuple(case for case in cases if case.hal_version > limit),
        )
    lowest = lowest_versions(cases)
    suffixed = len(choice.versions) > 1 and not choice.only_lowest
    runs, left_out = [], []
    for case in cases:
        carrying = [v for v in choice.versions if lowest[case.name] <= v <= limit]
        if not carrying:
            left_out.append(case)
        for version in carrying[:1] if choice.only_lowest else carrying:
            suffix = f"[{hal_version.format(version)}]" if suffixed else ""
            runs.append(Planned(case.name + suffix, case, version))
    return Plan(tuple(runs), tuple(left_out))
