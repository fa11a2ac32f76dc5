# SPDX-License-Identifier: Apache-2.0
"""Which case runs through which HAL version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from halyard import hal_version
from halyard.conformance.case import Case
from halyard.conformance.suite import lowest_versions
from halyard.errors import ConfigError
from halyard.proto import halyard_pb2 as pb


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


def parse_versions(text: str | None) -> tuple[pb.HalVersion, ...]:
    """What --hal means: a version, a range A..B, or all of them; none: the newest."""
    if text is None:
        return ()
    if text == "all":
        return tuple(hal_version.ALL)
    first, dots, last = text.partition("..")
    try:
        low, high = hal_version.parse(first), hal_version.parse(last if dots else first)
    except ConfigError as error:
        raise ConfigError(f"--hal {text}: {error}") from error
    if low > high:
        raise ConfigError(f"--hal {text}: the first version is the newer one")
    return tuple(version for version in hal_version.ALL if low <= version <= high)


def make_plan(
    cases: Sequence[Case], versions: Sequence[pb.HalVersion], newest: pb.HalVersion
) -> Plan:
    """Every case through each of the versions that can carry it.

    No versions: through the newest of the target, which is `newest` (HAL_VERSION_UNSPECIFIED: not
    known, so that it is the target that refuses).
    """
    if not versions:
        limit = newest or max(hal_version.ALL)
        unspecified = pb.HAL_VERSION_UNSPECIFIED
        return Plan(
            tuple(Planned(c.name, c, unspecified) for c in cases if c.hal_version <= limit),
            tuple(case for case in cases if case.hal_version > limit),
        )
    lowest = lowest_versions(cases)
    runs, left_out = [], []
    for case in cases:
        carrying = [version for version in versions if version >= lowest[case.name]]
        if not carrying:
            left_out.append(case)
        for version in carrying:
            suffix = f"[{hal_version.format(version)}]" if len(versions) > 1 else ""
            runs.append(Planned(case.name + suffix, case, version))
    return Plan(tuple(runs), tuple(left_out))
